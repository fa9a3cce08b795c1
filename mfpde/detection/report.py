"""The report of a search for concentrations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mfpde.arrays import FloatArray
from mfpde.detection.graph import Place
from mfpde.detection.region import ConcentratedRegion, Kind, local_exponents
from mfpde.measures.measure import AnyMeasure
from mfpde.notebook import Printed

Verdict = Literal[
    "atoms", "forming", "curve", "unresolved", "jump", "frozen", "resolved"
]

ALL_FROZEN = 0.99
MOST_FACTS = 6
LIGHT = 1e-3
"""A region that holds less decides nothing about the whole."""


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
