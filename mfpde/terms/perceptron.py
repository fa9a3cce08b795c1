"""The perceptron: V(x) = sum_j w_j Phi(a_j.x + b_j) + c.x, Phi' = sigma (paper, eq. 2.6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import (
    LARGEST_DIMENSION,
    BoolArray,
    FloatArray,
    blocks_of_rows,
    check_entries,
    real_number,
    whole_number,
)
from mfpde.geometry.memory import check_memory
from mfpde.terms.activations import (
    Activation,
    AnyActivation,
    ScalarFunction,
    find_activation,
)
from mfpde.terms.external import (
    LARGEST,
    ExternalTerm,
    asymmetric,
    check_points,
    read_numbers,
    tangential,
)

MOST_UNITS = 1_000_000
"""Of random perceptrons: more take seconds for each hundred cells."""
MOST_OUTPUTS = 2**20
"""Outputs of neurons at points that are held at a time."""
PARALLEL = SYMMETRIC = 1e-12


@dataclass(frozen=True, eq=False, init=False)
class Perceptron(ExternalTerm):
    r"""A layer of neurons that drives every token.

    With scalar weights w_j the drift P_x sum_j w_j sigma(a_j.x + b_j) a_j is the gradient of V;
    with vector weights W_j, P_x sum_j W_j sigma(a_j.x + b_j), it has no potential in general
    (paper, eq. 2.5).

    Begin with ``Perceptron([[1.0, 0.0], [0.6, 0.8]], [0.8, -0.5])``.

    Parameters
    ----------
    directions
        Vectors a_j, shape (units, d); any length but zero.
    weights
        Scalars w_j, shape (units,), or vectors W_j, shape (units, d).
    activation
        ``"relu"``, ``"leaky_relu"``, ``"gelu"``, ``"gelu_tanh"``, ``"silu"``, ``"tanh"``,
        ``"linear"``, ``"constant"``, or a pair ``(sigma, Phi)`` of elementwise functions with
        Phi' = sigma and Phi(0) = 0; with vector weights ``sigma`` alone will do.
    biases
        Scalars b_j, shape (units,); zero if not given.
    output_bias
        A constant c of the output, shape (d,), which adds P_x c to the drift and c.x to V;
        zero if not given.

    Non-finite numbers, a zero direction, lengths that do not match, an unknown activation and a
    wrong primitive are a ``ValueError``.
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
        rows = read_numbers("directions", directions)
        if rows.ndim != 2 or rows.size == 0 or rows.shape[1] < 2:
            raise ValueError(
                f"directions of shape {rows.shape} must have shape (units, d), d >= 2"
            )
        is_direction = np.abs(rows).max(axis=1) >= 1 / LARGEST
        needed = f"is zero, or shorter than {1 / LARGEST:g}: a neuron needs a direction"
        check_entries("directions", rows, is_direction, needed)
        units, d = rows.shape
        biases = np.zeros(units) if biases is None else biases
        output_bias = np.zeros(d) if output_bias is None else output_bias
        given = {
            "weights": (weights, [(units,), (units, d)]),
            "biases": (biases, [(units,)]),
            "output_bias": (output_bias, [(d,)]),
        }
        vars(self)["directions"] = rows
        turned = "; torch's Linear(units, d) holds their transpose: give weights.T"
        for name, (values, shapes) in given.items():
            numbers = read_numbers(name, values)
            if numbers.shape not in shapes:
                words = " or ".join(map(str, shapes))
                raise ValueError(
                    f"{name} of shape {numbers.shape} must have shape {words}: there are {units} "
                    f"directions of {d} entries{turned if numbers.shape == (d, units) else ''}"
                )
            vars(self)[name] = numbers
        vars(self)["is_gradient"] = self.weights.ndim == 1
        found = find_activation(activation, needs_primitive=self.is_gradient)
        neurons = f"{units} {found.name} neuron{'s' * (units > 1)}"
        biased = ", output bias" if self.output_bias.any() else ""
        vars(self).update(
            activation=found, description=f"perceptron ({neurons}{biased})"
        )

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
        whole_number("units", units, at_least=1, at_most=MOST_UNITS)
        whole_number("dimension", dimension, at_least=2, at_most=LARGEST_DIMENSION)
        # Four arrays of the size of the directions are held while they are drawn and checked.
        needed = 4 * 8.0 * units * (dimension + 1)
        what = f"units = {units} in dimension {dimension}"
        check_memory(what, needed, "use fewer neurons")
        scale = real_number("scale", scale, at_least=0.0, at_most=LARGEST / 100)
        generator = np.random.default_rng(whole_number("seed", seed, at_least=0))
        directions = generator.standard_normal((units, dimension))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        weights = scale * generator.standard_normal(units)
        return cls(directions, weights, activation)

    @classmethod
    def constant(cls, vector: ArrayLike) -> Perceptron:
        """Return the drift P_x b = grad V, V = b.x, of a ``vector`` b (d,) that is not 0.

        Begin with ``Perceptron.constant([0.3, -0.5])``.
        """
        b = np.atleast_1d(read_numbers("vector", vector))
        length = float(np.linalg.norm(b)) or 1.0
        return cls([b / length], [length], "constant")

    @classmethod
    def quadratic(cls, matrix: ArrayLike) -> Perceptron:
        """Return the drift P_x M x = grad V, V = x.Mx/2, of a symmetric ``matrix`` M (d, d).

        Its neurons are the eigenvectors; ``ValueError`` for a matrix that is not symmetric.

        Begin with ``Perceptron.quadratic([[1.0, 0.4], [0.4, -1.0]])``.
        """
        given = read_numbers("matrix", matrix)
        is_square = given.ndim == 2 and given.shape == given.T.shape
        if not (is_square and np.allclose(given, given.T, SYMMETRIC, SYMMETRIC)):
            raise ValueError(
                f"matrix of shape {given.shape} must be square and symmetric; of another M "
                "the drift is Perceptron(identity, M.T, 'linear'), which has no potential"
            )
        strengths, vectors = np.linalg.eigh(given)
        return cls(vectors.T, strengths, "linear")

    @property
    def dimension(self) -> int:
        """Dimension d of the directions."""
        return int(self.directions.shape[1])

    @property
    def layer(self) -> Perceptron:
        """The perceptron itself."""
        return self

    @cached_property
    def parts(self) -> tuple[Perceptron, ...]:
        """The neurons without an output bias, and this as a neuron of the constant output 1."""
        if not self.output_bias.any():
            return (self,)
        neurons = replace(self, output_bias=0 * self.output_bias)
        return neurons, Perceptron.constant(self.output_bias)

    @property
    def acts(self) -> BoolArray:
        """Whether each neuron has a weight that is not 0, (units,)."""
        return np.asarray(self.weights.reshape(len(self.biases), -1).any(axis=1))

    def scaled(self, factor: float) -> Perceptron:
        """The perceptron with all weights, and the output bias, times ``factor``."""
        weights, constant = factor * self.weights, factor * self.output_bias
        return replace(self, weights=weights, output_bias=constant)

    def preactivations(self, points: ArrayLike) -> FloatArray:
        """The a_j.x + b_j (..., units) at ``points`` (..., d); ``ValueError`` for another d."""
        points = check_points(points, self.dimension)
        return points @ self.directions.T + self.biases

    def value(self, points: ArrayLike) -> FloatArray:
        """Potential V(x) = sum_j w_j Phi(a_j.x + b_j) + c.x, (...); none of vector weights."""
        if not self.is_gradient:
            raise ValueError("a perceptron with vector weights has no potential")
        points = check_points(points, self.dimension)
        values = self._sum_outputs(self.activation.primitive, points, self.weights)
        return values + points @ self.output_bias

    def output(self, points: ArrayLike) -> FloatArray:
        """Output sum_j w_j sigma(a_j.x + b_j) a_j + c, or with W_j for w_j a_j, (..., d)."""
        points = check_points(points, self.dimension)
        vectors = self._sum_outputs(self.activation.sigma, points, self.vectors)
        return vectors + self.output_bias

    def drift(self, points: ArrayLike) -> FloatArray:
        """Drift P_x m, the tangential part of the output m, (..., d)."""
        return tangential(self.output(points), check_points(points, self.dimension))

    def _sum_outputs(
        self, function: ScalarFunction, points: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Sums (..., k) of ``function`` of the preactivations times ``weights`` (units, k)."""
        flat = points.reshape(-1, self.dimension)
        sums = np.empty((len(flat), *weights.shape[1:]))
        for block in blocks_of_rows(len(flat), len(self.biases), MOST_OUTPUTS):
            # A row for each neuron: rows that are long.
            heights = self.directions @ flat[block].T
            heights += self.biases[:, np.newaxis]
            np.matmul(function(heights).T, weights, out=sums[block])
        return sums.reshape(points.shape[:-1] + weights.shape[1:])

    @cached_property
    def vectors(self) -> FloatArray:
        """Vectors (units, d) that the neurons' outputs multiply: w_j a_j or W_j."""
        if self.is_gradient:
            return self.weights[:, np.newaxis] * self.directions
        return self.weights

    def kink_angles(self) -> FloatArray:
        """Angles (k,) in [0, 2 pi) where a_j.x + b_j is at a kink of sigma; d = 2 only."""
        kinks = np.array(self.activation.kinks)[:, np.newaxis]
        cosines = (kinks - self.biases) / np.linalg.norm(self.directions, axis=1)
        half_widths = np.arccos(np.where(np.abs(cosines) <= 1, cosines, np.nan))
        middles = np.arctan2(self.directions[:, 1], self.directions[:, 0])
        angles = np.stack([middles - half_widths, middles + half_widths])
        return np.unique(np.mod(angles[np.isfinite(angles)], 2 * np.pi))

    def check_axis(self, axis: FloatArray) -> None:
        """Raise ``ValueError`` unless all vectors are parallel to ``axis``."""
        rows = np.vstack([self.directions, self.vectors, self.output_bias])
        across = np.linalg.norm(rows - np.outer(rows @ axis, axis), axis=1)
        if (across > PARALLEL * np.linalg.norm(rows, axis=1)).any():
            raise asymmetric(self, len(axis))

    def __repr__(self) -> str:
        units, kind = len(self.directions), "scalar" if self.is_gradient else "vector"
        biased = ", biased" if self.biases.any() else ""
        biased += ", output bias" if self.output_bias.any() else ""
        return (
            f"Perceptron({units} {self.activation.name} units on S^{self.dimension - 1}, "
            f"{kind} weights{biased})"
        )
