"""SIGINT and SIGTERM: each ends a command by an error of its own.

Python drops an error that is raised where C calls it back, as imports and the compiler do, so
signals are noted too: what begins after such a one stops at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_noted: list[int] = []
"""Signals that the present command has got outside of runs."""


class TerminatedError(KeyboardInterrupt):
    """The process was asked to end by SIGTERM."""


def raise_for(number: int, _frame: FrameType | None = None) -> None:
    """Note a signal, and raise what ends a command by it."""
    _noted.append(number)
    if number == signal.SIGTERM:
        raise TerminatedError
    raise KeyboardInterrupt


def noted_signal() -> int | None:
    """Return the first signal that the present command has got outside of runs, if any."""
    return _noted[0] if _noted else None


def raise_if_dropped() -> None:
    """Raise anew what a signal raised outside of runs, if Python dropped it."""
    if _noted:
        raise_for(_noted.pop())


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGINT and SIGTERM raise in the block, so that nothing is left half done."""
    _noted.clear()
    with handled_by(raise_for, signal.SIGINT, signal.SIGTERM):
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
