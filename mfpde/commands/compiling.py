"""A line on the terminal that says what a command waits for: imports, and the compiler."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LOADED = ("mfpde.settings", "mfpde.storage")
"""Modules that bring what nearly every command needs, with their libraries."""
_WIDTH = 79


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
