"""The result of a convergence study: the runs, each quantity, and both in words and tables."""

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

_DIGIT_NAMES = {"merge time": "digits"}


def _verdict(quantity: Converging) -> str:
    unit = _DIGIT_NAMES.get(quantity.kind, "decimals")
    if not quantity.converged:
        return f"NOT converged: {quantity.reason}"
    last = len(quantity.values) - 1
    if quantity.kind == "number":
        return f"{value_text(quantity, last)}: {quantity.reason}"
    value = value_text(quantity, last, digits=max(quantity.digits + 1, 3))
    # At the floor of the error in time no order shows, though the digits agree.
    word = "converged" if np.isfinite(quantity.order) else "the grids agree"
    return f"{value}: {word} to {quantity.digits} {unit} ({quantity.reason})"


def _quantity_lines(grids: tuple[Geometry, ...], quantity: Converging) -> list[str]:
    header = ("cells", "value", "difference", "order", "particles", "polished")
    rows = [header]
    for k, grid in enumerate(grids):
        rows.append(
            (
                " x ".join(map(str, grid.shape)),
                value_text(quantity, k),
                _shown(quantity.differences[k - 1] if k else np.nan),
                _shown(quantity.orders[k - 2] if k > 1 else np.nan, ".2f"),
                _shown(quantity.particle_errors[k]),
                _shown(quantity.polished_errors[k]),
            )
        )
    kept = [c for c in range(len(header)) if any(row[c] != "-" for row in rows[1:])]
    widths = [max(len(row[c]) for row in rows) for c in kept]
    table = [
        "  " + "  ".join(row[c].rjust(w) for c, w in zip(kept, widths, strict=True))
        for row in rows
    ]
    uncertain = quantity.particle_uncertainty
    known = "" if np.isnan(uncertain) else f" (particles known to {uncertain:.1e})"
    return [quantity.name + known, *table]


def _shown(number: float, form: str = ".2e") -> str:
    return "-" if np.isnan(number) else f"{number:{form}}"


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
        lines = [
            f"{self.equation}, {self.equation.convention}",
            f"atoms={self.mode!r} on {', '.join(map(repr, self.grids))}; t = "
            f"{self.runs[-1].final_time:g}",
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
            lines += ["", *_quantity_lines(self.grids, quantity)]
        width = max(len(quantity.name) for quantity in self.quantities)
        verdicts = [f"{q.name:<{width}}  {_verdict(q)}" for q in self.quantities]
        return "\n".join([*lines, "", *verdicts])

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
