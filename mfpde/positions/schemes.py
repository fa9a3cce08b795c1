r"""Schemes of what moves by more than a velocity: discrete layers, and tokens with a radius.

A block of a layer pushes the density forward by its map T = z / |z|.  On the circle T takes the
faces of cells along; the mass between two of them stays, and a monotone cubic in the cumulated
mass is read at the faces of the grid.  Where T folds, an image runs backwards: then each cell's
mass is spread evenly over its own image, and images that overlap add up.  On the sphere labels
carry the masses of the cells.

Of tokens x = R theta the radius R is carried along,

    d_t rho + div(rho v) = 0,   d_t (rho R) + div(rho R v) = rho R',

v and R' those of :mod:`mfpde.terms.normalization`, R that of the tokens at theta.  Where they
came from several places it is their mean.  A state has two rows of masses, of rho and of rho R.
On the circle both rows are donor-blended; on the sphere labels are the tokens themselves.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from functools import partial

import numpy as np

from mfpde.arrays import BoolArray, FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Sphere
from mfpde.geometry.remap import FOLDED, push_masses
from mfpde.grid_equation import GridEquation
from mfpde.positions.blocks import LayerOnGrid, VanishedError, move_points
from mfpde.positions.rows import PositionedDensity, RunState
from mfpde.terms import PointMasses
from mfpde.terms.normalization import (
    RADIUS_ZERO,
    SHORTEST_RADIUS,
    Normalization,
    split_tokens,
)
from mfpde.terms.softmax_sums import PointFields
from mfpde.transport import Scheme
from mfpde.transport.base import DEFAULT_RTOL, NOTHING, Flow, State, Step, Transport
from mfpde.transport.circle import DonorBlendedCircle, drain_cells, net_rate
from mfpde.transport.euler_stages import IGNORED_SHARE
from mfpde.transport.lagrangian import LONGEST_MOVE, LagrangianSphere
from mfpde.transport.semi_lagrangian_schemes import SemiLagrangianCircle

FOLDS = "folded_cells"
"""The statistic of a run: how often the image of a cell ran backwards."""
PLANE = np.array([1.0, 1.0j])
"""Makes points of the circle complex numbers."""


TINY = 1e-300
"""Mass of a cell that has no radius of its own."""
LARGEST_FALL = 0.5
"""Share of a radius by which it falls in a step."""


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
        angles = np.angle((ends @ PLANE) / (starts @ PLANE))[:cells]
        turns = angles * cells / (2 * np.pi)
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
    """Return the scheme of discrete layers; ``ValueError`` if there is none."""
    has_rows, count = isinstance(start, PositionedDensity), len(start.atoms)
    on_circle, on_sphere = (isinstance(start.geometry, k) for k in (Circle, Sphere))
    if has_rows or not (on_circle or (on_sphere and not count)):
        words = f"on {start.geometry!r} with {count} atoms"
        raise ValueError(
            f"start {'is rows of positions' if has_rows else words}: DiscreteLayers move "
            "densities on a Circle, with atoms, or a Sphere, without; solve_particles moves all"
        )
    kind: type[LayerTransport] = LayersOnCircle if on_circle else LayersOnSphere
    folds = Counter({FOLDS: 0})

    def make(grid: GridEquation, rtol: float = DEFAULT_RTOL) -> LayerTransport:
        transport = kind(grid, rtol)
        transport.folds = folds
        return transport

    return Scheme("discrete_layers", make, moves_labels=not on_circle, statistics=folds)


def find_radii(masses: FloatArray) -> FloatArray:
    """Return R from the masses (2, ...) of rho and rho R; the mean where there is no mass."""
    radii = np.full(masses[0].shape, masses[1].sum() / masses[0].sum())
    np.divide(masses[1], masses[0], out=radii, where=masses[0] > TINY)
    return radii


def is_heavy(masses: FloatArray) -> BoolArray:
    """Return of which cells the radius counts, (n,): not of those that are nearly empty."""
    return np.asarray(masses[0] > IGNORED_SHARE * masses[0].mean())


class TokensTransport(Transport):
    """What carries radii along: their start, and their end at the origin."""

    def __init__(
        self,
        grid: GridEquation,
        rtol: float = DEFAULT_RTOL,
        *,
        normalization: Normalization,
    ) -> None:
        super().__init__(grid, rtol)
        self.normalization = normalization
        self.start_radii = normalization.radii_at(grid.geometry.points)

    def check_radii(self, radii: FloatArray) -> None:
        """Raise ``VanishedError`` if a token is at the origin."""
        if radii.min() < SHORTEST_RADIUS * self.start_radii.min():
            raise VanishedError(RADIUS_ZERO)


class TokensOnCircle(TokensTransport, DonorBlendedCircle):
    """Tokens on the circle; outflows are (3, 2, n): through both faces, and what R' brings."""

    def represent_masses(self, masses: FloatArray) -> FloatArray:
        """The masses of rho, and those of rho R at the start."""
        return np.stack([masses, masses * self.start_radii])

    def find_flow(self, state: State) -> Flow:
        """Find moments, velocities and outflows of ``state``."""
        masses = state.masses
        moments = self.density_moments(masses)
        nobody = PointMasses(state.points, state.atom_masses)
        acting = self.grid.with_masses(moments[0], masses[0], nobody)
        updates = self.grid.updates(acting, self.circle.centres)
        radial = (updates * self.circle.points.T).sum(axis=0)
        along = self.velocity(acting)
        radii = find_radii(masses)
        velocity, growth = self.normalization.find_motion(along, radial, radii)
        velocity = np.repeat(velocity[np.newaxis], 2, axis=1)
        outflows, unresolved = self.outflows(masses, moments, velocity)
        gains = np.stack([0.0 * growth, masses[0] * growth])[np.newaxis]
        outflows = np.concatenate([outflows, gains])
        return Flow(moments, moments, velocity, state.points, outflows, unresolved)

    def drain(
        self, masses: FloatArray, outflows: FloatArray, step: float
    ) -> FloatArray:
        """Masses after an Euler stage; R of next to no mass stays between those of the rest."""
        after, gained = drain_cells(masses, outflows[:2], step), step * outflows[2, 1]
        after[1] += gained
        known = find_radii(np.stack([masses[0], masses[1] + gained]))[is_heavy(masses)]
        bounded = after[0] * find_radii(after).clip(known.min(), known.max())
        after[1] = np.where(is_heavy(after), after[1], bounded)
        return after

    def rate(self, masses: FloatArray, outflows: FloatArray) -> FloatArray:
        """Rate of change of the cell masses."""
        return np.asarray(net_rate(outflows[:2]) + outflows[2])

    def draining_time(
        self, masses: FloatArray, outflows: FloatArray, least: float
    ) -> float:
        """Shortest draining time of cells of more than ``least`` mass, or of their radii."""
        counts = is_heavy(masses)
        self.check_radii(find_radii(masses)[counts])
        emptied = super().draining_time(masses, outflows[:2], least)
        falls = super().draining_time(masses[1, counts], -outflows[2:, 1, counts], 0.0)
        return min(emptied, LARGEST_FALL * falls)


class TokensOnSphere(TokensTransport, LagrangianSphere):
    """Tokens on the sphere, each the label of a cell."""

    def begin(self, state: State, labels: PointMasses | None = None) -> State:
        """Return the state whose points are tokens, at the start."""
        begun = super().begin(state, labels)
        return begun.moved(begun.masses, begun.points * self.start_radii.reshape(-1, 1))

    def restore(self, state: State) -> State:
        """The masses (2, nlat, nlon) of rho and rho R on the grid."""
        radii, directions = split_tokens(state.points)
        both = [
            super(TokensOnSphere, self).restore(
                State(state.masses, directions, weights)
            )
            for weights in (state.atom_masses, radii * state.atom_masses)
        ]
        return both[0].moved(np.stack([one.masses for one in both]), both[0].points)

    def find_flow(self, state: State) -> Flow:
        """Find moments and the motion x' of the tokens."""
        _, directions = split_tokens(state.points)
        labels = PointMasses(directions, state.atom_masses)
        moments = self.grid.moments(state.masses, labels)
        updates = self.grid.updates(moments, PointFields(self.sphere, directions))
        motion = self.normalization.move_tokens(state.points, updates.T)
        nothing = np.zeros(moments.shape, dtype=np.complex128)
        return Flow(nothing, moments, NOTHING, motion)

    def constrain(self, points: FloatArray) -> FloatArray:
        """Return where tokens are put that ended a stage."""
        return self.normalization.constrain(points)

    def largest_step(self, state: State) -> float:
        """The step in which no token moves farther than 0.4 of its radius; inf at rest."""
        radii, _ = split_tokens(state.points)
        self.check_radii(radii)
        speeds = np.linalg.norm(self.flow(state).atom_velocities, axis=1) / radii
        return float(LONGEST_MOVE / max(speeds.max(), TINY))


def scheme_of_tokens(equation: MeanFieldEquation, start: RunState) -> Scheme:
    """Return the scheme of an equation with a normalization; ``ValueError`` if there is none."""
    normalization, geometry = equation.normalization, start.geometry
    assert normalization is not None
    obstacles = {
        "rows of positions": isinstance(start, PositionedDensity),
        f"{geometry!r}": not isinstance(geometry, Circle | Sphere),
        "atoms in the start": len(start.atoms) > 0,
        f"diffusion = {equation.diffusion:g}": equation.diffusion > 0,
    }
    for words in (words for words, stands in obstacles.items() if stands):
        raise ValueError(
            f"{normalization!r} with {words}: radii are carried by a density alone, on a Circle "
            "or a Sphere, or by particles (solve_particles)"
        )
    is_circle = isinstance(geometry, Circle)
    name, kind = (
        ("donor_blended", TokensOnCircle) if is_circle else ("labels", TokensOnSphere)
    )
    return Scheme(name, partial(kind, normalization=normalization))
