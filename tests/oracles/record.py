"""Store what the cases compute today: ``python -m oracles.record`` in the folder of the tests.

Words given to it choose the cases in whose names they are; the numbers of the others stay.

A file of numbers and the tolerance of each quantity stands beside this one.  The tolerance is for
changes of structure, which round otherwise: the larger of the group's own and 100 times the
response to a relative change of 1e-14 of the start.  A quantity whose response makes that larger
than 1e-8 is unstable and is left out.  Texts and flags are compared as they are.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from oracles.measure_cases import TRACKS, VERDICTS
from oracles.picture_cases import CASES as PICTURES
from oracles.quantities import NUDGE, Case, Quantities
from oracles.run_cases import CASES as RUNS
from oracles.state_cases import BRANCHES, CLOSED_FORMS, MINIMA, POLISHED

FILE = Path(__file__).with_name("oracles.npz")
MOST_RESPONSE = 1e-8


class Group(NamedTuple):
    """Cases with the least tolerance of their numbers: relative to the largest, or absolute."""

    cases: list[Case]
    tolerance: float
    is_relative: bool = True


GROUPS = {
    "runs": Group(RUNS, 1e-11),
    "tracks": Group(TRACKS, 1e-11),
    "verdicts": Group(VERDICTS, 0.02, is_relative=False),
    "minima": Group(MINIMA, 1e-12),
    "polished": Group(POLISHED, 1e-9),
    "branches": Group(BRANCHES, 1e-8),
    "theory": Group(CLOSED_FORMS, 1e-12),
    "pictures": Group(PICTURES, 1e-9),
}


class Oracle(NamedTuple):
    """What was computed for a quantity, and how far another computation may be from it."""

    value: np.ndarray
    tolerance: float


def size_of(value: np.ndarray) -> float:
    """Return the largest absolute value, 0 of an empty array."""
    return float(np.max(np.abs(np.nan_to_num(value)), initial=0.0))


def oracles_of(group: Group, case: Case) -> Iterator[tuple[str, Oracle]]:
    """Compute the quantities of a case, those that are stable, with their tolerances."""
    first = case.compute(0.0)
    second = case.compute(NUDGE) if group.is_relative else first
    for name, value in first.items():
        other = second[name]
        if value.dtype.kind in "Ub" or not value.size:
            if np.any(value != other):
                sys.stderr.write(f"{case.name}: {name} is not the same after a nudge\n")
            else:
                yield name, Oracle(value, 0.0)
            continue
        response = size_of(value - other) if value.shape == other.shape else np.inf
        scale = size_of(value) if group.is_relative else 1.0
        tolerance = max(group.tolerance * scale, 100 * response)
        if group.is_relative and tolerance > MOST_RESPONSE * scale:
            sys.stderr.write(f"{case.name}: {name} is unstable\n")
        else:
            yield name, Oracle(value, tolerance)


def write_oracles(words: list[str]) -> None:
    """Compute the cases in whose names one of ``words`` is, or all without any; write the file."""
    index, numbers = [], []
    stored = read_oracles() if words else {}
    for group_name, group in GROUPS.items():
        for case in group.cases:
            if words and not any(word in case.name for word in words):
                oracles = stored[group_name, case.name].items()
            else:
                oracles = oracles_of(group, case)
            for name, (value, tolerance) in oracles:
                entry = [group_name, case.name, name, tolerance, list(value.shape)]
                if value.dtype.kind == "U":
                    index.append([*entry, "text", str(value)])
                    continue
                kind = "complex" if value.dtype.kind == "c" else "float"
                index.append([*entry, kind, None])
                numbers.append(np.ascontiguousarray(value, kind).view(float).ravel())
        sys.stderr.write(f"{group_name}: {len(group.cases)}\n")
    np.savez_compressed(
        FILE, index=np.array(json.dumps(index)), numbers=np.concatenate(numbers)
    )


def read_oracles() -> dict[tuple[str, str], dict[str, Oracle]]:
    with np.load(FILE) as stored:
        index, numbers = json.loads(str(stored["index"])), stored["numbers"]
    found: dict[tuple[str, str], dict[str, Oracle]] = {}
    position = 0
    for group, case, name, tolerance, shape, kind, text in index:
        if kind == "text":
            value = np.array(text)
        else:
            size = int(np.prod(shape)) * (2 if kind == "complex" else 1)
            value = numbers[position : position + size].view(kind).reshape(shape)
            position += size
        found.setdefault((group, case), {})[name] = Oracle(value, tolerance)
    return found


def differences(expected: dict[str, Oracle], computed: Quantities) -> list[str]:
    """Return what of the computed quantities is further from the oracles than may be."""
    found = []
    for name, (value, tolerance) in expected.items():
        other = computed[name]
        if value.dtype.kind == "U":
            if str(other) != str(value):
                found.append(f"{name}: {other} instead of {value}")
        elif other.shape != value.shape:
            found.append(f"{name}: shape {other.shape} instead of {value.shape}")
        elif not np.allclose(other, value, rtol=0, atol=tolerance, equal_nan=True):
            apart = np.nanmax(np.abs(other - value))
            found.append(f"{name}: {apart:.3g} apart, at most {tolerance:.3g}")
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write_oracles(sys.argv[1:])
