"""SIGINT and SIGTERM: outside of a run each ends a command by an error of its own.

While a run goes on the first one lets it end its present step (:func:`stop_by_signal`).
Python drops an error that is raised where C calls it back, as imports and the compiler do, so
signals are noted too: what begins after such a one stops at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mfpde.runs.progress import Progress
    from mfpde.runs.stopping import StoppingCondition, StopReason

received: list[int] = []
"""Signals that the present command has got."""


class TerminatedError(KeyboardInterrupt):
    """The process was asked to end by SIGTERM."""


def raise_for(number: int, _frame: FrameType | None = None) -> None:
    """Note a signal, and raise what ends a command by it."""
    received.append(number)
    raise TerminatedError if number == signal.SIGTERM else KeyboardInterrupt


def raise_for_second(number: int, _frame: FrameType | None = None) -> None:
    """Note a signal; the second one ends the command at once."""
    if received:
        raise_for(number)
    received.append(number)


def raise_if_dropped() -> None:
    """Raise anew what a signal raised outside of runs, if Python dropped it."""
    if received:
        raise_for(received.pop())


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGINT and SIGTERM raise in the block, so that nothing is left half done."""
    received.clear()
    with handled_by(raise_for):
        yield


@contextmanager
def handled_by(handler: signal._HANDLER) -> Iterator[None]:
    """Let ``handler`` take both signals in the block."""
    # Signals come to the main thread alone.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def stop_by_signal() -> StoppingCondition:
    """Return the condition that ends a run after the step in which a signal came.

    A signal whose error was dropped ends it at the first step.
    """
    # What takes long to load is loaded after the command has begun.
    from mfpde.runs.stopping import StoppingCondition, StopReason

    class Signalled(StoppingCondition):
        def check(self, progress: Progress) -> StopReason | None:
            if not received:
                return None
            return StopReason.of("interrupted", time=progress.time)

    return Signalled()
