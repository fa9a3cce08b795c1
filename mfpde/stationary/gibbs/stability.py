r"""Stability of a Gibbs density by a few eigenvalues, without the matrix of G_c.

In ascent 1 - G_c is kappa^-1 M sqrt(Lambda) Cov(B) sqrt(Lambda), with eigenvalues mu >= 0 that
fall quickly: the directions with mu > 1 are unstable, and rotations have mu = 1.  In
descent all eigenvalues of G_c are 1 or more, and nothing is unstable.

Blocks of harmonics of one degree make eigenvalues as often multiple as the degree has
harmonics, at most: at the uniform state, mu = M Lambda_l / kappa for degree l.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.stationary.gibbs.krylov import RitzPairs, leading_eigenpairs
from mfpde.stationary.gibbs.state import GibbsState

ABOVE = 0.5
LARGEST_MATRIX = 120
"""Up to as many unknowns all eigenvalues of the matrix take less."""
LEAST_WIDTH = 4


def leading_values(state: GibbsState) -> FloatArray:
    """Eigenvalues mu of 1 - G_c without those of rotations, decreasing.

    All of a few.  Of many, in ascent those above 1/2 and the next one to rounding, others
    further down from below; in descent, where all are 0 or less, 0 stands for the largest.
    """
    if len(state.coefficients) <= LARGEST_MATRIX:
        return np.asarray(1 - state.eigenvalues)
    if state.problem.equation.sign < 0:
        return np.zeros(1)
    return leading_modes(state).values


def leading_modes(state: GibbsState) -> RitzPairs:
    """Eigenvalues of :func:`leading_values` in ascent, with eigenvectors (n, m) as columns."""
    problem, modes = state.problem, state.modes
    scale = problem.mass / problem.equation.diffusion
    degrees = problem.harmonics.degrees
    is_strong = scale * problem.roots**2 > ABOVE
    degree = int(degrees[is_strong].max(initial=0)) + 1
    width = max(LEAST_WIDTH, int((degrees == degree).sum()) + 2)
    generator = np.random.default_rng(0)
    # What interacts most comes first.
    size = (len(degrees), min(width, len(degrees) - modes.shape[1]))
    start = problem.roots[:, np.newaxis] * generator.standard_normal(size)

    def across(direction: FloatArray) -> FloatArray:
        image = direction - state.product(direction)
        return np.asarray(image - modes @ (modes.T @ image))

    return leading_eigenpairs(across, start, above=ABOVE, without=modes)
