r"""Newton's method on the positions of weighted pieces, which always have their best masses.

phi(x) = min_m E(x, m) over masses m >= 0 of total 1 (``mass_program.py``).  In the variables
y = sqrt(m) u (displacement) and q = dm / sqrt(m), on the plane of constant mass,

    grad phi = E_y,   Hess phi = E_yy - E_yq E_qq^{-1} E_qy.

A step minimises the quadratic model, shifted until no piece moves further than a radius, which is
halved until the energy falls by half as much as in the model (Moré & Sorensen, 1983).  Where the
energy is at its rounding the gradient has to fall instead.  A piece whose best mass is zero is
removed, so that the method ends where Newton's method on positions and masses together creeps
along the boundary of m >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.stationary.atomic_pieces import Arrangement, AtomicPieces, Derivatives
from mfpde.stationary.mass_program import best_masses

ROUNDING = 2e-15
"""Rounding of energies and gradients, in units of the energy's scale."""
NEGLIGIBLE = 1e-14
"""Masses, and eigenvalues as shares of the largest, below this are rounding."""
MOST_STEPS = 20


class Balanced(NamedTuple):
    """An arrangement whose masses are the best ones, and its energy."""

    state: Arrangement
    energy: float


@dataclass(frozen=True, eq=False)
class _Model:
    """Quadratic model of phi around a state, in the axes of its Hessian.

    ``along`` are the gradient's components, ``sizes`` the eigenvalues, ``roots`` (n,) the square
    roots of the masses.
    """

    along: FloatArray
    sizes: FloatArray
    axes: FloatArray
    roots: FloatArray

    def step_within(self, radius: float) -> tuple[FloatArray, FloatArray]:
        """The minimiser y, shifted until no displacement (n, k) is above ``radius``."""
        least = NEGLIGIBLE * max(float(np.abs(self.sizes).max()), NEGLIGIBLE)
        shift = max(0.0, -2 * float(self.sizes[0])) + least
        while True:
            y = -self.axes @ (self.along / (self.sizes + shift))
            moves = y.reshape(len(self.roots), -1) / self.roots[:, np.newaxis]
            if np.linalg.norm(moves, axis=1).max() <= radius:
                return y, moves
            shift *= 2

    def lowest(self) -> float:
        """Smallest change of phi in the model; -inf unless the model is convex."""
        if self.sizes[0] <= 0:
            return -np.inf
        return float(-(self.along**2 / self.sizes).sum() / 2)

    def change(self, y: FloatArray) -> float:
        """Change of phi in the model at ``y``."""
        parts = self.axes.T @ y
        return float(self.along @ parts + self.sizes @ parts**2 / 2)


def balance(
    pieces: AtomicPieces, state: Arrangement, new: FloatArray | None = None
) -> Balanced:
    """State with the best masses on its positions and on ``new`` ones, and its energy.

    Pieces without mass are removed.
    """
    positions, start = state
    if new is not None:
        positions = np.concatenate([positions, new])
        start = np.concatenate([start, np.zeros(len(new))])
    matrix = pieces.energy.matrix(positions, positions)
    potential = pieces.energy.external.values(positions)
    masses = best_masses(matrix, potential, start)
    kept = masses > NEGLIGIBLE
    masses = np.where(kept, masses, 0.0)
    masses /= masses.sum()
    energy = float(masses @ (matrix @ masses / 2 + potential))
    return Balanced(Arrangement(positions[kept], masses[kept]), energy)


def slide(pieces: AtomicPieces, start: Balanced, *, limit: float = np.inf) -> Balanced:
    """Pieces and their energy at the end of Newton's method, masses balanced throughout.

    The iteration ends early where, by twice the model, the energy will not come down to ``limit``.
    """
    here = start
    for _ in range(MOST_STEPS):
        model = _model(pieces.derivatives(here.state), here.state.masses)
        if here.energy + 2 * model.lowest() > limit:
            break
        lower = _step(pieces, here, model)
        if lower is None:
            break
        here = lower
    return here


def _step(pieces: AtomicPieces, start: Balanced, model: _Model) -> Balanced | None:
    """The state after a step within the first radius where E falls as in the model, or None."""
    radius, rounding = pieces.width, ROUNDING * pieces.scale
    while True:
        y, moves = model.step_within(radius)
        expected = model.change(y)
        positions = pieces.displace(start.state.positions, moves)
        there = balance(pieces, Arrangement(positions, start.state.masses))
        if -expected < rounding:
            break
        if there.energy < start.energy + expected / 2:
            return there
        radius = float(np.linalg.norm(moves, axis=1).max()) / 2
    # The energy no longer shows the fall, the gradient does.
    gradient = pieces.derivatives(there.state).gradient
    falls = np.linalg.norm(gradient) < np.linalg.norm(model.along) / 2
    return there if falls and there.energy <= start.energy + rounding else None


def find_condition(pieces: AtomicPieces, state: Arrangement) -> float:
    """Condition number of positions and masses together; inf unless E is convex there."""
    here = pieces.derivatives(state)
    count = len(state.masses)
    whole = np.block([[here.moves, here.cross], [here.cross.T, here.masses]])
    normal = np.concatenate([np.zeros(len(whole) - count), np.sqrt(state.masses)])
    plane = _without(normal, _without(normal, whole).T)
    values = np.linalg.eigvalsh((plane + plane.T) / 2)
    return float(values[-1] / values[0]) if values[0] > 0 else np.inf


def _model(here: Derivatives, masses: FloatArray) -> _Model:
    """The model with E_qq inverted on the plane of constant mass, up to its rounding."""
    roots = np.sqrt(masses)
    cross = _without(roots, here.cross)
    values, vectors = np.linalg.eigh(_without(roots, _without(roots, here.masses).T))
    least = NEGLIGIBLE * values.max(initial=0.0)
    half = (cross @ vectors) / np.sqrt(np.maximum(values, least))
    moves = here.moves - half @ half.T
    sizes, axes = np.linalg.eigh((moves + moves.T) / 2)
    return _Model(axes.T @ here.gradient, sizes, axes, roots)


def _without(normal: FloatArray, rows: FloatArray) -> FloatArray:
    """Coordinates of ``rows`` (r, n) on the plane orthogonal to ``normal`` (n,), (r, n - 1).

    The basis of the plane is the image of the other axes under the reflection that takes the
    last axis to the normal.
    """
    mirror = normal / np.linalg.norm(normal)
    mirror[-1] += 1.0
    mirror /= np.linalg.norm(mirror)
    return np.asarray((rows - 2 * np.outer(rows @ mirror, mirror))[:, :-1])
