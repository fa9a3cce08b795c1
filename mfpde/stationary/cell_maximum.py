r"""The largest values of a ReLU potential without biases, exactly.

V(x) = x.M x / 2 on each cell of the arrangement {a_j.x = 0} (``arrangement.py``), M the sum of
w_j a_j a_j^T over the active neurons (paper, section 3.3).  V is C^1, so that a maximum on a
closed cell is an eigenvector of its M: the largest eigenvalue whose eigenspace meets its cell is
2 max V.  Where it meets it in a cone of dimension e > 1, maximisers form a continuum of
dimension e - 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from mfpde.arrays import FloatArray, IntArray
from mfpde.stationary.arrangement import SAME, cells_of
from mfpde.terms import Perceptron

NEAR = 1e-7
"""Distance of points that are one: of eigenvectors whose eigenvalues differ by ``SAME``."""


class _Piece(NamedTuple):
    """Maximisers of V in a cell: a point, the span (d, e) of them all, and the cell.

    The cell is the set of x with ``inward`` @ x >= 0, ``inward`` of shape (n, d).
    """

    point: FloatArray
    span: FloatArray
    inward: FloatArray

    @property
    def size(self) -> int:
        """Dimension e - 1 of the set."""
        return int(self.span.shape[1]) - 1

    def holds(self, point: FloatArray) -> bool:
        """Whether a point belongs to this piece or to its boundary."""
        across = point - self.span @ (self.span.T @ point)
        near = np.linalg.norm(across) <= NEAR
        return bool(near and (self.inward @ point >= -NEAR).all())


def maximize_in_cells(layers: tuple[Perceptron, ...]) -> tuple[FloatArray, IntArray]:
    """Maximisers of a ReLU potential without biases, and the dimensions of their sets."""
    directions = np.concatenate([t.directions for t in layers])
    weights = np.concatenate([t.weights for t in layers])
    rows, weights = directions[weights != 0], weights[weights != 0]
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    candidates = []
    for signs, _ in cells_of(units):
        matrix = (rows.T * ((signs > 0) * weights)) @ rows
        for value, space in _eigenspaces(matrix):
            candidates.append((value, space, units * signs[:, np.newaxis]))
    tie = SAME * max(abs(value) for value, *_ in candidates)
    pieces: list[_Piece] = []
    largest = -np.inf
    for value, space, inward in sorted(candidates, key=lambda found: -found[0]):
        if value < largest - tie:
            break
        found = _pieces_inside(space, inward)
        largest = max(largest, value) if found else largest
        pieces += found
    kept: list[_Piece] = []
    for piece in sorted(pieces, key=lambda piece: -piece.size):
        if not any(other.holds(piece.point) for other in kept):
            kept.append(piece)
    points = np.array([piece.point for piece in kept])
    return points, np.array([piece.size for piece in kept])


def _eigenspaces(matrix: FloatArray) -> list[tuple[float, FloatArray]]:
    """Different eigenvalues of a symmetric matrix (d, d), with a basis (d, e) of each space."""
    values, vectors = np.linalg.eigh(matrix)
    starts = np.flatnonzero(np.diff(values) > SAME * np.abs(values).max()) + 1
    spaces = np.split(vectors, starts, axis=1)
    return list(zip(values[[0, *starts]].tolist(), spaces, strict=True))


def _pieces_inside(space: FloatArray, inward: FloatArray) -> list[_Piece]:
    """What a ``space`` (d, e) has in common with the cone of x with ``inward`` @ x >= 0.

    A linear program finds a point: sum t is largest over 0 <= t <= 1, t <= ``inward`` @ x, x in
    the space.  Rows with t = 0 vanish on all of the cone.
    """
    rows = inward @ space
    rows = rows[np.linalg.norm(rows, axis=1) > NEAR]
    count, size = rows.shape
    if size == 1:
        sides = [side for side in (1.0, -1.0) if (side * rows > 0).all()]
        return [_Piece(side * space[:, 0], space, inward) for side in sides]
    if count == 0:
        return [_Piece(space[:, 0], space, inward)]
    found = linprog(
        np.repeat([0.0, -1.0], [size, count]),
        np.hstack([-rows, np.eye(count)]),
        np.zeros(count),
        bounds=[(None, None)] * size + [(0.0, 1.0)] * count,
    ).x
    vanishing = rows[found[size:] < 0.5]
    if len(vanishing) == 0:
        point = space @ found[:size]
        return [_Piece(point / np.linalg.norm(point), space, inward)]
    _, sizes, axes = np.linalg.svd(vanishing)
    rank = int((sizes > NEAR).sum())
    return _pieces_inside(space @ axes[rank:].T, inward) if rank < size else []
