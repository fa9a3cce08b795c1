r"""Newton's method on the positions of weighted pieces, which always have their best masses.

phi(x) = min_m E(x, m) over masses m >= 0 of total 1 (``mass_program.py``).  In the variables
y = sqrt(m) u (displacement) and q = dm / sqrt(m), on the plane of constant mass,

    grad phi = E_y,   Hess phi = E_yy - E_yq E_qq^{-1} E_qy.

A step minimises the quadratic model, shifted until no piece moves further than a radius that
grows and shrinks with the model's success (Moré & Sorensen, 1983).  Where the energy is at
its rounding the gradient has to fall instead.  A piece whose best mass is zero is removed, so
that the method ends where Newton's method on positions and masses together creeps along the
boundary of m >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.stationary.mass_program import best_masses

SETTLED = 4e-16
ROUNDING = 2e-15
FLAT = 1e-14
LEAST_EIGENVALUE = 1e-15
LEAST_MASS = 1e-14
MOST_TRIALS = 6
FIRST_RADIUS = 0.4
LARGEST_RADIUS = 0.8
SEARCHES = 5
SURE = 3
AT_MOST = 4.0


class Arrangement(NamedTuple):
    """Positions of pieces, and their masses (n,)."""

    positions: FloatArray
    masses: FloatArray


class Balanced(NamedTuple):
    """An arrangement whose masses are the best ones, and its energy."""

    state: Arrangement
    energy: float


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Derivatives of E in (y, q): ``gradient`` E_y (n k,), ``moves`` E_yy, ``cross`` E_yq.

    ``masses`` is E_qq (n, n).
    """

    gradient: FloatArray
    moves: FloatArray
    cross: FloatArray
    masses: FloatArray


class WeightedPieces(Protocol):
    """Weighted pieces with a position each: atoms or rings."""

    @property
    def scale(self) -> float:
        """Scale that energies are compared with."""

    @property
    def width(self) -> float:
        """Width of the narrowest kernel, in radians."""

    def kernel(self, positions: FloatArray, others: FloatArray) -> FloatArray:
        """Kernel between two sets of positions."""

    def potential(self, positions: FloatArray) -> FloatArray:
        """Values of V at positions."""

    def derivatives(self, state: Arrangement) -> Derivatives:
        """Derivatives of the energy by positions and masses."""

    def moved(self, positions: FloatArray, steps: FloatArray) -> FloatArray:
        """Positions after ``steps`` (n, k)."""


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

    def steps(self, shift: float) -> tuple[FloatArray, FloatArray, float]:
        """Return y, the displacements (n, k) and the largest length of one, for a ``shift``."""
        sizes = self.sizes + shift
        y = -self.axes @ (self.along / np.where(sizes > 0, sizes, np.inf))
        moves = y.reshape(len(self.roots), -1) / self.roots[:, np.newaxis]
        return y, moves, float(np.linalg.norm(moves, axis=1).max())

    def lowest(self) -> float:
        """Smallest change of phi in the model; -inf unless the model is convex."""
        if self.sizes[0] <= 0:
            return -np.inf
        return float(-(self.along**2 / self.sizes).sum() / 2)

    def change(self, y: FloatArray) -> float:
        """Change of phi in the model at ``y``."""
        parts = self.axes.T @ y
        return float(self.along @ parts + self.sizes @ parts**2 / 2)


def energy_of(pieces: WeightedPieces, state: Arrangement) -> float:
    """Energy E of weighted pieces."""
    positions, masses = state
    field = pieces.kernel(positions, positions) @ masses / 2
    return float(masses @ (field + pieces.potential(positions)))


def balanced(
    pieces: WeightedPieces, state: Arrangement, new: FloatArray | None = None
) -> Balanced:
    """State with the best masses on its positions and on ``new`` ones, and its energy.

    Pieces without mass are removed.
    """
    positions, start = state
    if new is not None:
        positions = np.concatenate([positions, new])
        fresh = np.zeros(len(new)) if len(start) else np.ones(len(new))
        start = np.concatenate([start, fresh])
    matrix, potential = pieces.kernel(positions, positions), pieces.potential(positions)
    masses = best_masses(matrix, potential, start)
    kept = masses > LEAST_MASS
    masses = np.where(kept, masses, 0.0)
    masses /= masses.sum()
    energy = float(masses @ (matrix @ masses / 2 + potential))
    return Balanced(Arrangement(positions[kept], masses[kept]), energy)


def slid(
    pieces: WeightedPieces, start: Balanced, *, steps: int, limit: float = np.inf
) -> Balanced:
    """Pieces and their energy after at most ``steps`` Newton steps, masses balanced throughout.

    The iteration ends early where, by the model, the energy will not come down to ``limit``.
    """
    radius = FIRST_RADIUS * pieces.width
    here = start
    for count in range(steps):
        model = _model(pieces.derivatives(here.state), here.state.masses)
        if np.linalg.norm(model.along) <= SETTLED * pieces.scale:
            break
        if count >= SURE and here.energy + AT_MOST * model.lowest() > limit:
            break
        found = _step(pieces, here, model, radius=radius)
        if found is None:
            break
        here, radius = found
    return here


def condition(pieces: WeightedPieces, state: Arrangement) -> float:
    """Condition number of positions and masses together; inf unless E is convex there."""
    here = pieces.derivatives(state)
    count = len(state.masses)
    whole = np.block([[here.moves, here.cross], [here.cross.T, here.masses]])
    size = len(whole) - count
    normal = np.concatenate([np.zeros(size), np.sqrt(state.masses)])
    plane = _without(normal, _without(normal, whole).T)
    if not len(plane):
        return 1.0
    values = np.linalg.eigvalsh((plane + plane.T) / 2)
    return float(values[-1] / values[0]) if values[0] > 0 else np.inf


def _model(here: Derivatives, masses: FloatArray) -> _Model:
    roots = np.sqrt(masses)
    moves = here.moves
    if len(masses) > 1:
        cross = _without(roots, here.cross)
        values, vectors = np.linalg.eigh(
            _without(roots, _without(roots, here.masses).T)
        )
        safe = np.maximum(values, LEAST_EIGENVALUE * values[-1])
        half = (cross @ vectors) / np.sqrt(safe)
        moves = moves - half @ half.T
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


def _step(
    pieces: WeightedPieces, start: Balanced, model: _Model, *, radius: float
) -> tuple[Balanced, float] | None:
    """Step at the first radius at which E falls roughly as in the model; None if there is none."""
    state, energy = start
    for _ in range(MOST_TRIALS):
        y, moves, longest = _within(model, radius)
        expected = model.change(y)
        moved = Arrangement(pieces.moved(state.positions, moves), state.masses)
        there = balanced(pieces, moved)
        if -expected < ROUNDING * pieces.scale:
            is_better = there.energy <= energy + ROUNDING * pieces.scale
            if is_better and _residual(pieces, there.state) < 0.7 * np.linalg.norm(
                model.along
            ):
                return there, radius
            return None
        share = (there.energy - energy) / expected
        if share > 0.7:
            radius = min(LARGEST_RADIUS * pieces.width, 2 * radius)
        elif share <= 0.3:
            radius = min(radius, longest) / 3
        if there.energy < energy and share > 0.05:
            return there, radius
    return None


def _residual(pieces: WeightedPieces, state: Arrangement) -> float:
    return float(np.linalg.norm(pieces.derivatives(state).gradient))


def _within(model: _Model, radius: float) -> tuple[FloatArray, FloatArray, float]:
    """Step of the smallest shift for which no piece moves further than ``radius``."""
    largest = float(np.abs(model.sizes).max())
    low = max(0.0, -float(model.sizes[0]) * (1 + 1e-6))
    if model.sizes[0] <= FLAT * largest:
        low += FLAT * largest
    found = model.steps(low)
    if found[2] <= radius:
        return found
    high = max(2 * low, 1e-10 * largest)
    while model.steps(high)[2] > radius:
        low, high = high, 10 * high
    for _ in range(SEARCHES):
        middle = float(np.sqrt(max(low, 1e-16 * largest) * high))
        if model.steps(middle)[2] > radius:
            low = middle
        else:
            high = middle
    return model.steps(high)
