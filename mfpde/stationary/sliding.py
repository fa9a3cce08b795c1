r"""The minimiser of E among atoms with masses, with its certificate.

1. Local minima of F below its mean come in as new atoms, with the best masses on all
   (``mass_program.py``); atoms without mass go out.
2. Neighbours within a radius are united, and the atoms slide (below).  The result is kept if its
   energy is not above that after 1.  Without progress the radius is halved, with progress doubled.
3. Once F has no minimum below its mean, it is bounded below over the whole sphere; if the gap is
   too large, points where F is low come in.

This is the sliding Frank-Wolfe method (Denoyelle, Duval, Peyre & Soubies, 2019), which without
step 2 is the fully corrective Frank-Wolfe method.

Atoms slide by Newton's method on phi(x) = min_m E(x, m), masses m >= 0 of total 1.  In the
variables y = sqrt(m) u (displacement) and q = dm / sqrt(m), on the plane of constant mass,

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
from scipy.linalg import null_space

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import geodesic_moves, tangent_frames
from mfpde.stationary.certification import Certificate, certify, state_of_atoms
from mfpde.stationary.convex_energy import ConvexEnergy
from mfpde.stationary.local_minima import find_minima, scanning_points, unite_neighbours
from mfpde.stationary.mass_program import best_masses
from mfpde.stationary.ridge_fields import NEGLIGIBLE
from mfpde.terms import PointMasses

MOST_ROUNDS = 400
MOST_STEPS = 20
WIDEST = 1 / 2
"""Distance, in widths of the kernel, within which neighbours are united at most."""
NARROWEST = 1e-3
"""Where it was halved to this, ten rounds in a row have lowered E by less than the tolerance."""


class BalancedAtoms(NamedTuple):
    """Atoms with the best masses at their points, and their ``energy``."""

    atoms: PointMasses
    energy: float


def sliding_minimum(
    energy: ConvexEnergy, tolerance: float
) -> tuple[PointMasses, Certificate, float]:
    """Minimise E over atoms to a gap of ``tolerance``, if possible.

    Returns the best atoms found, their certificate and the condition of their system.
    """
    width = min(energy.kernel_width, energy.external.width)
    scan = energy.represent(scanning_points(energy.dimension, width))
    lowest = int(np.argmin(energy.external.values(scan)))
    here = _balance(energy, scan[[lowest]], np.ones(1))
    within = WIDEST
    for _ in range(MOST_ROUNDS):
        state = state_of_atoms(energy, here.atoms)
        new = find_minima(state.field, scan, below=state.mean - tolerance / 2)
        if not len(new):
            found = certify(state, tolerance, enough=tolerance / 2)
            if found.gap <= tolerance or found.smallest >= state.mean - tolerance / 2:
                break
            new = find_minima(state.field, found.point[np.newaxis])
        points = np.concatenate([here.atoms.points, energy.represent(new)])
        masses = np.append(here.atoms.masses, np.zeros(len(new)))
        here = _balance(energy, points, masses)
        lower = _unite_and_slide(energy, here, within, here.energy + energy.rounding)
        is_progress = here.energy - lower.energy >= tolerance
        within = min(2 * within, WIDEST) if is_progress else within / 2
        here = lower
        if within < NARROWEST:
            found = certify(state_of_atoms(energy, here.atoms), tolerance)
            break
    else:
        found = certify(state_of_atoms(energy, here.atoms), tolerance)
    return here.atoms, found, find_condition(energy, here.atoms)


def _unite_and_slide(
    energy: ConvexEnergy, start: BalancedAtoms, within: float, limit: float
) -> BalancedAtoms:
    """Neighbours ``within`` a distance made one and slid; ``start`` if E is above ``limit``."""
    united = unite_neighbours(start.atoms, within * energy.kernel_width)
    found = _slide(energy, _balance(energy, *united))
    return found if found.energy <= limit else start


def _balance(
    energy: ConvexEnergy, points: FloatArray, start: FloatArray
) -> BalancedAtoms:
    """Give atoms at ``points`` their best masses, by way of ``start``; those without go out."""
    matrix = energy.matrix(points, points)
    potential = energy.external.values(points)
    masses = best_masses(matrix, potential, start)
    kept = masses > NEGLIGIBLE
    masses = np.where(kept, masses, 0.0)
    masses /= masses.sum()
    least = float(masses @ (matrix @ masses / 2 + potential))
    return BalancedAtoms(PointMasses(points[kept], masses[kept]), least)


def _slide(energy: ConvexEnergy, start: BalancedAtoms) -> BalancedAtoms:
    """Atoms at the end of Newton's method, their masses balanced throughout."""
    here = start
    for _ in range(MOST_STEPS):
        lower = _step(energy, here, *_expand(_differentiate(energy, here.atoms)))
        if lower is None:
            break
        here = lower
    return here


def _step(
    energy: ConvexEnergy,
    start: BalancedAtoms,
    slope: FloatArray,
    sizes: FloatArray,
    axes: FloatArray,
) -> BalancedAtoms | None:
    """The state after a step within the first radius where E falls as in the model, or None."""
    points, masses = start.atoms
    radius, frames = energy.kernel_width, tangent_frames(points)
    least = NEGLIGIBLE * max(float(np.abs(sizes).max()), NEGLIGIBLE)
    shift = max(0.0, -2 * float(sizes[0])) + least
    while True:
        parts = -slope / (sizes + shift)
        moves = (axes @ parts).reshape(len(masses), -1) / np.sqrt(masses)[:, np.newaxis]
        longest = float(np.linalg.norm(moves, axis=1).max())
        if longest > radius:
            shift *= 2
            continue
        expected = float(slope @ parts + sizes @ parts**2 / 2)
        ends = energy.represent(geodesic_moves(points, frames, moves))
        there = _balance(energy, ends, masses)
        if -expected < energy.rounding:
            break
        if there.energy < start.energy + expected / 2:
            return there
        radius, shift = longest / 2, 2 * shift
    # The energy no longer shows the fall, the gradient does.
    gradient = _differentiate(energy, there.atoms).gradient
    falls = np.linalg.norm(gradient) < np.linalg.norm(slope) / 2
    return there if falls and there.energy <= start.energy + energy.rounding else None


class _Derivatives(NamedTuple):
    """Derivatives of E: ``gradient`` E_y (n k,), ``moves`` E_yy, ``cross`` E_yq, ``masses`` E_qq.

    Those by q are on the plane of constant mass, in n - 1 coordinates.
    """

    gradient: FloatArray
    moves: FloatArray
    cross: FloatArray
    masses: FloatArray


def _differentiate(energy: ConvexEnergy, atoms: PointMasses) -> _Derivatives:
    """Derivatives of the energy by positions, in ``tangent_frames``, and by masses."""
    points, roots = atoms.points, np.sqrt(atoms.masses)
    frames, plane = tangent_frames(points), null_space(roots[np.newaxis])
    count, size, _ = frames.shape
    field = energy.first_variation(atoms).expansion(points, np.zeros(count))
    parts = [kernel.slopes(points, frames) for kernel in energy.kernels]
    by_x, by_both = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
    moves = np.einsum("n,m,namb->namb", roots, roots, by_both)
    np.einsum("nanb->nab", moves)[:] += field.hessian
    cross = np.einsum("n,m,nam->nam", roots, roots, by_x)
    return _Derivatives(
        (roots[:, np.newaxis] * field.gradient).ravel(),
        moves.reshape(count * size, -1),
        cross.reshape(count * size, -1) @ plane,
        plane.T @ (energy.matrix(points, points) * np.outer(roots, roots)) @ plane,
    )


def _expand(here: _Derivatives) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The gradient of phi in the axes of its Hessian, the sizes of the Hessian and these axes.

    E_qq is inverted up to its rounding.
    """
    values, vectors = np.linalg.eigh(here.masses)
    least = NEGLIGIBLE * values.max(initial=0.0)
    half = (here.cross @ vectors) / np.sqrt(np.maximum(values, least))
    moves = here.moves - half @ half.T
    sizes, axes = np.linalg.eigh((moves + moves.T) / 2)
    return axes.T @ here.gradient, sizes, axes


def find_condition(energy: ConvexEnergy, atoms: PointMasses) -> float:
    """Condition number of positions and masses together; inf unless E is convex there."""
    here = _differentiate(energy, atoms)
    whole = np.block([[here.moves, here.cross], [here.cross.T, here.masses]])
    values = np.linalg.eigvalsh(whole)
    return float(values[-1] / values[0]) if values[0] > 0 else np.inf
