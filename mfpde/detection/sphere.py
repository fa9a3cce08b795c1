r"""Concentration on S^2: the cores of the basins, and the indicators for each.

The core is found by mean shift, x <- normalise(sum of m y over a ball about x).  A basin
that holds exact atoms is split between them, each point to the nearest.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.balls import profile_radii
from mfpde.detection.clusters import particle_clusters
from mfpde.detection.decision import NARROW, Signals, decide
from mfpde.detection.field import coarse_differences, coarsened
from mfpde.detection.jumps import jump_cells
from mfpde.detection.report import (
    REST,
    ConcentratedRegion,
    ConcentrationReport,
    leads_core,
    local_exponents,
)
from mfpde.detection.search import SearchedMeasure
from mfpde.detection.sphere_core import NO_MASS, Cores, Curves, SphereCore
from mfpde.detection.sphere_flow import SphereBasin, SphereFlow
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Sphere
from mfpde.geometry.arcs import coordinates_about, tangent_frames
from mfpde.measures.measure import Atoms, Measure, as_measure


def sphere_report(
    sphere: Sphere | None, measure: Measure | Atoms, equation: MeanFieldEquation
) -> ConcentrationReport:
    """Find the basins and cores of a measure on a Sphere, or of atoms with d = 3."""
    search = _SphereSearch(SphereFlow.of(measure, equation, sphere), sphere)
    basins = search.flow.heavy_basins
    found = [region for basin in basins for region in search.regions(basin)]
    found.sort(key=lambda region: -region.mass)
    coarse = search.coarse
    coarse_basins = None if coarse is None else len(coarse.heavy_basins)
    return search.report(tuple(found), coarse_basins=coarse_basins)


class _SphereSearch(SearchedMeasure):
    """A measure with its basins, those of its coarsened density, its jumps and curves."""

    place = "sphere"

    def __init__(self, flow: SphereFlow, sphere: Sphere | None) -> None:
        self.flow = flow
        self.on_lattice, self.lattice = flow.on_lattice, flow.on_lattice.lattice
        self.field = flow.on_lattice.field
        self.total = self.field.measure.total_mass
        self.spacing, self.core_radius = flow.on_lattice.spacing, flow.core_radius
        self.cell_speeds = np.linalg.norm(flow.on_lattice.velocity, axis=1)
        self.moving_share = float(flow.mass.masses.sum())
        self.cores = Cores(flow.mass)
        self.coarse: SphereFlow | None = None
        self.curves: Curves | None = None
        self.jumps = np.zeros(len(self.lattice.points), dtype=bool)
        self.atoms, self.masses, self.lost = Atoms.none(3), np.empty(0), np.empty(0)
        if sphere is not None:
            self._take_grid(as_measure(self.field.measure), sphere)
        self.jump_points = self.lattice.points[self.jumps]

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
            np.concatenate([self.lattice.points[held], self.atoms.points]),
            np.concatenate([self.masses[held], self.atoms.masses]) / self.total,
            self.spacing,
        )
        self.lost = coarse_differences(measure).ravel() / self.total

    def cells_near(self, region: ConcentratedRegion) -> BoolArray:
        """Which cells (n,) lie within the window about a region's position."""
        return self._cells_about(region.position, self.window)

    def _cells_about(self, centre: FloatArray, radius: float) -> BoolArray:
        return np.asarray(self.lattice.points @ centre >= np.cos(radius))

    def regions(self, basin: SphereBasin) -> Iterator[ConcentratedRegion]:
        """The region of a basin, or one for each exact atom among its members."""
        members, atoms = basin.members, self.atoms
        numbers = self.flow.mass.atom_numbers[members]
        places = np.sort(numbers[numbers >= 0]) if len(atoms) else np.empty(0, int)
        if len(places) == 0:
            yield from self._grid_regions(basin)
            return
        for number, part in zip(
            places.tolist(), self._parts(members, atoms.points[places]), strict=True
        ):
            point = atoms.points[number]
            covariance = np.zeros((2, 2))
            if atoms.covariances is not None:
                basis = tangent_frames(point[np.newaxis])[0]
                covariance = basis @ atoms.covariances[number] @ basis.T
            held = self.cores.mass_about(point, part, self.core_radius)
            # All that is there: the atom and its tail, or more.
            core = self.cores.about(point, part, self.core_radius)
            mass = atoms.masses[number] / self.total
            is_in = core.centre @ point > np.cos(self.core_radius)
            largest = float(self.on_lattice.eigenvalues(point)[-1])
            is_led = is_in and leads_core(mass, core.mass, largest)
            yield self._region(
                part,
                SphereCore(point, held, covariance),
                cells=basin.cells,
                exact_mean=core.centre if is_led else point,
            )

    def _parts(self, members: IntArray, centres: FloatArray) -> list[IntArray]:
        """Those of the ``members`` (m,) that are nearest to each of ``centres`` (k, 3)."""
        nearest = cKDTree(centres).query(self.flow.mass.points[members])[1]
        return [members[nearest == rank] for rank in range(len(centres))]

    def _grid_regions(self, basin: SphereBasin) -> Iterator[ConcentratedRegion]:
        """The region of a basin, or one for each of several clusters of particles in it."""
        radius = self.core_radius
        centres = self._clusters_in(basin)
        if len(centres) < 2:
            core = self.cores.densest(basin.attractor, basin.members, radius)
            yield self._region(basin.members, core, cells=basin.cells)
            return
        parts = self._parts(basin.members, centres)
        for centre, part in zip(centres, parts, strict=True):
            # A cluster across an edge may have its centre here and its points beyond.
            if len(part):
                core = self.cores.about(centre, part, radius)
                yield self._region(part, core, cells=basin.cells)

    @cached_property
    def clusters(self) -> FloatArray:
        """Centres (k, 3) of the clusters of moving particles, if there is no grid."""
        if self.has_grid:
            return np.empty((0, 3))
        return particle_clusters(Atoms(self.flow.mass.points, self.flow.mass.masses))

    def _clusters_in(self, basin: SphereBasin) -> FloatArray:
        cells = self.lattice.cells_of(self.clusters)
        return np.asarray(self.clusters[np.isin(cells, basin.cells)])

    def _region(
        self,
        members: IntArray,
        core: SphereCore,
        *,
        cells: IntArray,
        exact_mean: FloatArray | None = None,
    ) -> ConcentratedRegion:
        """The region of one basin, or of an exact atom's part of one and its mean."""
        moving, is_exact = self.flow.mass, exact_mean is not None
        eigenvalues = self.on_lattice.eigenvalues(core.centre)
        radii = profile_radii(self.spacing)
        balls = self._ball_masses(core.centre, radii)
        mass = float(moving.masses[members].sum())
        length = None
        if self.curves is not None and not is_exact:
            length = self.curves.length(moving.points[members], moving.masses[members])
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
        cosines = self.lattice.points @ centre
        at_atoms = self.atoms.points @ centre
        held = [
            self.masses[cosines >= np.cos(r)].sum()
            + self.atoms.masses[at_atoms >= np.cos(r)].sum()
            for r in radii
        ]
        return np.array(held) / self.total

    def _excess(self, core: SphereCore, cells: IntArray) -> float:
        """Mean density of the core over that of a mass 1 in its basin, by their areas."""
        lattice = self.lattice
        areas = lattice.areas[cells]
        cosines = lattice.points[cells] @ core.centre
        inside = areas[cosines >= np.cos(self.core_radius)].sum()
        # A basin may be hardly larger than the ball: a narrow core has its own extent.
        extent = max(2 * np.pi * np.trace(core.covariance), self.cell**2)
        area = min(inside, extent) if inside > 0 else extent
        return float(core.mass * areas.sum() / area)

    def _inflow(
        self, core: SphereCore, members: IntArray, eigenvalues: FloatArray
    ) -> float:
        """Velocity-position covariance of the core over its variance, traces of both."""
        near = self.cores.near(core.centre, members, self.core_radius)
        masses = self.flow.mass.masses[near]
        if not self.has_grid or masses.sum() <= REST:
            return float(eigenvalues.mean())
        away = coordinates_about(core.centre, self.flow.mass.points[near])
        basis = tangent_frames(core.centre[np.newaxis])[0]
        speeds = self.on_lattice.velocity[self.flow.mass.cells[near]] @ basis.T
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
