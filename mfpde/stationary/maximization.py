r"""The measures of largest energy: one atom where V is largest.

K(x.y) <= K(1) with equality at x = y alone (beta > 0), so that

    E[mu] <= K(1) / (2 beta) + max V,   with equality for mu = delta_x, x in argmax V

(paper, Proposition 3.7).  What remains is max V on S^(d-1).

ReLU without biases: all cells are compared (``cell_maximum.py``).  Other activations: a search
with a certified upper bound (``scanned_maximum.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray, IntArray, real_number
from mfpde.equation import MeanFieldEquation
from mfpde.notebook import Printed
from mfpde.stationary.cell_maximum import maximise_in_cells
from mfpde.stationary.convex_energy import check_bounded
from mfpde.stationary.ridge_fields import neuron_field
from mfpde.stationary.scanned_maximum import search_maximum
from mfpde.terms import Perceptron

TOLERANCE = 1e-12
MOST_NEURONS = 24


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
    terms = _check_terms(equation)
    tolerance = real_number("tolerance", tolerance, above=0.0)
    if all(t.activation.name == "relu" and not t.biases.any() for t in terms):
        points, sizes = maximise_in_cells(terms)
        potential = float(np.sum([t.value(points) for t in terms], axis=0).max())
        gap, method = 2 * neuron_field(terms, terms[0].dimension).rounding, "cells"
    else:
        points, sizes, potential, gap = search_maximum(terms, tolerance)
        method = "search"
    peak = sum(a.energy_amplitude / (2 * a.beta or 2.0) for a in equation.attentions)
    return Maximum(equation, points, sizes, potential, peak + potential, gap, method)


def _check_terms(equation: MeanFieldEquation) -> tuple[Perceptron, ...]:
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
