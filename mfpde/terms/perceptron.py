"""The perceptron: V(x) = sum_j w_j Phi(a_j.x + b_j) + c.x, Phi' = sigma (paper, eq. 2.6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mfpde.arrays import (
    FloatArray,
    blocks_of_rows,
    read_only,
    real_array,
    real_number,
    whole_number,
    writable,
)
from mfpde.terms.activation import Activation, ScalarFunction
from mfpde.terms.activations import CONSTANT, AnyActivation, find_activation
from mfpde.terms.external import ExternalTerm, beyond_grids, tangential
from mfpde.terms.perceptron_arguments import (
    LARGEST,
    check_directions,
    check_number_of_neurons,
    check_sizes,
    read_numbers,
)

PARALLEL_TOLERANCE = 1e-12
MOST_OUTPUTS = 2**20
"""Outputs of neurons at points that are held at a time."""


@dataclass(frozen=True, eq=False, init=False)
class Perceptron(ExternalTerm):
    r"""A layer of neurons that drives every token.

    With scalar weights w_j the drift is the gradient of V,
    drift(x) = P_x sum_j w_j sigma(a_j.x + b_j) a_j; with vector weights W_j it is
    P_x sum_j W_j sigma(a_j.x + b_j), which in general has no potential (paper, eq.
    2.5).

    Begin with ``Perceptron([[1.0, 0.0], [0.6, 0.8]], [0.8, -0.5])``.

    Parameters
    ----------
    directions
        Vectors a_j, shape (units, d); any length but zero.
    weights
        Scalars w_j, shape (units,), or vectors W_j, shape (units, d).
    activation
        ``"relu"``, ``"leaky_relu"``, ``"gelu"``, ``"silu"``, ``"tanh"``, ``"linear"``, or a
        pair ``(sigma, Phi)`` of elementwise functions with Phi' = sigma and Phi(0) = 0; with
        vector weights ``sigma`` alone will do.
    biases
        Scalars b_j, shape (units,); zero if not given.
    output_bias
        A constant c of the output, shape (d,), which adds P_x c to the drift and c.x to V;
        zero if not given.

    Raises
    ------
    ValueError
        For non-finite numbers, a zero direction, lengths that do not match, an unknown
        activation or a wrong primitive.
    """

    directions: FloatArray
    weights: FloatArray
    activation: Activation
    biases: FloatArray
    output_bias: FloatArray

    def __init__(
        self,
        directions: ArrayLike,
        weights: ArrayLike,
        activation: AnyActivation = "relu",
        *,
        biases: ArrayLike | None = None,
        output_bias: ArrayLike | None = None,
    ) -> None:
        directions = real_array("directions", directions)
        if directions.ndim != 2 or directions.size == 0 or directions.shape[1] < 2:
            raise ValueError(
                f"directions of shape {directions.shape} must have shape (units, d), d >= 2"
            )
        check_directions(directions)
        units, d = directions.shape
        weights = real_array("weights", weights)
        if weights.shape not in ((units,), (units, d)):
            is_turned = weights.shape == (d, units)
            turned = "; torch's Linear(units, d) holds their transpose: give weights.T"
            raise ValueError(
                f"weights of shape {weights.shape} do not match the {units} directions: "
                f"they must have shape ({units},) for a gradient drift or "
                f"({units}, {d}) for a general one{turned if is_turned else ''}"
            )
        numbers = {
            "directions": directions,
            "weights": weights,
            "biases": read_numbers("biases", biases, units, directions),
            "output_bias": read_numbers("output_bias", output_bias, d, directions),
        }
        for name, values in numbers.items():
            check_sizes(name, values)
            object.__setattr__(self, name, read_only(values))
        found = find_activation(activation, needs_primitive=weights.ndim == 1)
        object.__setattr__(self, "activation", found)

    @classmethod
    def random(
        cls,
        units: int,
        dimension: int,
        *,
        seed: int,
        scale: float = 1.0,
        activation: AnyActivation = "relu",
    ) -> Perceptron:
        """Draw a perceptron as the paper's authors do.

        The numbers come from numpy's ``default_rng(seed)``: first ``units`` standard normal
        directions in dimension d, which are normalised, then ``units`` normal weights with
        standard deviation ``scale``.  ``ValueError`` for numbers out of their range.

        Begin with ``Perceptron.random(2, 2, seed=777)``.
        """
        check_number_of_neurons(units, dimension)
        scale = real_number("scale", scale, at_least=0.0, at_most=LARGEST / 100)
        generator = np.random.default_rng(whole_number("seed", seed, at_least=0))
        directions = generator.standard_normal((units, dimension))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        weights = scale * generator.standard_normal(units)
        return cls(directions, weights, activation)

    @property
    def dimension(self) -> int:
        """Dimension d of the directions."""
        return int(self.directions.shape[1])

    @property
    def activation_name(self) -> str:
        """Name of the activation (``"custom"`` for a user's pair)."""
        return self.activation.name

    @property
    def is_gradient(self) -> bool:
        """True for scalar weights."""
        return self.weights.ndim == 1

    @property
    def layer(self) -> Perceptron:
        """The perceptron itself."""
        return self

    @property
    def description(self) -> str:
        """The kind of the term and its number of neurons, in words."""
        units = len(self.directions)
        biased = ", output bias" if self._has_constant else ""
        neurons = f"{self.activation_name} neuron{'s' * (units > 1)}"
        return f"perceptron ({units} {neurons}{biased})"

    @cached_property
    def parts(self) -> tuple[Perceptron, ...]:
        """The neurons without an output bias, and this as a neuron of the constant output 1."""
        length = float(np.linalg.norm(self.output_bias))
        if length == 0:
            return (self,)
        neurons = self._with(self.weights, 0 * self.output_bias)
        return neurons, Perceptron([self.output_bias / length], [length], CONSTANT)

    def _with(self, weights: FloatArray, constant: FloatArray) -> Perceptron:
        given = {"biases": self.biases, "output_bias": constant}
        return Perceptron(self.directions, weights, self.activation, **given)

    @property
    def acts(self) -> NDArray[np.bool_]:
        """Whether each neuron has a weight that is not 0, (units,)."""
        rows = self.weights if self.is_gradient else np.abs(self.weights).sum(axis=1)
        return np.asarray(rows != 0)

    def scaled(self, factor: float) -> Perceptron:
        """The perceptron with all weights, and the output bias, times ``factor``."""
        return self._with(factor * self.weights, factor * self.output_bias)

    def preactivations(self, points: ArrayLike) -> FloatArray:
        """Return a_j.x + b_j at ``points`` (..., d), shape (..., units).

        Raises
        ------
        ValueError
            For points of another dimension.
        """
        points = self._check_points(points)
        rows = self._heights(points.reshape(-1, self.dimension))
        return rows.T.reshape(*points.shape[:-1], len(rows))

    def value(self, points: ArrayLike) -> FloatArray:
        """Potential V(x) = sum_j w_j Phi(a_j.x + b_j) + c.x, shape (...).

        Raises
        ------
        ValueError
            For vector weights, which have no potential, and points of another dimension.
        """
        if not self.is_gradient:
            raise ValueError(self.no_potential)
        points = self._check_points(points)
        flat = points.reshape(-1, self.dimension)
        values = self._sum_outputs(self.activation.primitive, flat, self.weights)
        values += flat @ self.output_bias
        return values.reshape(points.shape[:-1])

    def drift(self, points: ArrayLike) -> FloatArray:
        """Drift P_x (sum_j w_j sigma(a_j.x + b_j) a_j + c), or with W_j for w_j a_j, (..., d).

        Raises
        ------
        ValueError
            For points of another dimension.
        """
        points = self._check_points(points)
        flat = points.reshape(-1, points.shape[-1])
        vectors = self._sum_outputs(self.activation.sigma, flat, self.vectors)
        if self._has_constant:
            vectors += self.output_bias
        return tangential(vectors, flat).reshape(points.shape)

    @cached_property
    def _has_constant(self) -> bool:
        return bool(self.output_bias.any())

    def _sum_outputs(
        self, function: ScalarFunction, points: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Sums (n, ...) of ``function`` of the preactivations times ``weights`` (units, ...)."""
        sums = np.empty((len(points), *weights.shape[1:]))
        for block in blocks_of_rows(len(points), len(self.biases), MOST_OUTPUTS):
            outputs = function(self._heights(points[block]))
            np.matmul(outputs.T, weights, out=sums[block])
        return sums

    def _heights(self, points: FloatArray) -> FloatArray:
        """The preactivations (units, n) at ``points`` (n, d), in rows that are long."""
        rows = self.directions @ points.T
        rows += self.biases[:, np.newaxis]
        return np.asarray(rows)

    def _check_points(self, points: ArrayLike) -> FloatArray:
        points = np.asarray(points, dtype=float)
        if points.shape[-1:] != (self.dimension,):
            raise ValueError(
                f"points have shape {points.shape}; the directions have "
                f"{self.dimension} entries, and so must each point: (..., {self.dimension})"
            )
        return writable(points)

    @cached_property
    def vectors(self) -> FloatArray:
        """Vectors (units, d) that the neurons' outputs multiply: w_j a_j or W_j."""
        if self.is_gradient:
            return self.weights[:, np.newaxis] * self.directions
        return self.weights

    def kink_angles(self) -> FloatArray:
        """Angles (k,) in [0, 2 pi) where a_j.x + b_j is at a kink of sigma; d = 2 only."""
        lengths = np.linalg.norm(self.directions, axis=1)
        middles = np.arctan2(self.directions[:, 1], self.directions[:, 0])
        found = [np.empty(0)]
        for kink in self.activation.kinks:
            cosines = (kink - self.biases) / lengths
            crossed = np.abs(cosines) <= 1
            half_widths = np.arccos(cosines[crossed])
            found += [middles[crossed] - half_widths, middles[crossed] + half_widths]
        return np.unique(np.mod(np.concatenate(found), 2 * np.pi))

    def check_dimension(self, dimension: int) -> None:
        """Raise ``ValueError`` unless the directions have ``dimension`` entries."""
        if self.dimension != dimension:
            raise ValueError(
                f"directions have {self.dimension} entries, but the measure lies on "
                f"S^{dimension - 1}: they must have {dimension}{beyond_grids(self.dimension)}"
            )

    def check_axis(self, axis: FloatArray) -> None:
        """Raise ``ValueError`` unless directions and vector weights are parallel to ``axis``."""
        vectors = {"directions": self.directions, "output_bias": self.output_bias}
        if not self.is_gradient:
            vectors["weights"] = self.weights
        for name, given in vectors.items():
            rows = np.atleast_2d(given)
            across = np.linalg.norm(rows - np.outer(rows @ axis, axis), axis=1)
            wrong = across > PARALLEL_TOLERANCE * np.linalg.norm(rows, axis=1)
            if wrong.any():
                which = f"[{int(np.argmax(wrong))}]" if given.ndim > 1 else ""
                raise ValueError(
                    f"{name}{which} is not parallel to the axis; a "
                    "zonal density stays zonal only if it is. Use Sphere"
                    f"{beyond_grids(len(axis))}."
                )

    def __repr__(self) -> str:
        units, kind = len(self.directions), "scalar" if self.is_gradient else "vector"
        biased = ", biased" if self.biases.any() else ""
        biased += ", output bias" if self._has_constant else ""
        return (
            f"Perceptron({units} {self.activation_name} units on S^{self.dimension - 1}, "
            f"{kind} weights{biased})"
        )
