"""The end of a run by a signal: after the present step, with all kept."""

from __future__ import annotations

from mfpde.commands.signals import received
from mfpde.runs.progress import Progress
from mfpde.runs.stopping import StoppingCondition, StopReason


class Signalled(StoppingCondition):
    """A stop after the step in which a signal came, or the first if its error was dropped."""

    def check(self, progress: Progress) -> StopReason | None:
        """Stop if there was a signal."""
        if not received:
            return None
        return StopReason.of("interrupted", time=progress.time)
