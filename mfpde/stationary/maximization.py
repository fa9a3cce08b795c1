r"""The measures of largest energy: one atom where V is largest.

K(x.y) <= K(1) with equality at x = y alone (beta > 0), so that

    E[mu] <= K(1) / (2 beta) + max V,   with equality for mu = delta_x, x in argmax V

(paper, Proposition 3.7).  What remains is max V on S^(d-1).

ReLU without biases: all cells are compared (``cell_maximum.py``).  Other activations: the minima
of -V that a scan finds, and a certified bound.  V depends on the part of x in the span of the
neurons alone, of dimension r: S^r is searched, one direction across standing for all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray, IntArray, real_number
from mfpde.equation import MeanFieldEquation
from mfpde.notebook import Printed, format_table
from mfpde.stationary.cell_maximum import NEAR, SAME, maximize_in_cells
from mfpde.stationary.certification import LARGEST_DIMENSION, TOLERANCE
from mfpde.stationary.convex_energy import check_terms, refuse, turn_neurons
from mfpde.stationary.field_minima import (
    find_minima,
    floor_of,
    lowest_apart,
    scanning_points,
)
from mfpde.stationary.ridge_fields import NeuronRidges, neuron_field
from mfpde.terms import Perceptron


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
        field = neuron_field(terms, terms[0].dimension)
        potential = float(field.values(points).max())
        gap, method = 2 * field.rounding, "cells"
    else:
        points, sizes, potential, gap = _search(terms, tolerance)
        method = "search"
    return Maximum(equation, points, sizes, potential, peak + potential, gap, method)


def _search(
    layers: tuple[Perceptron, ...], tolerance: float
) -> tuple[FloatArray, IntArray, float, float]:
    """Maximisers, their dimensions, max V and the certified gap."""
    frame = _searched_frame(layers)
    # Minima of -V are the maxima of V.
    terms = turn_neurons(layers, frame, sign=-1)
    field = neuron_field(terms, frame.shape[1])
    points = find_minima(field, scanning_points(field.dimension, field.width))
    values = field.values(points)
    lowest = float(values.min())
    points = points[values <= lowest + SAME * np.abs(values).max()]
    floor = floor_of(field, lowest, tolerance / 2)
    smallest = min(lowest, floor.smallest)
    found = field.expansion(points, np.zeros(len(points)))
    bends = np.abs(np.linalg.eigvalsh(found.hessian))
    largest = sum(NeuronRidges(term).curvature for term in terms)
    dimensions = (bends <= NEAR * largest).sum(axis=1)
    spare = len(frame) - frame.shape[1]
    if spare:
        dimensions = dimensions + spare * (np.abs(points[:, -1]) > NEAR)
        points[:, -1] = np.abs(points[:, -1])
        distinct = lowest_apart(points, field.values(points), apart=NEAR)
        points, dimensions = points[distinct], dimensions[distinct]
    gap = smallest - floor.bound + 2 * field.rounding
    return points @ frame.T, dimensions, -smallest, float(gap)


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
