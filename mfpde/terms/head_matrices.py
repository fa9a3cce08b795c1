"""The matrices D and V and the source weight w of a head of attention, whole or as factors."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, read_only, real_array
from mfpde.terms.exponential_kernel import SMALLEST_BETA
from mfpde.terms.external import read_numbers

Matrix: TypeAlias = FloatArray | tuple[FloatArray, FloatArray]
"""A matrix (d, d), or its factors (d, r) and (r, d)."""


def split_matrix(matrix: Matrix) -> tuple[FloatArray, FloatArray]:
    """The factors (d, r) and (r, d), or a matrix and the identity."""
    return matrix if isinstance(matrix, tuple) else (matrix, np.eye(len(matrix)))


def multiply(matrix: Matrix) -> FloatArray:
    """The matrix (d, d)."""
    left, right = split_matrix(matrix)
    return left @ right


def spectral_norm(matrix: Matrix) -> float:
    """The norm |left right|_2, by a matrix (r, r)."""
    left, right = split_matrix(matrix)
    product = np.linalg.qr(left).R @ np.linalg.qr(right.T).R.T
    return float(np.linalg.norm(product, 2))


def read_matrices(
    bilinear: Any, value: Any, source: ArrayLike | None, *, beta: float
) -> tuple[Matrix | None, Matrix | None, FloatArray | None]:
    """Return D, V and w; raise ``ValueError`` unless they go together."""
    found = _read_matrix("bilinear", bilinear), _read_matrix("value", value)
    weight = None if source is None else read_numbers("source", source)
    matrices = [multiply(one) for one in found if one is not None]
    if found[0] is None:
        for name, one in (("value", value), ("source", source)):
            if one is not None:
                raise ValueError(
                    f"{name} without bilinear: give both, bilinear = identity for "
                    "logits beta x.y"
                )
        return None, None, None
    if not matrices[0].any():
        raise ValueError(
            "bilinear is zero: all logits are 0; use beta = 0 with bilinear = identity "
            "for tokens that count alike"
        )
    shape, sent = matrices[0].shape, matrices[-1].shape
    if sent != shape:
        raise ValueError(
            f"value has shape {sent} and bilinear {shape}: both must be "
            "(d, d) with the same d"
        )
    if weight is not None and (weight.shape != shape[:1] or beta < SMALLEST_BETA):
        raise ValueError(
            f"source has shape {weight.shape} and bilinear {shape} at beta = {beta:g}: it "
            f"must be (d,) with the same d, and beta at least {SMALLEST_BETA:g}"
        )
    return *found, weight


def _read_matrix(name: str, given: Any) -> Matrix | None:
    """Return a square matrix, or its two factors, which stores hold as lists."""
    if given is None:
        return None
    is_pair = isinstance(given, tuple | list) and list(map(np.ndim, given)) == [2, 2]
    if is_pair and (isinstance(given, tuple) or len(given[0]) != len(given[1])):
        left, right = (read_only(real_array(name, factor)) for factor in given)
        if left.shape != right.shape[::-1]:
            raise ValueError(
                f"{name} has factors of shape {left.shape} and {right.shape}: they must be "
                "(d, r) and (r, d)"
            )
        if len(left) > len(right):
            return left, right
        given = left @ right
    found = real_array(name, given)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or len(found) < 2:
        raise ValueError(
            f"{name} has shape {found.shape}: it must be a square matrix (d, d), d at least 2, "
            "or a pair of factors"
        )
    return read_only(np.ascontiguousarray(found))


def format_array(matrix: Matrix) -> str:
    """Return a small array in digits, of a large one its size."""
    whole = multiply(matrix) if len(np.shape(matrix[0])) else np.asarray(matrix)
    if len(whole) > 4:
        return f"<matrix {' x '.join(map(str, whole.shape))}>"
    return str(np.vectorize(lambda entry: float(f"{entry:.6g}"))(whole).tolist())
