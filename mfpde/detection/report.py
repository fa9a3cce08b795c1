"""The report of a search for concentrations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection.decision import Kind
from mfpde.detection.strip import StripWidth
from mfpde.measures.measure import AnyMeasure
from mfpde.notebook import Printed

Place = Literal["circle", "sphere", "zonal"]
Verdict = Literal[
    "atoms", "forming", "curve", "unresolved", "jump", "frozen", "resolved"
]

REST = 1e-12
"""Speeds below this, in units of the largest (at least 1), have no direction."""
ALL_FROZEN = 0.99
MOST_FACTS = 6
LIGHT = 1e-3
"""A region that holds less decides nothing about the whole."""


@dataclass(frozen=True, eq=False)
class ConcentratedRegion:
    """A basin of the velocity field and the core of the mass in it.

    Attributes
    ----------
    position
        Mean of the core, a unit vector (d,), its tail included on every kind of measure:
        it can be compared between particles, grids and exact atoms.  The own place of an
        exact atom is in ``measure.atoms``; it is the position where the atom holds less
        than half of its core, or spreads.  On a zonal grid: the pole, or one point of the ring.
    mass, core_mass
        Mass of the basin, and of the core: the part within ``core_radius`` of its mean; as
        all masses here in the measure's own unit (shares of the whole if its mass is 1).
        Mass at rest belongs to no basin.  What is in the basin and not in the core is on
        its way: :attr:`arriving_mass`.
    principal_radii
        Root mean square extents of the core along its principal directions, in radians,
        largest first, (d - 1,); those of its covariance for an exact atom.
    radius, radius_in_cells
        Root mean square distance of the core from its mean, in radians and in cells
        (NaN for atoms without a grid).  Of a ring on a zonal grid: across it.
    widths_in_cells
        The principal rms radii again, of what lies within 6 cells of the mean and in
        cells: without the tails, as the grid sees it, (1,) or (2,); NaN without a grid.
    eigenvalues
        Eigenvalues of the velocity's gradient at the mean (at an exact atom's own place), own mass
        included, increasing, (d - 1,): those of s Hess F for a gradient drift, else their
        real parts.  Negative: lengths shrink at this rate.
    contraction_rate
        Minus the largest eigenvalue, so that all lengths shrink at least at this rate; of
        a ring on a zonal grid, minus the one across it.  Negative: mass there spreads.
    growth_rate
        -div v at the mean, the rate at which the density there grows: its e-folding rate
        while an atom forms.
    kind
        ``"atom"``, ``"forming"``, ``"curve"`` (mass on a line of S^2, or on a ring of a
        zonal grid), ``"frozen"``, ``"unresolved"``, ``"jump"`` or ``"resolved"``.
    reason
        Why the region is of this kind, in words.
    ball_masses, exponents
        mu(B(x, r)) about the same place for the report's radii (n,), and
        d log mu(B) / d log r between them (n - 1,): d - 1 for a density, 0 for an atom,
        1 on a curve in S^2.  On a zonal grid about a pole, or of bands about a ring.
    coarse_difference, coarse_mass
        L1 difference between the core and what the 2:1 coarsened grid makes of it, as a
        share; mass of the basin there that the coarsened density has.  NaN without a grid.
    pinning_force
        Of an atom that exists on the grid only: the outside force m h/2 below which a
        scheme with face velocities would hold it fixed (m its core's mass).  Else None.
    is_exact
        Whether it is an atom of ``Measure.atoms``.
    length
        Length of a curve on S^2, in radians; else None.
    basin
        Angles (from, to) of the unstable zeros around it, to > from; None on the sphere.
    second_peak
        Mass of a second cluster in the basin, apart from the core and at most 1.2 cells
        wide, which has yet to arrive; 0 without one, and on zonal grids.
    """

    position: FloatArray
    mass: float
    core_mass: float
    principal_radii: FloatArray
    radius: float
    radius_in_cells: float
    widths_in_cells: FloatArray
    eigenvalues: FloatArray
    contraction_rate: float
    growth_rate: float
    kind: Kind
    reason: str
    ball_masses: FloatArray
    exponents: FloatArray
    coarse_difference: float
    coarse_mass: float
    pinning_force: float | None = None
    is_exact: bool = False
    length: float | None = None
    basin: tuple[float, float] | None = None
    second_peak: float = 0.0

    def of_total(self, mass: float) -> ConcentratedRegion:
        """The region of a whole of ``mass``, if its masses here are shares."""
        pins = self.pinning_force
        return replace(
            self,
            mass=self.mass * mass,
            core_mass=self.core_mass * mass,
            ball_masses=self.ball_masses * mass,
            coarse_mass=self.coarse_mass * mass,
            second_peak=self.second_peak * mass,
            pinning_force=None if pins is None else pins * mass,
        )

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


@dataclass(frozen=True, eq=False, repr=False)
class ConcentrationReport(Printed):
    """The result of :func:`concentration`: all basins, and the verdict on the whole.

    Attributes
    ----------
    regions
        One for each basin that holds mass (for each exact atom of one, and of particles for
        each cluster if there are several): by angle on the circle and on zonal grids,
        heaviest first on the sphere.
    core_radius
        Radius of a core in radians, min(1/(2 sqrt beta), pi/6); on a grid of S^1 and S^2
        at least 4 cells.
    resting_mass
        Mass in stretches where the velocity vanishes and into which nothing flows.
    frozen_mass
        Mass in cells with |v| < 1e-3 h per unit time (h the cell width), outside the cores
        of atoms: it needs a thousand units of time for a cell.
    place
        ``"circle"``, ``"sphere"`` or ``"zonal"``.
    spacing
        Cell width h; NaN for atoms without a grid.
    radii, largest_ball_masses
        r = h, 2h, 4h, ... (n,) and Q(r) = sup_x mu(B(x, r)) (n,).
    jumps
        Points (k, d) where the density jumps: on the circle and on zonal grids the places,
        on the sphere the centres of the cells.
    jump_length
        Length of the jumps on the sphere, in radians; 0 elsewhere.
    strip
        Width of the strip of analyticity, or why there is none.
    coarse_basins
        Number of basins with mass on the 2:1 coarsened density; None without one.
    measure
        The measure in question.
    """

    regions: tuple[ConcentratedRegion, ...]
    core_radius: float
    resting_mass: float
    frozen_mass: float
    place: Place
    spacing: float
    radii: FloatArray
    largest_ball_masses: FloatArray
    jumps: FloatArray
    jump_length: float
    strip: StripWidth
    coarse_basins: int | None
    measure: AnyMeasure

    @property
    def total_mass(self) -> float:
        """Mass of the measure, of which all other masses are parts."""
        return self.measure.total_mass

    @property
    def atoms(self) -> tuple[ConcentratedRegion, ...]:
        """The regions of kind ``"atom"``, heaviest basin first."""
        return self.of_kinds("atom")

    @property
    def forming(self) -> tuple[ConcentratedRegion, ...]:
        """The regions of kind ``"forming"``, heaviest basin first: atoms to be."""
        return self.of_kinds("forming")

    @property
    def clusters(self) -> tuple[ConcentratedRegion, ...]:
        """Atoms and those forming together, heaviest basin first."""
        return self.of_kinds("atom", "forming")

    @property
    def arrived_mass(self) -> float:
        """Mass in the cores of atoms."""
        return sum(region.arrived_mass for region in self.clusters)

    @property
    def arriving_mass(self) -> float:
        """Mass in the basins of atoms and of those forming that is not in the cores of atoms."""
        return sum(region.arriving_mass for region in self.clusters)

    @property
    def curves(self) -> tuple[ConcentratedRegion, ...]:
        """The regions of kind ``"curve"``, heaviest first."""
        return self.of_kinds("curve")

    def of_kinds(self, *kinds: Kind) -> tuple[ConcentratedRegion, ...]:
        """Regions of these kinds, heaviest first."""
        found = (region for region in self.regions if region.kind in kinds)
        return tuple(sorted(found, key=lambda region: -region.mass))

    @property
    def exponents(self) -> FloatArray:
        """The local exponents d log Q / d log r between the radii, (n - 1,)."""
        return local_exponents(self.radii, self.largest_ball_masses)

    @property
    def verdict(self) -> Verdict:
        """The strongest finding.

        The first that is true of: ``"atoms"``, ``"forming"``, ``"curve"`` (a region that
        holds 1e-3 of the mass), ``"frozen"`` (99 % of the mass at rest),
        ``"unresolved"`` (such a region), ``"jump"`` (anywhere), ``"frozen"`` (most of
        the mass), ``"resolved"``.
        """
        strong: tuple[tuple[Kind, Verdict], ...] = (
            ("atom", "atoms"),
            ("forming", "forming"),
            ("curve", "curve"),
        )
        for kind, verdict in strong:
            if self._share_of(kind) > LIGHT:
                return verdict
        frozen = self.frozen_mass / self.total_mass
        if frozen >= ALL_FROZEN:
            return "frozen"
        if self._share_of("unresolved") > LIGHT:
            return "unresolved"
        if len(self.jumps):
            return "jump"
        return "frozen" if frozen > 0.5 else "resolved"

    def _share_of(self, kind: Kind) -> float:
        """Share of the whole in the heaviest region of a kind."""
        heaviest = max((region.mass for region in self.of_kinds(kind)), default=0.0)
        return heaviest / self.total_mass

    @property
    def summary(self) -> str:
        """The finding in one sentence."""
        from mfpde.detection.table import sentence

        return sentence(self)

    @property
    def facts(self) -> dict[str, str]:
        """Verdict, atoms and masses, for a notebook."""
        from mfpde.detection.table import place_and_mass

        found = {"verdict": self.verdict, "finding": self.summary}
        heaviest = self.clusters[:MOST_FACTS]
        return found | {
            f"{region.kind} {number}": place_and_mass(region, self.place)
            for number, region in enumerate(heaviest, start=1)
        }

    def __str__(self) -> str:
        from mfpde.detection.table import table

        return table(self)


def leads_core(mass: float, core_mass: float, largest_eigenvalue: float) -> bool:
    """Whether the rest of a core with an exact atom of this mass is the atom's tail.

    It is if it is lighter than the atom and the velocity contracts.
    """
    return core_mass / 2 < mass and largest_eigenvalue < 0 < core_mass


def local_exponents(radii: FloatArray, masses: FloatArray) -> FloatArray:
    """Local exponents d log mass / d log r between neighbouring radii; NaN without mass."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.diff(np.log(masses)) / np.diff(np.log(radii)))


def angle_of(point: FloatArray) -> float:
    """Angle in [0, 2 pi) of a point (d,) of the circle, else in [0, pi] from the last axis."""
    if len(point) == 2:
        return float(np.mod(np.arctan2(point[1], point[0]), 2 * np.pi))
    return float(np.arctan2(np.linalg.norm(point[:-1]), point[-1]))
