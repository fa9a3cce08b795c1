r"""A quantity on a ladder of grids: differences, observed orders, and how many digits hold.

With values q_1, ..., q_n on grids of spacing h_1 > ... > h_n and d_i = |q_(i+1) - q_i|, the
observed order p of three consecutive grids solves

    d_i / d_(i+1) = (h_i^p - h_(i+1)^p) / (h_(i+1)^p - h_(i+2)^p)

(p = log2 (d_i / d_(i+1)) between doublings), and Richardson's estimate of the finest
value's error is d / (r^p - 1), r = h_(n-1) / h_n (Roache, J. Fluids Eng. 116 (1994)).  It
is used with care: the order is the smaller of the last two, at most 1, and d is at least 1/4 of
the difference before it, since a last difference may be small by accident.  Where
differences do not fall (p < 1/2: at the floor of the error in time, or where nothing
converges) ten times the larger of the last two stands for the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from mfpde.arrays import FloatArray
from mfpde.measures.measure import Atoms
from mfpde.studies.final_atoms import Seen, matched

LEAST_GRIDS = 3
LEAST_ORDER = 0.5
# When atoms are born depends on the grid: a difference may be small by chance.
LARGEST_ORDER = 1.0
LARGEST_FALL = 4.0
STAGNATION = 10.0
LEAST_DIGITS = 2
ROUNDING = 1e-12
STEEPEST = 40.0
FLAT = 1e-8


@dataclass(frozen=True, eq=False)
class Converging:
    """A quantity on a ladder of grids.

    Attributes
    ----------
    name
        Name of the quantity, with the atom's number: ``"position of atom 1"``.
    kind
        ``"position"``, ``"mass"`` (of the basin), ``"core mass"`` (what of it has
        gathered), ``"merge time"`` or ``"number"`` (of atoms, of merges).
    values
        Values on each grid, coarsest first: (n,) or for positions unit vectors (n, d); NaN where
        a grid has no such atom or merge.
    differences
        Between neighbouring grids (n - 1,): angles, or absolute differences.
    orders
        Observed orders of three neighbouring grids (n - 2,).
    error
        Estimated error of the value on the finest grid; NaN where there is no estimate.
    digits
        Digits that hold: decimals of positions (radians) and masses, significant digits of
        times.  0 where it has not converged.
    reason
        Why it has converged, or has not, in words.
    particle_errors, polished_errors
        Distances (n,) to particles from the same start, and to the stationary atoms that
        Newton's method finds beside those of the finest grid; NaN where there are none.
    particle_uncertainty
        Distance between that reference and one of half as many particles (of masses at
        least half a particle's); NaN without.
    """

    name: str
    kind: str
    values: FloatArray
    differences: FloatArray
    orders: FloatArray
    error: float
    digits: int
    reason: str
    particle_errors: FloatArray
    polished_errors: FloatArray
    particle_uncertainty: float = float("nan")

    @property
    def converged(self) -> bool:
        """Whether at least two digits hold."""
        return self.digits >= LEAST_DIGITS

    @property
    def order(self) -> float:
        """The smaller of the last two observed orders; NaN if differences do not fall."""
        seen = self.orders[-2:][~np.isnan(self.orders[-2:])]
        smallest = float(seen.min(initial=np.inf))
        return smallest if LEAST_ORDER <= smallest < np.inf else float("nan")


class Judgement(NamedTuple):
    """Differences (n - 1,), orders (n - 2,), estimated error, digits that hold, and why."""

    differences: FloatArray
    orders: FloatArray
    error: float
    digits: int
    reason: str


def distances(kind: str, one: FloatArray, other: FloatArray) -> FloatArray:
    """Angles between unit vectors (n, d) for positions, else absolute differences (n,)."""
    if kind != "position":
        return np.asarray(np.abs(one - other))
    chords = np.linalg.norm(one - other, axis=-1)
    return np.asarray(2 * np.arcsin(np.minimum(chords / 2, 1.0)))


def observed_orders(differences: FloatArray, spacings: FloatArray) -> FloatArray:
    """Observed orders (n - 2,); NaN where a difference is missing, infinite where it is 0."""
    return np.array(
        [
            _order(differences[k], differences[k + 1], spacings[k : k + 3])
            for k in range(len(spacings) - 2)
        ]
    )


def _order(before: float, after: float, spacings: FloatArray) -> float:
    """Order p of which three grids show the differences ``before`` and ``after``."""
    if np.isnan(before + after):
        return float("nan")
    if after == 0 or before == 0:
        return np.inf if after == 0 else -np.inf
    wanted = float(np.log(before / after))
    coarser = np.log(spacings[0] / spacings[1])
    finer = np.log(spacings[1] / spacings[2])

    def excess(order: float) -> float:
        """Log of the ratio of the two differences of q = h^order, less what is wanted."""
        if abs(order) < FLAT:
            return float(np.log(coarser / finer)) - wanted
        fall = np.log(np.expm1(order * coarser) / -np.expm1(-order * finer))
        return float(fall) - wanted

    if excess(STEEPEST) <= 0 or excess(-STEEPEST) >= 0:
        return np.inf if excess(STEEPEST) <= 0 else -np.inf
    return float(brentq(excess, -STEEPEST, STEEPEST, xtol=1e-10))


def judged(kind: str, values: FloatArray, spacings: FloatArray) -> Judgement:
    """Judge whether a quantity converges.

    Parameters
    ----------
    kind
        As in :class:`Converging`.
    values
        Values (n,) of the quantity on each grid, or unit vectors (n, d) for positions.
    spacings
        Cell widths (n,), decreasing.
    """
    found = distances(kind, values[:-1], values[1:])
    orders = observed_orders(found, spacings)

    def judgement(error: float, digits: int, reason: str) -> Judgement:
        return Judgement(found, orders, error, digits, reason)

    if len(values) < LEAST_GRIDS:
        return judgement(np.nan, 0, f"fewer than {LEAST_GRIDS} grids")
    if np.isnan(found[-2:]).any():
        return judgement(np.nan, 0, "not there on each of the three finest grids")
    scale = abs(float(values[-1])) if kind == "merge time" else 1.0
    if found[-2:].max() <= ROUNDING * max(scale, 1.0):
        digits = int(-np.log10(ROUNDING))
        return judgement(ROUNDING * scale, digits, "the same on the finest grids")
    believed = orders[-2:][~np.isnan(orders[-2:])]
    order = float(believed.min())
    if order < LEAST_ORDER:
        error = STAGNATION * float(found[-2:].max())
        why = f"differences do not fall, order {order:.2g}, but stay below {error:.1e}"
    else:
        ratio = float(spacings[-2] / spacings[-1])
        last = max(float(found[-1]), float(found[-2]) / LARGEST_FALL)
        error = last / (ratio ** min(order, LARGEST_ORDER) - 1)
        why = f"order {order:.2g}, estimated error {error:.1e}"
    digits = max(int(np.floor(-np.log10(error / scale))), 0)
    if digits < LEAST_DIGITS:
        why = f"{why}: too large"
    return judgement(error, digits, why)


@dataclass(frozen=True, eq=False)
class _Column:
    """One quantity on every grid, with each witness (NaN), and the polished value."""

    name: str
    kind: str
    values: FloatArray
    witnesses: Sequence[FloatArray] = ()
    polished: FloatArray | None = None

    def judged(self, spacings: FloatArray, grain: float) -> Converging:
        nothing = np.full(len(self.values), np.nan)
        to_particles = to_polished = nothing
        uncertainty = float("nan")
        if self.witnesses:
            to_particles = distances(self.kind, self.values, self.witnesses[0])
        if len(self.witnesses) > 1:
            pair = [np.atleast_1d(w)[np.newaxis] for w in self.witnesses[:2]]
            uncertainty = float(np.ravel(distances(self.kind, *pair))[0])
        if self.witnesses and self.kind in ("mass", "core mass"):
            # A basin's edge lies somewhere between two particles.
            uncertainty = float(np.fmax(uncertainty, grain / 2))
        if self.polished is not None:
            to_polished = distances(self.kind, self.values, self.polished)
        return Converging(
            self.name,
            self.kind,
            self.values,
            *judged(self.kind, self.values, spacings),
            particle_errors=to_particles,
            polished_errors=to_polished,
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
    counts = np.array([float(len(s.atoms)) for s in seen])
    shown = [np.array(float(len(w.atoms))) for w in witnesses]
    number = _Column("number of atoms", "number", counts, shown)
    found = _judged([number, *atoms], spacings, grain)
    merged = np.array([float(len(s.merges.times)) for s in seen])
    if merged.any():
        number = _Column("number of merges", "number", merged)
        merges = _merges(seen, witnesses, reach)
        found += _judged([number, *merges], spacings, grain)
    return tuple(found)


def _judged(
    columns: Sequence[_Column], spacings: FloatArray, grain: float
) -> list[Converging]:
    """Judge a number and its items' quantities: none converges while the number changes."""
    number, *counted = (column.judged(spacings, grain) for column in columns)
    if number.converged:
        return [number, *counted]
    reason = f"the {number.name} changes from grid to grid"
    return [number, *(replace(q, digits=0, reason=reason) for q in counted)]


def _atoms(
    seen: Sequence[Seen],
    witnesses: Sequence[Seen],
    *,
    reach: float,
    polished: Atoms | None,
) -> list[_Column]:
    base = seen[-1].atoms
    points, masses, core_masses = [], [], []
    for atoms in (s.atoms for s in (*seen, *witnesses)):
        pairs = matched(atoms, base, reach)
        points.append(_aligned(atoms.points, base.points, pairs))
        masses.append(_aligned(atoms.masses, base.masses, pairs))
        core_masses.append(_aligned(atoms.core_masses, base.masses, pairs))
    count = len(seen)
    columns = []
    for k in range(len(base)):
        place = None if polished is None else polished.points[k]
        for kind, values, goal in (
            ("position", points, place),
            ("mass", masses, None),
            ("core mass", core_masses, None),
        ):
            name = f"{kind} of atom {k + 1}"
            column = np.stack([row[k] for row in values])
            columns.append(
                _Column(name, kind, column[:count], list(column[count:]), goal)
            )
    return columns


def _aligned(values: FloatArray, base: FloatArray, pairs: dict[int, int]) -> FloatArray:
    """Rows of ``values`` in the order of those of ``base``; NaN where there is none."""
    rows = np.full(base.shape, np.nan)
    for k, index in pairs.items():
        rows[k] = values[index]
    return rows


def _merges(
    seen: Sequence[Seen], witnesses: Sequence[Seen], reach: float
) -> list[_Column]:
    base = seen[-1].merges
    found = [s.merges for s in (*seen, *witnesses)]
    times = np.stack(
        [_aligned(m.times, base.times, matched(m, base, reach)) for m in found]
    )
    shown = [row for row in times[len(seen) :] if not np.isnan(row).all()]
    return [
        _Column(
            f"time of merge {k + 1}",
            "merge time",
            times[: len(seen), k],
            [row[k] for row in shown],
        )
        for k in range(len(base.times))
    ]
