r"""Basins of attraction on the cells of S^2.

Cells are assigned to the attractors of the discrete flow (``mfpde.detection.lattice``);
each attractor is moved to the zero of the velocity that it stands for, by Newton's method
where the flow contracts and along the flow elsewhere.  Attractors that meet are one, and
so are those between which the potential s F drops by less than kappa h^2 / 2, kappa the
strongest curvature: what a ridge loses between cell centres that lie beside it.  But never
are attractors one that are known to be two (``mfpde.detection.sphere_flow``).  Then the
edges are moved to where paths part (``mfpde.detection.paths``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.field import VelocityField
from mfpde.detection.lattice import (
    CellBasins,
    InterpolatedField,
    Lattice,
    cell_basins,
    lattice_of,
    passes,
    probing_lattice,
)
from mfpde.detection.paths import Partition, Paths, above_passes, beside_attractors
from mfpde.detection.report import REST
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Sphere
from mfpde.geometry.arcs import exponential_map, tangent_frames, velocity_gradients
from mfpde.measures.measure import Atoms, Measure

REACH = 0.7
REACH_WITHOUT_GRID = 1e-3
MEETING_CELLS = 1.5
"""Attractors closer than this, in cells, are the same."""
STEP, WIDEST = 1 / 6, 0.35
"""Length of a path's steps in units of the smaller of 1/sqrt(beta) and WIDEST radians."""
_NEWTON_STEPS = 40


@dataclass(frozen=True, eq=False)
class LatticeField:
    """A velocity field, its values (n, 3) at a lattice's points, and their basins.

    ``spacing`` is that of the measure's grid, nan without one; ``known`` (k, 3) are
    attractors that the lattice need not show, ``owned`` (n,) the number of the one that a
    cell is known to belong to, -1 for none.
    """

    field: VelocityField
    lattice: Lattice
    spacing: float
    velocity: FloatArray
    found: CellBasins
    known: FloatArray
    owned: IntArray

    @classmethod
    def of(
        cls,
        measure: Measure | Atoms,
        equation: MeanFieldEquation,
        sphere: Sphere | None,
    ) -> LatticeField:
        """The velocity field of ``measure`` on its grid, or else on a probing lattice."""
        field = VelocityField(equation, measure)
        if sphere is None:
            lattice, spacing = probing_lattice(equation.sharpness), np.nan
            velocity = field.at(lattice.points)
        else:
            lattice, spacing = lattice_of(sphere), sphere.spacing
            parts = np.einsum("a...,a...i->...i", field.components(), sphere.tangents)
            velocity = parts.reshape(-1, 3)
        speeds = np.linalg.norm(velocity, axis=1)
        found = cell_basins(lattice, velocity, field.rest_speed(speeds))
        none = np.empty((0, 3)), np.full(len(lattice.points), -1)
        return cls(field, lattice, spacing, velocity, found, *none)

    def with_attractors(self, points: FloatArray, owned: IntArray) -> LatticeField:
        """The field with attractors known to be at ``points`` (k, 3), each with its own basin.

        ``owned`` (n,) is the index of the attractor that each cell belongs to, -1 for none.
        """
        rest_speed = self.field.rest_speed(np.linalg.norm(self.velocity, axis=1))
        places = self.lattice.cells_of(points)
        known = np.where(owned >= 0, places[owned], -1)
        known[places] = places
        found = cell_basins(self.lattice, self.velocity, rest_speed, known=known)
        return replace(self, found=found, known=points, owned=owned)

    @property
    def reach(self) -> float:
        """Half the distance over which velocities are differenced."""
        has_grid = np.isfinite(self.spacing)
        return REACH * self.spacing if has_grid else REACH_WITHOUT_GRID

    @cached_property
    def heights(self) -> FloatArray:
        """Values (n,) of the potential s F at the lattice's points."""
        is_grid = np.isfinite(self.spacing)
        return self.field.potential(None if is_grid else self.lattice.points).ravel()

    def basins(self, held: FloatArray) -> tuple[FloatArray, Partition]:
        """Attractors (b, 3) of the basins with mass, and the cells of each by the graph.

        ``held`` (n,) is the mass in each cell.
        """
        count = len(self.found.attractors)
        masses = np.bincount(self.found.labels, weights=held, minlength=count)
        known = self.found.labels[self.lattice.cells_of(self.known)]
        heavy = np.union1d(np.nonzero(masses > REST)[0], known)
        number_of_label = np.full(count, -1)
        number_of_label[heavy] = np.arange(len(heavy))
        numbers = number_of_label[self.found.labels]
        cells = self.found.attractors[heavy]
        refined, curvatures = self._refined(self.lattice.points[cells])
        apart = number_of_label[known]
        refined[apart] = self.known
        pairs = np.concatenate(
            [self._meeting(refined), self._along_ridges(numbers, curvatures)]
        )
        basin_of = united(len(refined), pairs, apart)
        labels = np.append(basin_of, -1)[numbers]
        firsts = np.unique(basin_of, return_index=True)[1]
        certain = self._certain(labels, cells) | (self.owned >= 0)
        return refined[firsts], Partition(self.lattice, labels, certain)

    @cached_property
    def paths(self) -> Paths:
        """Paths in the field."""
        field = InterpolatedField.of(self.field, self.lattice, self.velocity)
        return Paths(field.at, self.path_step)

    @property
    def path_step(self) -> float:
        """Length of a path's steps, in radians."""
        sharpness = self.field.equation.sharpness
        return float(STEP / np.sqrt(max(1.0 / WIDEST**2, sharpness)))

    def _meeting(self, attractors: FloatArray) -> IntArray:
        """Pairs (p, 2) of ``attractors`` (k, 3) at one place."""
        if len(attractors) == 0:
            return np.empty((0, 2), dtype=np.int64)
        distance = MEETING_CELLS * self.lattice.spacing
        pairs = cKDTree(attractors).query_pairs(distance, output_type="ndarray")
        return np.asarray(pairs, dtype=np.int64)

    def _certain(self, labels: IntArray, attractors: IntArray) -> BoolArray:
        """Whether no path from each cell (n,) leaves its basin."""
        if labels.max(initial=-1) < 1:
            return np.ones(len(labels), dtype=bool)
        if not self.field.equation.has_energy:
            return beside_attractors(self.lattice, labels, attractors)
        return above_passes(self.lattice, labels, self.heights)

    def _along_ridges(self, numbers: IntArray, curvatures: FloatArray) -> IntArray:
        """Pairs (p, 2) of basins without a drop between them that cells could resolve.

        Those with the highest pass come first.
        """
        if not self.field.equation.has_energy or len(curvatures) < 2:
            return np.empty((0, 2), dtype=np.int64)
        peaks = np.full(len(curvatures), -np.inf)
        inside = numbers >= 0
        np.maximum.at(peaks, numbers[inside], self.heights[inside])
        pairs, levels = passes(self.lattice, numbers, self.heights)
        drops = peaks[pairs] - levels[:, np.newaxis]
        lost = curvatures[pairs] * self.lattice.spacing**2 / 2
        low = (drops <= lost).any(axis=1)
        order = np.argsort(-levels[low], kind="stable")
        return pairs[low][order]

    def _refined(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points (k, 3) moved to the attracting zeros near them; strongest rates there."""
        points = points.copy()
        limit = self.lattice.spacing
        active = np.arange(len(points))
        strongest = np.zeros(len(points))
        for _ in range(_NEWTON_STEPS):
            if len(active) == 0:
                break
            basis = tangent_frames(points[active])
            velocity, gradient = velocity_gradients(
                self.field.at, points[active], frames=basis, step=self.reach
            )
            strongest[active] = np.linalg.norm(gradient, ord=2, axis=(1, 2))
            steps = _ascent_steps(velocity, gradient, limit)
            points[active] = exponential_map(
                points[active], np.einsum("na,nai->ni", steps, basis)
            )
            active = active[np.linalg.norm(steps, axis=1) > 1e-3 * limit]
        return points, strongest

    def eigenvalues(self, centre: FloatArray) -> FloatArray:
        """Eigenvalues (2,) of the velocity's gradient at ``centre`` (3,), increasing."""
        basis = tangent_frames(centre[np.newaxis])
        _, gradient = velocity_gradients(
            self.field.at, centre[np.newaxis], frames=basis, step=self.reach
        )
        if self.field.equation.has_energy:
            return np.linalg.eigvalsh((gradient[0] + gradient[0].T) / 2)
        return np.sort(np.linalg.eigvals(gradient[0]).real)


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


def united(count: int, pairs: IntArray, apart: IntArray) -> IntArray:
    """Index of the set of each of ``count`` items after uniting ``pairs`` (p, 2) in turn.

    A pair is left out if it would unite two of those that are to stay ``apart`` (k,).
    """
    sets = np.arange(count)
    has_one = np.isin(sets, apart)
    for pair in pairs:
        first, second = sets[pair]
        if first != second and not (has_one[first] and has_one[second]):
            has_one[first] |= has_one[second]
            sets[sets == second] = first
    return np.unique(sets, return_inverse=True)[1]
