"""SIGINT and SIGTERM while a run goes on: it stops after the present step, with all kept.

A second signal ends the command at once; what was saved by then is kept too.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from mfpde.commands import INTERRUPTED, TERMINATED, exit_code
from mfpde.commands.signals import handled_by, noted, raise_for
from mfpde.runs.run import Run
from mfpde.runs.stopping import StepRecord, StoppingCondition, StopReason, interrupted

_CODES = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}


class Signalled(StoppingCondition):
    """A stop after the step in which a signal came; ``code`` is then the exit code.

    A signal that came before, and whose error was dropped, stops the first step.
    """

    def __init__(self) -> None:
        self.code = _CODES[signal.Signals(noted[0])] if noted else None

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


@contextmanager
def stopped_by_signals() -> Iterator[Signalled]:
    """Let signals stop the run in the block by the condition that the block gets."""
    condition = Signalled()
    with handled_by(condition.receive):
        yield condition
