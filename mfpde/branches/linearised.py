r"""The linear systems of Newton's method on a branch, with a matrix or without one.

The derivative G_x (r, k) of G at a place has the rows of the equations first and then those of
constraints.  Beside a fold G_x alone is singular; with the column of the parameter and the row
of a direction it is not:

    [ G_x     G_p ] [u]
    [ <x', .>  p' ] [q]  = target.

For a smooth density the first n rows are symmetric and known by their products, the
constraints are the rows N^T of the rotations, which those products annihilate, and the
system is

    P H P u + N N^T u + q P G_p = P target + N (target of the constraints),   P = 1 - N N^T.

H is 1 and something compact: GMRES (Saad & Schultz, SIAM J. Sci. Stat. Comput. 7, 1986) takes a
few dozen products, however many unknowns there are.  At a pitchfork the system is singular and
the target has no part along its null vector: GMRES ends before it meets that vector.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lstsq, solve_triangular

from mfpde.arrays import FloatArray

FLAT = 1e-13
SINGULAR = 1e-9
SETTLED = 1e-13
SMALLEST = 1e-17
SPENT = 1e-14
MOST_PRODUCTS = 300


@dataclass(frozen=True, eq=False)
class Direction:
    """A direction: change of the state (k,), and of the value in units of the span."""

    state: FloatArray
    value: float


@dataclass(frozen=True, eq=False)
class Linearised(ABC):
    """G (r,) at a place, and its derivative G_x (r, k): equations first, then constraints."""

    residual: FloatArray

    @abstractmethod
    def solved(self, target: FloatArray) -> FloatArray:
        """Least-squares solution u (k,) of G_x u = ``target`` (r,)."""

    @abstractmethod
    def solved_beside(
        self, by_value: FloatArray, last: Direction, target: FloatArray
    ) -> Direction:
        """Solution (u, q) of G_x u + q ``by_value`` = target and <last, (u, q)> = target.

        ``target`` (r + 1,) has the right-hand sides of both, ``by_value`` (r,).
        """

    @abstractmethod
    def null_direction(self) -> FloatArray:
        """The direction (k,) in which G_x is smallest."""


@dataclass(frozen=True, eq=False)
class DenseLinearised(Linearised):
    """Linearised equations with the ``matrix`` of G_x (r, k)."""

    matrix: FloatArray

    def solved(self, target: FloatArray) -> FloatArray:
        """Least-squares solution u (k,) of G_x u = ``target`` (r,)."""
        return least_squares(self.matrix, target)

    def solved_beside(
        self, by_value: FloatArray, last: Direction, target: FloatArray
    ) -> Direction:
        """Solution of the bordered system, by least squares."""
        columns = np.column_stack([self.matrix, by_value])
        rows = np.vstack([columns, np.append(last.state, last.value)])
        solution = least_squares(rows, target)
        return Direction(solution[:-1], float(solution[-1]))

    def null_direction(self) -> FloatArray:
        """The right singular vector of the smallest singular value."""
        _, _, rows = np.linalg.svd(self.matrix, full_matrices=True)
        return np.asarray(rows[-1])


@dataclass(frozen=True, eq=False)
class SymmetricLinearised(Linearised):
    """Linearised equations whose matrix is not there.

    Attributes
    ----------
    product
        The product of the first n rows, which are symmetric, with a vector (n,).
    modes
        Orthonormal columns N (n, k) of the constraints.
    weakest
        The direction (n,) across ``modes`` in which the product is smallest, when asked for.
    """

    product: Callable[[FloatArray], FloatArray]
    modes: FloatArray
    weakest: Callable[[], FloatArray]

    def solved(self, target: FloatArray) -> FloatArray:
        """Solution u (n,) of the equations and constraints."""
        return _krylov_solution(self._whole_product, self._folded(target))

    def solved_beside(
        self, by_value: FloatArray, last: Direction, target: FloatArray
    ) -> Direction:
        """Solution of the bordered system."""
        column = self._across(by_value[: len(self.modes)])

        def product(vector: FloatArray) -> FloatArray:
            state, value = vector[:-1], vector[-1]
            image = self._whole_product(state) + value * column
            return np.append(image, last.state @ state + last.value * value)

        folded = np.append(self._folded(target[:-1]), target[-1])
        solution = _krylov_solution(product, folded)
        return Direction(solution[:-1], float(solution[-1]))

    def null_direction(self) -> FloatArray:
        """The direction in which the product is smallest."""
        return self.weakest()

    def _across(self, vector: FloatArray) -> FloatArray:
        return np.asarray(vector - self.modes @ (self.modes.T @ vector))

    def _whole_product(self, vector: FloatArray) -> FloatArray:
        along = self.modes @ (self.modes.T @ vector)
        return self._across(self.product(vector - along)) + along

    def _folded(self, target: FloatArray) -> FloatArray:
        count = len(self.modes)
        return np.asarray(self._across(target[:count]) + self.modes @ target[count:])


def _krylov_solution(
    product: Callable[[FloatArray], FloatArray], target: FloatArray
) -> FloatArray:
    """Solve A u = b by GMRES, until the residual is small or the space is full.

    With t_0 = 1 and t orthogonal to the columns of the Hessenberg matrix the residual is
    |b| / |t|.
    """
    size = float(np.linalg.norm(target))
    allowed = max(SETTLED * size, SMALLEST)
    if size <= allowed:
        return np.zeros(len(target))
    most = min(len(target), MOST_PRODUCTS)
    basis = np.empty((most + 1, len(target)))
    matrix = np.zeros((most + 1, most))
    basis[0] = target / size
    left = np.ones(1)
    count = 0
    while count < most and size > allowed * np.linalg.norm(left):
        image = product(basis[count])
        known = basis[: count + 1]
        for _ in range(2):
            shares = known @ image
            image = image - shares @ known
            matrix[: count + 1, count] += shares
        rest = float(np.linalg.norm(image))
        matrix[count + 1, count] = rest
        along = float(left @ matrix[: count + 1, count])
        count += 1
        if rest <= SPENT * float(np.linalg.norm(matrix[:count, count - 1])):
            break
        basis[count] = image / rest
        left = np.append(left, -along / rest)
    right = np.zeros(count + 1)
    right[0] = size
    weights = np.linalg.lstsq(matrix[: count + 1, :count], right, rcond=FLAT)[0]
    return np.asarray(weights @ basis[:count])


def least_squares(rows: FloatArray, target: FloatArray) -> FloatArray:
    """Least-squares solution; where ``rows`` are singular, the one of least norm."""
    basis, triangle = np.linalg.qr(rows)
    sizes = np.abs(np.diagonal(triangle))
    if sizes.min() > SINGULAR * sizes.max():
        return np.asarray(solve_triangular(triangle, basis.T @ target))
    return np.asarray(lstsq(rows, target, cond=FLAT, lapack_driver="gelsy")[0])
