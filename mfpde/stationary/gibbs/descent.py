r"""From a start down Psi to a Gibbs density that makes its own field, to rounding.

1. Newton's method in a trust region, with conjugate gradients that follow a direction of
   negative curvature to the region's edge (Steihaug, SIAM J. Numer. Anal. 20, 1983), until
   the fall of Psi is lost in its rounding.
2. G_c u = -G by MINRES (Paige & Saunders, SIAM J. Numer. Anal. 12, 1975), c <- c + u, for
   as long as |G| halves.  The rotations of the equation make G_c singular; G is orthogonal to
   them, and so is each product.

In descent Psi is strictly convex, and the only minimum is reached from everywhere.  In ascent
the end is a minimum, unless the start has a symmetry that all minima break.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from scipy.sparse.linalg import LinearOperator, minres

from mfpde.arrays import FloatArray
from mfpde.stationary.gibbs.state import GibbsState

MOST_ITERATIONS = 200
AT_REST = 1e-12
"""|G| below which a start is stationary, however unstable."""
IN_ROUNDING = 1e-6
"""|G| below which a step that shrinks G may not show in Psi, which falls by |G|^2."""
FIRST_RADIUS = 0.5
"""Radius of the first region; |c| is at most sqrt(M sum Lambda_k), 1 or less."""


class Descended(NamedTuple):
    """The last state, and the number of iterations."""

    state: GibbsState
    iterations: int


def minimum_near(state: GibbsState) -> Descended:
    """Go down from a state until G falls no further."""
    lower, iterations = _descend(state)
    rounding = np.spacing(max(1.0, _length(lower.coefficients)))
    while _length(lower.residual) > rounding and iterations < MOST_ITERATIONS:
        further = _newton_step(lower)
        if not _length(further.residual) < _length(lower.residual) / 2:
            break
        lower, iterations = further, iterations + 1
    return Descended(lower, iterations)


def _descend(start: GibbsState) -> tuple[GibbsState, int]:
    """The state where Psi falls no more measurably, and the steps taken."""
    tried = start

    @lru_cache(maxsize=2)
    def state_of(coefficients: bytes) -> GibbsState:
        return start.problem.state(np.frombuffer(coefficients))

    def at(coefficients: FloatArray) -> GibbsState:
        return state_of(coefficients.tobytes())

    def psi(coefficients: FloatArray) -> float:
        nonlocal tried
        tried = at(coefficients)
        return tried.potential

    last = start.coefficients

    def stop_in_rounding(intermediate_result: OptimizeResult) -> None:
        nonlocal last
        is_refused = np.array_equal(intermediate_result.x, last)
        last = intermediate_result.x
        size = _length(at(last).residual)
        if is_refused and _length(tried.residual) < size < IN_ROUNDING:
            raise StopIteration

    found = minimize(
        psi,
        start.coefficients,
        jac=lambda c: at(c).residual,
        hessp=lambda c, direction: at(c).product(direction),
        method="trust-ncg",
        callback=stop_in_rounding,
        options={
            "gtol": AT_REST,
            "maxiter": MOST_ITERATIONS,
            "initial_trust_radius": FIRST_RADIUS,
        },
    )
    return at(found.x), int(found.nit)


def _newton_step(state: GibbsState) -> GibbsState:
    size = len(state.coefficients)
    matrix = LinearOperator((size, size), matvec=state.product, dtype=np.float64)
    change, _ = minres(matrix, -state.residual)
    return state.problem.state(state.coefficients + change)


def _length(vector: FloatArray) -> float:
    return float(np.linalg.norm(vector))
