"""A line on the terminal while kernels are compiled, which a first run has to wait for."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

COMPILED = "numba:compile"
_WIDTH = 79


class CompilingLine:
    """A listener to the compiler that says which kernel it is at, on one line of a terminal."""

    def __init__(self) -> None:
        self.kernels = 0
        self._depth = 0
        self._began = 0.0

    def on_start(self, event: Any) -> None:
        """Show the kernel whose compilation begins."""
        if self._depth == 0:
            self._began = time.monotonic()
        self._depth += 1
        self.kernels += 1
        kernel = event.data["dispatcher"].py_func
        place = kernel.__module__.removeprefix("mfpde.")
        text = f"mfpde: compiling for this machine, once: {place}.{kernel.__name__}"
        self._show(text)

    def on_end(self, event: Any) -> None:
        """Clear the line when the last compilation ends."""
        del event
        self._depth -= 1
        if self._depth == 0:
            self._show("")

    def _show(self, text: str) -> None:
        sys.stderr.write("\r" + text[:_WIDTH].ljust(_WIDTH) + "\r")
        sys.stderr.flush()


@contextmanager
def compilation_shown(*, wanted: bool = True) -> Iterator[CompilingLine]:
    """Show what is compiled in the block, where stderr is a terminal and it is ``wanted``."""
    # Not before it is needed: it takes a third of a second to load.
    from numba.core import event

    line = CompilingLine()
    if not (wanted and sys.stderr.isatty()):
        yield line
        return
    listener = type("Listener", (CompilingLine, event.Listener), {})()
    event.register(COMPILED, listener)  # type: ignore[no-untyped-call]
    try:
        yield listener
    finally:
        event.unregister(COMPILED, listener)  # type: ignore[no-untyped-call]
