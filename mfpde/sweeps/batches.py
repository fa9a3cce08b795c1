"""Runs of a sweep that are computed together, as the rows of one array.

Each has its own store, record and end, as if it were computed alone; what is odd about one (a
warning, an error, settings that have to go alone) is left to the run alone.  A run is
stored as a whole as soon as it has ended; of one that goes on for longer the process that is
killed leaves a checkpoint (:mod:`mfpde.sweeps.keeping`).
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from contextlib import ExitStack
from typing import NamedTuple

from mfpde.runs.run import Run
from mfpde.settings.settings import Settings
from mfpde.solver.preparation import PreparedRun
from mfpde.solver.together import advanced_together, kind_of_run
from mfpde.storage.resumption import prepared_anew, stored_whole
from mfpde.sweeps.execution import LIMITS, Outcome, TakenRun, Task, taken_up
from mfpde.sweeps.keeping import Keeper, Pace


class _Ready(NamedTuple):
    """A run that is ready to advance with others."""

    taken: TakenRun
    settings: Settings
    prepared: PreparedRun

    def ended(self, run: Run) -> Outcome:
        """Store and record the run, which has ended."""

        def stored() -> Run:
            stored_whole(self.taken.store, self.settings, run)
            return run

        return self.taken.ended(stored)


def execute(task: Task) -> list[Outcome]:
    """Compute the runs of a task that have not ended, and record how they ended.

    Several runs advance together as far as they can.
    """
    outcomes: list[Outcome] = []
    alone: list[TakenRun] = []
    groups: dict[Hashable, list[_Ready]] = {}
    pace = Pace()
    with ExitStack() as claims:
        for run in task.runs:
            taken = taken_up(run, task.folder, retry_failed=task.retry_failed)
            if isinstance(taken, Outcome):
                outcomes.append(taken)
                continue
            claims.callback(taken.claim.release)
            ready = _ready(taken, pace) if len(task.runs) > 1 else None
            kind = None if ready is None else kind_of_run(ready.prepared)
            if ready is None or kind is None:
                alone.append(taken)
            else:
                groups.setdefault(kind, []).append(ready)
        for group in groups.values():
            ended = _advanced(group) if len(group) > 1 else {}
            outcomes += ended.values()
            alone += [one.taken for i, one in enumerate(group) if i not in ended]
        outcomes += [taken.ended(taken.computed) for taken in alone]
    return outcomes


def _ready(taken: TakenRun, pace: Pace) -> _Ready | None:
    """Prepare a run from its start; None if it goes on from elsewhere, or something is odd."""
    if taken.attempt != "begun":
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            settings = taken.run.built()
            keeper = Keeper(taken.store, settings, pace)
            keeper.prepared = prepared_anew(settings, keeper)
            return _Ready(taken, settings, keeper.prepared)
        # Alone it is recorded as what it is.
        except Exception:
            return None


def _advanced(group: list[_Ready]) -> dict[int, Outcome]:
    """Advance runs together; return the outcomes of those that ended so, by their places."""
    outcomes: dict[int, Outcome] = {}
    for ready in group:
        ready.taken.begin()
    ending = advanced_together([ready.prepared for ready in group])
    for _ in group:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                place, run = next(ending)
            # Whichever run it was, alone it is recorded as what it is.
            except Exception:
                break
        # A run that a limit stops has to leave the checkpoint that it leaves alone.
        if run.stop.kind not in LIMITS:
            outcomes[place] = group[place].ended(run)
    return outcomes
