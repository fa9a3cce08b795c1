"""The report of a search for concentrations: its numbers, its verdict, a sentence and a table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection.basins import Basins
from mfpde.detection.flow import ROUNDING, Place
from mfpde.detection.region import (
    KINDS,
    LEAST_SHARE,
    ConcentratedRegion,
    Kind,
    angle_of,
    local_exponents,
)
from mfpde.measures.measure import AnyMeasure
from mfpde.notebook import Printed, format_table

Verdict = Literal[
    "atoms", "forming", "curve", "unresolved", "jump", "frozen", "resolved"
]

LIGHT = 1e-3
"""A region that holds less decides nothing about the whole."""
MOST_ROWS = 12
LEGEND = """\
in basin: mass that flows there; in core: what is there already; width/h: its rms width in cells;
exponents: how the mass within 1, 2, 4, 8 cells grows (0: an atom; as many as dimensions: a
density); shrinks, grows: rates [1/time] of lengths and of the density there; rough: share by which
cells differ from their neighbours; holds: the weakest outside force that moves it off its cell"""


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
    basins
        The basins, which tell where points belong.
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
    basins: Basins
    spacing: float
    radii: FloatArray
    largest_ball_masses: FloatArray
    jumps: FloatArray
    jump_length: float
    measure: AnyMeasure

    @property
    def place(self) -> Place:
        """``"circle"``, ``"sphere"`` or ``"zonal"``."""
        return self.basins.cells.place

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
        return local_exponents(self.largest_ball_masses)

    @property
    def verdict(self) -> Verdict:
        """The strongest finding.

        The first that is true of: ``"atoms"``, ``"forming"``, ``"curve"`` (a region that
        holds 1e-3 of the mass), ``"frozen"`` (99 % of the mass at rest),
        ``"unresolved"`` (such a region), ``"jump"`` (anywhere), ``"frozen"`` (most of
        the mass), ``"resolved"``.
        """
        total = self.total_mass
        heavy = {region.kind for region in self.regions if region.mass > LIGHT * total}
        frozen = self.frozen_mass / total
        findings: tuple[tuple[Verdict, bool], ...] = (
            ("atoms", "atom" in heavy),
            ("forming", "forming" in heavy),
            ("curve", "curve" in heavy),
            ("frozen", frozen >= 1 - LEAST_SHARE),
            ("unresolved", "unresolved" in heavy),
            ("jump", len(self.jumps) > 0),
            ("frozen", frozen > 0.5),
        )
        return next((word for word, is_true in findings if is_true), "resolved")

    @property
    def summary(self) -> str:
        """The finding in one sentence."""
        total = self.total_mass
        if self.resting_mass >= (1 - ROUNDING) * total:
            return "at rest: the velocity vanishes everywhere"
        counts = Counter(region.kind for region in self.regions)
        parts = [_count("atom", counts["atom"]), f"{counts['forming']} forming"]
        parts += [_count("curve", counts["curve"])] if counts["curve"] else []
        parts += [f"{counts[kind]} {kind}" for kind in KINDS[3:] if counts[kind]]
        text = f"{', '.join(parts)} (basins of the velocity field)"
        if self.clusters:
            text += f"; mass {self.arrived_mass:.6f} in atoms, "
            text += f"{self.arriving_mass:.6f} on its way"
        second = sum(region.second_peak for region in self.clusters)
        if second > LIGHT * total:
            text += f", {second:.6f} of it at second peaks"
        if self.curves:
            text += f"; {sum(region.mass for region in self.curves):.6f} on curves"
        if self.frozen_mass > ROUNDING * total:
            text += f"; {self.frozen_mass:.6f} frozen"
        if len(self.jumps):
            places = f"at {_count('place', len(self.jumps))}"
            along = f"along {self.jump_length:.3f} radians"
            text += f"; the density jumps {along if self.jump_length else places}"
        return text

    @property
    def facts(self) -> dict[str, str]:
        """Verdict and finding, for a notebook."""
        return {"verdict": self.verdict, "finding": self.summary}

    def __str__(self) -> str:
        lines = [f"verdict: {self.verdict}; {self.summary}"]
        listed = self.of_kinds("atom", "forming", "curve", "unresolved", "jump")
        if listed:
            rows = [self._list_numbers(region) for region in listed[:MOST_ROWS]]
            lines.append(format_table([*rows[0]], ([*row.values()] for row in rows)))
            if len(listed) > MOST_ROWS:
                lines.append(f"and {len(listed) - MOST_ROWS} more")
            lines.append(LEGEND)
        for region in self.curves[:MOST_ROWS]:
            assert region.curve is not None
            lines.append(f"curve of mass {region.mass:.6f}: {region.curve}")
        if abs(self.total_mass - 1) > np.sqrt(ROUNDING):
            lines.append(f"all masses are parts of {self.total_mass:.9g}, not of 1")
        if len(self.radii):
            numbers = zip(self.largest_ball_masses, self.radii, strict=True)
            balls = ", ".join(f"{q:.4f} ({r / self.spacing:.0f}h)" for q, r in numbers)
            exponents = _write_exponents(self.exponents, ", ")
            lines.append(f"largest mass in a ball: {balls}; exponents {exponents}")
        if 0 < len(self.jumps) <= MOST_ROWS and self.place != "sphere":
            places = ", ".join(f"{angle_of(point) / np.pi:.5f}" for point in self.jumps)
            lines.append(f"jumps at angle/pi = {places}")
        return "\n".join(lines)

    def _list_numbers(self, region: ConcentratedRegion) -> dict[str, str | float]:
        """What the table says of a region, by column."""
        name = "angle/pi" if self.place == "circle" else "theta/pi"
        place = {name: region.angle / np.pi}
        if self.place == "sphere":
            place = dict(zip("xyz", region.position, strict=True))
        force = region.pinning_force
        return {
            "kind": region.kind,
            # Adding zero turns a rounded -0.0 into 0.0.
            **{name: round(x, 5) + 0.0 for name, x in place.items()},
            "in basin": region.mass,
            "in core": region.core_mass,
            "width/h": " ".join(f"{width:.2f}" for width in region.widths_in_cells),
            "exponents": _write_exponents(region.exponents[:3], " "),
            "shrinks": region.contraction_rate,
            "grows": region.growth_rate,
            "rough": region.roughness,
            "holds": "exact" if region.is_exact else f"{force:.2e}" if force else "-",
        }


def _write_exponents(exponents: FloatArray, between: str) -> str:
    return between.join(f"{max(exponent, 0.0):.2f}" for exponent in exponents)


def _count(noun: str, count: int) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
