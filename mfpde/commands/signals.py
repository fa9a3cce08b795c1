"""SIGINT and SIGTERM while a run goes on: it stops after the present step, with all kept.

A second signal ends the command at once; what was saved by then is kept too.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from mfpde.commands import INTERRUPTED, TERMINATED, exit_code
from mfpde.runs.run import Run
from mfpde.runs.stopping import (
    StepRecord,
    StoppingCondition,
    StopReason,
    interrupted,
)

_CODES = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}


class TerminatedError(KeyboardInterrupt):
    """The process was asked to end by SIGTERM."""


class Signalled(StoppingCondition):
    """A stop after the step in which a signal came; ``code`` is then the exit code."""

    def __init__(self) -> None:
        self.code: int | None = None

    def check(self, record: StepRecord) -> StopReason | None:
        """Stop if there was a signal."""
        return None if self.code is None else interrupted(record.time)

    def receive(self, number: int, _frame: FrameType | None = None) -> None:
        """Note a signal; the second one raises."""
        if self.code is not None:
            raise_for(number)
        self.code = _CODES[signal.Signals(number)]

    def exit_code(self, run: Run) -> int:
        """Return the exit code of a command whose ``run`` ended."""
        code = exit_code(run.stop.kind)
        return self.code if code == INTERRUPTED and self.code is not None else code


def raise_for(number: int, _frame: FrameType | None = None) -> None:
    """Raise what ends a command by a signal."""
    if number == signal.SIGTERM:
        raise TerminatedError
    raise KeyboardInterrupt


@contextmanager
def stopped_by_signals() -> Iterator[Signalled]:
    """Let signals stop the run in the block by the condition that the block gets."""
    condition = Signalled()
    with _handled_by(condition.receive, *_CODES):
        yield condition


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM raise in the block, so that nothing is left half done."""
    with _handled_by(raise_for, signal.SIGTERM):
        yield


@contextmanager
def _handled_by(handler: signal._HANDLER, *numbers: signal.Signals) -> Iterator[None]:
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
