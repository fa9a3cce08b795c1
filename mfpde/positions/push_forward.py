r"""Discrete layers on a grid: the push-forward T_# mu of each block's map T = z / |z|.

On the circle T takes the faces of cells along; the mass between two of them stays, and a monotone
cubic in the cumulated mass is read at the faces of the grid.  Where T folds, an image runs
backwards: then each cell's mass is spread evenly over its own image, and images that
overlap add up.  On the sphere labels carry the masses of the cells.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry import Circle, Sphere
from mfpde.geometry.remap import FOLDED, push_masses
from mfpde.grid_equation import GridEquation
from mfpde.positions.blocks import LayerOnGrid, move_points
from mfpde.positions.rows import PositionedDensity, RunState
from mfpde.terms import PointMasses
from mfpde.terms.softmax_sums import PointFields
from mfpde.transport import Scheme
from mfpde.transport.base import DEFAULT_RTOL, State, Step, Transport
from mfpde.transport.lagrangian import LagrangianSphere
from mfpde.transport.semi_lagrangian_schemes import SemiLagrangianCircle

FOLDS = "folded_cells"
"""The statistic of a run: how often the image of a cell ran backwards."""
PLANE = np.array([1.0, 1.0j])
"""Makes points of the circle complex numbers."""


class LayerTransport(Transport):
    """A layer as a step of length 1: its blocks one after the other."""

    folds: Counter[str]
    # A layer is whole.
    goes_past_saves = False

    @abstractmethod
    def push_forward(self, grid: GridEquation, step: float, state: State) -> State:
        """Return the state after a block, and count the cells that it folds."""

    def step(self, state: State, dt: float) -> Step:
        """The state after the layer; all of its error is that of the grid."""
        assert isinstance(self.grid, LayerOnGrid)
        del dt
        for grid, step in self.grid.blocks:
            state = self.push_forward(grid, step, state)
        is_finite = np.isfinite(state.masses).all() and np.isfinite(state.points).all()
        return Step(state, 0.0 if is_finite else np.nan)

    def largest_step(self, state: State) -> float:
        """One layer."""
        del state
        return 1.0


class LayersOnCircle(LayerTransport, SemiLagrangianCircle):
    """Exact masses of cells, and atoms as points that go along."""

    def push_forward(self, grid: GridEquation, step: float, state: State) -> State:
        """Return the state after a block: masses between the images of the faces."""
        circle, cells = self.circle, self.circle.num_cells
        atoms = PointMasses(state.points, state.atom_masses)
        moments = circle.moments(state.masses, grid.degree)
        moments /= np.sinc(np.arange(len(moments)) / cells)
        moments += circle.atom_moments(*atoms, grid.degree)
        moments = grid.with_masses(moments, state.masses, atoms, everywhere=True)
        starts = np.concatenate([circle.faces.points, atoms.points])
        updates = grid.updates(moments, PointFields(circle, starts)).T
        ends = move_points(starts, step, updates)
        # In cells; between images of neighbouring faces the short way counts.
        turns = (
            np.angle((ends @ PLANE) / (starts @ PLANE))[:cells] * cells / (2 * np.pi)
        )
        before = np.roll(turns, 1)
        widths = np.mod(1 + turns - before + cells / 2, cells) - cells / 2
        self.folds[FOLDS] += int((widths < FOLDED).sum())
        masses = push_masses(state.masses, np.arange(cells) + before, widths)
        return state.moved(masses, ends[cells:])


class LayersOnSphere(LayerTransport, LagrangianSphere):
    """Labels, which hold all the mass."""

    def push_forward(self, grid: GridEquation, step: float, state: State) -> State:
        """Return the state after a block."""
        labels = PointMasses(state.points, state.atom_masses)
        moments = grid.moments(state.masses, labels, everywhere=True)
        updates = grid.updates(moments, PointFields(self.sphere, state.points)).T
        ends = move_points(state.points, step, updates)
        before, after = map(self._orientations, (state.points, ends))
        self.folds[FOLDS] += int((before * after < -(FOLDED**2)).sum())
        return state.moved(state.masses, ends)

    def _orientations(self, points: FloatArray) -> FloatArray:
        """Twice the signed areas of the triangles of each label and two neighbours."""
        labels = points.reshape(*self.sphere.shape, 3)
        here, below, beside = labels[:-1], labels[1:], np.roll(labels, -1, axis=1)[:-1]
        return np.asarray((np.cross(here, below) * beside).sum(axis=-1))


def scheme_of_layers(start: RunState) -> Scheme:
    """Return the scheme of discrete layers.

    ``ValueError`` for rows, a zonal grid, or atoms on a sphere.
    """
    if isinstance(start, PositionedDensity):
        raise ValueError(
            "start is rows of positions: DiscreteLayers move a Density, and tokens at positions "
            "one by one (solve_particles)"
        )
    on_circle = isinstance(start.geometry, Circle)
    if not (on_circle or (isinstance(start.geometry, Sphere) and not len(start.atoms))):
        raise ValueError(
            f"start on {start.geometry!r} with {len(start.atoms)} atoms: DiscreteLayers move "
            "densities on a Circle, with atoms, or a Sphere, without; solve_particles moves all"
        )
    kind: type[LayerTransport] = LayersOnCircle if on_circle else LayersOnSphere
    folds = Counter({FOLDS: 0})

    def make(grid: GridEquation, rtol: float = DEFAULT_RTOL) -> LayerTransport:
        transport = kind(grid, rtol)
        transport.folds = folds
        return transport

    return Scheme("discrete_layers", make, moves_labels=not on_circle, statistics=folds)
