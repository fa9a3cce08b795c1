"""What commands tell on the terminal: lines, results and their pictures, what they wait for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mfpde

LOADED = ("mfpde.settings", "mfpde.storage")
"""Modules that bring what nearly every command needs, with their libraries."""
_WIDTH = 79


def say(text: object, *, quiet: bool = False) -> None:
    """Write a line on stdout, unless it is to be ``quiet``."""
    from mfpde.arrays import printable

    if not quiet:
        sys.stdout.write(f"{printable(str(text))}\n")


def complain(text: str) -> None:
    """Write a line on stderr."""
    from mfpde.arrays import printable

    sys.stderr.write(f"{printable(text)}\n")


def save_picture(figure: Any, path: str | Path, *, quiet: bool = False) -> None:
    """Save a figure as PDF and PNG, and say where."""
    pdf, png = mfpde.plotting.save_figure(figure, path)
    say(f"drawn in {pdf} and {png}", quiet=quiet)


def answer(found: object, figure: str | None, plot: str, legend: str = "") -> None:
    """Print a result and a legend, and draw it by ``plot`` of mfpde where a figure is wanted."""
    say(f"{found}\n\n{legend}".strip())
    if figure is not None:
        save_picture(getattr(mfpde.plotting, plot)(found), figure)


@contextmanager
def show_waiting(command: str, *, shown: bool = True) -> Iterator[None]:
    """Load what a command needs, and say what it waits for in the block on one line.

    Nothing is said unless stderr is a terminal and it is to be ``shown``.
    """

    def show(text: str) -> None:
        if shown and sys.stderr.isatty():
            line = f"mfpde {command}: {text}" if text else ""
            sys.stderr.write(f"\r{line[:_WIDTH]:{_WIDTH}}\r")
            sys.stderr.flush()

    show("loading")
    for module in LOADED:
        importlib.import_module(module)
    from numba.core import event

    class Listener(event.Listener):
        """Shows the kernel that is compiled; others may be compiled for it."""

        depth = 0

        def on_start(self, event: Any) -> None:
            self.depth += 1
            kernel = event.data["dispatcher"].py_func
            name = f"{kernel.__module__.removeprefix('mfpde.')}.{kernel.__name__}"
            show(f"compiling for this machine, once: {name}")

        def on_end(self, event: Any) -> None:
            del event
            self.depth -= 1
            if self.depth == 0:
                show("")

    show("")
    with event.install_listener("numba:compile", Listener()):
        yield
