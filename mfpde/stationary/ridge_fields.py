r"""Sums of ridges g(a.x) on S^(d-1), with bounds of their derivatives.

The first variation F = A[mu] + V of atoms is such a field: an atom of mass m at y is the ridge
m W(b.x), b = B y with a symmetric matrix |B|_2 <= 1 (``convex_energy.py``), a neuron the ridge
w Phi(a.x + c).  Along a great arc with unit direction e from x, with s = a.e and y = a.x, so that
s' = -y, y' = s and s^2 + y^2 <= |a|^2,

    D = g1 s,    D^2 = g2 s^2 - g1 y,    D^3 = g3 s^3 - 3 g2 s y - g1 s

with g1, g2, g3 the derivatives of g.  They are bounded by L >= |D^2| and T >= |D^3|:

* T of a kernel W by its own ``third_derivative``, as |b| <= 1, times the atoms' mass;
* of a neuron, M a bound of |sigma'| and sigma(z) = sigma(c) + m y with |m| <= M,

      L = |w| (M |a|^2 + |sigma(c)| |a|),   T = |w| (|sigma''| |a|^3 + 2 M |a|^2 + |sigma(c)| |a|).

  Where a ball meets a neuron's kink, sigma' is replaced by its smallest (w > 0) or largest
  (w < 0) value: the quadratic form is then below the second derivative on either side, and the
  bounds hold across the kink, since F is C^1 with an absolutely continuous derivative.

Rounding of F is estimated by the sizes of the terms of sums over n ridges,

    |error of F| <= eps (n + d + 8) / 2 times the sum of their largest |g| + |g'| |a|.

For kernels n is at most 24 + log2 n: numpy's sums are pairwise, of blocks of 128.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import tangent_frames
from mfpde.terms import Perceptron
from mfpde.terms.activations import ON_KINK, ActivationBounds
from mfpde.terms.kernels import COSINES, LARGEST_DEGREE, Kernel, chebyshev_coefficients

EPS = float(np.finfo(np.float64).eps)
ROUNDING = 2e-15
"""Rounding of energies, of fields and of their harmonics, in units of the largest term."""
SAME = float(np.sqrt(EPS))
"""Relative difference of numbers that are one, and the sine between hyperplanes that are."""
NEGLIGIBLE = 1e-14
"""Masses, and eigenvalues as shares of their sum, below this are rounding."""


RidgeDerivatives = tuple[FloatArray, FloatArray, FloatArray]
"""Sums (n,) of ridges at n points, and the derivatives g1 and g2 (n, m) of each."""


class FieldBounds(NamedTuple):
    """What holds for a sum of ridges all over the sphere.

    ``third`` bounds third derivatives along great arcs, between kinks; the sum varies over the
    length ``width``, at most 1; ``rounding`` estimates the errors of values; and to rounding it is
    a polynomial of this ``degree``, inf if it is none.
    """

    third: float
    width: float
    rounding: float
    degree: float


class Expansion(NamedTuple):
    """A field at n points: ``values`` (n,), ``gradient`` (n, k) and ``hessian`` (n, k, k).

    Components are in ``tangent_frames(points)``, k = d - 1.  The field's Hessian is nowhere in
    a ball below this one, up to third derivatives times the distance.
    """

    values: FloatArray
    gradient: FloatArray
    hessian: FloatArray


@dataclass(frozen=True, eq=False)
class KernelRidges:
    """The ridges c_j W(b_j.x), with ``weights`` c (m,) and ``vectors`` b (m, d), |b_j| <= 1.

    ``mass`` is the sum of the weights of the measure that they stand for: of a density's, some
    are negative (``certification.py``).
    """

    kernel: Kernel
    vectors: FloatArray
    weights: FloatArray
    mass: float

    @cached_property
    def bounds(self) -> FieldBounds:
        """Bounds by those of the kernel, of width 1 / sqrt(sharpness)."""
        kernel, (count, d) = self.kernel, self.vectors.shape
        assert kernel.third_derivative is not None
        size = float(np.abs(kernel.value(COSINES)).max()) + kernel.strength
        roundings = min(count, 24 + np.log2(count)) + d + 8
        return FieldBounds(
            third=self.mass * kernel.third_derivative,
            width=float(1 / np.sqrt(max(1.0, kernel.sharpness))),
            rounding=float(EPS / 2 * roundings * size * np.abs(self.weights).sum()),
            degree=len(kernel.chebyshev) - 1.0,
        )

    def values(self, points: FloatArray) -> FloatArray:
        """The sum (n,) at ``points`` (n, d)."""
        found = self.kernel.value(points @ self.vectors.T) * self.weights
        return np.asarray(found.sum(axis=1))

    def derivatives(self, points: FloatArray, radii: FloatArray) -> RidgeDerivatives:
        """The sum and the derivatives of its ridges at ``points`` (n, d)."""
        del radii
        cosines, kernel = points @ self.vectors.T, self.kernel
        first = kernel.slope(cosines) * self.weights
        return self.values(points), first, kernel.bend(cosines) * self.weights


@dataclass(frozen=True, eq=False)
class NeuronRidges:
    """The neurons of a perceptron with scalar weights and without output bias."""

    perceptron: Perceptron

    @property
    def vectors(self) -> FloatArray:
        """The directions (m, d)."""
        return self.perceptron.directions

    @cached_property
    def _lengths(self) -> FloatArray:
        return np.asarray(np.linalg.norm(self.vectors, axis=1))

    @property
    def _limits(self) -> ActivationBounds:
        limits = self.perceptron.activation.bounds
        assert limits is not None
        return limits

    def _outputs(self, z: FloatArray) -> FloatArray:
        return np.abs(np.asarray(self.perceptron.activation.sigma(z)))

    def _add_up(self, bends: FloatArray) -> float:
        """The sum of |w| (``bends`` + |sigma(c)|) |a| over the neurons."""
        sizes = (bends + self._outputs(self.perceptron.biases)) * self._lengths
        return float(np.abs(self.perceptron.weights) @ sizes)

    @property
    def curvature(self) -> float:
        """Bound of |D^2| (see the head of this module)."""
        return self._add_up(self._limits.steepest * self._lengths)

    @cached_property
    def bounds(self) -> FieldBounds:
        """Bounds by those of the activation, of the width of the longest direction's inverse.

        Sizes of values follow from |Phi(z)| <= (|sigma(0)| + M |z| / 2) |z|; terms of Phi itself
        may have the size 1/2 where they cancel.
        """
        lengths, limits, term = self._lengths, self._limits, self.perceptron
        bends = limits.second * lengths**2 + 2 * limits.steepest * lengths
        z = lengths + np.abs(term.biases)
        rise = limits.steepest * z
        sizes = 0.5 + (2 * self._outputs(np.zeros(1)) + rise / 2 + rise) * z
        roundings = sum(self.vectors.shape) + 8
        acting = (self.vectors / lengths[:, np.newaxis])[term.acts]
        return FieldBounds(
            third=self._add_up(bends),
            width=float(1 / max(1.0, lengths.max())),
            rounding=float(EPS / 2 * roundings * sizes @ np.abs(term.weights)),
            degree=max(map(self._degree_along, acting), default=0.0),
        )

    def _degree_along(self, unit: FloatArray) -> float:
        """Degree of the neurons along ``unit``, by the series of their second derivative.

        They are one function of the cosine with it.  The kinks of a and -a with equal w |a|^2
        cancel (paper, Theorem 3.1, footnote 2); with others the series does not end.
        """
        term, heights = self.perceptron, self.vectors @ unit
        apart = np.abs(self.vectors - np.outer(heights, unit)).max(axis=1)
        is_along = apart <= 2 * EPS * self._lengths
        slopes, biases = heights[is_along], term.biases[is_along]
        weights = term.weights[is_along] * slopes**2

        def bend(cosines: FloatArray) -> FloatArray:
            left, _ = term.activation.slopes(cosines[:, np.newaxis] * slopes + biases)
            return np.asarray(left @ weights)

        count = len(chebyshev_coefficients(bend))
        return count + 1.0 if count < LARGEST_DEGREE / 2 else np.inf

    def values(self, points: FloatArray) -> FloatArray:
        """The potential V (n,) at ``points`` (n, d)."""
        return self.perceptron.value(points)

    def derivatives(self, points: FloatArray, radii: FloatArray) -> RidgeDerivatives:
        """V, and of each neuron w sigma and the lowest w sigma' within the ``radii`` (n,)."""
        term, limits = self.perceptron, self._limits
        z = term.preactivations(points)
        assert term.activation.derivative is not None
        steepness = np.asarray(term.activation.derivative(z))
        lowest = np.where(term.weights > 0, limits.least_slope, limits.largest_slope)
        for kink in term.activation.kinks:
            apart = np.abs(z - kink)
            reach = radii[:, np.newaxis] * self._lengths + ON_KINK * (1 + apart)
            steepness = np.where(apart <= reach, lowest, steepness)
        outputs = np.asarray(term.activation.sigma(z))
        return term.value(points), term.weights * outputs, term.weights * steepness


@dataclass(frozen=True, eq=False)
class RidgeField:
    """The sum of ``parts`` on S^(d-1), d = ``dimension``, up to an error of at most ``rest``."""

    parts: tuple[KernelRidges | NeuronRidges, ...]
    dimension: int
    rest: float = 0.0

    @cached_property
    def bounds(self) -> FieldBounds:
        """Bounds of the sum."""
        parts = [FieldBounds(0.0, 1.0, self.rest, 0.0), *(p.bounds for p in self.parts)]
        third, width, rounding, degree = zip(*parts, strict=True)
        return FieldBounds(sum(third), min(width), sum(rounding), max(degree))

    def values(self, points: FloatArray) -> FloatArray:
        """Values (n,) at ``points`` (n, d)."""
        return np.zeros(len(points)) + sum(part.values(points) for part in self.parts)

    def expansion(self, points: FloatArray, radii: FloatArray) -> Expansion:
        """Values, gradients and lower Hessians at ``points`` (n, d), within ``radii`` (n,)."""
        count, d = points.shape
        values, pull = np.zeros(count), np.zeros((count, d))
        matrices = np.zeros((count, d * d))
        for part in self.parts:
            own, first, second = part.derivatives(points, radii)
            squares = np.einsum("mi,mj->mij", part.vectors, part.vectors)
            values += own
            pull += first @ part.vectors
            matrices += second @ squares.reshape(-1, d * d)
        frames = tangent_frames(points)
        hessian = frames @ matrices.reshape(count, d, d) @ np.swapaxes(frames, 1, 2)
        radial = np.einsum("ni,ni->n", points, pull)
        hessian -= radial[:, np.newaxis, np.newaxis] * np.eye(d - 1)
        return Expansion(values, np.einsum("nai,ni->na", frames, pull), hessian)
