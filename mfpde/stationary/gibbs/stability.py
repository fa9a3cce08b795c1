r"""Stability of a Gibbs density by the largest eigenvalues mu of 1 - G_c.

In ascent 1 - G_c = kappa^-1 M sqrt(Lambda) Cov(B) sqrt(Lambda) has eigenvalues mu >= 0 that fall
quickly; the directions with mu > 1 are unstable, and rotations have mu = 1.  In descent none is
above 0, and nothing is unstable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from mfpde.arrays import FloatArray
from mfpde.stationary.gibbs.state import GibbsState

LARGEST_MATRIX = 120
"""Up to as many unknowns all eigenvalues of the matrix take less."""
AT_ONCE = 6
"""Eigenvalues that are asked for at a time: more than of degree 1 on S^2, and the next."""


class RitzPairs(NamedTuple):
    """Eigenvalues ``values`` (m,), decreasing, and ``vectors`` (n, m) that belong to them."""

    values: FloatArray
    vectors: FloatArray


def leading_modes(state: GibbsState) -> RitzPairs:
    """Eigenvalues mu, with 0 in place of those of rotations, and their eigenvectors.

    All of a few.  Of many, in ascent those above 1/2 and the next one, and some further down; in
    descent 0 stands for the largest.  Lanczos' method (ARPACK) finds a few at a time across those
    found before, until none above 1/2 is left: one alone may find a multiple eigenvalue less
    often than it is there.  Starts are drawn with a fixed seed.
    """
    size, known = len(state.coefficients), state.modes
    if size <= LARGEST_MATRIX:
        across = np.eye(size) - known @ known.T
        values, vectors = np.linalg.eigh(
            across @ (np.eye(size) - state.hessian) @ across
        )
        return RitzPairs(values[::-1], vectors[:, ::-1])
    if state.problem.equation.sign < 0:
        return RitzPairs(np.zeros(1), np.zeros((size, 1)))

    def multiply(vector: FloatArray) -> FloatArray:
        rest = vector.ravel() - known @ (known.T @ vector.ravel())
        image = rest - state.product(rest)
        return np.asarray(image - known @ (known.T @ image))

    matrix = LinearOperator((size, size), matvec=multiply, dtype=np.float64)
    generator, values = np.random.default_rng(0), np.empty(0)
    while not len(values) or values[-AT_ONCE:].max() > 1 / 2:
        # As much of each axis as 1 - G_c makes of it, roughly.
        start = state.problem.multiply_by_root(generator.standard_normal(size))
        found, vectors = eigsh(matrix, AT_ONCE, which="LA", v0=start)
        values = np.append(values, found)
        known = np.concatenate([known, vectors], axis=1)
    order = np.argsort(-values)
    return RitzPairs(values[order], known[:, state.modes.shape[1] + order])
