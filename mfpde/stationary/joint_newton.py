r"""Newton's method on positions and masses together, for weighted pieces of any kind.

In the variables y = sqrt(m) u (displacement) and q = dm / sqrt(m), on the plane of constant
mass sum sqrt(m) q = 0,

    step = -|H|^{-1} g,   |H| with the sizes of the eigenvalues of H

which is Newton's step where H > 0 and descends everywhere.  A step is taken if the energy
falls, or, where that is at its rounding, if the gradient does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mfpde.arrays import FloatArray

MOST_ITERATIONS = 60
MOST_HALVINGS = 8
FLAT = 1e-15
ENERGY_ROUNDING = 4e-16
SETTLED = 4e-16
LEAST_SHARE = 0.1
"""A step leaves at least this share of each mass."""

State = tuple[FloatArray, FloatArray]
"""Positions, and masses (n,)."""


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Energy with its ``gradient`` (k,) and ``hessian`` (k, k) in (y, q), q last."""

    energy: float
    gradient: FloatArray
    hessian: FloatArray


class Pieces(Protocol):
    """What atoms and rings have in common."""

    @property
    def scale(self) -> float:
        """Size of the energy."""

    def energy(self, state: State) -> float:
        """Energy alone."""

    def derivatives(self, state: State) -> Derivatives:
        """Energy with its derivatives."""

    def moved(self, state: State, displacements: FloatArray) -> FloatArray:
        """Positions after ``displacements`` (n * directions,), clipped to the kernel's width."""


@dataclass(frozen=True, eq=False)
class JointEnd:
    """Where Newton's method ended: ``condition`` is inf unless the Hessian is positive."""

    state: State
    energy: float
    residual: float
    condition: float


def joint_newton(pieces: Pieces, state: State) -> JointEnd:
    """Minimise the energy over positions and masses (all above 0) from ``state``."""
    here = pieces.derivatives(state)
    condition = np.inf
    for _ in range(MOST_ITERATIONS):
        step, condition = _step(here, state[1])
        found = _line_search(pieces, (state, here), step)
        if found is None:
            break
        state, here = found
    residual = float(np.linalg.norm(_tangential(here.gradient, state[1])))
    return JointEnd(state, here.energy, residual, condition)


def _step(here: Derivatives, masses: FloatArray) -> tuple[FloatArray, float]:
    """Newton's step in (y, q), and the condition number of the system."""
    size = len(here.gradient)
    normal = np.zeros(size)
    normal[size - len(masses) :] = np.sqrt(masses)
    normal /= np.linalg.norm(normal)
    # The reflection that takes the last axis to the normal: its other columns span the plane.
    mirror = normal.copy()
    mirror[-1] += 1.0
    mirror /= np.linalg.norm(mirror)
    plane = (np.eye(size) - 2 * np.outer(mirror, mirror))[:, :-1]
    reduced = plane.T @ here.hessian @ plane
    if not len(reduced):
        return np.zeros(size), 1.0
    values, vectors = np.linalg.eigh((reduced + reduced.T) / 2)
    sizes = np.abs(values)
    largest = float(sizes.max())
    floored = np.maximum(sizes, FLAT * largest)
    parts = vectors.T @ (plane.T @ here.gradient)
    condition = largest / values[0] if values[0] > 0 else np.inf
    return -plane @ (vectors @ (parts / floored)), float(condition)


def _line_search(
    pieces: Pieces, start: tuple[State, Derivatives], step: FloatArray
) -> tuple[State, Derivatives] | None:
    state, here = start
    before = float(np.linalg.norm(_tangential(here.gradient, state[1])))
    rounding = ENERGY_ROUNDING * pieces.scale
    if before <= SETTLED * pieces.scale:
        return None
    is_small = -float(here.gradient @ step) < 8 * rounding
    for halving in range(2 if is_small else MOST_HALVINGS):
        there = _moved(pieces, state, step / 2**halving)
        energy = pieces.energy(there)
        if energy > here.energy + rounding:
            continue
        found = pieces.derivatives(there)
        residual = float(np.linalg.norm(_tangential(found.gradient, there[1])))
        if energy < here.energy - rounding or residual < 0.7 * before:
            return there, found
    return None


def _moved(pieces: Pieces, state: State, step: FloatArray) -> State:
    _, masses = state
    count = len(masses)
    roots = np.sqrt(masses)
    split = len(step) - count
    directions = split // count
    displacements = step[:split] / np.repeat(roots, directions)
    new = np.maximum(masses + roots * step[split:], LEAST_SHARE * masses)
    return pieces.moved(state, displacements), new / new.sum()


def _tangential(gradient: FloatArray, masses: FloatArray) -> FloatArray:
    """Gradient without its part along the change of total mass."""
    result = gradient.copy()
    roots = np.sqrt(masses)
    last = result[len(result) - len(masses) :]
    last -= roots * (roots @ last) / masses.sum()
    return result
