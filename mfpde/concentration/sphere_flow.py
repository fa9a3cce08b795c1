r"""Basins of attraction on S^2.

Cells are assigned to the attractors of the discrete flow (``mfpde.concentration.lattice``);
each attractor is moved to the zero of the velocity that it stands for, by Newton's method
where the flow contracts and along the flow elsewhere.  Attractors that meet are one, and
so are those between which the potential s F drops by less than kappa h^2 / 2, kappa the
strongest curvature: what a ridge loses between cell centres that lie beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from mfpde.arrays import FloatArray, IntArray
from mfpde.concentration.balls import ball_radius
from mfpde.concentration.field import VelocityField
from mfpde.concentration.lattice import (
    CellBasins,
    Lattice,
    cell_basins,
    lattice_of,
    passes,
    probing_lattice,
)
from mfpde.concentration.report import REST
from mfpde.concentration.tangent import tangent_basis, velocity_gradients
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Sphere
from mfpde.great_arcs import exponential_map
from mfpde.measure import Atoms, Measure

REACH = 0.7
REACH_WITHOUT_GRID = 1e-3
LEAST_CORE_CELLS = 4.0
MEETING_CELLS = 1.5
"""Attractors closer than this, in cells, are the same."""
NO_MASS = 1e-25
_NEWTON_STEPS = 40


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
        moving = (shares > NO_MASS) & ~found.frozen[cells]
        if isinstance(measure, Measure):
            # An atom of the measure is one also where it rests.
            moving[len(masses) :] = True
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
            points[active] = exponential_map(
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
