"""The computation of a sweep's runs: tasks, and one run in the process that took its store.

A run is computed by the process that holds the lock of its store, so never by two at a time;
a process that is killed leaves the lock, and its run goes on from the last checkpoint.
"""

from __future__ import annotations

import contextlib
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from mfpde.runs.run import Run
from mfpde.settings.settings import Settings
from mfpde.storage import (
    StoreError,
    load,
    stored_checkpoint,
    stored_stop,
    was_just_begun,
)
from mfpde.storage.claim import claim, release
from mfpde.storage.new_store import emptied
from mfpde.storage.resumption import resumed_exactly, solved_anew
from mfpde.sweeps.plan import PlannedRun
from mfpde.sweeps.record import RunRecord, SweepFolder
from mfpde.sweeps.run_summary import summary_of

FAILURES = ("non_finite", "step_too_small")
"""Kinds of a run's end that are no result."""
MOST_NOTES = 5


class Outcome(NamedTuple):
    """What became of a run: ``"elsewhere"`` while another process computes it."""

    name: str
    state: Literal["finished", "failed", "elsewhere"]


class Task(NamedTuple):
    """Runs that one process computes in one go, and the folder of their sweep."""

    runs: tuple[PlannedRun, ...]
    folder: SweepFolder
    retry_failed: bool

    @property
    def key(self) -> str:
        """Name of the task."""
        return f"mfpde-{self.runs[0].name}-{len(self.runs)}"


def tasks_of(
    pending: Sequence[PlannedRun], folder: SweepFolder, *, retry_failed: bool
) -> list[Task]:
    """Return the tasks that compute the ``pending`` runs.

    Every run is a task of its own.  This is the one place that decides it: runs that are faster
    together belong in one task, and :func:`execute` computes what a task holds.
    """
    return [Task((run,), folder, retry_failed) for run in pending]


def execute(task: Task) -> list[Outcome]:
    """Compute the runs of a task that have not ended, and record how they ended."""
    return [
        executed(run, task.folder, retry_failed=task.retry_failed) for run in task.runs
    ]


def executed(
    run: PlannedRun, folder: SweepFolder, *, retry_failed: bool = False
) -> Outcome:
    """Compute one run, unless it has ended or another process is at it, and record its end."""
    store = folder.store(run.name)
    store.mkdir(parents=True, exist_ok=True)
    try:
        claim(store)
    except StoreError:
        return Outcome(run.name, "elsewhere")
    try:
        there = folder.record(run.name)
        if there is not None and not (retry_failed and there.state == "failed"):
            # A note may be left by a process that was killed right after its record.
            folder.end(run.name)
            return Outcome(run.name, there.state)
        record = _recorded(run, folder, anew=there is not None)
        folder.keep(record)
        folder.end(run.name)
        return Outcome(run.name, record.state)
    finally:
        release(store)


def _recorded(run: PlannedRun, folder: SweepFolder, *, anew: bool) -> RunRecord:
    """Compute a run and return its record; what goes wrong is recorded too."""
    attempts: tuple[str, ...] = ()
    store = folder.store(run.name)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            settings = run.built()
            attempt = "begun" if anew else _attempt(store)
            attempts = folder.begin(run.name, attempt)
            ended = _computed(store, settings, attempt)
            summary = summary_of(ended)
        # Whatever ends one run, the others go on.
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(frame.filename).name}:{frame.lineno}"
            what = f"{type(error).__name__}: {' '.join(str(error).split())} ({where})"
            return RunRecord(run.name, "failed", what, attempts)
    notes = tuple(dict.fromkeys(" ".join(str(w.message).split()) for w in warned))
    if ended.stop.kind in FAILURES:
        return RunRecord(
            run.name, "failed", ended.reason, attempts, summary, notes[:MOST_NOTES]
        )
    return RunRecord(run.name, "finished", "", attempts, summary, notes[:MOST_NOTES])


def _attempt(store: Path) -> str:
    """Return how a run has to be computed, by what is in its store."""
    if not (store / "zarr.json").is_file():
        return "begun"
    with contextlib.suppress(StoreError, FileNotFoundError):
        stop = stored_stop(store)
        if stop is not None and stop.kind != "interrupted":
            return "read"
        if stored_checkpoint(store) is not None or was_just_begun(store):
            return "resumed"
    return "begun"


def _computed(store: Path, settings: Settings, attempt: str) -> Run:
    """Return the whole run, of which the store then holds everything."""
    if attempt == "begun":
        # What a killed process left may be no store yet.
        emptied(store)
        return solved_anew(store, settings)
    if attempt == "resumed":
        resumed_exactly(store, settings, stored_checkpoint(store))
        # With what was saved before.
    return load(store)
