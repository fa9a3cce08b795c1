r"""The measures of largest energy: one atom where V is largest.

K(x.y) <= K(1) with equality at x = y alone (beta > 0), so that

    E[mu] <= K(1) / (2 beta) + max V,   with equality for mu = delta_x, x in argmax V

(paper, Proposition 3.7).  What remains is max V on S^(d-1).

ReLU without biases: V(x) = x.M x / 2 on each cell of the arrangement {a_j.x = 0}, M the sum of
w_j a_j a_j^T over the active neurons (paper, section 3.3).  V is C^1, so that a maximum on a
closed cell is an eigenvector of its M: the largest eigenvalue whose eigenspace meets its cell is
2 max V.  A cone of dimension e > 1 in both is a continuum of maximisers of dimension e - 1.

Cells are found by deletion and restriction.  The last hyperplane cuts those cells of the others
that it meets; these are the cells of the others' traces on it.  So cells in dimension k come from
cells of fewer hyperplanes and from cells in dimension k - 1.  Each comes with a point inside, so
that no linear program is needed.

Other activations: the minima of -V that a scan finds, and a certified bound.  V depends on the
part of x in the span of the neurons alone, of dimension r: S^r is searched, one direction across
standing for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from mfpde.arrays import FloatArray, IntArray, real_number, refuse
from mfpde.equation import MeanFieldEquation
from mfpde.notebook import Printed, format_table
from mfpde.stationary.certification import (
    LARGEST_DIMENSION,
    TOLERANCE,
    CertifiedState,
    certify,
)
from mfpde.stationary.convex_energy import ConvexEnergy, check_terms, turn_neurons
from mfpde.stationary.field_minima import find_minima, lowest_apart, scanning_points
from mfpde.stationary.ridge_fields import SAME
from mfpde.terms import Perceptron

MOST_CELLS = 100_000
NEAR = 1e-6
"""Distance of points that are one, and share of the largest curvature that is none."""


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
        titles = [f"x{k}" for k in range(1, self.points.shape[1] + 1)]
        rows = np.column_stack([np.round(self.points, 7) + 0.0, self.dimensions])
        return (
            f"{self.equation}, {self.equation.convention}\n"
            f"largest energy {self.energy:.12g} (max V = {self.potential:.12g}), "
            f"certified to {self.gap:.1e} by {self.method}: one atom at\n"
            f"{format_table([*titles, 'of a continuum of dimension'], rows)}"
        )


def maximize(equation: MeanFieldEquation, *, tolerance: float = TOLERANCE) -> Maximum:
    """Find the global maximisers of E among all probability measures on S^(d-1).

    Parameters
    ----------
    equation
        Unnormalised attention without matrices and perceptrons with scalar weights; its
        direction is not used.  ReLU without biases: any d, up to 100000 cells (their number
        grows like n^(d-1) with that of neurons); other activations with bounds: neurons that
        span at most 3 dimensions, or d up to 4.
    tolerance
        How close the certified upper bound should come to the largest value, for the search.

    Raises
    ------
    ValueError
        For softmax, heads with matrices, no attention or no perceptron (then every single
        atom is a maximiser), a :class:`Potential`, vector weights, an activation without
        bounds, or more cells or dimensions than can be searched.
    """
    check_terms(equation, "maximize", needs_bounds=True)
    terms = equation.perceptron_parts
    faults = {
        "is for kernels of x.y, not a head with matrices": bool(equation.heads),
        "is for attention: without it see argmax V": not equation.interactions,
        "is for perceptrons: without, every single atom is a maximiser": not terms,
    }
    refuse("maximize", faults)
    peak = sum(a.energy_amplitude / (2 * a.beta or 2.0) for a in equation.attentions)
    tolerance = real_number("tolerance", tolerance, above=0.0)
    if all(t.activation.name == "relu" and not t.biases.any() for t in terms):
        points, sizes = maximize_in_cells(terms)
        field = ConvexEnergy((), terms, terms[0].dimension).external
        potential = float(field.values(points).max())
        gap, method = 2 * field.bounds.rounding, "cells"
    else:
        points, sizes, potential, gap = _search(terms, tolerance)
        method = "search"
    return Maximum(equation, points, sizes, potential, peak + potential, gap, method)


def _search(
    layers: tuple[Perceptron, ...], tolerance: float
) -> tuple[FloatArray, IntArray, float, float]:
    """Maximisers, their dimensions, max V and the certified gap."""
    frame = _searched_frame(layers)
    # Maxima of V are minima of -V, which is convex as an energy.
    energy = ConvexEnergy((), turn_neurons(layers, frame, sign=-1), frame.shape[1])
    field = energy.external
    points = find_minima(field, scanning_points(field.dimension, field.bounds.width))
    values = field.values(points)
    lowest = float(values.min())
    points = points[values <= lowest + SAME * np.abs(values).max()]
    gap = certify(CertifiedState(field, lowest, lowest, 1.0), tolerance).gap
    found = field.expansion(points, np.zeros(len(points)))
    bends = np.abs(np.linalg.eigvalsh(found.hessian))
    dimensions = (bends <= NEAR * energy.curvature).sum(axis=1)
    spare = len(frame) - frame.shape[1]
    if spare:
        dimensions = dimensions + spare * (np.abs(points[:, -1]) > NEAR)
        points[:, -1] = np.abs(points[:, -1])
        distinct = lowest_apart(points, field.values(points), apart=NEAR)
        points, dimensions = points[distinct], dimensions[distinct]
    return points @ frame.T, dimensions, -lowest, gap


def _searched_frame(layers: tuple[Perceptron, ...]) -> FloatArray:
    """Orthonormal columns (d, k): the span of the neurons, and a direction across."""
    rows = np.concatenate([t.directions[t.weights != 0] for t in layers])
    d = layers[0].dimension
    _, sizes, axes = np.linalg.svd(rows)
    rank = int((sizes > SAME * sizes.max(initial=0.0)).sum())
    frame = axes[: min(max(rank + 1, 2), d)].T
    if frame.shape[1] > LARGEST_DIMENSION:
        raise ValueError(
            f"maximize: the neurons span {rank} dimensions; a search is possible on "
            f"S^{LARGEST_DIMENSION - 1} at most (in any dimension for ReLU without biases)"
        )
    return np.asarray(frame)


def cells_of(rows: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    """Cells of the arrangement with normals ``rows`` (n, k) of any length but 0.

    Each has the signs (+-1) of all hyperplanes (n,), and a point (k,) inside.  Those of parallel
    rows agree, or are opposite.  More than 100000 cells are a ``ValueError``.
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
    if size == 1 or count == 0:
        ends = [side * space[:, 0] for side in (1, -1) if (side * rows > 0).all()]
        return [(end, space) for end in ends]
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
