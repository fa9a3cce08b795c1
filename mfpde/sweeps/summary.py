"""The numbers that a sweep keeps of a run: atoms, events, verdict, energies, steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mfpde.detection import concentration
from mfpde.detection.report import ConcentrationReport
from mfpde.measures.events import Event
from mfpde.measures.measure import Atoms, as_measure
from mfpde.runs.run import Run
from mfpde.tracking.paths import Junction

COUNTED = ("steps", "rejected", "evaluations", "wall_seconds")
"""The statistics of a run that are kept."""
LARGEST_DIMENSION_OF_POINTS = 3


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
    if not isinstance(run.final, Atoms):
        found["cells"] = int(np.prod(as_measure(run.final).geometry.shape))
    if run.dynamics is not None:
        found["convention"] = run.dynamics.convention
    numbers = {name: run.statistics.get(name) for name in COUNTED}
    found |= {n: v for n, v in numbers.items() if isinstance(v, int | float)}
    for name, values in run.diagnostics.items():
        if values.ndim == 1 and len(values):
            found[f"{name}_first"] = float(values[0])
            found[f"{name}_last"] = float(values[-1])
    if run.equation is not None:
        found |= _of_atoms(concentration(run.final, run.equation))
    return found | _of_events(run)


def _of_atoms(report: ConcentrationReport) -> dict[str, Any]:
    """What the last state looks like: atoms and those forming, the heaviest first."""
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
    dimensions = {len(one.position) for one in clusters}
    if dimensions and max(dimensions) <= LARGEST_DIMENSION_OF_POINTS:
        found["atom_points"] = [one.position.tolist() for one in clusters]
    return found


def _of_events(run: Run) -> dict[str, Any]:
    """Births, merges, fissions, deaths, where the run was asked to follow its atoms."""
    events: tuple[Event, ...] = run.events
    if run.track is not None:
        events = run.track.events or events
    merges = [event.time for event in events if event.kind == "merge"]
    found: dict[str, Any] = {
        "merges": len(merges),
        "merge_times": merges,
        "first_merge": min(merges, default=math.nan),
        "last_merge": max(merges, default=math.nan),
        "event_times": [event.time for event in events],
        "event_kinds": [event.kind for event in events],
        "event_masses": [float(event.masses.sum()) for event in events],
    }
    if run.track is not None and run.track.events:
        found["event_uncertainties"] = [_half(j) for j in run.track.junctions]
    return found


def _half(junction: Junction) -> float:
    """Return half of the interval between the saves in which an event lies."""
    return (junction.latest - junction.earliest) / 2
