r"""A quantity on a ladder of grids: differences, observed orders, and how many digits hold.

With values q_1, ..., q_n on grids of spacing h_1 > ... > h_n and d_i = |q_(i+1) - q_i|, the
slopes s_i = d_i / (h_i - h_(i+1)) of an error C h^p are nearly C p g_i^(p-1) with g_i the mean of
the two spacings, so that the observed order of three grids is

    p = 1 + log(s_i / s_(i+1)) / log(g_i / g_(i+1)),

which is exact for orders 1 and 2, and between doublings log2 (d_i / d_(i+1)).  Richardson's
estimate of the finest value's error is d / (r^p - 1), r = h_(n-1) / h_n (Roache, J. Fluids Eng.
116 (1994)).  It is used with care: the order is the smaller of the last two, at most 1, and d is
at least what the difference before it leaves at order 1, d_(n-2) / r, since a last difference may
be small by accident.  Where differences do not fall (p < 1/2: at the floor of the error in time,
or where nothing converges) ten times the larger of the last two stands for the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.studies.landmarks import Landmarks

LEAST_ORDER, LARGEST_ORDER = 0.5, 1.0
"""When atoms are born depends on the grid: a difference may be small by chance."""
STAGNATION = 10.0
LEAST_DIGITS = 2
EPS = float(np.finfo(float).eps)


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
        Observed orders of three neighbouring grids (n - 2,): infinite where the second
        difference is 0, NaN where one is missing or both are 0.
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


def compare_grids(
    found: Sequence[Landmarks],
    spacings: FloatArray,
    *,
    reach: float,
    particles: Landmarks | None = None,
    polished: FloatArray | None = None,
) -> list[Converging]:
    """Return the number of atoms (or merges) and their quantities, judged.

    They are named by the atoms of the finest grid; none converges while the number changes.

    Parameters
    ----------
    found
        Atoms, or merges, on each grid, coarsest first.
    spacings
        Cell widths (n,).
    reach
        Two further apart than this, in radians, are not the same.
    particles
        Those that particles show.
    polished
        Positions (k, d) of stationary atoms, in the order of the finest grid's.
    """
    finest = found[-1]
    aligned = [finest.align(landmarks, reach) for landmarks in found]
    unknown = {kind: np.full(len(finest), np.nan) for kind in finest.values}
    witness = unknown if particles is None else finest.align(particles, reach)
    stationary = unknown if polished is None else unknown | {"position": polished}
    number = judge(
        f"number of {finest.name}s",
        "number",
        np.array([float(len(landmarks)) for landmarks in found]),
        spacings,
        particles=np.nan if particles is None else len(particles),
    )
    quantities = [
        judge(
            f"{kind.removeprefix('merge ')} of {finest.name} {k + 1}",
            kind,
            np.stack([values[kind][k] for values in aligned]),
            spacings,
            particles=witness[kind][k],
            polished=stationary[kind][k],
        )
        for k in range(len(finest))
        for kind in finest.values
    ]
    if not number.converged:
        reason = f"the {number.name} changes from grid to grid"
        quantities = [replace(q, digits=0, reason=reason) for q in quantities]
    return [number, *quantities]


def judge(
    name: str,
    kind: str,
    values: FloatArray,
    spacings: FloatArray,
    *,
    particles: FloatArray | float = np.nan,
    polished: FloatArray | float = np.nan,
) -> Converging:
    """Judge whether a quantity converges.

    Parameters
    ----------
    name, kind
        As in :class:`Converging`.
    values
        Values (n,) of the quantity on each grid, or unit vectors (n, d) for positions.
    spacings
        Cell widths (n,), decreasing.
    particles, polished
        The same value of particles, and of polished atoms; NaN where it is not known.
    """
    differences = _measure_distances(kind, values[:-1], values[1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.log(differences / -np.diff(spacings))
        means = np.log(spacings[:-1] + spacings[1:])
        orders = 1 + np.diff(slopes) / np.diff(means)
    scale = abs(float(values[-1])) if kind == "merge time" else 1.0
    error, reason = _estimate_error(differences, orders, spacings)
    digits = 0
    if not np.isnan(error):
        digits = max(int(np.floor(-np.log10(error / scale))), 0)
        reason += ": too large" if digits < LEAST_DIGITS else ""
    return Converging(
        name,
        kind,
        values,
        differences,
        orders,
        error,
        digits,
        reason,
        _measure_distances(kind, values, particles),
        _measure_distances(kind, values, polished),
    )


def _estimate_error(
    differences: FloatArray, orders: FloatArray, spacings: FloatArray
) -> tuple[float, str]:
    """Return the estimated error of the finest value, and how it was found; NaN and why not."""
    if len(differences) < 2:
        return np.nan, "fewer than 3 grids"
    before, last = map(float, differences[-2:])
    if np.isnan(before + last):
        return np.nan, "not there on each of the three finest grids"
    if before == last == 0:
        return EPS, "the same on the finest grids"
    order = float(np.nanmin(orders[-2:]))
    if order < LEAST_ORDER:
        error = STAGNATION * max(before, last)
        return (
            error,
            f"differences do not fall, order {order:.2g}, but stay below {error:.1e}",
        )
    ratio = float(spacings[-2] / spacings[-1])
    error = max(last, before / ratio) / (ratio ** min(order, LARGEST_ORDER) - 1)
    return error, f"order {order:.2g}, estimated error {error:.1e}"


def _measure_distances(
    kind: str, one: FloatArray, other: FloatArray | float
) -> FloatArray:
    """Return angles between unit vectors (n, d) for positions, else absolute differences (n,)."""
    if kind != "position":
        return np.asarray(np.abs(one - other))
    chords = np.linalg.norm(one - other, axis=-1)
    return np.asarray(2 * np.arcsin(np.minimum(chords / 2, 1.0)))
