"""Quantities that may converge, from the atoms and merges on each grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.measures.measure import Atoms
from mfpde.studies.ladder import FinalAtoms, Merges, matched
from mfpde.studies.quantity import Converging, distances, judged


@dataclass(frozen=True, eq=False)
class Seen:
    """The atoms of a run at its end, and its merges."""

    atoms: FinalAtoms
    merges: Merges


@dataclass(frozen=True, eq=False)
class _Column:
    """One quantity on every grid, with each witness (NaN), and the polished value."""

    name: str
    kind: str
    values: FloatArray
    witnesses: list[FloatArray]
    polished: FloatArray | None = None

    def judged(self, spacings: FloatArray, grain: float) -> Converging:
        differences, orders, error, digits, reason = judged(
            self.kind, self.values, spacings
        )
        nothing = np.full(len(self.values), np.nan)
        to_particles, uncertainty = nothing, float("nan")
        if self.witnesses:
            to_particles = distances(self.kind, self.values, self.witnesses[0])
        if len(self.witnesses) > 1:
            pair = [np.atleast_1d(w)[np.newaxis] for w in self.witnesses[:2]]
            uncertainty = float(np.ravel(distances(self.kind, *pair))[0])
        if self.witnesses and self.kind in ("mass", "core mass"):
            # A basin's edge lies somewhere between two particles.
            uncertainty = float(np.fmax(uncertainty, grain / 2))
        return Converging(
            name=self.name,
            kind=self.kind,
            values=self.values,
            differences=differences,
            orders=orders,
            error=error,
            digits=digits,
            reason=reason,
            particle_errors=to_particles,
            polished_errors=nothing
            if self.polished is None
            else distances(self.kind, self.values, self.polished),
            particle_uncertainty=uncertainty,
        )


def quantities_of(
    seen: Sequence[Seen],
    spacings: FloatArray,
    *,
    reach: float,
    witnesses: Sequence[Seen],
    grain: float,
    polished: Atoms | None,
) -> tuple[Converging, ...]:
    """Quantities and whether they converge, named by the atoms of the finest grid.

    They are the numbers of atoms and merges, and the positions, masses of basins and of cores,
    and merge times.

    Parameters
    ----------
    seen
        Atoms and merges on each grid, coarsest first.
    spacings
        Cell widths (n,).
    reach
        Atoms and merges further apart than this are not the same.
    witnesses
        Particles: the reference, and one of half as many; or none.
    grain
        Mean mass of a particle.
    polished
        Stationary atoms, in the order of the finest grid's.
    """
    atoms = _atoms(seen, witnesses, reach=reach, polished=polished)
    judged_columns = _judged(
        [_number_of_atoms(seen, witnesses), *atoms], spacings, grain
    )
    merged = np.array([float(len(s.merges.times)) for s in seen])
    if merged.any():
        number = _Column("number of merges", "number", merged, [])
        judged_columns += _judged(
            [number, *_merges(seen, witnesses, reach)], spacings, grain
        )
    return tuple(judged_columns)


def _judged(
    columns: Sequence[_Column], spacings: FloatArray, grain: float
) -> list[Converging]:
    """Judge a number and its items' quantities: none converges while the number changes."""
    number, *counted = (column.judged(spacings, grain) for column in columns)
    if number.converged:
        return [number, *counted]
    reason = f"the {number.name} changes from grid to grid"
    return [number, *(replace(q, digits=0, reason=reason) for q in counted)]


def _number_of_atoms(seen: Sequence[Seen], witnesses: Sequence[Seen]) -> _Column:
    counts = np.array([float(len(s.atoms)) for s in seen])
    told = [np.array(float(len(w.atoms))) for w in witnesses]
    return _Column("number of atoms", "number", counts, told)


def _atoms(
    seen: Sequence[Seen],
    witnesses: Sequence[Seen],
    *,
    reach: float,
    polished: Atoms | None,
) -> list[_Column]:
    base = seen[-1].atoms
    found = [_rows_of(s.atoms, base, reach) for s in (*seen, *witnesses)]
    points = np.stack([row.points for row in found])
    masses = np.stack([row.masses for row in found])
    core_masses = np.stack([row.core_masses for row in found])
    count = len(seen)
    columns = []
    for k in range(len(base)):
        place = None if polished is None else polished.points[k]
        for kind, values, goal in (
            ("position", points[:, k], place),
            ("mass", masses[:, k], None),
            ("core mass", core_masses[:, k], None),
        ):
            name = f"{kind} of atom {k + 1}"
            columns.append(
                _Column(name, kind, values[:count], list(values[count:]), goal)
            )
    return columns


def _rows_of(atoms: FinalAtoms, base: FinalAtoms, reach: float) -> FinalAtoms:
    """The atoms that match those of ``base``, in its order; NaN where there is none."""
    points = np.full(base.points.shape, np.nan)
    masses, core_masses = np.full((2, len(base)), np.nan)
    pairs = matched((atoms.points, atoms.masses), (base.points, base.masses), reach)
    for k, index in pairs.items():
        points[k], masses[k] = atoms.points[index], atoms.masses[index]
        core_masses[k] = atoms.core_masses[index]
    return FinalAtoms(points, masses, core_masses)


def _merges(
    seen: Sequence[Seen], witnesses: Sequence[Seen], reach: float
) -> list[_Column]:
    base = seen[-1].merges
    times = np.stack([_times_of(s.merges, base, reach) for s in (*seen, *witnesses)])
    told = [row for row in times[len(seen) :] if not np.isnan(row).all()]
    return [
        _Column(
            f"time of merge {k + 1}",
            "merge time",
            times[: len(seen), k],
            [row[k] for row in told],
        )
        for k in range(len(base.times))
    ]


def _times_of(merges: Merges, base: Merges, reach: float) -> FloatArray:
    """Times (k,) of the merges that match those of ``base``; NaN where there is none."""
    times = np.full(len(base.times), np.nan)
    pairs = matched((merges.points, merges.masses), (base.points, base.masses), reach)
    for k, index in pairs.items():
        times[k] = merges.times[index]
    return times
