"""The result of ``minimize``: the minimiser, its kind, and its certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import Atoms, Density
from mfpde.notebook import Printed
from mfpde.stationary.certification import Certificate
from mfpde.stationary.ring_minimizer import Rings

KINDS = ("atoms", "density", "ring", "spread")
MOST_ROWS = 24


@dataclass(frozen=True, eq=False, repr=False)
class Minimum(Printed):
    """The minimiser of E in descent, with a certificate.

    Attributes
    ----------
    equation
        The equation.
    measure
        Atoms or a density of mass 1 whose energy is within ``gap`` of the minimum.
    kind
        ``"atoms"``: point masses whose positions and masses are determined by a
        well-conditioned system; ``"density"``: F is constant on the sphere; ``"ring"``:
        circles around an axis (and perhaps its poles), each drawn as equal atoms;
        ``"spread"``: the atoms of ``measure`` have the energy, but their system is
        ill-conditioned: they stand for a curve or for more mass than they can show.
    certificate
        Energy, gap, and the lower bound of F.
    condition
        Condition number of the system of positions and masses; None for a density.
    rings
        Angles and masses of the rings, if the kind is ``"ring"``.
    """

    equation: MeanFieldEquation
    measure: Atoms | Density
    kind: str
    certificate: Certificate
    condition: float | None
    rings: Rings | None = None

    @property
    def energy(self) -> float:
        """Energy E of the measure."""
        return self.certificate.energy

    @property
    def gap(self) -> float:
        """Largest possible difference between the energy and the smallest one."""
        return self.certificate.gap

    @property
    def lower_bound(self) -> float:
        """Lower bound of the energy of all measures of mass 1."""
        return self.certificate.lower_bound

    @property
    def atoms(self) -> Atoms | None:
        """The minimiser's atoms; None if its kind is not ``"atoms"``."""
        is_atomic = self.kind == "atoms" and isinstance(self.measure, Atoms)
        return self.measure if is_atomic else None  # type: ignore[return-value]

    def __str__(self) -> str:
        lines = [
            f"{self.equation}, {self.equation.convention}",
            f"minimum: {self.kind}; {self.certificate}",
        ]
        if self.condition is not None:
            lines.append(f"condition of positions and masses: {self.condition:.1e}")
        return "\n".join([*lines, *self._table()])

    def _table(self) -> list[str]:
        if self.kind == "density":
            assert isinstance(self.measure, Density)
            values = self.measure.values * self.measure.geometry.areas.sum()
            return [
                f"density over the uniform one: {values.min():.6g} to {values.max():.6g}"
            ]
        if self.rings is not None:
            axis = " ".join(f"{x:.7f}" for x in self.rings.axis)
            pairs = zip(self.rings.angles, self.rings.masses, strict=True)
            return [
                f"axis {axis}",
                f"{'ring':>4} {'angle/pi':>12} {'mass':>11}",
                *(
                    f"{i:4d} {t / np.pi:12.9f} {m:11.8f}"
                    for i, (t, m) in enumerate(pairs)
                ),
            ]
        assert isinstance(self.measure, Atoms)
        return _atom_rows(self.measure)


def _atom_rows(atoms: Atoms) -> list[str]:
    shown = min(len(atoms), MOST_ROWS)
    if atoms.dimension == 2:
        turns = np.mod(np.arctan2(atoms.points[:, 1], atoms.points[:, 0]) / np.pi, 2.0)
        places = [f"{turn:12.9f}" for turn in turns]
        title = f"{'angle/pi':>12}"
    else:
        rounded = np.round(atoms.points, 7) + 0.0
        places = [" ".join(f"{x:10.7f}" for x in row) for row in rounded]
        title = " ".join(f"{f'x{k + 1}':>10}" for k in range(atoms.dimension))
    rows = [f"{'atom':>4} {title} {'mass':>11}"]
    rows += [f"{i:4d} {places[i]} {atoms.masses[i]:11.8f}" for i in range(shown)]
    if shown < len(atoms):
        rows.append(f"and {len(atoms) - shown} more")
    return rows
