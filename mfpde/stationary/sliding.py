r"""The minimiser of E among atoms with masses, with its certificate.

1. Local minima of F below its mean come in as new atoms, with the best masses on all (below);
   atoms without mass go out.
2. Neighbours within a radius are united, and the atoms slide (below), unless the energy rises.
   Without progress the radius is halved, with progress doubled.
3. Once F has no minimum below its mean, it is bounded below over the whole sphere; if the gap is
   too large, points where F is low come in.

This is the sliding Frank-Wolfe method (Denoyelle, Duval, Peyre & Soubies, 2019).

Atoms slide by Newton's method on phi(x) = min_m E(x, m), masses m >= 0 of total 1.  In the
variables y = sqrt(m) u (displacement) and q = dm / sqrt(m), on the plane of constant mass,

    grad phi = E_y,   Hess phi = E_yy - E_yq E_qq^{-1} E_qy.

A step minimises the quadratic model, shifted until no atom moves further than a radius, which is
halved until the energy falls by half as much as in the model (Moré & Sorensen, 1983), or, at its
rounding, the gradient does.  An atom whose best mass is zero is removed: Newton's method on
positions and masses together would creep along the boundary of m >= 0.

Best masses on given points, min m.K m / 2 + V.m over m >= 0, sum m = 1, come from a primal
active-set method: the equality-constrained problem is solved on the free points; a step that would
make a mass negative ends where it is zero and takes that point out; once the problem on the free
points is solved, the point where K m + V is lowest comes back in if that is below the common
level.  On the free points the minimiser of any sign is m = l K^{-1} 1 - K^{-1} V, l its common
level: a Cholesky factor of K with a ridge, and one step of iterative refinement without it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, null_space

from mfpde.arrays import BoolArray, FloatArray
from mfpde.geometry.arcs import geodesic_moves, tangent_frames
from mfpde.stationary.certification import Certificate, certify, state_of_atoms
from mfpde.stationary.convex_energy import ConvexEnergy
from mfpde.stationary.field_minima import find_minima, scanning_points, unite_neighbours
from mfpde.stationary.ridge_fields import NEGLIGIBLE, ROUNDING
from mfpde.terms import PointMasses

MOST_STEPS = 20
WIDEST = 1 / 2
"""Distance, in widths of the kernel, within which neighbours are united at most."""
NARROWEST = 1e-3
"""Where it is halved below this, ten rounds in a row have lowered E by less than the tolerance."""
LEAST_RIDGE = float(np.finfo(float).tiny / np.finfo(float).eps)
"""Of kernels so near the smallest numbers that their share of one underflows."""


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
    width = min(energy.kernel_width, energy.external.bounds.width)
    scan = energy.represent(scanning_points(energy.dimension, width))
    lowest = int(np.argmin(energy.external.values(scan)))
    here = _balance(energy, scan[[lowest]], np.ones(1))
    within = WIDEST
    while within >= NARROWEST:
        state = state_of_atoms(energy, here.atoms)
        new = find_minima(state.field, scan, below=state.mean - tolerance / 2)
        if not len(new):
            found = certify(state, tolerance)
            if found.gap <= tolerance or found.smallest >= state.mean - tolerance / 2:
                break
            new = find_minima(state.field, found.point[np.newaxis])
        points = np.concatenate([here.atoms.points, energy.represent(new)])
        masses = np.append(here.atoms.masses, np.zeros(len(new)))
        here = _balance(energy, points, masses)
        united = unite_neighbours(here.atoms, within * energy.kernel_width)
        lower = _slide(energy, _balance(energy, *united))
        if lower.energy > here.energy + energy.rounding:
            lower = here
        is_progress = here.energy - lower.energy >= tolerance
        within = min(2 * within, WIDEST) if is_progress else within / 2
        here = lower
    else:
        found = certify(state_of_atoms(energy, here.atoms), tolerance)
    return here.atoms, found, find_condition(energy, here.atoms)


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
        lower = _step(energy, here)
        if lower is None:
            break
        here = lower
    return here


def _step(energy: ConvexEnergy, start: BalancedAtoms) -> BalancedAtoms | None:
    """The state after a step within the first radius where E falls as in the model, or None."""
    points, masses = start.atoms
    slope, sizes, axes = _expand(*_differentiate(energy, start.atoms))
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
    gradient, _ = _differentiate(energy, there.atoms)
    falls = np.linalg.norm(gradient) < np.linalg.norm(slope) / 2
    return there if falls and there.energy <= start.energy + energy.rounding else None


def _differentiate(
    energy: ConvexEnergy, atoms: PointMasses
) -> tuple[FloatArray, FloatArray]:
    """E_y (n k,), and all second derivatives of E by y and then q, (n k + n - 1, n k + n - 1).

    Those by y are in ``tangent_frames``, those by q in coordinates of the plane of constant mass.
    """
    points, roots = atoms.points, np.sqrt(atoms.masses)
    frames, plane = tangent_frames(points), null_space(roots[np.newaxis])
    count, size, _ = frames.shape
    field = energy.first_variation(atoms).expansion(points, np.zeros(count))
    parts = [kernel.slopes(points, frames) for kernel in energy.kernels]
    by_x, by_both = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
    moves = np.einsum("n,m,namb->namb", roots, roots, by_both)
    np.einsum("nanb->nab", moves)[:] += field.hessian
    moves = moves.reshape(count * size, -1)
    cross = np.einsum("n,m,nam->nam", roots, roots, by_x)
    cross = cross.reshape(count * size, -1) @ plane
    kernel = energy.matrix(points, points) * np.outer(roots, roots)
    hessian = np.block([[moves, cross], [cross.T, plane.T @ kernel @ plane]])
    return (roots[:, np.newaxis] * field.gradient).ravel(), hessian


def _expand(
    gradient: FloatArray, hessian: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The gradient of phi in the axes of its Hessian, the sizes of the Hessian and these axes.

    E_qq is inverted up to its rounding.
    """
    y, q = np.split(np.arange(len(hessian)), [len(gradient)])
    values, vectors = np.linalg.eigh(hessian[np.ix_(q, q)])
    least = NEGLIGIBLE * values.max(initial=0.0)
    half = hessian[np.ix_(y, q)] @ vectors / np.sqrt(np.maximum(values, least))
    moves = hessian[np.ix_(y, y)] - half @ half.T
    sizes, axes = np.linalg.eigh((moves + moves.T) / 2)
    return axes.T @ gradient, sizes, axes


def find_condition(energy: ConvexEnergy, atoms: PointMasses) -> float:
    """Condition number of positions and masses together; inf unless E is convex there."""
    values = np.linalg.eigvalsh(_differentiate(energy, atoms)[1])
    return float(values[-1] / values[0]) if values[0] > 0 else np.inf


def best_masses(
    kernel: FloatArray, potential: FloatArray, start: FloatArray
) -> FloatArray:
    """Masses (n,) for a ``kernel`` (n, n) and ``potential`` (n,), from ``start`` (n,).

    Points with mass zero at the start are tried too.
    """
    masses = start / start.sum()
    # A constant moves no mass; beside a depth of 1/eps of the kernel it would drown all of it.
    potential = potential - potential.min()
    scale = float(np.abs(kernel).max() + np.abs(potential).max())
    is_free = np.ones(len(start), dtype=np.bool_)
    for _ in range(6 * len(start) + 20):
        target = _solve_free(kernel, potential, is_free)
        blocked = np.flatnonzero(target < 0)
        if len(blocked):
            steps = masses[blocked] / (masses[blocked] - target[blocked])
            step = float(steps.min())
            masses = np.maximum(masses + step * (target - masses), 0.0)
            out = blocked[steps <= step]
            masses[out], is_free[out] = 0.0, False
            continue
        masses = target
        field = kernel @ masses + potential
        below = np.where(is_free, 0.0, masses @ field - field)
        entering = int(np.argmax(below))
        if below[entering] <= ROUNDING * scale:
            break
        is_free[entering] = True
    return np.asarray(masses / masses.sum())


def _solve_free(
    kernel: FloatArray, potential: FloatArray, is_free: BoolArray
) -> FloatArray:
    """Masses (n,) of any sign on the free points, 0 elsewhere, at which E is least."""
    inside, outside = kernel[np.ix_(is_free, is_free)], potential[is_free]
    count = len(outside)
    ridge = max(NEGLIGIBLE * float(np.trace(kernel)), LEAST_RIDGE)
    factor = None
    while factor is None:
        # A sharp kernel's own rounding, beta times that of x.y, may exceed the first ridge.
        with suppress(LinAlgError):
            factor = cho_factor(inside + ridge * np.eye(count))
        ridge *= 10
    flat = cho_solve(factor, np.ones(count))
    masses, level = np.zeros(count), 0.0
    for _ in range(2):
        change = cho_solve(factor, level - outside - inside @ masses)
        rise = (1.0 - masses.sum() - change.sum()) / flat.sum()
        masses, level = masses + change + rise * flat, level + rise
    found = np.zeros(len(potential))
    found[is_free] = masses
    return found
