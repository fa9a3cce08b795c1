"""Observers of a run, which look on while it is computed and cannot change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mfpde.measures.events import Event
from mfpde.measures.measure import Measure
from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.progress import LineReport, Progress
from mfpde.runs.run import Quantity, Run
from mfpde.tracking import Tracker


class Observer:
    """An onlooker of a run, ``solve(..., observer=...)``, whose methods do nothing by default.

    A subclass overrides the methods of what it wants to see.  :class:`mfpde.storage.RunWriter`
    is an observer that stores the run as it goes.
    """

    def begin(
        self,
        quantities: Mapping[str, Quantity],
        tracker: Tracker | None,
        events: Sequence[Event],
    ) -> None:
        """See, before the first save, what the diagnostics of the run mean, by name.

        The ``tracker``, if the run has a track, and the ``events`` that exact atoms tell of go on
        with the run: at a save they hold all up to it.
        """

    def step(self, progress: Progress) -> None:
        """See the numbers of each step, of which some are computed when they are asked for."""

    def save(
        self, time: float, measure: Measure, diagnostics: Mapping[str, float]
    ) -> None:
        """See a saved state with its diagnostics."""

    def keep(self, checkpoint: Checkpoint) -> None:
        """See, after each save and at the end, everything that the run needs to go on.

        With it ``solve(..., resume_from=...)`` goes on to the bit.
        """

    def finish(self, run: Run) -> None:
        """See the finished run."""


class LineObserver(Observer):
    """An observer that shows the numbers of each step on a line of progress."""

    def __init__(self, line: LineReport) -> None:
        self._line = line

    def step(self, progress: Progress) -> None:
        """Show the numbers of a step."""
        self._line(progress.time / progress.t_end, progress)
