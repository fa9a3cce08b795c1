r"""A quantity on a ladder of grids: differences, observed orders, and how many digits hold.

With values q_1, ..., q_n on grids of spacing h_1 > ... > h_n and d_i = |q_(i+1) - q_i|, the
slopes s_i = d_i / (h_i - h_(i+1)) of an error C h^p are nearly C p g_i^(p-1), g_i the mean of
the two spacings.  So the observed order of three grids is

    p = 1 + log(s_i / s_(i+1)) / log(g_i / g_(i+1)),

which is exact for orders 1 and 2, and between doublings log2 (d_i / d_(i+1)).  Richardson's
estimate of the finest value's error is d / (r^p - 1), r = h_(n-1) / h_n (Roache, J. Fluids Eng.
116 (1994)).  Here p is the smaller of the last two orders, within 1/2 and 1, and d at least
d_(n-2) / r, as a last difference may be small by accident.  Below order 1/2 differences do not
fall: at the floor of the error in time, or where nothing converges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.geometry.arcs import distances
from mfpde.notebook import Printed, format_table
from mfpde.runs.run import Run

LEAST_ORDER, LARGEST_ORDER = 0.5, 1.0
"""When atoms are born depends on the grid: a difference may be small by chance."""
LEAST_DIGITS = 2
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Converging:
    """A quantity on a ladder of grids, and how many of its digits hold.

    Its ``kind`` is ``"position"``, ``"mass"`` (of the basin), ``"core mass"`` (what of it has
    gathered), ``"merge time"`` or ``"number"`` (of atoms, of merges).  The ``values`` on grids of
    cell widths ``spacings`` (n,), decreasing, are (n,) or for positions unit vectors (n, d), NaN
    where a grid has no such atom or merge.  The ``references`` are the value by other means: of
    ``"particles"`` from the same start, and of the stationary atoms that Newton's method finds
    (``"polished"``).  An ``obstacle`` says what is known to keep it from converging.
    """

    name: str
    kind: str
    values: FloatArray
    spacings: FloatArray
    references: Mapping[str, FloatArray | float] = field(default_factory=dict)
    obstacle: str = ""

    @property
    def differences(self) -> FloatArray:
        """Angles between neighbouring grids, or absolute differences (n - 1,)."""
        return self._measure_distances(self.values[:-1], self.values[1:])

    def errors_to(self, reference: str) -> FloatArray:
        """Return the distances (n,) of the values to that of a reference."""
        return self._measure_distances(self.values, self.references[reference])

    @property
    def orders(self) -> FloatArray:
        """Observed orders of three neighbouring grids (n - 2,), infinite if the last two agree."""
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = np.log(self.differences / -np.diff(self.spacings))
            means = np.log(self.spacings[:-1] + self.spacings[1:])
            return np.asarray(1 + np.diff(slopes) / np.diff(means))

    @property
    def order(self) -> float:
        """The smaller of the last two observed orders, infinite if there is none."""
        return float(np.fmin.reduce(self.orders[-2:], initial=np.inf))

    @property
    def error(self) -> float:
        """Estimated error of the value on the finest grid; NaN where there is no estimate."""
        if len(self.spacings) <= 2:
            return np.nan
        before, last = self.differences[-2:]
        ratio = self.spacings[-2] / self.spacings[-1]
        larger = np.maximum(last, before / ratio)
        order = np.clip(self.order, LEAST_ORDER, LARGEST_ORDER)
        return float(larger / (ratio**order - 1))

    @property
    def digits(self) -> int:
        """Decimals of positions (radians) and masses that hold, significant digits of times."""
        if self.obstacle or np.isnan(self.error):
            return 0
        scale = abs(float(self.values[-1])) if self.kind == "merge time" else 1.0
        return max(int(np.floor(-np.log10(max(self.error, EPS) / scale))), 0)

    @property
    def converged(self) -> bool:
        """Whether at least two digits hold."""
        return self.digits >= LEAST_DIGITS

    @property
    def verdict(self) -> str:
        """The value on the finest grid with the digits that hold, or why it has not converged."""
        fall = "differences do not fall, " if self.order < LEAST_ORDER else ""
        words = f"{fall}order {self.order:.2g}, estimated error {self.error:.1e}"
        if self.converged:
            value = self.write_value(-1, max(self.digits + 1, 3))
            if self.error == 0:
                return f"{value}: the same on the last three grids"
            unit = "digits" if self.kind == "merge time" else "decimals"
            return f"{value}: converged to {self.digits} {unit} ({words})"
        reason = self.obstacle or f"{words}: too large"
        if len(self.spacings) <= 2:
            reason = "fewer than 3 grids"
        elif np.isnan(self.error):
            reason = "not there on each of the three finest grids"
        return f"NOT converged: {reason}"

    def write_value(self, grid: int, digits: int) -> str:
        """Write the value on a grid: of a position on the circle its angle, else coordinates."""
        value = np.atleast_1d(self.values[grid])
        if self.kind == "position" and len(value) == 2:
            value = np.mod(np.arctan2(value[1:], value[:1]), 2 * np.pi)
        return " ".join("-" if np.isnan(x) else f"{x:.{digits}g}" for x in value)

    def _measure_distances(
        self, one: FloatArray, other: FloatArray | float
    ) -> FloatArray:
        """Return angles of unit vectors (n, d) for positions, else absolute differences (n,)."""
        if self.kind == "position":
            return distances(one, np.asarray(other))
        return np.asarray(np.abs(one - other))


@dataclass(frozen=True, eq=False, repr=False)
class AtomConvergence(Printed):
    """One run on a ladder of grids, and how far its atoms have converged.

    Attributes
    ----------
    equation, grids, runs
        The equation, the grids, coarsest first, and the run on each.
    quantities
        The number of atoms, then position, mass of the basin and mass in the core of each
        atom of the finest grid, heaviest first, then its merges in their order.
    notes
        Notes for the reader: on the references, and on grids too coarse for beta.
    """

    equation: MeanFieldEquation
    grids: tuple[Geometry, ...]
    runs: tuple[Run, ...]
    quantities: tuple[Converging, ...]
    notes: tuple[str, ...]

    @property
    def converged(self) -> bool:
        """Whether every quantity has converged to two digits at least."""
        return all(quantity.converged for quantity in self.quantities)

    def of_kind(self, kind: str) -> tuple[Converging, ...]:
        """Quantities of one kind: ``"position"``, ``"mass"``, ``"core mass"``, ..."""
        return tuple(q for q in self.quantities if q.kind == kind)

    def __str__(self) -> str:
        lines = [
            f"{self.equation}, {self.equation.convention}",
            f"{', '.join(map(repr, self.grids))}; t = {self.runs[-1].final_time:g}",
            *self.notes,
        ]
        for quantity in self.quantities:
            columns: dict[str, Iterable[Any]] = {
                "cells": [" x ".join(map(str, grid.shape)) for grid in self.grids],
                "value": [quantity.write_value(k, 12) for k in range(len(self.grids))],
                "difference": [np.nan, *quantity.differences],
                "order": [np.nan, np.nan, *quantity.orders][: len(self.grids)],
                **{name: quantity.errors_to(name) for name in quantity.references},
            }
            table = format_table([*columns], zip(*columns.values(), strict=True))
            lines += ["", f"{quantity.name}  {quantity.verdict}", table]
        return "\n".join(lines)
