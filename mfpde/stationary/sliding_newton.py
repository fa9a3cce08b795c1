r"""Newton's method on the positions of atoms, which always have their best masses.

phi(x) = min_m E(x, m) over masses m >= 0 of total 1 (``mass_program.py``).  In the variables
y = sqrt(m) u (displacement) and q = dm / sqrt(m), on the plane of constant mass,

    grad phi = E_y,   Hess phi = E_yy - E_yq E_qq^{-1} E_qy.

A step minimises the quadratic model, shifted until no atom moves further than a radius, which is
halved until the energy falls by half as much as in the model (Moré & Sorensen, 1983).  Where the
energy is at its rounding the gradient has to fall instead.  An atom whose best mass is zero is
removed, so that the method ends where Newton's method on positions and masses together creeps
along the boundary of m >= 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import geodesic_moves, tangent_frames
from mfpde.stationary.convex_energy import ConvexEnergy
from mfpde.stationary.mass_program import best_masses
from mfpde.stationary.ridge_fields import NEGLIGIBLE
from mfpde.terms import PointMasses

MOST_STEPS = 20


class Balanced(NamedTuple):
    """Atoms at ``points`` (n, d) with the best ``masses`` (n,) there, and their ``energy``."""

    points: FloatArray
    masses: FloatArray
    energy: float


class Derivatives(NamedTuple):
    """Derivatives of E in (y, q): ``gradient`` E_y (n k,), ``moves`` E_yy, ``cross`` E_yq.

    ``masses`` is E_qq (n, n).
    """

    gradient: FloatArray
    moves: FloatArray
    cross: FloatArray
    masses: FloatArray


class _Model(NamedTuple):
    """Quadratic model of phi: ``sizes`` and ``axes`` of its Hessian, and the gradient in them."""

    along: FloatArray
    sizes: FloatArray
    axes: FloatArray

    def change(self, parts: FloatArray) -> float:
        """Change of phi at a step with ``parts`` along the axes."""
        return float(self.along @ parts + self.sizes @ parts**2 / 2)


def balance(energy: ConvexEnergy, points: FloatArray, start: FloatArray) -> Balanced:
    """Give atoms at ``points`` their best masses, by way of ``start``; those without go out."""
    matrix = energy.matrix(points, points)
    potential = energy.external.values(points)
    masses = best_masses(matrix, potential, start)
    kept = masses > NEGLIGIBLE
    masses = np.where(kept, masses, 0.0)
    masses /= masses.sum()
    least = float(masses @ (matrix @ masses / 2 + potential))
    return Balanced(points[kept], masses[kept], least)


def slide(energy: ConvexEnergy, start: Balanced, *, limit: float = np.inf) -> Balanced:
    """Atoms at the end of Newton's method, their masses balanced throughout.

    The iteration ends early where, by twice the model, the energy will not come down to ``limit``.
    """
    here = start
    for _ in range(MOST_STEPS):
        model = _expand(_differentiate(energy, here), here.masses)
        is_convex = model.sizes[0] > 0
        if is_convex and here.energy - (model.along**2 / model.sizes).sum() > limit:
            break
        lower = _step(energy, here, model)
        if lower is None:
            break
        here = lower
    return here


def _step(energy: ConvexEnergy, start: Balanced, model: _Model) -> Balanced | None:
    """The state after a step within the first radius where E falls as in the model, or None."""
    radius, frames = energy.kernel_width, tangent_frames(start.points)
    least = NEGLIGIBLE * max(float(np.abs(model.sizes).max()), NEGLIGIBLE)
    shift = max(0.0, -2 * float(model.sizes[0])) + least
    while True:
        parts = -model.along / (model.sizes + shift)
        roots = np.sqrt(start.masses)[:, np.newaxis]
        moves = (model.axes @ parts).reshape(len(roots), -1) / roots
        longest = float(np.linalg.norm(moves, axis=1).max())
        if longest > radius:
            shift *= 2
            continue
        expected = model.change(parts)
        ends = energy.represent(geodesic_moves(start.points, frames, moves))
        there = balance(energy, ends, start.masses)
        if -expected < energy.rounding:
            break
        if there.energy < start.energy + expected / 2:
            return there
        radius, shift = longest / 2, 2 * shift
    # The energy no longer shows the fall, the gradient does.
    gradient = _differentiate(energy, there).gradient
    falls = np.linalg.norm(gradient) < np.linalg.norm(model.along) / 2
    return there if falls and there.energy <= start.energy + energy.rounding else None


def find_condition(energy: ConvexEnergy, state: Balanced) -> float:
    """Condition number of positions and masses together; inf unless E is convex there."""
    here = _differentiate(energy, state)
    whole = np.block([[here.moves, here.cross], [here.cross.T, here.masses]])
    normal = np.append(np.zeros(len(here.moves)), np.sqrt(state.masses))
    values = np.linalg.eigvalsh(_restrict(normal, _restrict(normal, whole).T))
    return float(values[-1] / values[0]) if values[0] > 0 else np.inf


def _differentiate(energy: ConvexEnergy, state: Balanced) -> Derivatives:
    """Derivatives of the energy by positions, in ``tangent_frames``, and by masses."""
    points, masses, _ = state
    frames, roots = tangent_frames(points), np.sqrt(masses)
    count, size, _ = frames.shape
    field = energy.first_variation(PointMasses(points, masses))
    found = field.expansion(points, np.zeros(count))
    parts = [kernel.slopes(points, frames) for kernel in energy.kernels]
    by_x, by_both = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
    moves = np.einsum("n,m,namb->namb", roots, roots, by_both)
    np.einsum("nanb->nab", moves)[:] += found.hessian
    return Derivatives(
        (roots[:, np.newaxis] * found.gradient).ravel(),
        moves.reshape(count * size, -1),
        np.einsum("n,m,nam->nam", roots, roots, by_x).reshape(count * size, -1),
        energy.matrix(points, points) * np.outer(roots, roots),
    )


def _expand(here: Derivatives, masses: FloatArray) -> _Model:
    """The model with E_qq inverted on the plane of constant mass, up to its rounding."""
    roots = np.sqrt(masses)
    cross = _restrict(roots, here.cross)
    values, vectors = np.linalg.eigh(_restrict(roots, _restrict(roots, here.masses).T))
    least = NEGLIGIBLE * values.max(initial=0.0)
    half = (cross @ vectors) / np.sqrt(np.maximum(values, least))
    moves = here.moves - half @ half.T
    sizes, axes = np.linalg.eigh((moves + moves.T) / 2)
    return _Model(axes.T @ here.gradient, sizes, axes)


def _restrict(normal: FloatArray, rows: FloatArray) -> FloatArray:
    """Coordinates of ``rows`` (r, n) on the plane orthogonal to ``normal`` (n,), (r, n - 1).

    The basis of the plane is the image of the other axes under the reflection that takes the
    last axis to the normal.
    """
    mirror = normal / np.linalg.norm(normal)
    mirror[-1] += 1.0
    mirror /= np.linalg.norm(mirror)
    return np.asarray((rows - 2 * np.outer(rows @ mirror, mirror))[:, :-1])
