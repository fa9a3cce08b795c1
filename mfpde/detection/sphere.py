r"""Concentration on S^2: the cores of the basins, and the indicators for each.

The core is found by mean shift, x <- normalise(sum of m y over a ball about x).  A basin
that holds exact atoms is split between them, each point to the nearest.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from mfpde.arrays import FloatArray, IntArray
from mfpde.detection.balls import profile_radii
from mfpde.detection.decision import (
    NARROW,
    Signals,
    decide,
    particle_clusters,
)
from mfpde.detection.field import BoolArray, coarse_differences, coarsened
from mfpde.detection.jumps import jump_cells
from mfpde.detection.report import (
    REST,
    ConcentratedRegion,
    ConcentrationReport,
    leads_core,
    local_exponents,
)
from mfpde.detection.search import Search
from mfpde.detection.sphere_core import NO_MASS, Core, Cores, Curves
from mfpde.detection.sphere_flow import SphereBasin, SphereFlow
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Sphere
from mfpde.geometry.arcs import coordinates_about, tangent_basis
from mfpde.measures.measure import Atoms, Measure, as_measure


def sphere_report(
    measure: Measure | Atoms, equation: MeanFieldEquation, sphere: Sphere | None = None
) -> ConcentrationReport:
    """Find the basins and cores of a measure on a Sphere, or of atoms with d = 3."""
    return _SphereSearch(SphereFlow.of(measure, equation, sphere), sphere).report()


class _SphereSearch(Search):
    """A measure with its basins, those of its coarsened density, its jumps and curves."""

    place = "sphere"
    measure: Measure | Atoms

    def __init__(self, flow: SphereFlow, sphere: Sphere | None) -> None:
        super().__init__(
            flow.field,
            spacing=flow.spacing,
            core_radius=flow.core_radius,
            total=flow.field.measure.total_mass,
        )
        self.flow = flow
        self.cores = Cores(flow.mass)
        self.coarse: SphereFlow | None = None
        self.curves: Curves | None = None
        self.jumps = np.zeros(len(flow.lattice.points), dtype=bool)
        self.atoms, self.masses, self.lost = Atoms.none(3), np.empty(0), np.empty(0)
        if sphere is not None:
            self._take_grid(as_measure(self.measure), sphere)

    def _take_grid(self, measure: Measure, sphere: Sphere) -> None:
        """What only a density on a grid has."""
        rough = coarsened(measure)
        if rough is not None:
            self.coarse = SphereFlow.of(
                rough, self.field.equation, sphere, by_cells=True
            )
        self.jumps, self.jump_length = jump_cells(sphere, measure.density)
        self.atoms, self.masses = measure.atoms, measure.density.masses.ravel()
        held = np.nonzero(self.masses > NO_MASS)[0]
        self.curves = Curves(
            np.concatenate([self.flow.lattice.points[held], self.atoms.points]),
            np.concatenate([self.masses[held], self.atoms.masses]) / self.total,
            self.spacing,
        )
        self.lost = coarse_differences(measure).ravel() / self.total

    @property
    def moving_share(self) -> float:
        """Share of the mass that is not at rest."""
        return float(self.flow.mass.masses.sum())

    @property
    def coarse_basins(self) -> int | None:
        """Number of basins with mass on the 2:1 coarsened density; None without one."""
        return None if self.coarse is None else len(self.coarse.heavy_basins)

    @property
    def jump_points(self) -> FloatArray:
        """Centres (k, 3) of the cells at jumps."""
        return self.flow.lattice.points[self.jumps]

    @cached_property
    def cell_speeds(self) -> FloatArray:
        """Speed in each cell (n,)."""
        return np.asarray(np.linalg.norm(self.flow.on_lattice.velocity, axis=1))

    def cells_near(self, region: ConcentratedRegion) -> BoolArray:
        """Which cells (n,) lie within the window about a region's position."""
        return self._cells_about(region.position, self.window)

    def _cells_about(self, centre: FloatArray, radius: float) -> BoolArray:
        return np.asarray(self.flow.lattice.points @ centre >= np.cos(radius))

    def regions(self) -> tuple[ConcentratedRegion, ...]:
        """The regions, heaviest first."""
        basins = self.flow.heavy_basins
        found = [region for basin in basins for region in self._regions(basin)]
        return tuple(sorted(found, key=lambda region: -region.mass))

    def _regions(self, basin: SphereBasin) -> Iterator[ConcentratedRegion]:
        """The region of a basin, or one for each exact atom among its members."""
        members, atoms = basin.members, self.atoms
        numbers = self.flow.mass.atom_numbers[members]
        places = np.sort(numbers[numbers >= 0]) if len(atoms) else np.empty(0, int)
        if len(places) == 0:
            yield from self._grid_regions(basin)
            return
        nearest = cKDTree(atoms.points[places]).query(self.flow.mass.points[members])[1]
        for rank, number in enumerate(places.tolist()):
            part = members[nearest == rank]
            point = atoms.points[number]
            covariance = np.zeros((2, 2))
            if atoms.covariances is not None:
                basis = tangent_basis(point[np.newaxis])[0]
                covariance = basis @ atoms.covariances[number] @ basis.T
            held = self.cores.mass_about(point, part, self.core_radius)
            # All that is there: the atom and its tail, or more.
            core = self.cores.about(point, part, self.core_radius)
            mass = atoms.masses[number] / self.total
            is_in = core.centre @ point > np.cos(self.core_radius)
            largest = float(self.flow.on_lattice.eigenvalues(point)[-1])
            is_led = is_in and leads_core(mass, core.mass, largest)
            yield self._region(
                part,
                Core(point, held, covariance),
                cells=basin.cells,
                exact_mean=core.centre if is_led else point,
            )

    def _grid_regions(self, basin: SphereBasin) -> Iterator[ConcentratedRegion]:
        """The region of a basin, or one for each of several clusters of particles in it."""
        flow, members = self.flow, basin.members
        centres = self.clusters[np.isin(self.cells_of_clusters, basin.cells)]
        if len(centres) < 2:
            core = self.cores.densest(basin.attractor, members, self.core_radius)
            yield self._region(members, core, cells=basin.cells)
            return
        nearest = cKDTree(centres).query(flow.mass.points[members])[1]
        for rank, centre in enumerate(centres):
            part = members[nearest == rank]
            # A cluster across an edge may have its centre here and its points beyond.
            if len(part) == 0:
                continue
            core = self.cores.about(centre, part, self.core_radius)
            yield self._region(part, core, cells=basin.cells)

    @cached_property
    def clusters(self) -> FloatArray:
        """Centres (k, 3) of the clusters of moving particles, if there is no grid."""
        if self.has_grid:
            return np.empty((0, 3))
        return particle_clusters(Atoms(self.flow.mass.points, self.flow.mass.masses))

    @cached_property
    def cells_of_clusters(self) -> IntArray:
        """Numbers (k,) of the cells that hold the clusters."""
        return self.flow.lattice.cells_of(self.clusters)

    def _region(
        self,
        members: IntArray,
        core: Core,
        *,
        cells: IntArray,
        exact_mean: FloatArray | None = None,
    ) -> ConcentratedRegion:
        """The region of one basin, or of an exact atom's part of one and its mean."""
        flow = self.flow
        is_exact = exact_mean is not None
        eigenvalues = flow.on_lattice.eigenvalues(core.centre)
        radii = profile_radii(self.spacing)
        balls = self._ball_masses(core.centre, radii)
        mass = float(flow.mass.masses[members].sum())
        length = None
        if self.curves is not None and not is_exact:
            length = self.curves.length(
                flow.mass.points[members], flow.mass.masses[members]
            )
        narrow = self.cores.densest(core.centre, members, self.window)
        widths = narrow.principal_radii / self.cell
        rival = self.cores.rival(narrow, members, self.window)
        second = 0.0
        if rival is not None and rival.principal_radii[0] <= NARROW * self.cell:
            second = rival.mass
        coarse_mass = np.nan
        if self.coarse is not None:
            coarse_mass = self.coarse.mass_around(core.centre)
        exponents = local_exponents(radii, balls)
        signals = Signals(
            core_mass=core.mass,
            core_share=core.mass / mass,
            excess=self._excess(core, cells) / mass,
            eigenvalues=eigenvalues,
            inflow=self._inflow(core, members, eigenvalues),
            width=float(widths[0]),
            exponent=float(exponents[1]) if len(exponents) else np.nan,
            rival=0.0 if rival is None else rival.mass / narrow.mass,
            second_peak=second / core.mass if core.mass > REST else 0.0,
            largest_speed=float(self.cell_speeds[cells].max(initial=0.0)) / self.cell,
            coarse_difference=self._lost_share(narrow.centre),
            coarse_mass_change=abs(coarse_mass - mass) / mass,
            is_exact=is_exact,
            is_curve=length is not None,
            has_jump=bool(self.jumps[cells].any()),
        )
        kind, reason = decide(signals)
        pins = kind == "atom" and not is_exact and self.has_grid
        radius = float(np.sqrt(np.trace(core.covariance)))
        return ConcentratedRegion(
            position=core.centre if exact_mean is None else exact_mean,
            mass=mass,
            core_mass=core.mass,
            principal_radii=core.principal_radii,
            radius=radius,
            radius_in_cells=radius / self.spacing,
            widths_in_cells=widths if self.has_grid else np.full(2, np.nan),
            eigenvalues=eigenvalues,
            contraction_rate=-float(eigenvalues[-1]),
            growth_rate=-float(eigenvalues.sum()),
            kind=kind,
            reason=reason,
            ball_masses=balls,
            exponents=exponents,
            coarse_difference=signals.coarse_difference,
            coarse_mass=coarse_mass,
            pinning_force=core.mass * self.spacing / 2 if pins else None,
            is_exact=is_exact,
            length=length,
            second_peak=second,
        )

    def _ball_masses(self, centre: FloatArray, radii: FloatArray) -> FloatArray:
        cosines = self.flow.lattice.points @ centre
        at_atoms = self.atoms.points @ centre
        held = [
            self.masses[cosines >= np.cos(r)].sum()
            + self.atoms.masses[at_atoms >= np.cos(r)].sum()
            for r in radii
        ]
        return np.array(held) / self.total

    def _excess(self, core: Core, cells: IntArray) -> float:
        """Mean density of the core over that of a mass 1 in its basin, by their areas."""
        lattice = self.flow.lattice
        areas = lattice.areas[cells]
        cosines = lattice.points[cells] @ core.centre
        inside = areas[cosines >= np.cos(self.core_radius)].sum()
        # A basin may be hardly larger than the ball: a narrow core has its own extent.
        extent = max(2 * np.pi * np.trace(core.covariance), self.cell**2)
        area = min(inside, extent) if inside > 0 else extent
        return float(core.mass * areas.sum() / area)

    def _inflow(self, core: Core, members: IntArray, eigenvalues: FloatArray) -> float:
        """Velocity-position covariance of the core over its variance, traces of both."""
        near = self.cores.near(core.centre, members, self.core_radius)
        masses = self.flow.mass.masses[near]
        if not self.has_grid or masses.sum() <= REST:
            return float(eigenvalues.mean())
        away = coordinates_about(core.centre, self.flow.mass.points[near])
        basis = tangent_basis(core.centre[np.newaxis])[0]
        speeds = self.flow.on_lattice.velocity[self.flow.mass.cells[near]] @ basis.T
        away = away - masses @ away / masses.sum()
        variance = float((masses @ away**2).sum() / masses.sum())
        if variance < (0.3 * self.spacing) ** 2:
            return float(eigenvalues.mean())
        return float((masses @ (away * speeds)).sum() / masses.sum() / variance)

    def _lost_share(self, centre: FloatArray) -> float:
        if not self.has_grid:
            return np.nan
        near = self._cells_about(centre, self.window)
        held = self.masses[near].sum() / self.total
        return float(self.lost[near].sum() / held) if held > REST else 0.0
