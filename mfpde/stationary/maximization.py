r"""The measures of largest energy: one atom where V is largest.

K(x.y) <= K(1) with equality at x = y alone (beta > 0), so that

    E[mu] <= K(1) / (2 beta) + max V,   with equality for mu = delta_x, x in argmax V

(paper, Proposition 3.7).  What remains is max V on S^(d-1).

ReLU without biases: V(x) = x.M x / 2 on each cell of the arrangement {a_j.x = 0}, M the sum
of w_j a_j a_j^T over the active neurons (paper, section 3.3).  A maximum inside of a face of
a cell is an eigenvector of M restricted to the face's span; eigenvectors of all faces that lie
inside of their face are compared.  Eigenspaces of dimension e > 1 that meet it are continua of
dimension e - 1.

Other activations: local maxima by Newton's method from a scan, and a certified upper bound
by branch and bound.

Cells of a central hyperplane arrangement {x : a_j.x = 0}, by deletion and restriction.

The last hyperplane cuts those cells of the others that it meets; these are the cells of the
others' traces on it.  So cells in dimension k come from cells of fewer hyperplanes and from
cells in dimension k - 1.  Each comes with a point inside, so that no linear program is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mfpde.arrays import FloatArray, IntArray, real_number
from mfpde.equation import MeanFieldEquation
from mfpde.notebook import Printed
from mfpde.stationary.certification import check_bounded
from mfpde.stationary.external_bounds import external_bounds
from mfpde.stationary.potential_search import potential_of, search_maximum
from mfpde.terms import Perceptron

EQUAL = 1e-9

Cell = tuple[FloatArray, FloatArray]
"""Signs (+-1) of all hyperplanes, and a point inside."""


def cells_of(rows: FloatArray) -> list[Cell]:
    """Cells of the arrangement with normals ``rows`` (n, k), none of them zero.

    Parallel rows are allowed: their signs agree, or are opposite.
    """
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    distinct, owner, sides = _distinct(units)
    return [(sides * signs[owner], point) for signs, point in _cells(units[distinct])]


def intersections(units: FloatArray) -> list[FloatArray]:
    """Orthonormal bases (d, k), k >= 1, of all intersections of hyperplanes, R^d first.

    The hyperplanes have the unit normals ``units`` (n, d).
    """
    count, d = units.shape
    bases, seen = [], set()
    for size in range(min(count, d - 1) + 1):
        for chosen in combinations(range(count), size):
            rows = units[list(chosen)]
            _, sizes, axes = np.linalg.svd(rows.reshape(size, d))
            if size and sizes[-1] <= EQUAL:
                continue
            basis = axes[size:].T
            key = (np.round(basis @ basis.T, 6) + 0.0).tobytes()
            if key not in seen:
                seen.add(key)
                bases.append(basis)
    return bases


def _cells(units: FloatArray) -> list[Cell]:
    """Cells of pairwise different hyperplanes."""
    count, k = units.shape
    if count == 0:
        return [(np.empty(0), np.eye(1, k)[0])]
    if k == 1:
        return [(np.sign(sign * units[:, 0]), np.array([sign])) for sign in (1.0, -1.0)]
    last, others = units[-1], units[:-1]
    _, _, axes = np.linalg.svd(last[np.newaxis])
    basis = axes[1:].T
    traces = (
        cells_of(others @ basis) if count > 1 else [(np.empty(0), np.eye(1, k - 1)[0])]
    )
    cut = {signs.tobytes(): basis @ point for signs, point in traces}
    found = []
    for signs, point in _cells(others):
        if signs.tobytes() not in cut:
            found.append((np.append(signs, np.sign(last @ point)), point))
            continue
        middle = cut[signs.tobytes()]
        reach = 0.5 * float(np.abs(others @ middle).min(initial=1.0))
        for side in (1.0, -1.0):
            inside = middle + side * reach * last
            found.append((np.append(signs, side), inside / np.linalg.norm(inside)))
    return found


def _distinct(units: FloatArray) -> tuple[list[int], list[int], FloatArray]:
    """Indices of one row per hyperplane, and each row's hyperplane (from 0) and side (+-1)."""
    kept: list[int] = []
    owner: list[int] = []
    sides = np.ones(len(units))
    for index, row in enumerate(units):
        same = [n for n, k in enumerate(kept) if _parallel(row, units[k])]
        if same:
            owner.append(same[0])
            sides[index] = np.sign(row @ units[kept[same[0]]])
        else:
            owner.append(len(kept))
            kept.append(index)
    return kept, owner, sides


def _parallel(row: FloatArray, other: FloatArray) -> bool:
    across = row - (row @ other) * other
    return bool(np.linalg.norm(across) <= EQUAL)


TOLERANCE = 1e-12
TIE = 1e-9
MOST_NEURONS = 24
SAME = 1e-7


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
    external = external_bounds(equation, terms[0].dimension)
    if all(t.activation.name == "relu" and not t.biases.any() for t in terms):
        points, sizes = _of_cells(terms)
        potential = float(potential_of(terms, points).max())
        gap, method = 2 * external.rounding, "cells"
    else:
        points, sizes, potential, gap = search_maximum(external, tolerance)
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


@dataclass(frozen=True, eq=False)
class _Piece:
    """A maximum of V on a cell: the point, its eigenspace (d, e), and the cell.

    The cell is the set of x with ``inward`` @ x >= 0, ``inward`` of shape (n, d).
    """

    point: FloatArray
    space: FloatArray
    inward: FloatArray

    @property
    def size(self) -> int:
        return int(self.space.shape[1]) - 1

    def holds(self, point: FloatArray) -> bool:
        """Whether a point belongs to this piece or to its boundary."""
        across = point - self.space @ (self.space.T @ point)
        near = np.linalg.norm(across) <= SAME
        return bool(near and (self.inward @ point >= -SAME).all())


def _of_cells(terms: tuple[Perceptron, ...]) -> tuple[FloatArray, IntArray]:
    """Maximisers of a ReLU potential without biases, and the dimensions of their sets."""
    directions = np.concatenate([t.directions for t in terms])
    weights = np.concatenate([t.weights for t in terms])
    directions, weights = directions[weights != 0], weights[weights != 0]
    d = terms[0].dimension
    if not len(weights):
        return np.eye(1, d), np.array([d - 1])
    lengths = np.linalg.norm(directions, axis=1)
    units = directions / lengths[:, np.newaxis]
    strengths = weights * lengths**2
    pieces = []
    for basis in intersections(units):
        reduced = units @ basis
        free = np.linalg.norm(reduced, axis=1) > EQUAL
        rows, shares = reduced[free], strengths[free]
        faces = cells_of(rows) if free.any() else [(np.empty(0), np.empty(0))]
        for signs, _ in faces:
            matrix = (rows.T * ((signs > 0) * shares)) @ rows
            inward = units[free] * signs[:, np.newaxis]
            for space in _eigenspaces(matrix):
                for c in _inside(rows @ space, signs):
                    pieces.append(_Piece(basis @ (space @ c), basis @ space, inward))
    return _best(terms, pieces)


def _eigenspaces(matrix: FloatArray) -> list[FloatArray]:
    values, vectors = np.linalg.eigh(matrix)
    scale = EQUAL * max(1.0, float(np.abs(values).max()))
    groups = np.concatenate([[0], np.cumsum(np.diff(values) > scale)])
    return [vectors[:, groups == group] for group in range(groups[-1] + 1)]


def _inside(rows: FloatArray, signs: FloatArray) -> list[FloatArray]:
    """Unit coefficients c, one for each piece, with signs * (rows @ c) > 0."""
    size = rows.shape[1]
    oriented = rows * signs[:, np.newaxis]
    if size == 1:
        sides = [np.array([side]) for side in (1.0, -1.0)]
        return [c for c in sides if (oriented @ c > -EQUAL).all()]
    if not len(rows):
        return [np.eye(1, size)[0]]
    if (np.linalg.norm(rows, axis=1) <= EQUAL).any():
        return []
    return [c for found, c in cells_of(oriented) if (found > 0).all()]


def _best(
    terms: tuple[Perceptron, ...], pieces: list[_Piece]
) -> tuple[FloatArray, IntArray]:
    """Points with the largest V and the dimensions of their pieces, one point for each piece."""
    values = potential_of(terms, np.array([piece.point for piece in pieces]))
    scale = max(float(np.abs(values).max()), 1e-300)
    tied = [
        piece
        for piece, value in zip(pieces, values, strict=True)
        if value >= values.max() - TIE * scale
    ]
    kept: list[_Piece] = []
    for piece in sorted(tied, key=lambda piece: -piece.size):
        if not any(other.holds(piece.point) for other in kept):
            kept.append(piece)
    points = np.array([piece.point for piece in kept])
    return points, np.array([piece.size for piece in kept])
