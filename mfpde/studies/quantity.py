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

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from mfpde.arrays import FloatArray

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


def distances(kind: str, one: FloatArray, other: FloatArray) -> FloatArray:
    """Angles between unit vectors (n, d) for positions, else absolute differences (n,)."""
    if kind != "position":
        return np.asarray(np.abs(one - other))
    chords = np.linalg.norm(one - other, axis=-1)
    return np.asarray(2 * np.arcsin(np.minimum(chords / 2, 1.0)))


def observed_orders(differences: FloatArray, spacings: FloatArray) -> FloatArray:
    """Observed orders (n - 2,); NaN where a difference is missing, infinite where it is 0."""
    triples = zip(
        differences[:-1],
        differences[1:],
        spacings[:-2],
        spacings[1:-1],
        spacings[2:],
        strict=True,
    )
    return np.array([_order(d, e, (h1, h2, h3)) for d, e, h1, h2, h3 in triples])


def _order(before: float, after: float, spacings: tuple[float, float, float]) -> float:
    if np.isnan(before + after):
        return float("nan")
    if after == 0 or before == 0:
        return np.inf if after == 0 else -np.inf
    wanted = np.log(before / after)
    ends = [_fall(p, spacings) - wanted for p in (-STEEPEST, STEEPEST)]
    if ends[0] >= 0 or ends[1] <= 0:
        return np.inf if ends[1] <= 0 else -np.inf
    return float(
        brentq(lambda p: _fall(p, spacings) - wanted, -STEEPEST, STEEPEST, xtol=1e-10)
    )


def _fall(order: float, spacings: tuple[float, float, float]) -> float:
    """Log of the ratio of the two differences of q = h^order on three grids."""
    coarser, finer = (
        np.log(spacings[0] / spacings[1]),
        np.log(spacings[1] / spacings[2]),
    )
    if abs(order) < FLAT:
        return float(np.log(coarser / finer))
    return float(np.log(np.expm1(order * coarser) / -np.expm1(-order * finer)))


def judged(
    kind: str, values: FloatArray, spacings: FloatArray
) -> tuple[FloatArray, FloatArray, float, int, str]:
    """Return differences, orders, estimated error, digits that hold, and why.

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
    none = float("nan")
    if len(values) < LEAST_GRIDS:
        return found, orders, none, 0, f"fewer than {LEAST_GRIDS} grids"
    if np.isnan(found[-2:]).any():
        return found, orders, none, 0, "not there on each of the three finest grids"
    scale = abs(float(values[-1])) if kind == "merge time" else 1.0
    if found[-2:].max() <= ROUNDING * max(scale, 1.0):
        digits = int(-np.log10(ROUNDING))
        return found, orders, ROUNDING * scale, digits, "the same on the finest grids"
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
        return found, orders, error, digits, f"{why}: too large"
    return found, orders, error, digits, why
