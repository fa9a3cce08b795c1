r"""The largest values of a ReLU potential without biases, exactly.

V(x) = x.M x / 2 on each cell of the arrangement {a_j.x = 0}, M the sum of
w_j a_j a_j^T over the active neurons (paper, section 3.3).  V is C^1, so that a maximum on a
closed cell is an eigenvector of its M: the largest eigenvalue whose eigenspace meets its cell is
2 max V.  Where it meets it in a cone of dimension e > 1, maximisers form a continuum of
dimension e - 1.

Cells are found by deletion and restriction.  The last hyperplane cuts those cells of the others
that it meets; these are the cells of the others' traces on it.  So cells in dimension k come from
cells of fewer hyperplanes and from cells in dimension k - 1.  Each comes with a point inside, so
that no linear program is needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from mfpde.arrays import FloatArray, IntArray
from mfpde.terms import Perceptron

SAME = float(np.sqrt(np.finfo(np.float64).eps))
"""Relative difference of numbers that are one, and the sine between hyperplanes that are."""
MOST_CELLS = 100_000
NEAR = 1e-6
"""Distance of points that are one, and share of the largest curvature that is none."""

Cell = tuple[FloatArray, FloatArray]
"""Signs (+-1) of all hyperplanes, and a point inside."""


def cells_of(rows: FloatArray) -> list[Cell]:
    """Cells of the arrangement with normals ``rows`` (n, k), none of them zero.

    Parallel rows are allowed: their signs agree, or are opposite.

    Raises
    ------
    ValueError
        If there are more than 100000 cells.
    """
    count, k = rows.shape
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    if k == 1 and count:
        signs = np.sign(units[:, 0])
        return [(side * signs[0] * signs, side * units[0]) for side in (1.0, -1.0)]
    found = [(np.empty(0), np.eye(1, k)[0])]
    for index, last in enumerate(units):
        others, cells = units[:index], found
        # A hyperplane cuts those cells that are cells of its own, in a dimension less.
        basis = np.linalg.svd(last[np.newaxis])[2][1:].T
        traces = others @ basis
        is_new = (np.linalg.norm(traces, axis=1) > SAME).all()
        inside = cells_of(traces) if is_new else []
        cut = {signs.tobytes(): basis @ point for signs, point in inside}
        found = []
        for signs, point in cells:
            middle = cut.get(signs.tobytes())
            if middle is None:
                found.append((np.append(signs, np.sign(last @ point)), point))
                continue
            reach = 0.5 * float(np.abs(others @ middle).min(initial=1.0))
            for side in (1.0, -1.0):
                beside = middle + side * reach * last
                found.append((np.append(signs, side), beside / np.linalg.norm(beside)))
        if len(found) > MOST_CELLS:
            raise ValueError(
                f"the {count} hyperplanes of the neurons have more than {MOST_CELLS} cells"
            )
    return found


class _Piece(NamedTuple):
    """Points of a cell where V is the same: one ``point``, and the ``span`` (d, e) of them all.

    ``value`` is 2 V.  The cell is the set of x with ``inward`` @ x >= 0, ``inward`` (n, d).
    """

    value: float
    point: FloatArray
    span: FloatArray
    inward: FloatArray

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
    lengths = np.linalg.norm(rows, axis=1)
    tie = SAME * float(np.abs(weights) @ lengths**2)
    pieces, largest = [], -np.inf
    for signs, _ in cells_of(rows):
        inward = rows * (signs / lengths)[:, np.newaxis]
        values, axes = np.linalg.eigh((rows.T * ((signs > 0) * weights)) @ rows)
        while len(values) and values[-1] >= largest - tie:
            is_equal = values >= values[-1] - tie
            for point, span in _find_points_inside(axes[:, is_equal], inward):
                pieces.append(_Piece(float(values[-1]), point, span, inward))
                largest = max(largest, pieces[-1].value)
            values, axes = values[~is_equal], axes[:, ~is_equal]
    kept: list[_Piece] = []
    for piece in sorted(pieces, key=lambda piece: -piece.span.shape[1]):
        is_new = not any(other.holds(piece.point) for other in kept)
        kept += [piece] if is_new and piece.value >= largest - tie else []
    points = np.array([piece.point for piece in kept])
    return points, np.array([piece.span.shape[1] - 1 for piece in kept])


def _find_points_inside(
    space: FloatArray, inward: FloatArray
) -> list[tuple[FloatArray, FloatArray]]:
    """Points of a ``space`` (d, e) with ``inward`` @ x >= 0, each with the span of all of them.

    A linear program finds one: sum t is largest over 0 <= t <= 1, t <= ``inward`` @ x, x in
    the space.  Rows with t = 0 vanish on all of the cone.
    """
    rows = inward @ space
    rows = rows[np.linalg.norm(rows, axis=1) > NEAR]
    count, size = rows.shape
    if size == 1:
        ends = [side * space[:, 0] for side in (1, -1) if (side * rows > 0).all()]
        return [(end, space) for end in ends]
    if count == 0:
        return [(space[:, 0], space)]
    found = linprog(
        np.repeat([0.0, -1.0], [size, count]),
        np.hstack([-rows, np.eye(count)]),
        np.zeros(count),
        bounds=[(None, None)] * size + [(0.0, 1.0)] * count,
    ).x
    vanishing = rows[found[size:] < 0.5]
    if len(vanishing) == 0:
        point = space @ found[:size]
        return [(point / np.linalg.norm(point), space)]
    _, sizes, axes = np.linalg.svd(vanishing)
    rank = int((sizes > NEAR).sum())
    return _find_points_inside(space @ axes[rank:].T, inward) if rank < size else []
