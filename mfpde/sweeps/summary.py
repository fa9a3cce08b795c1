"""The numbers that a sweep keeps of a run: atoms, events, verdict, energies, steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from mfpde.detection import concentration
from mfpde.detection.report import ConcentrationReport
from mfpde.measures.measure import Atoms, as_measure
from mfpde.runs.run import Run

COUNTED = ("steps", "rejected", "evaluations", "wall_seconds")
"""The statistics of a run that are kept."""
OF_ANY_END = ("stop_kind", "stop_message", "final_time", "steps", "wall_seconds")
"""What is known of a run that a limit has stopped, too: its other numbers are not final."""


def summarize_run(run: Run) -> dict[str, Any]:
    """Return the numbers of a run as plain values and lists, by name.

    Of every diagnostic with one value at each save the first and the last one are kept, as
    ``energy_first`` and ``energy_last``.
    """
    found: dict[str, Any] = {
        "stop_kind": run.stop.kind,
        "stop_message": run.stop.message,
        "final_time": float(run.final_time),
        "saves": len(run.times),
        "mass_drift": run.mass_drift,
    }
    numbers = {name: run.statistics.get(name) for name in COUNTED}
    found |= {n: v for n, v in numbers.items() if isinstance(v, int | float)}
    if not isinstance(run.final, Atoms):
        found["cells"] = int(np.prod(as_measure(run.final).geometry.shape))
    if run.dynamics is not None:
        found["convention"] = run.dynamics.convention
    for name, values in run.diagnostics.items():
        if values.ndim == 1 and len(values):
            found[f"{name}_first"] = float(values[0])
            found[f"{name}_last"] = float(values[-1])
    if run.equation is not None:
        found |= _summarize_atoms(concentration(run.final, run.equation))
    return found | _summarize_events(run)


def hide_results(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the summary of a run that has not finished: NaN for all but its end."""
    return {n: v if n in OF_ANY_END else math.nan for n, v in summary.items()}


def _summarize_atoms(report: ConcentrationReport) -> dict[str, Any]:
    """Return what the last state looks like: atoms and those forming, the heaviest first."""
    clusters = report.clusters
    found: dict[str, Any] = {
        "verdict": report.verdict,
        "atoms": len(report.atoms),
        "forming": len(report.forming),
        "clusters": len(clusters),
        "arrived_mass": float(report.arrived_mass),
        "frozen_mass": float(report.frozen_mass),
        "largest_mass": max((float(one.mass) for one in clusters), default=0.0),
        "atom_masses": [float(one.mass) for one in clusters],
        "atom_arrived_masses": [float(one.arrived_mass) for one in clusters],
        "atom_angles": [float(one.angle) for one in clusters],
    }
    if report.measure.dimension == 3:
        places = [one.position for one in clusters]
        found["atom_longitudes"] = [math.atan2(y, x) for x, y, _ in places]
    return found


def _summarize_events(run: Run) -> dict[str, Any]:
    """Return births, merges, fissions, deaths, where the run was asked to follow its atoms."""
    followed = () if run.track is None else run.track.events
    events = followed or run.events
    merges = [event.time for event in events if event.kind == "merge"]
    return {
        "merges": len(merges),
        "first_merge": min(merges, default=math.nan),
        "last_merge": max(merges, default=math.nan),
        "event_times": [event.time for event in events],
        "event_kinds": [event.kind for event in events],
        "event_masses": [float(event.masses.sum()) for event in events],
    }
