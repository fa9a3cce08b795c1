r"""Sums of ridges g(a.x) on S^(d-1), with bounds of their derivatives and of rounding.

The first variation F = A[mu] + V of atoms is such a field: an atom of mass m at y is the ridge
m W(b.x), b = B y with a symmetric matrix |B|_2 <= 1 (``convex_energy.py``), a neuron the ridge
w Phi(a.x + c).  Along a great arc with unit direction e from x, with s = a.e and y = a.x, so that
s' = -y, y' = s and s^2 + y^2 <= |a|^2,

    D = g1 s,    D^2 = g2 s^2 - g1 y,    D^3 = g3 s^3 - 3 g2 s y - g1 s

with g1, g2, g3 the derivatives of g.  What they are bounded by, L with D^2 >= -L and T >= |D^3|:

* of a kernel W its own ``bounds``, as |b| <= 1;
* of a neuron, M a bound of |sigma'| and sigma(z) = sigma(c) + m y with |m| <= M,

      L = |w| (M |a|^2 + |sigma(c)| |a|),   T = |w| (|sigma''| |a|^3 + 2 M |a|^2 + |sigma(c)| |a|).

  Where a ball meets a neuron's kink, sigma' is replaced by its smallest (w > 0) or largest
  (w < 0) value: the quadratic form is then below the second derivative on either side, and the
  bounds hold across the kink, since F is C^1 with an absolutely continuous derivative.

Rounding, to first order in the unit roundoff u = 2^-53, is bounded by the sizes of what is
summed: with M_k the sum over n ridges of the largest |g_k| (|a| + |c|)^k,

    |error of F| <= u (n + d + 8) (M_0 + M_1),

and gradients and Hessians are taken to be wrong by twice that of one and two more derivatives.
For kernels n is 24 + log2 n: numpy's sums are pairwise, of blocks of 128.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import tangent_frames
from mfpde.stationary.sphere_cells import SphereCells
from mfpde.terms import Perceptron
from mfpde.terms.activations import ACTIVATIONS, ActivationBounds
from mfpde.terms.exponential_kernel import Exponential
from mfpde.terms.kernels import COSINES, Kernel, KernelBounds

ROUNDOFF = 2.0**-53
ON_KINK = 1e-12
BLOCK = 1000


class RidgeDerivatives(NamedTuple):
    """Sums (n,) of ridges at n points, and the derivatives g1 and g2 (n, m) of each."""

    values: FloatArray
    first: FloatArray
    second: FloatArray


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

    @property
    def _bounds(self) -> KernelBounds:
        assert self.kernel.bounds is not None
        return self.kernel.bounds

    @property
    def curvature(self) -> float:
        """Constant L of the sum, the kernel's times the mass."""
        return self.mass * self._bounds.curvature

    @property
    def bend(self) -> float:
        """Constant T: the largest sum of the ridges' own bounds over balls that cover the sphere.

        An angle arccos(b.x) changes by no more than x moves.
        """
        whole, dimension = self.mass * self._bounds.third, self.vectors.shape[1]
        if dimension > 3:
            return whole
        centres, radii = SphereCells.covering(dimension, self.width / 4).balls()
        sums = [
            self._bounds.third_within(block @ self.vectors.T, float(radii.max()))
            @ np.abs(self.weights)
            for block in np.array_split(centres, 1 + len(centres) // BLOCK)
        ]
        return min(whole, max(float(part.max()) for part in sums))

    @property
    def width(self) -> float:
        """Length over which the sum varies: 1 / sqrt(sharpness), at most 1."""
        return float(1 / np.sqrt(max(1.0, self.kernel.sharpness)))

    @property
    def roundings(self) -> float:
        """How often a value of the sum is rounded."""
        count, d = self.vectors.shape
        return float(min(count, 24 + np.log2(count)) + d + 8)

    @property
    def magnitudes(self) -> FloatArray:
        """The numbers M_0 to M_3, a third derivative taken to be at most sharpness max |W''|."""
        largest = float(np.abs(self.kernel.value(COSINES)).max())
        slopes = self.kernel.strength * self.kernel.sharpness ** np.arange(3)
        return float(np.abs(self.weights).sum()) * np.array([largest, *slopes])

    def values(self, points: FloatArray) -> FloatArray:
        """The sum (n,) at ``points`` (n, d)."""
        found = self.kernel.value(points @ self.vectors.T) * self.weights
        return np.asarray(found.sum(axis=1))

    def derivatives(self, points: FloatArray, radii: FloatArray) -> RidgeDerivatives:
        """The sum and the derivatives of its ridges at ``points`` (n, d)."""
        del radii
        cosines, kernel = points @ self.vectors.T, self.kernel
        first = kernel.slope(cosines) * self.weights
        # One exponential for the three: a third of the time of a search.
        if isinstance(kernel, Exponential) and kernel.beta > 0:
            values = first.sum(axis=1) / kernel.beta
            return RidgeDerivatives(values, first, kernel.beta * first)
        values = (kernel.value(cosines) * self.weights).sum(axis=1)
        return RidgeDerivatives(values, first, kernel.bend(cosines) * self.weights)


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

    @cached_property
    def _bounds(self) -> ActivationBounds:
        return activation_bounds(self.perceptron)

    def _outputs(self, z: FloatArray) -> FloatArray:
        return np.abs(np.asarray(self.perceptron.activation.sigma(z)))

    @property
    def curvature(self) -> float:
        """Constant L (see the head of this module)."""
        bends = self._bounds.steepest * self._lengths
        bends += self._outputs(self.perceptron.biases)
        return float(np.abs(self.perceptron.weights) @ (bends * self._lengths))

    @property
    def bend(self) -> float:
        """Constant T (see the head of this module)."""
        bends = self._bounds.second * self._lengths**2
        bends += 2 * self._bounds.steepest * self._lengths
        bends += self._outputs(self.perceptron.biases)
        return float(np.abs(self.perceptron.weights) @ (bends * self._lengths))

    @property
    def width(self) -> float:
        """Length over which V varies: the inverse of the longest direction, at most 1."""
        return float(1 / max(1.0, self._lengths.max()))

    @property
    def roundings(self) -> float:
        """How often a value of V is rounded."""
        return float(sum(self.vectors.shape) + 8)

    @property
    def magnitudes(self) -> FloatArray:
        """The numbers M_0 to M_3, with |Phi(z)| <= (|sigma(0)| + M |z| / 2) |z|.

        Terms of Phi itself may have the size 1/2 where they cancel.
        """
        z, steepest = (
            self._lengths + np.abs(self.perceptron.biases),
            self._bounds.steepest,
        )
        silent = self._outputs(np.zeros(1))
        sizes = [0.5 + (silent + steepest * z / 2) * z, (silent + steepest * z) * z]
        sizes += [steepest * z**2, self._bounds.second * z**3]
        return np.asarray(np.stack(sizes) @ np.abs(self.perceptron.weights))

    def values(self, points: FloatArray) -> FloatArray:
        """The potential V (n,) at ``points`` (n, d)."""
        return self.perceptron.value(points)

    def derivatives(self, points: FloatArray, radii: FloatArray) -> RidgeDerivatives:
        """V, and of each neuron w sigma and the lowest w sigma' within the ``radii`` (n,)."""
        term, bounds = self.perceptron, self._bounds
        z = term.preactivations(points)
        assert term.activation.derivative is not None
        steepness = np.asarray(term.activation.derivative(z))
        lowest = np.where(term.weights > 0, bounds.least_slope, bounds.largest_slope)
        for kink in term.activation.kinks:
            apart = np.abs(z - kink)
            reach = radii[:, np.newaxis] * self._lengths + ON_KINK * (1 + apart)
            steepness = np.where(apart <= reach, lowest, steepness)
        outputs = np.asarray(term.activation.sigma(z))
        return RidgeDerivatives(
            term.value(points), term.weights * outputs, term.weights * steepness
        )


@dataclass(frozen=True, eq=False)
class RidgeField:
    """The sum of ``parts`` on S^(d-1), d = ``dimension``, up to an error of at most ``rest``.

    ``known`` are bounds of its second and third derivatives besides those of the parts.
    """

    parts: tuple[KernelRidges | NeuronRidges, ...]
    dimension: int
    rest: float = 0.0
    known: tuple[float, float] = (np.inf, np.inf)

    @cached_property
    def curvature(self) -> float:
        """Constant L >= 0: second derivatives along great arcs are at least -L."""
        return min(self.known[0], sum(part.curvature for part in self.parts))

    @cached_property
    def bend(self) -> float:
        """Constant T >= 0: third derivatives along great arcs, between kinks, are within +-T."""
        return min(self.known[1], sum(part.bend for part in self.parts))

    @cached_property
    def width(self) -> float:
        """Length over which the field varies, at most 1."""
        return min((part.width for part in self.parts), default=1.0)

    @cached_property
    def size(self) -> float:
        """Bound of the field's size."""
        return sum(float(part.magnitudes[0]) for part in self.parts)

    @cached_property
    def rounding(self) -> float:
        """Bound of the errors of values."""
        errors = (part.roundings * part.magnitudes[:2].sum() for part in self.parts)
        return self.rest + ROUNDOFF * float(sum(errors))

    @cached_property
    def noise(self) -> FloatArray:
        """Bounds (2,) of the rounding errors of gradients and Hessians."""
        total = np.zeros(2)
        for part in self.parts:
            sizes = part.magnitudes
            total += (sum(part.vectors.shape) + 8) * (sizes[1:3] + sizes[2:] + sizes[1])
        return 2 * ROUNDOFF * total

    def values(self, points: FloatArray) -> FloatArray:
        """Values (n,) at ``points`` (n, d)."""
        total = np.zeros(len(points))
        for part in self.parts:
            total += part.values(points)
        return total

    def expansion(self, points: FloatArray, radii: FloatArray) -> Expansion:
        """Values, gradients and lower Hessians at ``points`` (n, d), within ``radii`` (n,)."""
        count, d = points.shape
        values, pull = np.zeros(count), np.zeros((count, d))
        matrices = np.zeros((count, d * d))
        for part in self.parts:
            found, vectors = part.derivatives(points, radii), part.vectors
            squares = vectors[:, :, np.newaxis] * vectors[:, np.newaxis, :]
            values += found.values
            pull += found.first @ vectors
            matrices += found.second @ squares.reshape(-1, d * d)
        frames = tangent_frames(points)
        hessian = frames @ matrices.reshape(count, d, d) @ np.swapaxes(frames, 1, 2)
        radial = np.einsum("ni,ni->n", points, pull)
        hessian -= radial[:, np.newaxis, np.newaxis] * np.eye(d - 1)
        return Expansion(values, np.einsum("nai,ni->na", frames, pull), hessian)


def activation_bounds(term: Perceptron) -> ActivationBounds:
    """Bounds of a perceptron's activation; ``ValueError`` for one that brings none."""
    if term.activation.bounds is None:
        known = [
            name for name, entry in ACTIVATIONS.items() if entry.bounds is not None
        ]
        raise ValueError(
            f"activation = {term.activation.name!r}: no bounds of its derivatives are "
            f"known; a certificate needs one of {', '.join(map(repr, known))}, or an "
            "Activation with bounds"
        )
    return term.activation.bounds


def neuron_field(terms: tuple[Perceptron, ...], dimension: int) -> RidgeField:
    """The potential V of perceptrons with scalar weights on S^(dimension-1)."""
    return RidgeField(tuple(map(NeuronRidges, terms)), dimension)
