"""The computation of a sweep's runs: tasks, and one run in the process that took its store.

A run is computed by the process that holds the lock of its store, so never by two at a time;
a process that is killed leaves the lock, and its run goes on from the last checkpoint.
"""

from __future__ import annotations

import contextlib
import json
import math
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from mfpde.runs.run import Run
from mfpde.runs.stopping import ENDED
from mfpde.runs.times import end_time
from mfpde.settings.settings import Settings
from mfpde.storage import (
    StoreError,
    load,
    stored_checkpoint,
    stored_stop,
)
from mfpde.storage.files import StoreLockedError, has_journal
from mfpde.storage.lock import lock_store
from mfpde.storage.places import empty_store
from mfpde.storage.resumption import resume_run, solve_anew
from mfpde.sweeps.plan import PlannedRun
from mfpde.sweeps.record import RunRecord, SweepFolder
from mfpde.sweeps.run_summary import summary_of

FAILURES = ("non_finite", "step_too_small")
"""Kinds of a run's end that are no result."""
INTERRUPTED = "interrupted"
LIMITS = {"step_limit": "max_steps", "wall_time_limit": "wall_time_limit"}
"""Kinds of a run's end before its time, from which it goes on, and the settings that set them."""
MOST_NOTES = 5


class Outcome(NamedTuple):
    """What became of a run: ``"elsewhere"`` while another process computes it."""

    name: str
    state: Literal["finished", "stopped", "failed", "elsewhere"]


class Task(NamedTuple):
    """A run that a process is to compute, and the folder of its sweep."""

    run: PlannedRun
    folder: SweepFolder
    retry_failed: bool

    @property
    def key(self) -> str:
        """Name of the task."""
        return f"mfpde-{self.run.name}"


def tasks_of(
    pending: Sequence[PlannedRun], folder: SweepFolder, *, retry_failed: bool
) -> list[Task]:
    """Return the tasks of the ``pending`` runs, first those that seem to take longest."""
    tasks = [Task(run, folder, retry_failed) for run in pending]
    return sorted(tasks, key=lambda task: -_expected_work(task.run))


def execute(task: Task) -> Outcome:
    """Compute the run of a task unless it has ended, and record how it ended."""
    store = task.folder.store(task.run.name)
    store.mkdir(parents=True, exist_ok=True)
    try:
        lock = lock_store(store)
    except StoreLockedError:
        return Outcome(task.run.name, "elsewhere")
    try:
        taken = _taken_up(task.run, task.folder, retry_failed=task.retry_failed)
        return taken if isinstance(taken, Outcome) else taken.ended(taken.computed)
    finally:
        lock.release()


def _expected_work(run: PlannedRun) -> float:
    """How long a run takes beside others, roughly: its grid's size by the time that it spans."""
    settings = json.loads(run.settings)
    sizes = [
        value
        for name, value in settings["geometry"].items()
        if isinstance(value, int) and name != "dimension"
    ]
    end = (settings.get("solve") or {}).get("t_end")
    durations = [layer.get("duration", 1.0) for layer in settings.get("layers") or ()]
    span = end if isinstance(end, int | float) else sum(durations) or 1.0
    return math.prod(sizes) * float(span)


def _taken_up(
    run: PlannedRun, folder: SweepFolder, *, retry_failed: bool
) -> TakenRun | Outcome:
    """Return a run that has to be computed, or how it ended before."""
    there = folder.record(run.name)
    if there is not None and there.has_ended(retry_failed=retry_failed):
        # A note may be left by a process that was killed right after its record.
        folder.end(run.name)
        return Outcome(run.name, there.state)
    return TakenRun(run, folder, anew=there is not None and there.state == "failed")


class TakenRun:
    """A run whose store this process holds, which has to be computed.

    Attributes
    ----------
    run, folder, store
        The run, the folder of its sweep, its store.
    attempt
        How it has to be computed, as a :class:`RunRecord` says it.
    """

    def __init__(self, run: PlannedRun, folder: SweepFolder, *, anew: bool) -> None:
        self.run, self.folder = run, folder
        self.store = folder.store(run.name)
        self.attempt = "begun" if anew else _attempt(self.store)
        self._attempts: tuple[str, ...] = ()

    def begin(self) -> None:
        """Note, once, that the run is computed now."""
        if not self._attempts:
            self._attempts = self.folder.begin(self.run.name, self.attempt)

    def computed(self) -> Run:
        """Compute the run, of which the store then holds everything."""
        settings = self.run.built()
        self.begin()
        return _computed(self.store, settings, self.attempt)

    def ended(self, compute: Callable[[], Run]) -> Outcome:
        """Let ``compute`` give the whole run, and record it, or what went wrong."""
        record = self._recorded(compute)
        self.folder.keep(record)
        self.folder.end(self.run.name)
        return Outcome(self.run.name, record.state)

    def _recorded(self, compute: Callable[[], Run]) -> RunRecord:
        name = self.run.name
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                ended = compute()
                if ended.stop.kind == INTERRUPTED:
                    raise KeyboardInterrupt
                summary = summary_of(ended)
            # Whatever ends one run, the others go on.
            except Exception as error:
                frame = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{Path(frame.filename).name}:{frame.lineno}"
                what = f"{type(error).__name__}: {' '.join(str(error).split())}"
                return RunRecord(name, "failed", f"{what} ({where})", self._attempts)
        notes = tuple(dict.fromkeys(" ".join(str(w.message).split()) for w in warned))
        notes = notes[:MOST_NOTES]
        if ended.stop.kind in FAILURES:
            return RunRecord(
                name, "failed", ended.reason, self._attempts, summary, notes
            )
        if ended.stop.kind in LIMITS:
            settings = self.run.built()
            whole = end_time(settings.dynamics, settings.solve["t_end"])
            reason = (
                f"{LIMITS[ended.stop.kind]} at t = {ended.final_time:.6g} of {whole:g}; the "
                "same sweep goes on from there, as far again"
            )
            return RunRecord(name, "stopped", reason, self._attempts, summary, notes)
        return RunRecord(name, "finished", "", self._attempts, summary, notes)


def _attempt(store: Path) -> str:
    """Return how a run has to be computed, by what is in its store."""
    with contextlib.suppress(StoreError, FileNotFoundError):
        stop = stored_stop(store)
        if stop is not None and stop.kind in ENDED:
            return "read"
        if stored_checkpoint(store) is not None or has_journal(store):
            return "resumed"
    return "begun"


def _computed(store: Path, settings: Settings, attempt: str) -> Run:
    """Return the whole run, of which the store then holds everything."""
    if attempt == "begun":
        # What a killed process left may be no store yet.
        empty_store(store)
        return solve_anew(store, settings)
    if attempt == "resumed":
        resume_run(store, settings, stored_checkpoint(store))
        # With what was saved before.
    return load(store)
