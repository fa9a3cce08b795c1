r"""The velocity at atoms and its derivatives: all terms together, in tangent coordinates.

External terms act at each atom alone:

    Hess V = sum_j w_j [ sigma'(z_j) (P a_j)(P a_j)^T - sigma(z_j) (a_j.x) P ],   z_j = a_j.x + b_j
    D drift = sum_j [ sigma'(z_j) (P W_j)(P a_j)^T - sigma(z_j) (W_j.x) P ]       vector weights

At a kink of sigma (ReLU at z = 0) the side is taken that makes s Hess V larger, so that
what is called stable is stable on either side; with vector weights, where the sides have no
order, the one with the larger sigma'.  Any other term, a user's potential, is
differentiated by five-point central differences of its drift along great arcs, step 1e-3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import geodesic_moves, tangent_frames
from mfpde.stationary.interaction_derivatives import (
    FieldDerivatives,
    PairGeometry,
    head_derivatives,
    zonal_derivatives,
)
from mfpde.terms import ExternalTerm, Head, Perceptron, ZonalTerm


def summed(parts: list[FieldDerivatives]) -> FieldDerivatives:
    """Sum of fields with their derivatives."""
    return FieldDerivatives(
        np.sum([part.gradient for part in parts], axis=0),
        np.sum([part.jacobian for part in parts], axis=0),
        np.sum([part.own_gradients for part in parts], axis=0),
        np.sum([part.scales for part in parts], axis=0),
    )


DIFFERENCE_STEP = 1e-3


@dataclass(frozen=True, eq=False)
class ExternalField:
    """The external drift at points, tangent coordinates: all fields of first length n.

    ``drift`` (n, d - 1), ``gradients`` (n, d - 1, d - 1) with the derivative of component
    a along b at [a, b], and ``scales`` (n,) as in :class:`FieldDerivatives`.
    """

    drift: FloatArray
    gradients: FloatArray
    scales: FloatArray


def field_derivatives(
    equation: MeanFieldEquation, points: FloatArray, masses: FloatArray
) -> FieldDerivatives:
    """The gradient of F (or the general drift) at atoms and its derivatives.

    The velocity v is s times that gradient.  Components and derivatives are in the frames of
    ``tangent_frames(points)``.
    """
    frames = tangent_frames(points)
    pairs = PairGeometry.of(points, frames, masses)
    parts = []
    for term in equation.interactions:
        if isinstance(term, ZonalTerm):
            parts.append(zonal_derivatives(term, pairs))
        elif isinstance(term, Head):
            parts.append(head_derivatives(term, points, frames, masses))
    external = external_field(equation, points, frames)
    count, size = external.drift.shape
    jacobian = np.zeros((count, size, count, size))
    index = np.arange(count)
    jacobian[index, :, index, :] = external.gradients
    parts.append(
        FieldDerivatives(external.drift, jacobian, external.gradients, external.scales)
    )
    return summed(parts)


def external_field(
    equation: MeanFieldEquation, points: FloatArray, frames: FloatArray
) -> ExternalField:
    """Sum of the external drifts at ``points`` (n, d), in ``frames`` (n, d - 1, d)."""
    count, size, _ = frames.shape
    drift = np.zeros((count, size))
    gradients = np.zeros((count, size, size))
    scales = np.zeros(count)
    for term in equation.externals:
        here = np.einsum("nai,ni->na", frames, term.drift(points))
        if term.layer is not None:
            slopes, contributions = _of_layer(
                term.layer, points, frames, sign=equation.sign
            )
        else:
            slopes = _by_differences(term, points, frames)
            contributions = np.linalg.norm(here, axis=1)
            contributions += np.linalg.norm(slopes, axis=(1, 2))
        drift += here
        gradients += slopes
        scales += contributions
    return ExternalField(drift, gradients, scales)


def count_on_kinks(equation: MeanFieldEquation, points: FloatArray) -> int:
    """Count the pairs (point, neuron) where the point lies on the neuron's kink."""
    total = 0
    for layer in equation.perceptrons:
        left, right = layer.activation.slopes(layer.preactivations(points))
        total += int(((left != right) & layer.acts).sum())
    return total


def is_differenced(term: ExternalTerm) -> bool:
    """Whether second derivatives of the term come from finite differences."""
    return term.layer is None or term.layer.activation.derivative is None


def _of_layer(
    term: Perceptron, points: FloatArray, frames: FloatArray, *, sign: int
) -> tuple[FloatArray, FloatArray]:
    z = term.preactivations(points)
    outputs = np.asarray(term.activation.sigma(z))
    left, right = term.activation.slopes(z)
    steepest = np.maximum(left, right)
    vectors = term.weights
    if term.is_gradient:
        steepest = np.where(sign * term.weights > 0, steepest, np.minimum(left, right))
        vectors = term.weights[:, np.newaxis] * term.directions
    inward = np.einsum("nai,ji->nja", frames, term.directions)
    driven = np.einsum("nai,ji->nja", frames, vectors)
    gradients = np.einsum("nj,nja,njb->nab", steepest, driven, inward, optimize=True)
    radial = (outputs * (points @ vectors.T)).sum(axis=1)
    gradients -= radial[:, np.newaxis, np.newaxis] * np.eye(frames.shape[1])
    strengths = np.linalg.norm(vectors, axis=1)
    lengths = np.linalg.norm(term.directions, axis=1)
    largest = np.maximum(np.abs(left), np.abs(right))
    scales = (np.abs(outputs) + largest * lengths) @ strengths
    return gradients, np.asarray(scales)


def _by_differences(
    term: ExternalTerm, points: FloatArray, frames: FloatArray
) -> FloatArray:
    """Derivative of component a along tangent b at [a, b]: P_x d/dt drift(Exp_x(t e_b))."""
    count, size, _ = frames.shape
    gradients = np.empty((count, size, size))
    for b in range(size):
        step = np.zeros((count, size))
        slope = np.zeros(points.shape)
        for steps, weight in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
            step[:, b] = steps * DIFFERENCE_STEP
            slope += weight * term.drift(geodesic_moves(points, frames, step))
        gradients[:, :, b] = np.einsum("nai,ni->na", frames, slope)
    gradients /= 12 * DIFFERENCE_STEP
    if term.is_gradient:
        gradients = (gradients + np.swapaxes(gradients, 1, 2)) / 2
    return gradients
