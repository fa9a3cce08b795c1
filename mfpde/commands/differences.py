"""What differs between two stored runs: settings, equation, origin, grid, and where they ended."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from mfpde.commands.report import zonal_distance
from mfpde.detection import concentration
from mfpde.measures.measure import Atoms, as_measure
from mfpde.measures.wasserstein import is_zonal, wasserstein_report
from mfpde.runs.run import Run
from mfpde.storage import load, stored_provenance, stored_settings

ABSENT = "-"
LONGEST = 36


class Stored(NamedTuple):
    """A stored run and its path."""

    path: str
    run: Run


class Difference(NamedTuple):
    """What two runs say of the same thing."""

    name: str
    one: str
    other: str


def differences(path: str, other: str) -> str:
    """Return a table of what differs between two stores, and the distance of their ends."""
    pair = (Stored(path, load(path)), Stored(other, load(other)))
    told = [_told(stored) for stored in pair]
    names = list(dict.fromkeys([*told[0], *told[1]]))
    rows = [
        Difference(name, told[0].get(name, ABSENT), told[1].get(name, ABSENT))
        for name in names
    ]
    rows = [row for row in rows if row.one != row.other]
    if rows:
        text = _table(Difference("", path, other), rows)
    else:
        text = "the same settings, equation, origin, grid and numbers at the end"
    return f"{text}\n\n{_distance(pair[0].run, pair[1].run)}"


def _told(stored: Stored) -> dict[str, str]:
    """Return all that is compared, by name, in words."""
    run, settings = stored.run, stored_settings(stored.path)
    found: dict[str, Any] = {}
    if settings is not None:
        # Where the results are is no matter of what they are.
        kept = {name: section for name, section in settings.items() if name != "output"}
        found |= dict(_flat(kept, ""))
    equation = run.dynamics
    found["equation"] = "user's own terms" if equation is None else str(equation)
    if equation is not None:
        found["convention"] = equation.convention
    records = stored_provenance(stored.path)
    if records:
        found |= dict(_flat(records[-1], ""))
    found["grid"] = _grid(run)
    found["stopped by"] = run.stop.kind
    for name in ("method", "steps", "rtol"):
        found[name] = run.statistics.get(name, ABSENT)
    found["final time"] = f"{run.final_time:.9g}"
    if len(run.energies):
        found["final energy"] = f"{run.energies[-1]:.12g}"
    found |= _atoms(run)
    return {name: _word(value) for name, value in found.items()}


def _flat(record: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    """Yield the entries of nested tables, with the names of the tables before theirs."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _grid(run: Run) -> str:
    if isinstance(run.final, Atoms):
        return f"{len(run.final)} particles on S^{run.final.dimension - 1}"
    return repr(as_measure(run.final).geometry)


def _atoms(run: Run) -> dict[str, str]:
    """Return verdict and number of atoms at the end, where they can be found."""
    if run.equation is None or isinstance(run.final, Atoms):
        return {}
    report = concentration(run.final, run.equation)
    return {
        "verdict": report.verdict,
        "atoms": str(len(report.atoms)),
        "forming": str(len(report.forming)),
    }


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
    return f"W1 of the last states: {found.value:.6g}{bound}"


def _table(head: Difference, rows: list[Difference]) -> str:
    """Return the rows in columns; what is too long for one goes under its name."""
    short = [r for r in rows if max(len(r.one), len(r.other)) <= LONGEST]
    lines = [head, *short]
    widths = [max(len(line[k]) for line in lines) for k in (0, 1)]
    text = [
        f"{row.name:<{widths[0]}}  {row.one:<{widths[1]}}  {row.other}" for row in lines
    ]
    for row in rows:
        if row not in short:
            text += [row.name, f"  {row.one}", f"  {row.other}"]
    return "\n".join(text)
