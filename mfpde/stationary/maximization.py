r"""The measures of largest energy: one atom where V is largest.

K(x.y) <= K(1) with equality at x = y alone (beta > 0), so that

    E[mu] <= K(1) / (2 beta) + max V,   with equality for mu = delta_x, x in argmax V

(paper, Proposition 3.7).  What remains is max V on S^(d-1).

ReLU without biases: V(x) = x.M x / 2 on each cell of the arrangement {a_j.x = 0}
(``arrangement.py``), M the sum of w_j a_j a_j^T over the active neurons (paper, section 3.3).
V is C^1, so that a maximum on a closed cell is an eigenvector of its M: the largest eigenvalue
whose eigenspace meets its cell is 2 max V.  Where it meets it in a cone of dimension e > 1,
maximisers form a continuum of dimension e - 1.

Other activations: local maxima by Newton's method from a scan, and a certified upper bound
by branch and bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from mfpde.arrays import FloatArray, IntArray, real_number
from mfpde.equation import MeanFieldEquation
from mfpde.notebook import Printed
from mfpde.stationary.arrangement import cells_of
from mfpde.stationary.convex_energy import check_bounded
from mfpde.stationary.potential_search import potential_of, search_maximum
from mfpde.stationary.ridge_fields import neuron_field
from mfpde.terms import Perceptron

TOLERANCE = 1e-12
TIE = 1e-9
"""Relative difference of values of V, and of eigenvalues, that are one."""
MOST_NEURONS = 24
SAME = 1e-7
"""Distance of points that are one."""
LARGEST_POINT = 1e6
"""Size of the linear program's x: cones narrower than its inverse have no inside."""


@dataclass(frozen=True, eq=False, repr=False)
class Maximum(Printed):
    """The maximisers of E, and the largest energy.

    Attributes
    ----------
    equation
        The equation.
    points
        Points x, (n, d), such that one atom at x has the largest energy: all of them if
        ``dimensions`` are 0, else one of each piece of the continuum.
    dimensions
        Dimension of the set of maximisers around each point, (n,): 0 if it is isolated.
    potential
        The largest value of V.
    energy
        The largest energy, K(1) / (2 beta) + max V.
    gap
        No energy is above ``energy`` by more than this.
    method
        ``"cells"`` (ReLU: all cells were compared) or ``"search"`` (branch and bound; then
        points are those that Newton's method found from a scan).
    """

    equation: MeanFieldEquation
    points: FloatArray
    dimensions: IntArray
    potential: float
    energy: float
    gap: float
    method: str

    @property
    def is_unique(self) -> bool:
        """Whether there is exactly one maximiser."""
        return len(self.points) == 1 and not self.dimensions.any()

    def __str__(self) -> str:
        lines = [
            f"{self.equation}, {self.equation.convention}",
            f"largest energy {self.energy:.12g} (max V = {self.potential:.12g}), "
            f"certified to {self.gap:.1e} by {self.method}: one atom at",
        ]
        for point, size in zip(self.points, self.dimensions, strict=True):
            place = " ".join(f"{x:.7f}" for x in np.round(point, 7) + 0.0)
            lines.append(
                place + (f"  (a continuum of dimension {size})" if size else "")
            )
        return "\n".join(lines)


def maximize(equation: MeanFieldEquation, *, tolerance: float = TOLERANCE) -> Maximum:
    """Find the global maximisers of E among all probability measures on S^(d-1).

    Parameters
    ----------
    equation
        Unnormalised attention and perceptrons with scalar weights; its direction is not
        used.  ReLU without biases: any d and up to 24 neurons (time grows like n^(d-1));
        other named activations: neurons that span at
        most 3 dimensions, or d up to 4.
    tolerance
        How close the certified upper bound should come to the largest value, for the search.

    Raises
    ------
    ValueError
        For softmax, no attention or no perceptron (then every single atom is a
        maximiser), a :class:`Potential`, vector weights, a user's activation, or more
        neurons or dimensions than can be searched.
    """
    terms = _checked(equation)
    tolerance = real_number("tolerance", tolerance, above=0.0)
    dimension = terms[0].dimension
    if all(t.activation.name == "relu" and not t.biases.any() for t in terms):
        points, sizes = _maximise_in_cells(terms)
        potential = float(potential_of(terms, points).max())
        gap, method = 2 * neuron_field(terms, dimension).rounding, "cells"
    else:
        points, sizes, potential, gap = search_maximum(terms, dimension, tolerance)
        method = "search"
    peak = sum(a.energy_amplitude / (2 * a.beta or 2.0) for a in equation.attentions)
    return Maximum(equation, points, sizes, potential, peak + potential, gap, method)


def _checked(equation: MeanFieldEquation) -> tuple[Perceptron, ...]:
    check_bounded(equation, "maximize")
    terms = equation.perceptron_parts
    if not equation.attentions or equation.has_softmax:
        raise ValueError(
            "maximize is for unnormalised attention: softmax is no gradient of E beside "
            "other terms, and without attention all measures on argmax V are maximisers"
        )
    if not terms:
        raise ValueError(
            "maximize: without a perceptron V = 0, and every single atom is a maximiser"
        )
    neurons = sum(len(t.weights) for t in terms)
    if neurons > MOST_NEURONS:
        raise ValueError(
            f"maximize: {neurons} neurons; at most {MOST_NEURONS} are possible"
        )
    return terms


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
        near = np.linalg.norm(across) <= SAME
        return bool(near and (self.inward @ point >= -SAME).all())


def _maximise_in_cells(terms: tuple[Perceptron, ...]) -> tuple[FloatArray, IntArray]:
    """Maximisers of a ReLU potential without biases, and the dimensions of their sets."""
    directions = np.concatenate([t.directions for t in terms])
    weights = np.concatenate([t.weights for t in terms])
    rows, weights = directions[weights != 0], weights[weights != 0]
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    candidates = []
    for signs, _ in cells_of(units):
        matrix = (rows.T * ((signs > 0) * weights)) @ rows
        for value, space in _eigenspaces(matrix):
            candidates.append((value, space, units * signs[:, np.newaxis]))
    tie = TIE * max(abs(value) for value, *_ in candidates)
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
    starts = np.flatnonzero(np.diff(values) > TIE * np.abs(values).max()) + 1
    spaces = np.split(vectors, starts, axis=1)
    return list(zip(values[[0, *starts]].tolist(), spaces, strict=True))


def _pieces_inside(space: FloatArray, inward: FloatArray) -> list[_Piece]:
    """What a ``space`` (d, e) has in common with the cone of x with ``inward`` @ x >= 0.

    A linear program finds a point: sum t is largest over 0 <= t <= 1, t <= ``inward`` @ x, x in
    the space.  Rows with t = 0 vanish on all of the cone.
    """
    rows = inward @ space
    rows = rows[np.linalg.norm(rows, axis=1) > SAME]
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
        bounds=[(-LARGEST_POINT, LARGEST_POINT)] * size + [(0.0, 1.0)] * count,
    ).x
    vanishing = rows[found[size:] < 0.5]
    if len(vanishing) == 0:
        point = space @ found[:size]
        return [_Piece(point / np.linalg.norm(point), space, inward)]
    _, sizes, axes = np.linalg.svd(vanishing)
    rank = int((sizes > SAME).sum())
    return _pieces_inside(space @ axes[rank:].T, inward) if rank < size else []
