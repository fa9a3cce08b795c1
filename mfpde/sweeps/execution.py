"""The computation of one run of a sweep, in the process that takes it.

A run is computed by the process that holds the lock of its store, so never by two at a time;
a process that is killed leaves the lock, and its run goes on from the last checkpoint.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from mfpde import storage
from mfpde.detection import concentration
from mfpde.measures.measure import Measure
from mfpde.runs.run import LOCK, Run
from mfpde.runs.stopping import ENDED, FAILED
from mfpde.settings import Settings
from mfpde.solver.solve import solve
from mfpde.storage.places import StoreLockedError, lock_store, remove_parts
from mfpde.sweeps.plan import PlannedRun
from mfpde.sweeps.records import RunRecord, SweepRecords, describe_error

ELSEWHERE = "elsewhere"
"""What becomes of a run that another process computes."""
LIMITS = {"step_limit": "max_steps", "wall_time_limit": "wall_time_limit"}
"""Kinds of a run's end before its time, from which it goes on, and the settings that set them."""
COUNTED = ("steps", "rejected", "evaluations", "wall_seconds")
"""The statistics of a run that are kept."""
SECONDS_FOR_LOCK = 2.0
"""How long the lock of a store is waited for: a process that was killed ends after a moment."""
_ONE_AT_A_TIME = threading.Lock()
"""Of the threads that a worker of a cluster may have."""


def execute(run: PlannedRun, records: SweepRecords) -> str:
    """Compute a run unless it has finished; return its state, or ``"elsewhere"``."""
    store = records.store(run.name)
    store.mkdir(parents=True, exist_ok=True)
    try:
        with _ONE_AT_A_TIME, lock_store(store, SECONDS_FOR_LOCK):
            before = records.find(run.name)
            if before.state == "finished":
                return before.state
            record = RunRecord(run.name, "running", "", time.time(), os.getpid())
            records.write(record)
            try:
                settings, has_failed = run.build_settings(), before.state == "failed"
                whole = _compute_run(settings, store, anew=has_failed)
                ended = _judge_run(record, whole, settings)
            # Whatever ends one run, the others go on.
            except Exception as error:
                frame = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{Path(frame.filename).name}:{frame.lineno}"
                reason = f"{describe_error(error)} ({where})"
                ended = replace(record, state="failed", error=reason)
            records.write(ended)
            return ended.state
    except StoreLockedError:
        return ELSEWHERE


def _judge_run(record: RunRecord, run: Run, settings: Settings) -> RunRecord:
    """Return the record of how a run ended."""
    kind, state, error = run.stop.kind, "finished", ""
    if kind == "interrupted":
        raise KeyboardInterrupt
    summary = {
        "stop_kind": kind,
        "stop_message": run.stop.message,
        "final_time": float(run.final_time),
        **{n: run.statistics[n] for n in COUNTED if n in run.statistics},
    }
    if kind in FAILED:
        state, error = "failed", run.reason
    elif kind in LIMITS:
        state, t_end = "stopped", settings.save_times()[-1]
        error = (
            f"{LIMITS[kind]} at t = {run.final_time:.6g} of {t_end:g}; the same sweep goes "
            "on from there, as far again"
        )
    else:
        summary |= _summarize_results(run)
    return replace(record, state=state, error=error, summary=summary)


def _compute_run(settings: Settings, store: Path, *, anew: bool) -> Run:
    """Return the whole run, of which the store then holds everything.

    It goes on from its checkpoint, unless it is to begin ``anew`` or there is no store to read.
    """
    known, checkpoint = None, None
    if not anew:
        with contextlib.suppress(storage.StoreError, FileNotFoundError):
            known = storage.read_description(store)
    if known is None:
        # What a killed process left may be no store yet.
        remove_parts(store, {part.name for part in store.iterdir()} - {LOCK})
        model = settings.dynamics, settings.geometry
        writer = storage.RunWriter(store, *model, settings=settings, overwrite=True)
    elif known.stop is not None and known.stop.kind in ENDED:
        # Only the record of its end was left to be written.
        return storage.load(store)
    else:
        checkpoint = storage.stored_checkpoint(store)
        writer = storage.RunWriter.resume(store, checkpoint)
    run = solve(
        settings.dynamics,
        settings.start,
        **settings.solve_arguments(),
        resume_from=checkpoint,
        observer=writer,
    )
    # With what was saved before.
    return run if checkpoint is None else storage.load(store)


def _summarize_results(run: Run) -> dict[str, Any]:
    """Return the numbers of a run that has finished as plain values and lists, by name.

    Of every diagnostic with one value at each save the first and the last one are kept, as
    ``energy_first`` and ``energy_last``.
    """
    followed = () if run.track is None else run.track.events
    merges = [one.time for one in followed or run.events if one.kind == "merge"]
    found: dict[str, Any] = {
        "saves": len(run.times),
        "mass_drift": run.mass_drift,
        "merges": len(merges),
        "first_merge": min(merges, default=math.nan),
        "last_merge": max(merges, default=math.nan),
    }
    for name, values in run.diagnostics.items():
        if values.ndim == 1 and len(values):
            found[f"{name}_first"] = float(values[0])
            found[f"{name}_last"] = float(values[-1])
    if run.equation is not None and isinstance(run.final, Measure):
        report = concentration(run.final, run.equation)
        # Atoms and those forming, the heaviest first.
        clusters = report.clusters
        found |= {
            "verdict": report.verdict,
            "atoms": len(report.atoms),
            "forming": len(report.forming),
            "clusters": len(clusters),
            "arrived_mass": float(report.arrived_mass),
            "frozen_mass": float(report.frozen_mass),
            "atom_masses": [float(one.mass) for one in clusters],
            "atom_angles": [float(one.angle) for one in clusters],
        }
        if run.final.dimension == 3:
            places = [one.position for one in clusters]
            found["atom_longitudes"] = [math.atan2(y, x) for x, y, _ in places]
    return found
