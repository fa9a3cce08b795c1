r"""Concentration on S^2: the cores of the basins, and the indicators for each.

The core is found by mean shift, x <- normalise(sum of m y over a ball about x).  A basin
that holds exact atoms is split between them, each point to the nearest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from mfpde.arrays import FloatArray, IntArray
from mfpde.detection.balls import largest_ball_masses, profile_radii
from mfpde.detection.decision import (
    NARROW,
    NARROW_WITHOUT_GRID,
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
from mfpde.detection.sphere_core import NO_MASS, Core, Cores, Curves
from mfpde.detection.sphere_flow import Basin, Flow
from mfpde.detection.strip import strip_width
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import coordinates_about, tangent_basis
from mfpde.measures.measure import Atoms, Measure

WINDOW_CELLS = 6.0


def sphere_report(
    measure: Measure | Atoms, equation: MeanFieldEquation
) -> ConcentrationReport:
    """Find the basins and cores of a measure on a Sphere, or of atoms with d = 3."""
    flow = Flow.of(measure, equation)
    search = _Search.of(measure, flow)
    regions = [region for basin in flow.basins for region in search.regions(basin)]
    regions.sort(key=lambda region: -region.mass)
    radii = profile_radii(flow.spacing)
    resting = max(1 - float(flow.mass.masses.sum()), 0.0)
    found = tuple(regions)
    return ConcentrationReport(
        found,
        flow.core_radius,
        resting,
        search.frozen_mass(found) if isinstance(measure, Measure) else resting,
        "sphere",
        flow.spacing,
        radii,
        largest_ball_masses(measure, radii)
        if isinstance(measure, Measure)
        else np.empty(0),
        flow.lattice.points[search.jumps],
        search.jump_length,
        strip_width(measure, equation),
        None if search.coarse is None else len(search.coarse.basins),
        measure,
    )


@dataclass(frozen=True)
class _Search:
    """A measure with its basins, those of its coarsened density, its jumps and curves."""

    measure: Measure | Atoms
    flow: Flow
    coarse: Flow | None
    curves: Curves | None
    jumps: BoolArray
    jump_length: float
    lost: FloatArray

    @classmethod
    def of(cls, measure: Measure | Atoms, flow: Flow) -> _Search:
        count = len(flow.lattice.points)
        if isinstance(measure, Atoms):
            none = np.zeros(count, dtype=bool)
            return cls(measure, flow, None, None, none, 0.0, np.empty(0))
        rough = coarsened(measure)
        jumps, length = jump_cells(measure)
        held = np.nonzero(measure.density.masses.ravel() > NO_MASS)[0]
        points = np.concatenate([flow.lattice.points[held], measure.atoms.points])
        masses = np.concatenate(
            [measure.density.masses.ravel()[held], measure.atoms.masses]
        )
        return cls(
            measure,
            flow,
            None
            if rough is None
            else Flow.of(rough, flow.field.equation, by_cells=True),
            Curves(points, masses / measure.total_mass, flow.spacing),
            jumps.ravel(),
            length,
            coarse_differences(measure).ravel() / measure.total_mass,
        )

    @property
    def cores(self) -> Cores:
        """The cores of the moving mass."""
        return Cores(self.flow.mass)

    @property
    def cell(self) -> float:
        """Width of the grid's cells, or the length that stands for it without a grid."""
        spacing = self.flow.spacing
        return spacing if np.isfinite(spacing) else NARROW_WITHOUT_GRID / 1.2

    @property
    def window(self) -> float:
        """Radius in radians of the window in which a core's width on the grid is measured."""
        has_grid = np.isfinite(self.flow.spacing)
        limit = WINDOW_CELLS * self.cell if has_grid else self.flow.core_radius
        return min(limit, self.flow.core_radius)

    def regions(self, basin: Basin) -> Iterator[ConcentratedRegion]:
        """The region of a basin, or one for each exact atom among its members."""
        members = basin.members
        atoms = (
            self.measure.atoms if isinstance(self.measure, Measure) else Atoms.none(3)
        )
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
            held = self.cores.mass_about(point, part, self.flow.core_radius)
            # All that is there: the atom and its tail, or more.
            core = self.cores.about(point, part, self.flow.core_radius)
            mass = atoms.masses[number] / self.measure.total_mass
            is_in = core.centre @ point > np.cos(self.flow.core_radius)
            largest = float(self.flow.on_lattice.eigenvalues(point)[-1])
            is_led = is_in and leads_core(mass, core.mass, largest)
            yield self._region(
                part,
                Core(point, held, covariance),
                cells=basin.cells,
                exact_mean=core.centre if is_led else point,
            )

    def _grid_regions(self, basin: Basin) -> Iterator[ConcentratedRegion]:
        """The region of a basin, or one for each of several clusters of particles in it."""
        flow, members = self.flow, basin.members
        centres = self.clusters[np.isin(self.cells_of_clusters, basin.cells)]
        if len(centres) < 2:
            core = self.cores.densest(basin.attractor, members, flow.core_radius)
            yield self._region(members, core, cells=basin.cells)
            return
        nearest = cKDTree(centres).query(flow.mass.points[members])[1]
        for rank, centre in enumerate(centres):
            part = members[nearest == rank]
            # A cluster across an edge may have its centre here and its points beyond.
            if len(part) == 0:
                continue
            core = self.cores.about(centre, part, flow.core_radius)
            yield self._region(part, core, cells=basin.cells)

    @cached_property
    def clusters(self) -> FloatArray:
        """Centres (k, 3) of the clusters of moving particles, if there is no grid."""
        if isinstance(self.measure, Measure):
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
        radii = profile_radii(flow.spacing)
        balls = self._ball_masses(core.centre, radii)
        mass = float(flow.mass.masses[members].sum())
        length = None
        if self.curves is not None and not is_exact:
            length = self._length_of_curve(members)
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
        speeds = np.linalg.norm(flow.on_lattice.velocity[cells], axis=1)
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
            largest_speed=float(speeds.max(initial=0.0)) / self.cell,
            coarse_difference=self._lost_share(narrow.centre),
            coarse_mass_change=abs(coarse_mass - mass) / mass,
            is_exact=is_exact,
            is_curve=length is not None,
            has_jump=bool(self.jumps[cells].any()),
        )
        kind, reason = decide(signals)
        has_grid = np.isfinite(flow.spacing)
        pins = kind == "atom" and not is_exact and has_grid
        radius = float(np.sqrt(np.trace(core.covariance)))
        return ConcentratedRegion(
            position=core.centre if exact_mean is None else exact_mean,
            mass=mass,
            core_mass=core.mass,
            principal_radii=core.principal_radii,
            radius=radius,
            radius_in_cells=radius / flow.spacing,
            widths_in_cells=widths if has_grid else np.full(2, np.nan),
            eigenvalues=eigenvalues,
            contraction_rate=-float(eigenvalues[-1]),
            growth_rate=-float(eigenvalues.sum()),
            kind=kind,
            reason=reason,
            ball_masses=balls,
            exponents=exponents,
            coarse_difference=signals.coarse_difference,
            coarse_mass=coarse_mass,
            pinning_force=core.mass * flow.spacing / 2 if pins else None,
            is_exact=is_exact,
            length=length,
            second_peak=second,
        )

    def _ball_masses(self, centre: FloatArray, radii: FloatArray) -> FloatArray:
        if not len(radii) or isinstance(self.measure, Atoms):
            return np.empty(0)
        cosines = self.flow.lattice.points @ centre
        masses = self.measure.density.masses.ravel()
        atoms = self.measure.atoms
        at_atoms = atoms.points @ centre
        held = [
            masses[cosines >= np.cos(r)].sum()
            + atoms.masses[at_atoms >= np.cos(r)].sum()
            for r in radii
        ]
        return np.array(held) / self.measure.total_mass

    def _length_of_curve(self, members: IntArray) -> float | None:
        assert self.curves is not None
        return self.curves.length(
            self.flow.mass.points[members], self.flow.mass.masses[members]
        )

    def _excess(self, core: Core, cells: IntArray) -> float:
        """Mean density of the core over that of a mass 1 in its basin, by their areas."""
        lattice = self.flow.lattice
        areas = lattice.areas[cells]
        cosines = lattice.points[cells] @ core.centre
        inside = areas[cosines >= np.cos(self.flow.core_radius)].sum()
        # A basin may be hardly larger than the ball: a narrow core has its own extent.
        extent = max(2 * np.pi * np.trace(core.covariance), self.cell**2)
        area = min(inside, extent) if inside > 0 else extent
        return float(core.mass * areas.sum() / area)

    def _inflow(self, core: Core, members: IntArray, eigenvalues: FloatArray) -> float:
        """Velocity-position covariance of the core over its variance, traces of both."""
        near = self.cores.near(core.centre, members, self.flow.core_radius)
        masses = self.flow.mass.masses[near]
        if not np.isfinite(self.flow.spacing) or masses.sum() <= REST:
            return float(eigenvalues.mean())
        away = coordinates_about(core.centre, self.flow.mass.points[near])
        basis = tangent_basis(core.centre[np.newaxis])[0]
        speeds = self.flow.on_lattice.velocity[self.flow.mass.cells[near]] @ basis.T
        away = away - masses @ away / masses.sum()
        variance = float((masses @ away**2).sum() / masses.sum())
        if variance < (0.3 * self.flow.spacing) ** 2:
            return float(eigenvalues.mean())
        return float((masses @ (away * speeds)).sum() / masses.sum() / variance)

    def _lost_share(self, centre: FloatArray) -> float:
        if isinstance(self.measure, Atoms):
            return np.nan
        near = self.flow.lattice.points @ centre >= np.cos(self.window)
        held = self.measure.density.masses.ravel()[near].sum() / self.measure.total_mass
        return float(self.lost[near].sum() / held) if held > REST else 0.0

    def frozen_mass(self, regions: tuple[ConcentratedRegion, ...]) -> float:
        """Mass in cells with |v| < 1e-3 h per unit time, outside the cores of atoms."""
        assert isinstance(self.measure, Measure)
        speeds = np.linalg.norm(self.flow.on_lattice.velocity, axis=1)
        frozen = self.flow.field.is_frozen(speeds, self.cell)
        for region in regions:
            if region.kind in ("atom", "forming"):
                cosines = self.flow.lattice.points @ region.position
                frozen &= cosines < np.cos(self.window)
        masses = self.measure.density.masses.ravel()
        return float(masses[frozen].sum()) / self.measure.total_mass
