"""What differs between two stored runs: settings, equation, origin, grid, and where they ended."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from mfpde.commands.answers import flat
from mfpde.commands.report import zonal_distance
from mfpde.detection import concentration
from mfpde.measures.measure import Atoms, as_measure
from mfpde.measures.wasserstein import is_zonal, wasserstein_report
from mfpde.runs.run import Run
from mfpde.storage import load, stored_provenance, stored_settings

ABSENT = "-"
LONGEST = 36


def differences(path: str, other: str) -> str:
    """Return a table of what differs between two stores, and the distance of their ends."""
    runs = [load(store) for store in (path, other)]
    facts = [_facts(*pair) for pair in zip((path, other), runs, strict=True)]
    names = dict.fromkeys([*facts[0], *facts[1]])
    rows = [(name, *(one.get(name, ABSENT) for one in facts)) for name in names]
    rows = [row for row in rows if row[1] != row[2]]
    text = "the same settings, equation, origin, grid and numbers at the end"
    if rows:
        text = _table([("", path, other), *rows])
    return f"{text}\n\n{_distance(*runs)}"


def _facts(path: str, run: Run) -> dict[str, str]:
    """Return all that is compared, by name, in words."""
    # Where the results are is no matter of what they are.
    settings = {**(stored_settings(path) or {})}
    settings.pop("output", None)
    found: dict[str, Any] = dict(flat(settings))
    equation = run.dynamics
    found["equation"] = "user's own terms" if equation is None else str(equation)
    if equation is not None:
        found["convention"] = equation.convention
    records = stored_provenance(path)
    found |= dict(flat(records[-1])) if records else {}
    found["grid"] = (
        f"{len(run.final)} particles on S^{run.final.dimension - 1}"
        if isinstance(run.final, Atoms)
        else repr(as_measure(run.final).geometry)
    )
    found["stopped by"] = run.stop.kind
    for name in ("method", "steps", "rtol"):
        found[name] = run.statistics.get(name, ABSENT)
    found["final time"] = f"{run.final_time:.9g}"
    if len(run.energies):
        found["final energy"] = f"{run.energies[-1]:.12g}"
    if run.equation is not None and not isinstance(run.final, Atoms):
        report = concentration(run.final, run.equation)
        found |= {"verdict": report.verdict, "atoms": len(report.atoms)}
        found["forming"] = len(report.forming)
    return {k: v if isinstance(v, str) else json.dumps(v) for k, v in found.items()}


def _distance(one: Run, other: Run) -> str:
    """Say how far the last states are apart, if they lie on one sphere."""
    a, b = one.final, other.final
    if a.dimension != b.dimension or is_zonal(a) != is_zonal(b):
        return "W1 of the last states: none, they lie on different geometries"
    if not np.isclose(a.total_mass, b.total_mass, rtol=1e-6):
        return "W1 of the last states: none, their masses differ"
    if is_zonal(a):
        return f"W1 of the last states, of polar angles: {zonal_distance(a, b):.6g}"
    if a.dimension > 3:
        return "W1 of the last states: not computed beyond S^2"
    try:
        found = wasserstein_report(a, b, order=1)
    except ImportError as error:
        return f"W1 of the last states: left out, {error}"
    bound = "" if found.method == "circle" else f" ± {found.error_bound:.2g}"
    return f"W1 of the last states: {found.value:.6g}{bound} rad"


def _table(rows: list[tuple[str, ...]]) -> str:
    """Return the rows in columns; what is too long for one goes under its name."""
    is_short = [max(map(len, row[1:])) <= LONGEST or not row[0] for row in rows]
    short = [row for row, fits in zip(rows, is_short, strict=True) if fits]
    first, second = (max(len(row[k]) for row in short) for k in (0, 1))
    text = [f"{name:<{first}}  {one:<{second}}  {other}" for name, one, other in short]
    for row, fits in zip(rows, is_short, strict=True):
        text += [] if fits else [row[0], f"  {row[1]}", f"  {row[2]}"]
    return "\n".join(text)
