"""The numbers that a sweep keeps of a run: how it ended; atoms, merges, verdict, energies."""

from __future__ import annotations

import math
from typing import Any

from mfpde.detection import concentration
from mfpde.detection.report import ConcentrationReport
from mfpde.runs.run import Run

COUNTED = ("steps", "rejected", "evaluations", "wall_seconds")
"""The statistics of a run that are kept."""


def summarize_end(run: Run) -> dict[str, Any]:
    """Return how a run ended, by name: what is known also where a limit has stopped it."""
    return {
        "stop_kind": run.stop.kind,
        "stop_message": run.stop.message,
        "final_time": float(run.final_time),
        **{n: run.statistics[n] for n in COUNTED if n in run.statistics},
    }


def summarize_results(run: Run) -> dict[str, Any]:
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
    if run.equation is not None:
        found |= _summarize_atoms(concentration(run.final, run.equation))
    return found


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
        "atom_masses": [float(one.mass) for one in clusters],
        "atom_angles": [float(one.angle) for one in clusters],
    }
    if report.measure.dimension == 3:
        places = [one.position for one in clusters]
        found["atom_longitudes"] = [math.atan2(y, x) for x, y, _ in places]
    return found
