"""What a search for concentrations reports, and what it calls an atom."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mfpde.arrays import FloatArray

Kind = Literal["atom", "forming", "ring", "spread"]
Place = Literal["circle", "sphere", "zonal"]

NARROW = 1.2
"""An atom's rms radius in each direction, in cells, is at most this."""
PEAKED = 0.7
"""A core is a peak if its rms radius is below this share of that of evenly spread mass."""
NARROW_WITHOUT_GRID = 1e-3
"""Largest rms radius of an atom, in radians, where there are no cells."""
REST = 1e-12
"""Speeds below this, in units of the largest (at least 1), have no direction."""
_NEUTRAL = 1e-6


@dataclass(frozen=True, eq=False)
class ConcentratedRegion:
    """A basin of the velocity field and the core of what it holds.

    Attributes
    ----------
    position
        Mean of the core, a unit vector (d,).  On a zonal grid: the pole, or one point of
        the ring.
    mass, core_mass
        Mass of the basin, and of the core: the part within ``core_radius`` of its mean.
        Mass at rest belongs to no basin.
    principal_radii
        Root mean square extents of the core along its principal directions, in radians,
        largest first, (d - 1,).
    radius, radius_in_cells
        Root mean square distance of the core from its mean, in radians and in cells
        (NaN for atoms without a grid).  Of a ring: across it.
    eigenvalues
        Of the velocity's gradient at the mean, own mass included, increasing, (d - 1,):
        those of s Hess F for a gradient drift, else their real parts.  Negative: lengths
        shrink at this rate.
    contraction_rate
        Minus the largest eigenvalue, so that all lengths shrink at least at this rate; of
        a ring, minus the one across it.  Negative: mass there spreads.
    kind
        ``"atom"`` (contracting, at most 1.2 cells wide in each direction), ``"forming"``
        (contracting and a clear peak within the core), ``"ring"`` (the same around the
        axis of a zonal grid, away from the poles) or ``"spread"``.
    basin
        Angles (from, to) of the unstable zeros around it, to > from; None on the sphere.
    """

    position: FloatArray
    mass: float
    core_mass: float
    principal_radii: FloatArray
    radius: float
    radius_in_cells: float
    eigenvalues: FloatArray
    contraction_rate: float
    kind: Kind
    basin: tuple[float, float] | None = None

    @property
    def angle(self) -> float:
        """Angle in [0, 2 pi) on the circle; else the angle in [0, pi] from the last axis."""
        if len(self.position) == 2:
            turn = np.arctan2(self.position[1], self.position[0])
            return float(np.mod(turn, 2 * np.pi))
        across = np.linalg.norm(self.position[:-1])
        return float(np.arctan2(across, self.position[-1]))


@dataclass(frozen=True, eq=False)
class ConcentrationReport:
    """What :func:`concentration` found: all basins, and among them the atoms.

    Attributes
    ----------
    regions
        One for each basin that holds mass: by angle on the circle and on zonal grids,
        heaviest first on the sphere.
    core_radius
        Radius of a core in radians, min(1/(2 sqrt beta), pi/6); on a sphere's grid at
        least 4 cells, so that a line is longer than an atom is wide.
    resting_mass
        Mass in stretches where the velocity vanishes and into which nothing flows.
    place
        ``"circle"``, ``"sphere"`` or ``"zonal"``.
    """

    regions: tuple[ConcentratedRegion, ...]
    core_radius: float
    resting_mass: float
    place: Place

    @property
    def atoms(self) -> tuple[ConcentratedRegion, ...]:
        """The regions of kind ``"atom"`` or ``"forming"``, heaviest first."""
        return self._of_kinds("atom", "forming")

    @property
    def rings(self) -> tuple[ConcentratedRegion, ...]:
        """The regions of kind ``"ring"``, heaviest first; on zonal grids only."""
        return self._of_kinds("ring")

    def _of_kinds(self, *kinds: Kind) -> tuple[ConcentratedRegion, ...]:
        found = (region for region in self.regions if region.kind in kinds)
        return tuple(sorted(found, key=lambda region: -region.mass))

    @property
    def verdict(self) -> str:
        """The finding in one sentence."""
        if self.resting_mass >= 1 - REST:
            return "at rest: the velocity vanishes everywhere"
        counted: tuple[Kind, ...] = ("atom", "forming", "spread")
        if self.place == "zonal":
            counted = ("atom", "forming", "ring", "spread")
        names = {"atom": "atoms", "ring": "rings"}
        counts = ", ".join(
            f"{len(self._of_kinds(kind))} {names.get(kind, kind)}" for kind in counted
        )
        held = sum(region.mass for region in self.atoms)
        text = (
            f"{counts} (basins of the velocity field); mass {held:.6f} in atoms and "
            "forming regions"
        )
        if self.rings:
            text += f", {sum(ring.mass for ring in self.rings):.6f} in rings"
        if self.resting_mass > REST:
            text += f", {self.resting_mass:.6f} at rest"
        return text

    def __str__(self) -> str:
        listed = self.atoms + self.rings
        if not listed:
            return self.verdict
        title, position = _POSITIONS[self.place]
        header = (
            f"{'kind':>8} {title} {'mass':>9} {'in core':>9} "
            f"{'rms radius':>11} {'in cells':>9} {'contraction':>12}"
        )
        rows = [
            f"{r.kind:>8} {position(r)} {r.mass:9.6f} {r.core_mass:9.6f} "
            f"{r.radius:11.3e} {r.radius_in_cells:9.2f} {r.contraction_rate:12.4e}"
            for r in listed
        ]
        return "\n".join([self.verdict, header, *rows])


def _coordinates(region: ConcentratedRegion) -> str:
    # Adding zero turns a rounded -0.0 into 0.0.
    return " ".join(f"{round(float(x), 5) + 0.0:9.5f}" for x in region.position)


def _angle(region: ConcentratedRegion) -> str:
    return f"{region.angle / np.pi:9.5f}"


_POSITIONS: dict[Place, tuple[str, Callable[[ConcentratedRegion], str]]] = {
    "circle": (f"{'angle/pi':>9}", _angle),
    "sphere": (f"{'x':>9} {'y':>9} {'z':>9}", _coordinates),
    "zonal": (f"{'theta/pi':>9}", _angle),
}


def kind_of(
    width: float, spread_width: float, *, cell: float, eigenvalues: Iterable[float]
) -> Kind:
    """``"atom"``, ``"forming"`` or ``"spread"``.

    Parameters
    ----------
    width
        Rms radius of the core in its widest direction.
    spread_width
        What it would be for mass spread evenly over the core.
    cell
        Cell width; NaN without a grid.
    eigenvalues
        Eigenvalues of the velocity's gradient.
    """
    rates = np.asarray(list(eigenvalues))
    contracts = rates.max() < -_NEUTRAL * np.abs(rates).max()
    if not contracts or width > PEAKED * spread_width:
        return "spread"
    narrow = NARROW * cell if np.isfinite(cell) else NARROW_WITHOUT_GRID
    return "atom" if width <= narrow else "forming"
