r"""The potential V of perceptrons, with bounds of its derivatives.

Along a great arc a neuron w Phi(z), z = a.gamma + b, has

    (w Phi)''  = w (sigma' z'^2 - sigma a.gamma)
    (w Phi)''' = w (sigma'' z'^3 - 3 sigma' z' a.gamma - sigma z').

Where a ball meets a neuron's kink, sigma' is replaced
by its smallest (w > 0) or largest (w < 0) value over the ball: the quadratic form is then
below the second derivative on either side, and the bounds hold across the kink, since sigma
is Lipschitz and F is C^1 with an absolutely continuous derivative.

With y = a.gamma and s = y', s^2 + y^2 <= |a|^2, and M a bound of |sigma'|, sigma(z) is
sigma(b) + m y with |m| <= M, whatever sigma is:

    |(w Phi)''|  <= |w| (M |a|^2 + |sigma(b)| |a|)
    |(w Phi)'''| <= |w| (|sigma''| |a|^3 + 2 M |a|^2 + |sigma(b)| |a|).

Rounding, u = 2^-53:

    |error of V| <= u sum_j |w_j| [ (|sigma(b_j)| + M |a_j|) ((d + 4) |a_j| + |b_j|)
                                    + (J + 12) (1/2 + (|sigma(0)| + M z_j / 2) z_j) ]

with z_j = |a_j| + |b_j|, J neurons, and |Phi(z)| <= (|sigma(0)| + M |z| / 2) |z|.

The bounds of an activation are its own (``mfpde.terms.activations``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.stationary.taylor_bounds import (
    ArcForms,
    DerivativeNoise,
    ridge_forms,
)
from mfpde.terms import Perceptron
from mfpde.terms.activations import ACTIVATIONS, ActivationBounds

SAME_HYPERPLANE = 4e-16
"""Neurons whose unit vectors (a, b) / |a| agree to rounding have one hyperplane."""


def activation_bounds(term: Perceptron) -> ActivationBounds:
    """Bounds of a perceptron's activation.

    Raises
    ------
    ValueError
        For a user's activation, for which no bounds are known.
    """
    if term.activation.bounds is None:
        known = [
            name for name, entry in ACTIVATIONS.items() if entry.bounds is not None
        ]
        raise ValueError(
            f"activation = {term.activation.name!r}: no bounds of its derivatives are "
            f"known; a certificate needs one of {', '.join(map(repr, known))}"
        )
    return term.activation.bounds


def polynomial_error(term: Perceptron, degree: int) -> float:
    """Bound of the distance of V on the sphere from the polynomials of ``degree``."""
    lengths = np.linalg.norm(term.directions, axis=1)
    weights = np.abs(term.weights)
    acting = weights > 0
    if not acting.any():
        return 0.0
    activation, bounds = term.activation, activation_bounds(term)
    if bounds.second == 0 and degree >= 2:
        if not activation.kinks:
            return 0.0
        if activation.kinks == (0.0,):
            return _kink_remainder(term, bounds.largest_slope - bounds.least_slope)
    if activation.strip is None or degree < 4:
        return float("inf")
    # Chebyshev interpolation of degree N on an interval of half-length h has the error
    # 2 (h/2)^(N+1) max |Phi^(N+1)| / (N+1)!, where the strip bounds the derivative.
    width, largest = activation.strip
    log_errors = np.log(2 * largest / (degree * (degree + 1.0)))
    log_errors += (degree + 1) * np.log(lengths / 2) - (degree - 1) * np.log(width)
    return float(weights[acting] @ np.exp(np.minimum(log_errors[acting], 700.0)))


def _kink_remainder(term: Perceptron, jump: float) -> float:
    """Bound of the distance of V from a quadratic polynomial, which the kinks cause.

    With z = |a| u, u = (a.x + b) / |a|, and a slope sigma' that jumps by ``jump`` at 0,

        Phi(z) = (polynomial of degree 2) + (jump / 4) |a|^2 u |u|.

    Where |b| >= |a| no point of the sphere reaches the kink: u |u| = +-u^2.  Neurons of one
    hyperplane add up, so that the kinks of a and -a with equal w |a|^2 cancel (paper,
    Theorem 3.1, footnote 2).
    """
    lengths = np.linalg.norm(term.directions, axis=1)
    unit = np.column_stack([term.directions, term.biases]) / lengths[:, np.newaxis]
    cuts = np.abs(unit[:, -1]) < 1
    sizes = jump / 4 * term.weights * lengths**2
    rest = 0.0
    left = np.flatnonzero(cuts)
    while len(left):
        first = unit[left[0]]
        same = np.abs(unit[left] - first).max(axis=1) <= SAME_HYPERPLANE
        opposite = np.abs(unit[left] + first).max(axis=1) <= SAME_HYPERPLANE
        together = sizes[left[same]].sum() - sizes[left[opposite]].sum()
        # Planes that differ by rounding differ by no more than that in u |u|.
        apart = 4 * SAME_HYPERPLANE * np.abs(sizes[left[same | opposite]])[1:].sum()
        rest += 4 * abs(float(together)) + float(apart)
        left = left[~(same | opposite)]
    return rest


ROUNDOFF = 2.0**-53
ON_KINK = 1e-12

Ball = tuple[FloatArray, FloatArray, FloatArray]
"""Centres (n, d), tangent frames (n, d - 1, d) and radii (n,)."""


@dataclass(frozen=True, eq=False)
class ExternalBounds:
    """The potential V of perceptrons with scalar weights on S^(d-1), and its bounds."""

    terms: tuple[Perceptron, ...]
    dimension: int

    @cached_property
    def curvature(self) -> float:
        """Constant L: second derivatives of V along great arcs are at least -L."""
        return sum(_curvature(term) for term in self.terms)

    @cached_property
    def bend(self) -> float:
        """Constant T: third derivatives of V between kinks are within +-T."""
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
            lengths, middle, steepest = _sizes(term)
            errors = middle + steepest * lengths
            errors *= (self.dimension + 4) * lengths + np.abs(term.biases)
            errors += (len(lengths) + 12) * (0.5 + _primitives(term))
            total += float(np.abs(term.weights) @ errors)
        return ROUNDOFF * total

    @cached_property
    def size(self) -> float:
        """Bound of |V|."""
        sizes = (np.abs(term.weights) @ _primitives(term) for term in self.terms)
        return float(sum(sizes))

    @cached_property
    def noise(self) -> DerivativeNoise:
        """Bounds of the rounding errors of gradients and Hessians of V."""
        first = second = 0.0
        for term in self.terms:
            bounds, weights = activation_bounds(term), np.abs(term.weights)
            lengths, middle, steepest = _sizes(term)
            outputs, terms = middle + steepest * lengths, self.dimension + 16
            errors = (self.dimension + 2) * lengths + np.abs(term.biases)
            terms += len(lengths)
            first += float(weights @ (lengths * (steepest * errors + terms * outputs)))
            bent = (bounds.second * lengths + steepest) * errors
            bent += terms * (steepest * lengths + outputs)
            second += float(weights @ (lengths * bent))
        return DerivativeNoise(2 * ROUNDOFF * first, 2 * ROUNDOFF * second)

    def values(self, points: FloatArray) -> FloatArray:
        """Values (n,) of V at ``points`` (n, d)."""
        total = np.zeros(len(points))
        for term in self.terms:
            total += term.value(points)
        return total

    def forms(self, place: Ball) -> ArcForms:
        """Derivatives of V at the centres, the Hessian the lower one of each ball."""
        points, frames, _ = place
        count, size, _ = frames.shape
        total = ArcForms(np.zeros((count, size)), np.zeros((count, size, size)))
        for term in self.terms:
            slopes = _lower_slopes(term, place)
            found = ridge_forms(*slopes, term.directions, points, frames)
            total = ArcForms(*map(np.add, total, found))
        return total


def external_bounds(equation: MeanFieldEquation, dimension: int) -> ExternalBounds:
    """Bounds of the equation's V (its terms must be perceptrons with scalar weights)."""
    return ExternalBounds(equation.perceptron_parts, dimension)


def _outputs(term: Perceptron, z: FloatArray) -> FloatArray:
    """Sizes |sigma| at ``z``, of its shape."""
    return np.abs(np.asarray(term.activation.sigma(z), dtype=np.float64))


def _sizes(term: Perceptron) -> tuple[FloatArray, FloatArray, float]:
    """The lengths |a_j| and the sizes |sigma(b_j)|, (J,), and the bound M of |sigma'|."""
    lengths = np.linalg.norm(term.directions, axis=1)
    return lengths, _outputs(term, term.biases), activation_bounds(term).steepest


def _primitives(term: Perceptron) -> FloatArray:
    """Bounds (J,) of |Phi| on the sphere (this module's docstring)."""
    lengths, _, steepest = _sizes(term)
    z = lengths + np.abs(term.biases)
    return np.asarray((_outputs(term, np.zeros(1)) + steepest * z / 2) * z)


def _curvature(term: Perceptron) -> float:
    """Bound of |D^2| (this module's docstring)."""
    lengths, middle, steepest = _sizes(term)
    sizes = steepest * lengths**2 + middle * lengths
    return float(np.abs(term.weights) @ sizes)


def _bend(term: Perceptron) -> float:
    """Bound of |D^3| (this module's docstring)."""
    lengths, middle, steepest = _sizes(term)
    sizes = activation_bounds(term).second * lengths**3
    sizes += 2 * steepest * lengths**2 + middle * lengths
    return float(np.abs(term.weights) @ sizes)


def _lower_slopes(term: Perceptron, place: Ball) -> tuple[FloatArray, FloatArray]:
    """The slopes w sigma and lower w sigma' (n, J) of the neurons in each ball."""
    points, _, radii = place
    z = term.preactivations(points)
    bounds = activation_bounds(term)
    assert term.activation.derivative is not None
    steepness = np.asarray(term.activation.derivative(z))
    lower = np.where(term.weights > 0, bounds.least_slope, bounds.largest_slope)
    for kink in term.activation.kinks:
        steepness = np.where(_is_near(term, z - kink, radii), lower, steepness)
    outputs = np.asarray(term.activation.sigma(z))
    return term.weights * outputs, term.weights * steepness


def _is_near(term: Perceptron, offsets: FloatArray, radii: FloatArray) -> FloatArray:
    """Whether arguments that are ``offsets`` from a kink may cross it within the radii."""
    reach = radii[:, np.newaxis] * np.linalg.norm(term.directions, axis=1)
    return np.asarray(np.abs(offsets) <= reach + ON_KINK * (1 + np.abs(offsets)))
