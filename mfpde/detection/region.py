r"""A region of a measure: a basin, the core in it, and its kind.

The kind is decided from several indicators, never from one, in this order:

1. an exact atom of the measure is an atom by construction;
2. mass on a line (locally anisotropic and of dimension 1) is a curve;
3. mass that contracts in every direction and stands out of its basin is an atom if it is at
   most 1.2 cells wide and its masses in balls no longer grow, and forming otherwise;
4. without velocity it is frozen;
5. a density that differs from the mean of its neighbours by too much is unresolved;
6. a resolved density with a jump in it is called so; everything else is resolved.

Contraction is that of the density's own velocity, own mass included.  "Without velocity" means
|v| < 1e-3 h per unit time: a thousand units of time for a cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry.circle import angles_of
from mfpde.measures.distributions import polar_angles

Kind = Literal["atom", "forming", "curve", "unresolved", "jump", "frozen", "resolved"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""All kinds, in the order in which they are listed."""

NARROW = 1.2
"""Largest rms radius of an atom in each direction, in cells: a bump of two is resolved."""
NARROW_RING = 1.6
"""The same of a ring or curve across it: its cells lie oblique to it."""
ATOM_EXPONENT = 0.5
"""Largest d log mu(B) / d log r of an atom between 2 and 4 cells: half-way to a curve's."""
LEAST_EXCESS = 2.0
"""What stands out has a core at least this many times as dense as its basin."""
LEAST_RATE = FROZEN_SPEED = 1e-3
"""Slowest contraction per unit time, and the speed in cells per unit time below which mass is
frozen: nothing comes of it in a thousand units of time."""
ROUGH = 0.15
"""Largest L1 difference from the mean of the neighbours, as a share: a bump narrower than two
cells has it."""
LEAST_SHARE = 1e-2
"""Least share of its basin, of the whole or of an atom for what is looked for beside an atom."""


class CurveShape(NamedTuple):
    """Mass on a curve of S^2, or on a ring of a Zonal grid.

    The ``length`` is in radians, NaN for a ring S^(d-2) in more than three dimensions.  The circle
    closest to it has the ``axis`` (d,), and the ``polar_angle`` from it: pi/2 for a great circle.
    """

    length: float
    axis: FloatArray
    polar_angle: float

    def __str__(self) -> str:
        coordinates = ", ".join(f"{x:.4f}" for x in self.axis)
        axis = coordinates if len(self.axis) <= 3 else "the last"
        angle = f"{self.polar_angle / np.pi:.5f} pi from the axis ({axis})"
        long = "" if np.isnan(self.length) else f", {self.length:.4f} long"
        return f"{angle}, latitude {np.pi / 2 - self.polar_angle:.5f}{long}"


@dataclass(frozen=True, eq=False)
class ConcentratedRegion:
    """A basin of the velocity field and the core of the mass in it.

    Attributes
    ----------
    position
        Mean of the core, a unit vector (d,), its tail included on every kind of measure.
        Where an exact atom holds less than half of its core, or spreads, its own place.  On a
        zonal grid: the pole, or one point of the ring.
    mass, core_mass
        Mass of the basin, and of the core: the part within ``core_radius`` of its mean.
        Mass at rest belongs to no basin.  All masses are in the measure's own unit.
    principal_radii
        Root mean square extents of the core along its principal directions, in radians,
        largest first, (d - 1,); those of its covariance for an exact atom.
    widths_in_cells
        The principal rms radii of what lies within 4 cells of the mean, in cells: as the grid
        sees it, without tails, (1,) or (2,); without a grid in units of 8e-4 radians.
    spacing
        Width of the grid's cells in radians; NaN for atoms without a grid.
    eigenvalues
        Eigenvalues of the velocity's gradient at the mean (at an exact atom's own place), own mass
        included, increasing, (d - 1,): those of s Hess F for a gradient drift, else their
        real parts.  Negative: lengths shrink at this rate.
    contraction_rate
        Minus the largest eigenvalue; of a ring on a zonal grid, minus the one across it.
    excess
        Mean density of the core over its extent (that of a uniform density with its rms
        radius, at most the ball), in units of that of its basin; 0 of a negligible core.
    ball_masses
        mu(B(x, r)) about the core for the report's radii (n,).  On a zonal grid about a pole,
        or of bands about a ring.
    second_peak
        Mass of the heaviest other cluster in the basin, as narrow as an atom, that flows to
        the core and has yet to arrive.
    largest_speed
        Largest speed in the basin, in cells per unit time.
    roughness
        Half the L1 difference between the density within 4 cells and the mean of each
        cell's neighbours, as a share; NaN without a grid.
    has_jump
        Whether the density jumps in the basin.
    is_exact
        Whether it is an atom of ``Measure.atoms``.
    curve
        Length, axis and polar angle of a curve or ring; else None.
    """

    position: FloatArray
    mass: float
    core_mass: float
    principal_radii: FloatArray
    widths_in_cells: FloatArray
    spacing: float
    eigenvalues: FloatArray
    contraction_rate: float
    excess: float
    ball_masses: FloatArray
    second_peak: float
    largest_speed: float
    roughness: float
    has_jump: bool = False
    is_exact: bool = False
    curve: CurveShape | None = None

    @property
    def kind(self) -> Kind:
        """What is in the basin.

        ``"atom"``, ``"forming"``, ``"curve"`` (mass on a line of S^2, or on a ring of a zonal
        grid), ``"frozen"``, ``"unresolved"``, ``"jump"`` or ``"resolved"``.
        """
        return self._decision[0]

    @property
    def reason(self) -> str:
        """Why the region is of this kind, in words."""
        return self._decision[1]

    @cached_property
    def _decision(self) -> tuple[Kind, str]:
        contracts = self.contraction_rate > LEAST_RATE and self.excess > LEAST_EXCESS
        grows = len(self.exponents) > 0 and self.exponents[1] > ATOM_EXPONENT
        is_wide = grows or self.widths_in_cells[0] > NARROW
        is_late = self.second_peak > LEAST_SHARE * self.core_mass
        is_curve, is_frozen = self.curve is not None, self.largest_speed < FROZEN_SPEED
        late = "a second peak flows to the same attractor"
        decisions: tuple[tuple[bool, Kind, str], ...] = (
            (self.is_exact, "atom", "an exact atom of the measure"),
            (is_curve, "curve", "narrow across, long along, a line in balls"),
            (contracts and is_wide, "forming", "contracts, and is wider than a cell"),
            (contracts and is_late, "forming", late),
            (contracts, "atom", "contracts, a cell wide, mass in balls constant"),
            (is_frozen, "frozen", "no speed above 1e-3 cells per time"),
            (self.roughness > ROUGH, "unresolved", "changes too much between cells"),
            (self.has_jump, "jump", "resolved but for a jump, nothing contracts there"),
            (True, "resolved", "resolved, nothing contracts there"),
        )
        return next((kind, why) for holds, kind, why in decisions if holds)

    @property
    def exponents(self) -> FloatArray:
        """d log mu(B) / d log r (n - 1,): d - 1 of a density, 0 of an atom, 1 on a curve."""
        return local_exponents(self.ball_masses)

    @property
    def radius(self) -> float:
        """Root mean square distance of the core from its mean, in radians; of a ring across."""
        return float(np.linalg.norm(self.principal_radii))

    @property
    def growth_rate(self) -> float:
        """-div v at the mean, the e-folding rate of the density there while an atom forms."""
        return -float(self.eigenvalues.sum())

    @property
    def pinning_force(self) -> float | None:
        """Outside force m h/2 below which face velocities hold an atom of core mass m fixed.

        None of what is no atom, or an exact one.
        """
        if self.kind != "atom" or self.is_exact or not np.isfinite(self.spacing):
            return None
        return self.core_mass * self.spacing / 2

    @property
    def arrived_mass(self) -> float:
        """Mass of the core of an atom or a curve; 0 where there is none, or none yet."""
        return self.core_mass if self.kind in ("atom", "curve") else 0.0

    @property
    def arriving_mass(self) -> float:
        """Mass of the basin outside its core; of the whole basin where an atom is forming.

        0 where the mass gathers nowhere (kinds ``"frozen"``, ``"resolved"``, ...).
        """
        if self.kind not in ("atom", "curve", "forming"):
            return 0.0
        return max(self.mass - self.arrived_mass, 0.0)

    @property
    def angle(self) -> float:
        """Angle in [0, 2 pi) on the circle; else the angle in [0, pi] from the last axis."""
        return angle_of(self.position)


def angle_of(point: FloatArray) -> float:
    """Angle in [0, 2 pi) of a point (d,) of the circle, else in [0, pi] from the last axis."""
    if len(point) == 2:
        return float(angles_of(point))
    return float(polar_angles(point))


def local_exponents(masses: FloatArray) -> FloatArray:
    """Local exponents d log mass / d log r between radii of which each is twice the last."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.diff(np.log2(masses)))
