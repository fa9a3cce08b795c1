"""SIGINT and SIGTERM: each ends a command by an error of its own."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TerminatedError(KeyboardInterrupt):
    """The process was asked to end by SIGTERM."""


def raise_for(number: int, _frame: FrameType | None = None) -> None:
    """Raise what ends a command by a signal."""
    if number == signal.SIGTERM:
        raise TerminatedError
    raise KeyboardInterrupt


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM raise in the block, so that nothing is left half done."""
    with handled_by(raise_for, signal.SIGTERM):
        yield


@contextmanager
def handled_by(handler: signal._HANDLER, *numbers: signal.Signals) -> Iterator[None]:
    """Let ``handler`` take the signals ``numbers`` in the block."""
    # Signals come to the main thread alone.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
