"""The result of a convergence study: the runs, each quantity, and both in words and tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.notebook import Printed, format_table
from mfpde.runs.run import Run
from mfpde.stationary import PolishedAtoms
from mfpde.studies.quantity import Converging


@dataclass(frozen=True, eq=False, repr=False)
class AtomConvergence(Printed):
    """One run on a ladder of grids, and how far its atoms have converged.

    Attributes
    ----------
    equation
        The equation.
    grids, runs
        The grids, coarsest first, and the run on each.
    quantities
        The number of atoms, then position, mass of the basin and mass in the core of each
        atom of the finest grid, heaviest first, then its merges in their order.
    particles
        The particles from the same start, or None.
    polished
        The stationary atoms beside those of the finest grid, or None.
    notes
        Notes for the reader: on grids too coarse for beta, and on references that are missing.
    """

    equation: MeanFieldEquation
    grids: tuple[Geometry, ...]
    runs: tuple[Run, ...]
    quantities: tuple[Converging, ...]
    particles: Run | None
    polished: PolishedAtoms | None
    notes: tuple[str, ...]

    @property
    def spacings(self) -> FloatArray:
        """Cell widths (n,) of the grids, in radians."""
        return np.array([grid.spacing for grid in self.grids])

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
        ]
        if self.particles is not None:
            numbers = self.particles.statistics
            lines.append(
                f"particles: {numbers.get('particles')} ({numbers.get('method')}), "
                f"{self.particles.reason}"
            )
        if self.polished is not None:
            lines.append(f"polished: {self.polished.message}")
        lines += [f"note: {note}" for note in self.notes]
        for quantity in self.quantities:
            lines += ["", quantity.name, _table(self.grids, quantity)]
        width = max(len(quantity.name) for quantity in self.quantities)
        verdicts = [f"{q.name:<{width}}  {_verdict(q)}" for q in self.quantities]
        return "\n".join([*lines, "", *verdicts])


def _table(grids: tuple[Geometry, ...], quantity: Converging) -> str:
    """Return a table with a line for each grid, without columns that are empty."""
    numbers: dict[str, Iterable[float]] = {
        "difference": [np.nan, *quantity.differences],
        "order": [np.nan, np.nan, *quantity.orders][: len(grids)],
        "particles": quantity.particle_errors,
        "polished": quantity.polished_errors,
    }
    columns: dict[str, Iterable[Any]] = {
        "cells": [" x ".join(map(str, grid.shape)) for grid in grids],
        "value": [_value_text(quantity, k, digits=12) for k in range(len(grids))],
        **{name: row for name, row in numbers.items() if not all(map(np.isnan, row))},
    }
    return format_table([*columns], zip(*columns.values(), strict=True))


def _value_text(quantity: Converging, k: int, *, digits: int) -> str:
    """Return the value on grid ``k``: of a position on the circle the angle, else coordinates."""
    value = np.atleast_1d(quantity.values[k])
    if quantity.kind == "position" and len(value) == 2:
        value = np.mod(np.arctan2(value[1:], value[:1]), 2 * np.pi)
    return " ".join("-" if np.isnan(x) else f"{x:.{digits}g}" for x in value)


def _verdict(quantity: Converging) -> str:
    if not quantity.converged:
        return f"NOT converged: {quantity.reason}"
    last = len(quantity.values) - 1
    digits = quantity.digits
    if quantity.kind == "number":
        return f"{_value_text(quantity, last, digits=digits)}: {quantity.reason}"
    unit = "digits" if quantity.kind == "merge time" else "decimals"
    value = _value_text(quantity, last, digits=max(digits + 1, 3))
    # At the floor of the error in time no order shows, though the digits agree.
    word = "converged" if np.isfinite(quantity.order) else "the grids agree"
    return f"{value}: {word} to {digits} {unit} ({quantity.reason})"
