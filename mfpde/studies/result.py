"""The result of a convergence study: the runs, each quantity, and tables."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.notebook import Printed
from mfpde.runs.run import Run
from mfpde.stationary import PolishedAtoms
from mfpde.studies.quantity import Converging

COLUMNS = (
    "quantity",
    "kind",
    "grid",
    "spacing",
    "value",
    "difference",
    "order",
    "particle_error",
    "polished_error",
    "error_estimate",
    "digits",
    "reason",
)


@dataclass(frozen=True, eq=False, repr=False)
class AtomConvergence(Printed):
    """One run on a ladder of grids, and how far its atoms have converged.

    Attributes
    ----------
    equation
        The equation.
    mode
        How atoms were followed: ``"exact"`` or ``"grid"``.
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
    mode: str
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
        from mfpde.studies.text import study_text

        return study_text(self)

    def write_csv(self, path: str | Path) -> None:
        """Write one line for each quantity and grid, with the columns :data:`COLUMNS`.

        A value is a number; of a position on the circle the angle, else the coordinates
        with spaces between.
        """
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for quantity in self.quantities:
                for k, grid in enumerate(self.grids):
                    writer.writerow(_row(quantity, k, grid))


def value_text(quantity: Converging, k: int, *, digits: int = 12) -> str:
    """Return the value on grid ``k`` as text."""
    value = np.atleast_1d(quantity.values[k])
    if quantity.kind == "position" and len(value) == 2:
        value = np.mod(np.arctan2(value[1:], value[:1]), 2 * np.pi)
    return " ".join("-" if np.isnan(x) else f"{x:.{digits}g}" for x in value)


def _row(quantity: Converging, k: int, grid: Geometry) -> list[object]:
    is_finest = k == len(quantity.values) - 1
    return [
        quantity.name,
        quantity.kind,
        repr(grid),
        grid.spacing,
        value_text(quantity, k, digits=17),
        quantity.differences[k - 1] if k else "",
        quantity.orders[k - 2] if k > 1 else "",
        quantity.particle_errors[k],
        quantity.polished_errors[k],
        quantity.error if is_finest else "",
        quantity.digits if is_finest else "",
        quantity.reason if is_finest else "",
    ]
