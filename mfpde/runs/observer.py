"""Observers of a run, which look on while it is computed and cannot change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mfpde.measures.events import Event
from mfpde.measures.measure import Measure
from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.progress import Progress, Report
from mfpde.runs.run import Quantity, Run
from mfpde.tracking import Tracker


class Observer:
    """An onlooker of a run, ``solve(..., observer=...)``, whose methods do nothing by default.

    A subclass overrides the methods of what it wants to see.  At a save they are called in
    the order ``follow``, ``tell``, ``save``, ``keep``.  :class:`mfpde.storage.RunWriter` is
    an observer that stores the run as it goes.
    """

    def begin(self, quantities: Mapping[str, Quantity]) -> None:
        """See, before the first save, what the diagnostics of the run mean, by name."""

    def step(self, progress: Progress) -> None:
        """See the numbers of each step, of which some are computed when they are asked for."""

    def follow(self, track: Tracker) -> None:
        """See the atoms that were followed up to this save, if the run has a track."""

    def tell(self, events: Sequence[Event]) -> None:
        """See all events so far that exact atoms tell of, at each save after the first event."""

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


class StepObserver(Observer):
    """An observer that hands each step's numbers to a function."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def step(self, progress: Progress) -> None:
        """Report the numbers of a step."""
        self._report(progress)
