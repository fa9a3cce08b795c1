r"""Tokens x = R theta of which the radius R is carried along, on a circle or a sphere.

    d_t rho + div(rho v) = 0,   d_t (rho R) + div(rho R v) = rho R',

v and R' those of :mod:`mfpde.terms.normalization`, R that of the tokens at theta.  Where they
came from several places it is their mean.  A state has two rows of masses, of rho and of rho R.
On the circle both rows are donor-blended; on the sphere labels are the tokens themselves.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from mfpde.arrays import BoolArray, FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Sphere
from mfpde.grid_equation import GridEquation
from mfpde.positions.blocks import VanishedError
from mfpde.positions.rows import PositionedDensity, RunState
from mfpde.terms.kernels import PointMasses
from mfpde.terms.normalization import (
    RADIUS_ZERO,
    SHORTEST_RADIUS,
    Normalization,
    split_tokens,
)
from mfpde.terms.softmax_sums import PointFields
from mfpde.transport import Scheme
from mfpde.transport.base import DEFAULT_RTOL, NOTHING, Flow, State, Transport
from mfpde.transport.circle import DonorBlendedCircle, drain_cells, net_rate
from mfpde.transport.euler_stages import IGNORED_SHARE
from mfpde.transport.lagrangian import LONGEST_MOVE, LagrangianSphere

TINY = 1e-300
"""Mass of a cell that has no radius of its own."""
LARGEST_FALL = 0.5
"""Share of a radius by which it falls in a step."""


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
