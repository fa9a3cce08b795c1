r"""Stability of a Gibbs density by the largest eigenvalues mu of 1 - G_c.

In ascent 1 - G_c = kappa^-1 M sqrt(Lambda) Cov(B) sqrt(Lambda) has eigenvalues mu >= 0 that fall
quickly; the directions with mu > 1 are unstable, and rotations have mu = 1.  In descent none is
above 0, and nothing is unstable.
"""

from __future__ import annotations

from collections.abc import Callable
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
    descent 0 stands for the largest.
    """
    size, modes = len(state.coefficients), state.modes
    if size <= LARGEST_MATRIX:
        across = np.eye(size) - modes @ modes.T
        values, vectors = np.linalg.eigh(
            across @ (np.eye(size) - state.hessian) @ across
        )
        return RitzPairs(values[::-1], vectors[:, ::-1])
    if state.problem.equation.sign < 0:
        return RitzPairs(np.zeros(1), np.zeros((size, 1)))
    return leading_eigenpairs(
        lambda direction: direction - state.product(direction),
        state.problem.multiply_by_root(np.ones(size)),
        without=modes,
    )


def leading_eigenpairs(
    product: Callable[[FloatArray], FloatArray],
    sizes: FloatArray,
    *,
    without: FloatArray,
) -> RitzPairs:
    """Eigenvalues of a positive A from the largest down to the first below 1/2.

    By Lanczos' method (ARPACK), for a few at a time across those found before, until none
    above is left: one alone may find a multiple eigenvalue less often than it is there.  Starts
    are drawn with a fixed seed: the same products give the same digits.

    Parameters
    ----------
    product
        The product of A with a vector (n,).
    sizes
        Roughly how much A makes of each axis, (n,): the start has as much of it.
    without
        Orthonormal columns (n, k) of an invariant subspace to leave out.
    """
    generator, size = np.random.default_rng(0), len(sizes)
    values, known = np.empty(0), without

    def across(vector: FloatArray) -> FloatArray:
        rest = vector.ravel() - known @ (known.T @ vector.ravel())
        image = product(rest)
        return np.asarray(image - known @ (known.T @ image))

    matrix = LinearOperator((size, size), matvec=across, dtype=np.float64)
    while not len(values) or values[-AT_ONCE:].max() > 1 / 2:
        start = sizes * generator.standard_normal(size)
        found, vectors = eigsh(matrix, AT_ONCE, which="LA", v0=start)
        values = np.append(values, found)
        known = np.concatenate([known, vectors], axis=1)
    order = np.argsort(-values)
    return RitzPairs(values[order], known[:, without.shape[1] + order])
