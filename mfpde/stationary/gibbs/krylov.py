r"""Leading eigenvalues of a symmetric matrix that is known by its products alone.

Block Lanczos with full orthogonalisation (Golub & Van Loan, Matrix Computations, section 10.3):
Ritz values of A in the span of X, A X, A^2 X, ...  For the compact operators of smooth
densities few powers are needed.  A block finds an eigenvalue as often as it is multiple, up to
its width, where single vectors need rounding to do so.  Its start is drawn with a fixed seed:
the same products give the same digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray

SETTLED = 1e-10
DEPENDENT = 1e-13


class RitzPairs(NamedTuple):
    """Eigenvalues ``values`` (m,), decreasing, and ``vectors`` (n, m) that belong to them."""

    values: FloatArray
    vectors: FloatArray


def leading_eigenpairs(
    product: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    *,
    above: float,
    without: FloatArray,
) -> RitzPairs:
    """Eigenvalues of A from the largest down to the first one below ``above``, and others.

    Those others are approximations, from below, of eigenvalues further down.

    Parameters
    ----------
    product
        The product of A with a vector (n,).
    start
        The first block X, (n, b): b at least the largest multiplicity of an eigenvalue.
    above
        Down to where eigenvalues are wanted to rounding.
    without
        Orthonormal columns (n, k) of an invariant subspace to leave out.
    """
    size = len(start) - without.shape[1]
    generator = np.random.default_rng(1)
    known = without
    block = _orthogonal(start, known, generator, size)
    columns, images = block, _products(product, block)
    while True:
        small = columns.T @ images
        values, inner = np.linalg.eigh((small + small.T) / 2)
        values, inner = values[::-1], inner[:, ::-1]
        count = int((values > above).sum()) + 1
        whole = columns.shape[1] >= size
        if not whole:
            chosen = inner[:, :count]
            errors = images @ chosen - columns @ (chosen * values[:count])
            errors -= without @ (without.T @ errors)
            largest = float(np.linalg.norm(errors, axis=0).max())
        if whole or (
            count <= columns.shape[1] // 2 and largest <= SETTLED * abs(values[0])
        ):
            return RitzPairs(values, columns @ inner)
        known = np.concatenate([without, columns], axis=1)
        left = size - columns.shape[1]
        block = _orthogonal(images[:, -block.shape[1] :], known, generator, left)
        columns = np.concatenate([columns, block], axis=1)
        images = np.concatenate([images, _products(product, block)], axis=1)


def _products(
    product: Callable[[FloatArray], FloatArray], columns: FloatArray
) -> FloatArray:
    return np.stack([product(column) for column in columns.T], axis=1)


def _orthogonal(
    columns: FloatArray,
    known: FloatArray,
    generator: np.random.Generator,
    most: int,
) -> FloatArray:
    """Orthonormal columns, at most ``most``, of the span of ``columns`` across ``known``.

    Columns that lie in the span of the others are replaced by random ones: an eigenvalue may
    be multiple.
    """
    columns = columns[:, :most]
    scales = np.linalg.norm(columns, axis=0)
    across = _across(columns, known)
    basis, triangle = np.linalg.qr(across)
    if (np.abs(np.diagonal(triangle)) > DEPENDENT * scales).all():
        return np.asarray(np.linalg.qr(_across(basis, known))[0])
    found = np.empty((len(columns), 0))
    for column, scale in zip(columns.T, scales, strict=True):
        whole = np.concatenate([known, found], axis=1)
        new = _across(column, whole)
        if np.linalg.norm(new) <= DEPENDENT * scale or scale == 0:
            new = _across(generator.standard_normal(len(column)), whole)
        new = _across(new / np.linalg.norm(new), whole)
        found = np.column_stack([found, new / np.linalg.norm(new)])
    return found


def _across(columns: FloatArray, basis: FloatArray) -> FloatArray:
    for _ in range(2):
        columns = columns - basis @ (basis.T @ columns)
    return columns
