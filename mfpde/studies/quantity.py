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
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.studies.landmarks import Landmarks

LEAST_ORDER, LARGEST_ORDER = 0.5, 1.0
"""When atoms are born depends on the grid: a difference may be small by chance."""
STAGNATION = 10.0
LEAST_DIGITS = 2
EPS = float(np.finfo(float).eps)


class Estimate(NamedTuple):
    """The estimated error of the finest value, NaN where there is none, and how it was found."""

    error: float
    reason: str


@dataclass(frozen=True, eq=False)
class Converging:
    """A quantity on a ladder of grids, and how many of its digits hold.

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
    spacings
        Cell widths (n,), decreasing.
    particles, polished
        The same value of particles from the same start, and of the stationary atoms that
        Newton's method finds beside those of the finest grid; NaN where there is none.
    obstacle
        What is known to keep it from converging, in words.
    """

    name: str
    kind: str
    values: FloatArray
    spacings: FloatArray
    particles: FloatArray | float = np.nan
    polished: FloatArray | float = np.nan
    obstacle: str = ""

    @property
    def differences(self) -> FloatArray:
        """Angles between neighbouring grids, or absolute differences (n - 1,)."""
        return self._measure_distances(self.values[:-1], self.values[1:])

    @property
    def particle_errors(self) -> FloatArray:
        """Distances (n,) to particles from the same start."""
        return self._measure_distances(self.values, self.particles)

    @property
    def polished_errors(self) -> FloatArray:
        """Distances (n,) to the stationary atoms."""
        return self._measure_distances(self.values, self.polished)

    @property
    def orders(self) -> FloatArray:
        """Observed orders of three neighbouring grids (n - 2,).

        Infinite where the second difference is 0, NaN where one is missing or both are 0.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = np.log(self.differences / -np.diff(self.spacings))
            means = np.log(self.spacings[:-1] + self.spacings[1:])
            return np.asarray(1 + np.diff(slopes) / np.diff(means))

    @property
    def order(self) -> float:
        """The smaller of the last two observed orders; NaN if differences do not fall."""
        seen = self.orders[-2:][~np.isnan(self.orders[-2:])]
        smallest = float(seen.min(initial=np.inf))
        return smallest if LEAST_ORDER <= smallest < np.inf else float("nan")

    @property
    def error(self) -> float:
        """Estimated error of the value on the finest grid; NaN where there is no estimate."""
        return self._estimate.error

    @property
    def digits(self) -> int:
        """Digits that hold: decimals of positions (radians) and masses, significant ones of times.

        0 where it has not converged.
        """
        if self.obstacle or np.isnan(self.error):
            return 0
        scale = abs(float(self.values[-1])) if self.kind == "merge time" else 1.0
        return max(int(np.floor(-np.log10(self.error / scale))), 0)

    @property
    def converged(self) -> bool:
        """Whether at least two digits hold."""
        return self.digits >= LEAST_DIGITS

    @property
    def reason(self) -> str:
        """Why it has converged, or has not, in words."""
        if self.obstacle:
            return self.obstacle
        is_bad = not np.isnan(self.error) and not self.converged
        return self._estimate.reason + (": too large" if is_bad else "")

    @cached_property
    def _estimate(self) -> Estimate:
        if len(self.spacings) <= 2:
            return Estimate(np.nan, "fewer than 3 grids")
        before, last = map(float, self.differences[-2:])
        if np.isnan(before + last):
            return Estimate(np.nan, "not there on each of the three finest grids")
        if before == last == 0:
            return Estimate(EPS, "the same on the finest grids")
        order = float(np.nanmin(self.orders[-2:]))
        if order < LEAST_ORDER:
            error = STAGNATION * max(before, last)
            words = f"order {order:.2g}, but stay below {error:.1e}"
            return Estimate(error, f"differences do not fall, {words}")
        ratio = float(self.spacings[-2] / self.spacings[-1])
        error = max(last, before / ratio) / (ratio ** min(order, LARGEST_ORDER) - 1)
        return Estimate(error, f"order {order:.2g}, estimated error {error:.1e}")

    def _measure_distances(
        self, one: FloatArray, other: FloatArray | float
    ) -> FloatArray:
        """Return angles of unit vectors (n, d) for positions, else absolute differences (n,)."""
        if self.kind != "position":
            return np.asarray(np.abs(one - other))
        chords = np.linalg.norm(one - other, axis=-1)
        return np.asarray(2 * np.arcsin(np.minimum(chords / 2, 1.0)))


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
    number = Converging(
        f"number of {finest.name}s",
        "number",
        np.array([float(len(landmarks)) for landmarks in found]),
        spacings,
        particles=np.nan if particles is None else len(particles),
    )
    quantities = [
        Converging(
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
        quantities = [replace(q, obstacle=reason) for q in quantities]
    return [number, *quantities]
