r"""Truncated Newton's method for a Gibbs density that makes its own field.

Psi, whose gradient is G and whose second derivative G_c (``state.py``), falls in each step:

1. G_c u = -G by conjugate gradients, to the relative residual min(1/10, |G|), which makes the
   convergence quadratic (Dembo & Steihaug, Mathematical Programming 26, 1983).  Where a
   direction of negative curvature is met, far from a stable state in ascent, u is what has
   been found so far; if that is nothing, u = -G: c <- c + u is then the concave-convex
   procedure, in which Psi falls by |G|^2 / 2 at least.
2. c <- c + t u, with t halved from 1 until Psi falls as Armijo asks, or, once rounding hides
   that, until |G| halves.  Along negative curvature t is doubled for as long as Psi falls, and
   where rounding hides that too, c <- c - G.

In descent Psi is strictly convex, and the only minimum is reached from everywhere.  In ascent
the end is a minimum, unless the start has a symmetry that all minima break.  The rotations of the
equation make G_c singular there; G is orthogonal to them, so that the system stays
consistent, and conjugate gradients never leave that complement.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.stationary.gibbs.state import GibbsState

MOST_ITERATIONS = 200
MOST_PRODUCTS = 200
ROUNDING = 2e-16
ARMIJO = 1e-4
MEASURABLE = 1e-12
AT_REST = 1e-12
FLAT = 1e-10
LARGEST_RELATIVE = 0.1
SHORTEST = 1e-6
LONGEST = 1e6


class Descended(NamedTuple):
    """The last state, and the number of iterations."""

    state: GibbsState
    iterations: int


class _Step(NamedTuple):
    change: FloatArray
    is_curved_down: bool


def minimum_near(state: GibbsState) -> Descended:
    """Go down from a state until G falls no further."""
    for iteration in range(MOST_ITERATIONS):
        size = float(np.linalg.norm(state.residual))
        if size <= ROUNDING * max(1.0, float(np.linalg.norm(state.coefficients))):
            return Descended(state, iteration)
        lower = _lower(state, _step(state))
        if lower is None:
            return Descended(state, iteration)
        state = lower
    return Descended(state, MOST_ITERATIONS)


def _step(state: GibbsState) -> _Step:
    """Approximate solution u of G_c u = -G by conjugate gradients."""
    remaining = -state.residual
    size = float(np.linalg.norm(remaining))
    # Below rounding there is only what the last step left along rotations.
    allowed = max(min(LARGEST_RELATIVE, size) * size, ROUNDING)
    change, direction = np.zeros(len(remaining)), remaining
    square = float(remaining @ remaining)
    for _ in range(MOST_PRODUCTS):
        image = state.product(direction)
        curvature = float(direction @ image)
        flat = FLAT * float(direction @ direction)
        if curvature <= flat:
            # Between the two lie rotations, beside a stationary state.
            found = change if change.any() else direction
            return _Step(found, is_curved_down=curvature < -flat)
        share = square / curvature
        change = change + share * direction
        remaining = remaining - share * image
        before, square = square, float(remaining @ remaining)
        if np.sqrt(square) <= allowed:
            break
        direction = remaining + square / before * direction
    return _Step(change, is_curved_down=False)


def _lower(state: GibbsState, step: _Step) -> GibbsState | None:
    """A state along the step where Psi is lower; None if there is none but for rounding."""
    slope = float(state.residual @ step.change)
    size = float(np.linalg.norm(state.residual))

    def at(share: float) -> GibbsState:
        return state.problem.state(state.coefficients + share * step.change)

    is_measurable = -slope > MEASURABLE * max(1.0, abs(state.potential))
    share = 1.0
    while share >= SHORTEST:
        found = at(share)
        if is_measurable:
            falls = found.potential < state.potential + ARMIJO * share * slope
        else:
            falls = float(np.linalg.norm(found.residual)) < size / 2
        if falls:
            break
        if step.is_curved_down and not is_measurable:
            # Psi falls by the concave-convex procedure, less than its rounding shows.
            return _contracted(state) if size > AT_REST else None
        share /= 2
    else:
        return None
    while step.is_curved_down and is_measurable and share < LONGEST:
        further = at(2 * share)
        if not further.potential < found.potential:
            break
        share, found = 2 * share, further
    return found


def _contracted(state: GibbsState) -> GibbsState:
    return state.problem.state(state.coefficients - state.residual)
