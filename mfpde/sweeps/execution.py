"""The computation of one run of a sweep, in the process that takes it.

A run is computed by the process that holds the lock of its store, so never by two at a time;
a process that is killed leaves the lock, and its run goes on from the last checkpoint.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
import time
import traceback
import warnings
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from mfpde.runs.run import Run
from mfpde.runs.stopping import ENDED
from mfpde.runs.times import end_time
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
from mfpde.sweeps.records import RunRecord, SweepRecords
from mfpde.sweeps.summary import summarize_run

ELSEWHERE = "elsewhere"
"""What becomes of a run that another process computes."""
FAILURES = ("non_finite", "step_too_small")
"""Kinds of a run's end that are no result."""
INTERRUPTED = "interrupted"
LIMITS = {"step_limit": "max_steps", "wall_time_limit": "wall_time_limit"}
"""Kinds of a run's end before its time, from which it goes on, and the settings that set them."""
MOST_NOTES = 5
SECONDS_FOR_LOCK = 2.0
"""How long the lock of a store is waited for: a process that was killed ends after a moment."""
_ONE_AT_A_TIME = threading.Lock()
"""Warnings that are caught are those of the process, which may have several threads."""


class Task(NamedTuple):
    """A run to compute, and the records of its sweep."""

    run: PlannedRun
    records: SweepRecords
    retry_failed: bool = False


def execute(task: Task) -> str:
    """Compute the run of a task unless it has ended; return its state, or ``"elsewhere"``."""
    store = task.records.store(task.run.name)
    store.mkdir(parents=True, exist_ok=True)
    with _ONE_AT_A_TIME:
        try:
            with lock_store(store, SECONDS_FOR_LOCK):
                return _compute_unless_ended(task, store)
        except StoreLockedError:
            return ELSEWHERE


def expected_work(run: PlannedRun) -> float:
    """Return about how long a run takes beside others: its grid's size times its duration."""
    settings = json.loads(run.settings)
    grid = {n: v for n, v in settings["geometry"].items() if n != "dimension"}
    sizes = [value for value in grid.values() if isinstance(value, int)]
    durations = [layer.get("duration", 1.0) for layer in settings.get("layers") or ()]
    duration = settings.get("solve", {}).get("t_end") or sum(durations) or 1.0
    return math.prod(sizes) * float(duration)


def describe_error(error: BaseException) -> str:
    """Return an error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _compute_unless_ended(task: Task, store: Path) -> str:
    name, records = task.run.name, task.records
    before = records.record(name)
    if before is not None and before.has_ended(retry_failed=task.retry_failed):
        return before.state
    is_new = before is not None and before.state == "failed"
    attempt = "begun" if is_new else _choose_attempt(store)
    attempts = (*(() if before is None else before.attempts), attempt)
    now = time.time()
    record = RunRecord(name, "running", "", now, os.getpid(), attempts)
    records.keep(record)
    ended = _compute_and_judge(record, task.run, store)
    records.keep(ended)
    return ended.state


def _choose_attempt(store: Path) -> str:
    """Return how a run has to be computed, by what is in its store."""
    with contextlib.suppress(StoreError, FileNotFoundError):
        stop = stored_stop(store)
        if stop is not None and stop.kind in ENDED:
            return "read"
        if stored_checkpoint(store) is not None or has_journal(store):
            return "resumed"
    return "begun"


def _compute_and_judge(
    record: RunRecord, planned: PlannedRun, store: Path
) -> RunRecord:
    """Compute a run, and return the record of how it ended, or of what went wrong."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            run = _compute_run(planned, store, record.attempts[-1])
            if run.stop.kind == INTERRUPTED:
                raise KeyboardInterrupt
            summary = summarize_run(run)
        # Whatever ends one run, the others go on.
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(frame.filename).name}:{frame.lineno}"
            return replace(
                record, state="failed", error=f"{describe_error(error)} ({where})"
            )
    notes = dict.fromkeys(" ".join(str(one.message).split()) for one in warned)
    record = replace(record, summary=summary, notes=tuple(notes)[:MOST_NOTES])
    if run.stop.kind in FAILURES:
        return replace(record, state="failed", error=run.reason)
    if run.stop.kind in LIMITS:
        settings = planned.built()
        whole = end_time(settings.dynamics, settings.solve["t_end"])
        reason = (
            f"{LIMITS[run.stop.kind]} at t = {run.final_time:.6g} of {whole:g}; the same "
            "sweep goes on from there, as far again"
        )
        return replace(record, state="stopped", error=reason)
    return replace(record, state="finished")


def _compute_run(planned: PlannedRun, store: Path, attempt: str) -> Run:
    """Return the whole run, of which the store then holds everything."""
    settings = planned.built()
    if attempt == "begun":
        # What a killed process left may be no store yet.
        empty_store(store)
        return solve_anew(store, settings)
    if attempt == "resumed":
        resume_run(store, settings, stored_checkpoint(store))
        # With what was saved before.
    return load(store)
