"""A line on the terminal while a command loads, and while kernels are compiled for it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

COMPILED = "numba:compile"
LOADED = ("mfpde.settings.settings", "mfpde.storage")
"""Modules that bring what nearly every command needs, with their libraries."""
_WIDTH = 79


class WaitingLine:
    """A listener to the compiler that says on one line what a command is waiting for."""

    def __init__(self, command: str) -> None:
        self.command, self._depth = command, 0

    def on_start(self, event: Any) -> None:
        """Show the kernel whose compilation begins."""
        self._depth += 1
        kernel = event.data["dispatcher"].py_func
        name = f"{kernel.__module__.removeprefix('mfpde.')}.{kernel.__name__}"
        self.show(f"compiling for this machine, once: {name}")

    def on_end(self, _event: Any) -> None:
        """Clear the line when the last compilation ends."""
        self._depth -= 1
        if self._depth == 0:
            self.show("")

    def show(self, text: str) -> None:
        """Show ``text``, or nothing, in place of what is there."""
        line = f"mfpde {self.command}: {text}" if text else ""
        sys.stderr.write(f"\r{line[:_WIDTH]:{_WIDTH}}\r")
        sys.stderr.flush()


@contextmanager
def waiting(command: str, *, wanted: bool = True) -> Iterator[None]:
    """Load what a command needs, and say what it waits for in the block.

    Nothing is said unless stderr is a terminal and it is ``wanted``.
    """
    is_shown = wanted and sys.stderr.isatty()
    if is_shown:
        WaitingLine(command).show("loading")
    for module in LOADED:
        importlib.import_module(module)
    if not is_shown:
        yield
        return
    from numba.core import event

    listener = type("Listener", (WaitingLine, event.Listener), {})(command)
    listener.show("")
    event.register(COMPILED, listener)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        event.unregister(COMPILED, listener)  # type: ignore[no-untyped-call]
