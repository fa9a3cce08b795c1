r"""V of perceptrons with all that bounds it between points.

Along a great arc a neuron w Phi(z), z = a.gamma + b, has

    (w Phi)''  = w (sigma' z'^2 - sigma a.gamma)
    (w Phi)''' = w (sigma'' z'^3 - 3 sigma' z' a.gamma - sigma z').

Where a ball meets a neuron's kink, sigma' is replaced
by its smallest (w > 0) or largest (w < 0) value over the ball: the quadratic form is then
below the second derivative on either side, and the bounds hold across the kink, since sigma
is Lipschitz and F is C^1 with an absolutely continuous derivative.

Rounding, u = 2^-53:

    |error of V| <= u sum_j |w_j| [ z_j ((d + 4) |a_j| + |b_j|) + (J + 12)(1 + z_j^2) / 2 ]

with z_j = |a_j| + |b_j|, J neurons, and |Phi| <= z^2 / 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.stationary.activation_bounds import activation_bounds
from mfpde.terms import Perceptron

ROUNDOFF = 2.0**-53
ON_KINK = 1e-12

Ball = tuple[FloatArray, FloatArray, FloatArray]
"""Centres (n, d), tangent frames (n, d - 1, d) and radii (n,)."""


@dataclass(frozen=True, eq=False)
class ExternalBounds:
    """V of perceptrons with scalar weights on S^(d-1), and its bounds."""

    terms: tuple[Perceptron, ...]
    dimension: int

    @cached_property
    def curvature(self) -> float:
        """L: second derivatives of V are at least -L."""
        return sum(_curvature(term) for term in self.terms)

    @cached_property
    def bend(self) -> float:
        """T: third derivatives of V between kinks are within +-T."""
        return sum(_bend(term) for term in self.terms)

    @cached_property
    def width(self) -> float:
        """A length over which V varies."""
        longest = [np.linalg.norm(t.directions, axis=1).max() for t in self.terms]
        return float(1 / max([1.0, *longest]))

    @cached_property
    def rounding(self) -> float:
        """Bound of the rounding errors of values of V."""
        total = 0.0
        for term in self.terms:
            lengths = np.linalg.norm(term.directions, axis=1)
            offsets = np.abs(term.biases)
            z = lengths + offsets
            errors = z * ((self.dimension + 4) * lengths + offsets)
            errors += (len(z) + 12) * (1 + z**2) / 2
            total += float(np.abs(term.weights) @ errors)
        return ROUNDOFF * total

    def add_to(
        self, parts: tuple[FloatArray, FloatArray, FloatArray | None], place: Ball
    ) -> None:
        """Add V, its gradient and its lower Hessian, tangent coordinates, to ``parts``."""
        points, frames, _ = place
        values, gradient, hessian = parts
        for term in self.terms:
            values += term.value(points)
            gradient += np.einsum("nai,ni->na", frames, term.drift(points))
            if hessian is not None:
                hessian += _lower_hessian(term, place)


def external_bounds(equation: MeanFieldEquation, dimension: int) -> ExternalBounds:
    """Bounds of the equation's V (its terms must be perceptrons with scalar weights)."""
    terms = tuple(t for t in equation.externals if isinstance(t, Perceptron))
    return ExternalBounds(terms, dimension)


def _curvature(term: Perceptron) -> float:
    bounds = activation_bounds(term)
    lengths = np.linalg.norm(term.directions, axis=1)
    offsets = np.abs(term.biases)
    # sigma(z) a.x = sigma(z) (z - b), and sigma(z) z >= 0 for every named activation.
    falls = np.where(
        term.weights > 0,
        max(0.0, -bounds.least_slope) * lengths**2 + (lengths + offsets) * lengths,
        bounds.largest_slope * lengths**2 + (lengths + offsets) * offsets,
    )
    return float(np.abs(term.weights) @ falls)


def _bend(term: Perceptron) -> float:
    bounds = activation_bounds(term)
    lengths = np.linalg.norm(term.directions, axis=1)
    steepest = max(bounds.largest_slope, -bounds.least_slope)
    sizes = bounds.bend * lengths**3 + 1.5 * steepest * lengths**2
    # |z'| |a.x| <= |a|^2 / 2, and |sigma(z)| <= |a.x| + |b|.
    sizes += lengths**2 / 2 + lengths * np.abs(term.biases)
    return float(np.abs(term.weights) @ sizes)


def _lower_hessian(term: Perceptron, place: Ball) -> FloatArray:
    points, frames, radii = place
    d = frames.shape[2]
    z = term.preactivations(points)
    assert term.activation.derivative is not None
    slopes = np.asarray(term.activation.derivative(z))
    reach = radii[:, np.newaxis] * np.linalg.norm(term.directions, axis=1)
    for kink in term.activation.kinks:
        meets = np.abs(z - kink) <= reach + ON_KINK * (1 + np.abs(z))
        bounds = activation_bounds(term)
        lower = np.where(term.weights > 0, bounds.least_slope, bounds.largest_slope)
        slopes = np.where(meets, lower, slopes)
    squares = np.einsum("ji,jk->jik", term.directions, term.directions)
    second = (slopes * term.weights) @ squares.reshape(-1, d * d)
    hessian = frames @ second.reshape(-1, d, d) @ np.swapaxes(frames, 1, 2)
    outputs = np.asarray(term.activation.sigma(z)) * (points @ term.directions.T)
    radial = outputs @ term.weights
    return np.asarray(
        hessian - radial[:, np.newaxis, np.newaxis] * np.eye(frames.shape[1])
    )
