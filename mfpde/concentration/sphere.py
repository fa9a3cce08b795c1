r"""Concentration on S^2: basins of attraction, and the core of each.

Cells are assigned to the attractors of the discrete flow (``mfpde.concentration.lattice``);
each attractor is moved to the zero of the velocity that it stands for, by Newton's method
where the flow contracts and along the flow elsewhere.  Attractors that meet are one, and
so are those between which the potential s F drops by less than kappa h^2 / 2, kappa the
strongest curvature: what a ridge loses between cell centres that lie beside it.

The core is found by mean shift, x <- normalise(sum of m y over a ball about x).  A basin
that holds exact atoms is split between them, each point to the nearest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from mfpde.arrays import FloatArray, IntArray
from mfpde.concentration.balls import ball_radius, largest_ball_masses, profile_radii
from mfpde.concentration.coarse import coarse_differences, coarsened
from mfpde.concentration.curves import Curves
from mfpde.concentration.decision import FROZEN_SPEED, Signals, decide
from mfpde.concentration.field import BoolArray, VelocityField
from mfpde.concentration.jumps import jump_cells
from mfpde.concentration.lattice import (
    CellBasins,
    Lattice,
    cell_basins,
    lattice_of,
    passes,
    probing_lattice,
)
from mfpde.concentration.report import (
    REST,
    ConcentratedRegion,
    ConcentrationReport,
    local_exponents,
)
from mfpde.concentration.strip import strip_width
from mfpde.concentration.tangent import (
    coordinates_about,
    moved,
    tangent_basis,
    velocity_gradients,
)
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Sphere
from mfpde.measure import Atoms, Measure

REACH = 0.7
REACH_WITHOUT_GRID = 1e-3
NARROW_WITHOUT_GRID = 1e-3
"""Largest rms radius of an atom, in radians, where there are no cells."""
LEAST_CORE_CELLS = 4.0
WINDOW_CELLS = 6.0
MEETING_CELLS = 1.5
"""Attractors closer than this, in cells, are the same."""
_NEWTON_STEPS = 40
_CORE_STEPS = 30
_NO_MASS = 1e-25


def sphere_report(
    measure: Measure | Atoms, equation: MeanFieldEquation
) -> ConcentrationReport:
    """Find the basins and cores of a measure on a Sphere, or of atoms with d = 3."""
    flow = Flow.of(measure, equation)
    search = _Search.of(measure, flow)
    regions = [region for basin in flow.basins for region in search.regions(basin)]
    regions.sort(key=lambda region: -region.mass)
    radii = profile_radii(flow.spacing)
    resting = max(1 - float(flow.masses.sum()), 0.0)
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


@dataclass(frozen=True, eq=False)
class Basin:
    """One attractor (3,), the numbers of the points in its basin, and of the cells."""

    attractor: FloatArray
    members: IntArray
    cells: IntArray


@dataclass(frozen=True)
class Flow:
    """Moving mass as points and shares of the whole, with the cell that holds each point.

    ``densities`` are those of the cells; an atom's is above all of them.
    ``atom_numbers`` are negative for cells.
    """

    field: VelocityField
    lattice: Lattice
    found: CellBasins
    spacing: float
    core_radius: float
    points: FloatArray
    masses: FloatArray
    densities: FloatArray
    cells: IntArray
    atom_numbers: IntArray
    velocity: FloatArray

    @classmethod
    def of(cls, measure: Measure | Atoms, equation: MeanFieldEquation) -> Flow:
        """Basins of the velocity field of ``measure``, and what is in them."""
        field = VelocityField(equation, measure)
        core_radius = ball_radius(equation)
        if isinstance(measure, Atoms):
            betas = [attention.beta for attention in equation.attentions]
            lattice = probing_lattice(max(betas, default=0.0))
            velocity = field.at(lattice.points)
            atoms, spacing = measure, np.nan
            masses, densities = np.empty(0), np.empty(0)
        else:
            sphere = measure.geometry
            assert isinstance(sphere, Sphere)
            lattice, spacing = lattice_of(sphere), sphere.spacing
            core_radius = max(core_radius, LEAST_CORE_CELLS * spacing)
            parts = np.einsum("a...,a...i->...i", field.components(), sphere.tangents)
            velocity = parts.reshape(-1, 3)
            atoms = measure.atoms
            masses = measure.density.masses.ravel()
            densities = measure.density.values.ravel()
        speeds = np.linalg.norm(velocity, axis=1)
        found = cell_basins(lattice, velocity, field.rest_speed(speeds))
        cells = np.concatenate([np.arange(len(masses)), lattice.cells_of(atoms.points)])
        shares = np.concatenate([masses, atoms.masses]) / measure.total_mass
        moving = (shares > _NO_MASS) & ~found.frozen[cells]
        points = np.concatenate([lattice.points[: len(masses)], atoms.points])
        above = densities.max(initial=0.0) + atoms.masses
        return cls(
            field,
            lattice,
            found,
            spacing,
            core_radius,
            points[moving],
            shares[moving],
            np.concatenate([densities, above])[moving],
            cells[moving],
            np.arange(-len(masses), len(atoms))[moving],
            velocity,
        )

    @property
    def reach(self) -> float:
        """Half the distance over which velocities are differenced."""
        has_grid = np.isfinite(self.spacing)
        return REACH * self.spacing if has_grid else REACH_WITHOUT_GRID

    @cached_property
    def basins(self) -> list[Basin]:
        """The basins with mass."""
        labels = self.found.labels
        count = len(self.found.attractors)
        held = np.bincount(labels[self.cells], weights=self.masses, minlength=count)
        heavy = np.nonzero(held > REST)[0]
        if len(heavy) == 0:
            return []
        number_of_label = np.full(count, -1)
        number_of_label[heavy] = np.arange(len(heavy))
        numbers = number_of_label[labels]
        starts = self.lattice.points[self.found.attractors[heavy]]
        refined, curvatures = self._refined(starts)
        meeting = cKDTree(refined).query_pairs(
            MEETING_CELLS * self.lattice.spacing, output_type="ndarray"
        )
        pairs = np.concatenate([meeting, self._along_ridges(numbers, curvatures)])
        size = (len(heavy), len(heavy))
        graph = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=size)
        basin_count, basin_of = connected_components(graph, directed=False)
        numbers_of_points = numbers[self.cells]
        of_point = np.where(numbers_of_points >= 0, basin_of[numbers_of_points], -1)
        of_cell = np.where(numbers >= 0, basin_of[numbers], -1)
        return [
            Basin(
                refined[basin_of == b][0],
                np.nonzero(of_point == b)[0],
                np.nonzero(of_cell == b)[0],
            )
            for b in range(basin_count)
        ]

    def _along_ridges(self, numbers: IntArray, curvatures: FloatArray) -> IntArray:
        """Pairs (p, 2) of basins without a drop between them that cells could resolve."""
        if not self.field.equation.has_energy or len(curvatures) < 2:
            return np.empty((0, 2), dtype=np.int64)
        heights = self.lattice_potential()
        peaks = np.full(len(curvatures), -np.inf)
        inside = numbers >= 0
        np.maximum.at(peaks, numbers[inside], heights[inside])
        pairs, levels = passes(self.lattice, numbers, heights)
        drops = peaks[pairs] - levels[:, np.newaxis]
        lost = curvatures[pairs] * self.lattice.spacing**2 / 2
        return pairs[(drops <= lost).any(axis=1)]

    def lattice_potential(self) -> FloatArray:
        """S F at the lattice's points (n,)."""
        is_grid = np.isfinite(self.spacing)
        return self.field.potential(None if is_grid else self.lattice.points).ravel()

    def _refined(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points (k, 3) moved to the attracting zeros near them; strongest rates there."""
        points = points.copy()
        limit = self.lattice.spacing
        active = np.arange(len(points))
        strongest = np.zeros(len(points))
        for _ in range(_NEWTON_STEPS):
            basis = tangent_basis(points[active])
            velocity, gradient = velocity_gradients(
                self.field.at, points[active], (basis, self.reach)
            )
            strongest[active] = np.linalg.norm(gradient, ord=2, axis=(1, 2))
            steps = _ascent_steps(velocity, gradient, limit)
            points[active] = moved(
                points[active], np.einsum("na,nai->ni", steps, basis)
            )
            active = active[np.linalg.norm(steps, axis=1) > 1e-3 * limit]
            if len(active) == 0:
                break
        return points, strongest

    def eigenvalues(self, centre: FloatArray) -> FloatArray:
        """Of the velocity's gradient at ``centre``, increasing."""
        basis = tangent_basis(centre[np.newaxis])
        _, gradient = velocity_gradients(
            self.field.at, centre[np.newaxis], (basis, self.reach)
        )
        if self.field.equation.has_energy:
            return np.linalg.eigvalsh((gradient[0] + gradient[0].T) / 2)
        return np.sort(np.linalg.eigvals(gradient[0]).real)

    def mass_around(self, point: FloatArray) -> float:
        """Mass of the basin that holds ``point``; 0 if there is none."""
        cell = self.lattice.cells_of(point[np.newaxis])[0]
        for basin in self.basins:
            if (basin.cells == cell).any():
                return float(self.masses[basin.members].sum())
        return 0.0


def _ascent_steps(
    velocity: FloatArray, gradient: FloatArray, limit: float
) -> FloatArray:
    """Newton's steps (n, 2) where the flow contracts, else along the flow; limited."""
    symmetric = (gradient + np.swapaxes(gradient, 1, 2)) / 2
    rates = np.linalg.eigvalsh(symmetric)
    strongest = np.abs(rates).max(axis=1)
    contracts = rates[:, 1] < -1e-6 * strongest
    safe = np.where(contracts[:, np.newaxis, np.newaxis], gradient, -np.eye(2))
    newton = -np.linalg.solve(safe, velocity[..., np.newaxis])[..., 0]
    along = velocity / np.maximum(strongest, 1e-300)[:, np.newaxis]
    steps = np.where(contracts[:, np.newaxis], newton, along)
    lengths = np.linalg.norm(steps, axis=1, keepdims=True)
    return np.asarray(steps * np.minimum(1.0, limit / np.maximum(lengths, 1e-300)))


@dataclass(frozen=True)
class _Core:
    """Mean direction, mass and covariance of a core."""

    centre: FloatArray
    mass: float
    covariance: FloatArray

    @property
    def principal_radii(self) -> FloatArray:
        """Rms extents (2,), largest first."""
        variances = np.linalg.eigvalsh(self.covariance)[::-1]
        return np.asarray(np.sqrt(np.maximum(variances, 0.0)))


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
        held = np.nonzero(measure.density.masses.ravel() > _NO_MASS)[0]
        points = np.concatenate([flow.lattice.points[held], measure.atoms.points])
        masses = np.concatenate(
            [measure.density.masses.ravel()[held], measure.atoms.masses]
        )
        return cls(
            measure,
            flow,
            None if rough is None else Flow.of(rough, flow.field.equation),
            Curves(points, masses / measure.total_mass, flow.spacing),
            jumps.ravel(),
            length,
            coarse_differences(measure).ravel() / measure.total_mass,
        )

    @property
    def cell(self) -> float:
        """The grid's cell, or what stands for it without a grid."""
        spacing = self.flow.spacing
        return spacing if np.isfinite(spacing) else NARROW_WITHOUT_GRID / 1.2

    @property
    def window(self) -> float:
        """Radius of the window in which the grid sees a core."""
        has_grid = np.isfinite(self.flow.spacing)
        limit = WINDOW_CELLS * self.cell if has_grid else self.flow.core_radius
        return min(limit, self.flow.core_radius)

    def regions(self, basin: Basin) -> Iterator[ConcentratedRegion]:
        """One region, or one for each exact atom among the members."""
        members = basin.members
        atoms = (
            self.measure.atoms if isinstance(self.measure, Measure) else Atoms.none(3)
        )
        numbers = self.flow.atom_numbers[members]
        places = np.sort(numbers[numbers >= 0]) if len(atoms) else np.empty(0, int)
        if len(places) == 0:
            core = self._densest_core(basin.attractor, members)
            yield self._region(members, core, cells=basin.cells)
            return
        nearest = cKDTree(atoms.points[places]).query(self.flow.points[members])[1]
        for rank, number in enumerate(places.tolist()):
            part = members[nearest == rank]
            point = atoms.points[number]
            near = self._near(point, part, self.flow.core_radius)
            covariance = np.zeros((2, 2))
            if atoms.covariances is not None:
                basis = tangent_basis(point[np.newaxis])[0]
                covariance = basis @ atoms.covariances[number] @ basis.T
            core = _Core(point, float(self.flow.masses[near].sum()), covariance)
            yield self._region(part, core, cells=basin.cells, is_exact=True)

    def _densest_core(
        self, attractor: FloatArray, members: IntArray, radius: float | None = None
    ) -> _Core:
        """Core about the attractor or about the densest point, whichever holds more."""
        held = self.flow.points[members], self.flow.masses[members]
        densest = held[0][np.argmax(self.flow.densities[members])]
        reach = self.flow.core_radius if radius is None else radius
        cores = [_core(start, held, reach) for start in (attractor, densest)]
        return max(cores, key=lambda core: core.mass)

    def _near(self, centre: FloatArray, members: IntArray, radius: float) -> IntArray:
        cosines = self.flow.points[members] @ centre
        return np.asarray(members[cosines >= np.cos(radius)])

    def _region(
        self,
        members: IntArray,
        core: _Core,
        *,
        cells: IntArray,
        is_exact: bool = False,
    ) -> ConcentratedRegion:
        """The region of one basin, or of an exact atom's part of one."""
        flow = self.flow
        eigenvalues = flow.eigenvalues(core.centre)
        radii = profile_radii(flow.spacing)
        balls = self._ball_masses(core.centre, radii)
        mass = float(flow.masses[members].sum())
        length = None
        if self.curves is not None and not is_exact:
            length = self._length_of_curve(members)
        narrow = self._densest_core(core.centre, members, self.window)
        widths = narrow.principal_radii / self.cell
        coarse_mass = np.nan
        if self.coarse is not None:
            coarse_mass = self.coarse.mass_around(core.centre)
        exponents = local_exponents(radii, balls)
        speeds = np.linalg.norm(flow.velocity[cells], axis=1)
        signals = Signals(
            core_mass=core.mass,
            core_share=core.mass / mass,
            excess=self._excess(core, cells) / mass,
            eigenvalues=eigenvalues,
            inflow=self._inflow(core, members, eigenvalues),
            width=float(widths[0]),
            exponent=float(exponents[1]) if len(exponents) else np.nan,
            rival=self._rival(narrow, members),
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
            position=core.centre,
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
        return self.curves.length(self.flow.points[members], self.flow.masses[members])

    def _excess(self, core: _Core, cells: IntArray) -> float:
        """Mean density of the core over that of a mass 1 in its basin, by their areas."""
        lattice = self.flow.lattice
        areas = lattice.areas[cells]
        cosines = lattice.points[cells] @ core.centre
        inside = areas[cosines >= np.cos(self.flow.core_radius)].sum()
        return float(core.mass * areas.sum() / inside) if inside > 0 else np.inf

    def _inflow(self, core: _Core, members: IntArray, eigenvalues: FloatArray) -> float:
        """Velocity-position covariance of the core over its variance, traces of both."""
        near = self._near(core.centre, members, self.flow.core_radius)
        masses = self.flow.masses[near]
        if not np.isfinite(self.flow.spacing) or masses.sum() <= REST:
            return float(eigenvalues.mean())
        away = coordinates_about(core.centre, self.flow.points[near])
        basis = tangent_basis(core.centre[np.newaxis])[0]
        speeds = self.flow.velocity[self.flow.cells[near]] @ basis.T
        away = away - masses @ away / masses.sum()
        variance = float((masses @ away**2).sum() / masses.sum())
        if variance < (0.3 * self.flow.spacing) ** 2:
            return float(eigenvalues.mean())
        return float((masses @ (away * speeds)).sum() / masses.sum() / variance)

    def _rival(self, narrow: _Core, members: IntArray) -> float:
        """Mass of the second densest window of the basin, as a share of the core's."""
        cosines = self.flow.points[members] @ narrow.centre
        apart = members[cosines < np.cos(2 * self.window)]
        if not len(apart) or narrow.mass <= REST:
            return 0.0
        start = self.flow.points[apart[np.argmax(self.flow.densities[apart])]]
        held = self.flow.points[apart], self.flow.masses[apart]
        return _core(start, held, self.window).mass / narrow.mass

    def _lost_share(self, centre: FloatArray) -> float:
        if isinstance(self.measure, Atoms):
            return np.nan
        near = self.flow.lattice.points @ centre >= np.cos(self.window)
        held = self.measure.density.masses.ravel()[near].sum() / self.measure.total_mass
        return float(self.lost[near].sum() / held) if held > REST else 0.0

    def frozen_mass(self, regions: tuple[ConcentratedRegion, ...]) -> float:
        """Mass with |v| < 1e-3 h outside the cores of atoms."""
        assert isinstance(self.measure, Measure)
        speeds = np.linalg.norm(self.flow.velocity, axis=1)
        frozen = speeds < FROZEN_SPEED * self.cell
        for region in regions:
            if region.kind in ("atom", "forming"):
                cosines = self.flow.lattice.points @ region.position
                frozen &= cosines < np.cos(self.window)
        masses = self.measure.density.masses.ravel()
        return float(masses[frozen].sum()) / self.measure.total_mass


def _core(
    start: FloatArray, held: tuple[FloatArray, FloatArray], radius: float
) -> _Core:
    """Core by mean shift from ``start`` over balls of ``radius``."""
    points, masses = held
    centre = start
    near = points @ centre >= np.cos(radius)
    for _ in range(_CORE_STEPS):
        if not near.any():
            return _Core(centre, 0.0, np.zeros((2, 2)))
        total = masses[near] @ points[near]
        mean = total / np.linalg.norm(total)
        near = points @ mean >= np.cos(radius)
        step = np.linalg.norm(mean - centre)
        centre = mean
        if step < 1e-12:
            break
    mass = float(masses[near].sum())
    if mass == 0.0:
        return _Core(centre, 0.0, np.zeros((2, 2)))
    offsets = coordinates_about(centre, points[near])
    covariance = (masses[near, np.newaxis] * offsets).T @ offsets / mass
    return _Core(centre, mass, covariance)
