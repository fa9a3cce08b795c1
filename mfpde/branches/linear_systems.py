r"""The linear systems of Newton's method on a branch, with a matrix or by products.

The derivative G_x of G at a place has the rows of the equations first, and then those of
constraints, whose right-hand sides are 0.  Beside a fold G_x alone is singular; with the column of
the parameter and the row of a direction it is not:

    [ G_x     G_p ] [u]   [ target ]
    [ <x', .>  p' ] [q] = [ length ].

Matrices are solved by least squares; products by GMRES (Saad & Schultz, SIAM J. Sci. Stat. Comput.
7, 1986), which takes a few dozen of them where G_x is 1 and something compact, as it is for
smooth densities.  At a pitchfork the system is singular and the right-hand side has no part along
its null vector: GMRES ends before it meets that vector.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lstsq, solve_triangular
from scipy.sparse.linalg import LinearOperator, gmres

from mfpde.arrays import FloatArray

SINGULAR, NEGLIGIBLE = 1e-9, 1e-13
"""Pivots, and then singular values, below these shares of the largest count as zero."""
MOST_PRODUCTS, LEAST_RESIDUAL = 300, 1e-17
"""Of GMRES; residuals of G are rounding at 3e-16."""


class Direction(NamedTuple):
    """A direction: change of the state (k,), and of the value in units of the span."""

    state: FloatArray
    value: float


class Linearised(NamedTuple):
    """G (n,) at a place, and its derivative G_x (r, k): n equations first, then constraints."""

    residual: FloatArray
    rows: FloatArray | LinearOperator

    def solve(self, target: FloatArray) -> FloatArray:
        """Return the least-squares solution u (k,) of G_x u = ``target`` (n,)."""
        return _solve(self.rows, self._pad(target))

    def solve_beside(
        self, by_value: FloatArray, last: Direction, target: FloatArray, length: float
    ) -> Direction:
        """Return (u, q) with G_x u + q ``by_value`` = ``target`` and <last, (u, q)> = ``length``.

        ``by_value`` and ``target`` are (n,).
        """
        column = self._pad(by_value)
        bordered: FloatArray | LinearOperator
        if isinstance(self.rows, np.ndarray):
            beside = np.column_stack([self.rows, column])
            bordered = np.vstack([beside, np.append(last.state, last.value)])
        else:

            def product(vector: FloatArray) -> FloatArray:
                state, value = vector[:-1], vector[-1]
                image = self.rows @ state + value * column
                return np.append(image, last.state @ state + last.value * value)

            size = len(column) + 1
            bordered = LinearOperator((size, size), matvec=product, dtype=np.float64)
        solution = _solve(bordered, np.append(self._pad(target), length))
        return Direction(solution[:-1], float(solution[-1]))

    def _pad(self, target: FloatArray) -> FloatArray:
        """Return the right-hand side with the zeros of the constraints."""
        constraints = np.zeros(self.rows.shape[0] - len(target))
        return np.concatenate([target, constraints])


def _solve(rows: FloatArray | LinearOperator, target: FloatArray) -> FloatArray:
    """Return the least-squares solution; where ``rows`` are singular, the one of least norm."""
    if not isinstance(rows, np.ndarray):
        most = min(len(target), MOST_PRODUCTS)
        accuracy = {"rtol": NEGLIGIBLE, "atol": LEAST_RESIDUAL}
        return np.asarray(gmres(rows, target, restart=most, maxiter=1, **accuracy)[0])
    basis, triangle = np.linalg.qr(rows)
    sizes = np.abs(np.diagonal(triangle))
    if sizes.min() > SINGULAR * sizes.max():
        return np.asarray(solve_triangular(triangle, basis.T @ target))
    return np.asarray(lstsq(rows, target, cond=NEGLIGIBLE, lapack_driver="gelsy")[0])
