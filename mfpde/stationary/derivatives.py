r"""The velocity at atoms and its derivatives: all terms together, in tangent coordinates.

External terms act at each atom alone:

    Hess V = sum_j w_j [ sigma'(z_j) (P a_j)(P a_j)^T - sigma(z_j) (a_j.x) P ],   z_j = a_j.x + b_j
    D drift = sum_j [ sigma'(z_j) (P W_j)(P a_j)^T - sigma(z_j) (W_j.x) P ]       vector weights

At a kink of sigma (ReLU at z = 0) the side is taken that makes s Hess V larger, so that
what is called stable is stable on either side; with vector weights, where the sides have no
order, the one with the larger sigma'.  Any other term, a user's potential, is
differentiated by five-point central differences of its drift along great arcs, step 1e-3.

Interactions between atoms are summed directly.  For a kernel W of x.y, with
W'_ij = W'(x_i.x_j) (for attention K_ij = exp(beta (x_i.x_j - 1)), times e^beta for an
unshifted, unnormalised kernel, and W'' = beta K), g_ij = P_i x_j, and atom i
taken out of its own sums, where its force vanishes,

    G_i   = sum_j m_j W'_ij g_ij                                            grad A at x_i
    D_ij  = m_j (W''_ij g_ij g_ji^T + W'_ij P_i P_j)                        dG_i / dx_j
    D_ii  = sum_{j != i} m_j (W''_ij g_ij g_ij^T - W'_ij (x_i.x_j) P_i)     dG_i / dx_i
    Hess A(x_i) = D_ii - m_i W'(1) P_i                                      own mass included

and for softmax, Z_i = m_i + sum_{j != i} m_j K_ij: G / Z, (D - beta G_i (dZ_i / beta)^T / Z_i)
/ Z_i with dZ_i / dx_i = beta G_i and dZ_i / dx_j = beta m_j K_ij g_ji.

The self-force is exactly zero and therefore never added: forces of e^-20 between atoms keep
all their digits beside a self-term of size 1.  For the same reason x_i.x_j - 1 is computed
as -|x_i - x_j|^2 / 2.

For a head with matrices D and V, with E_ij = m_j exp(beta x_i.D x_j - c), the drift is

    G_i = P_i sum_j E_ij V x_j,     G_i / Z_i with softmax, Z_i = sum_j E_ij

atom i itself included, whose share P_i V x_i does not vanish.  In tangent coordinates, with
the frames f_i of the atoms,

    dG_i / dx_i = sum_j E_ij [ beta (f_i V x_j) (f_i D x_j)^T - (x_i.V x_j) 1 ]     masses fixed
    dG_i / dx_j = E_ij [ beta (f_i V x_j) (f_j D^T x_i)^T + f_i V f_j^T ]           x_j moved
    dZ_i / dx_i = beta sum_j E_ij f_i D x_j,    dZ_i / dx_j = beta E_ij f_j D^T x_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import geodesic_moves, tangent_frames
from mfpde.terms import Attention, ExternalTerm, InteractionTerm, Perceptron

DIFFERENCE_STEP = 1e-3


@dataclass(frozen=True, eq=False)
class FieldDerivatives:
    """A gradient field at n atoms and its derivatives, in tangent coordinates.

    Attributes
    ----------
    gradient
        The field at each atom, (n, d - 1).
    jacobian
        Its derivative by the position of each atom, (n, d - 1, n, d - 1); an atom's own
        mass moves with it.
    own_gradients
        Its spatial derivative at each atom with all masses held fixed, the atom's own
        included, (n, d - 1, d - 1).
    scales
        At each atom the sum of the sizes of all contributions and of their change over
        one radian, (n,): the scale for rounding errors.
    """

    gradient: FloatArray
    jacobian: FloatArray
    own_gradients: FloatArray
    scales: FloatArray


@dataclass(frozen=True, eq=False)
class PairGeometry:
    """Geometry of the pairs of atoms, which is the same for every attention term.

    Attributes
    ----------
    offsets
        P_i x_j in the frame at i, (n, n, d - 1).
    overlaps
        Inner products of the tangents at i and j, (n, d - 1, n, d - 1).
    deficits
        x_i.x_j - 1, (n, n).
    masses
        Masses (n,).
    """

    offsets: FloatArray
    overlaps: FloatArray
    deficits: FloatArray
    masses: FloatArray

    @classmethod
    def of(
        cls, points: FloatArray, frames: FloatArray, masses: FloatArray
    ) -> PairGeometry:
        """Geometry of the pairs among ``points`` (n, d) with ``frames`` (n, d - 1, d)."""
        chords = points[np.newaxis, :, :] - points[:, np.newaxis, :]
        count, size, dimension = frames.shape
        flat = frames.reshape(-1, dimension)
        return cls(
            np.einsum("iad,ijd->ija", frames, chords, optimize=True),
            (flat @ flat.T).reshape(count, size, count, size),
            -np.einsum("ijd,ijd->ij", chords, chords) / 2,
            masses,
        )


def zonal_derivatives(term: InteractionTerm, pairs: PairGeometry) -> FieldDerivatives:
    """Gradient of the interaction's potential at the atoms of mu, with its derivatives."""
    offsets, kernel = pairs.offsets, term.zonal_kernel
    weights = pairs.masses * kernel.slope(1 + pairs.deficits)
    seconds = pairs.masses * kernel.bend(1 + pairs.deficits)
    np.fill_diagonal(weights, 0.0)
    np.fill_diagonal(seconds, 0.0)
    gradient = np.einsum("ij,ija->ia", weights, offsets)
    blocks = np.einsum("ij,ija,jib->iajb", seconds, offsets, offsets)
    blocks += weights[:, np.newaxis, :, np.newaxis] * pairs.overlaps
    diagonal = np.einsum("ij,ija,ijb->iab", seconds, offsets, offsets)
    identity = np.eye(offsets.shape[2])
    cosines = (weights * (1 + pairs.deficits)).sum(axis=1)
    diagonal -= cosines[:, np.newaxis, np.newaxis] * identity
    _add_to_diagonal(blocks, diagonal)
    selves = pairs.masses * kernel.slope(np.ones(1))
    own = diagonal - selves[:, np.newaxis, np.newaxis] * identity
    lengths = np.linalg.norm(offsets, axis=2)
    sizes = 1 + lengths + term.sharpness * lengths**2
    scales = (np.abs(weights) * sizes).sum(axis=1)
    raw = FieldDerivatives(gradient, blocks, own, scales)
    if term.needs_values:
        return _normalized(raw, weights, pairs, beta=term.sharpness)
    return _multiplied(raw, term.amplitude)


def _multiplied(field: FieldDerivatives, factor: float) -> FieldDerivatives:
    return FieldDerivatives(
        factor * field.gradient,
        factor * field.jacobian,
        factor * field.own_gradients,
        factor * field.scales,
    )


def _normalized(
    raw: FieldDerivatives, weights: FloatArray, pairs: PairGeometry, *, beta: float
) -> FieldDerivatives:
    """The softmax field: ``raw`` divided by Z, with the derivatives of 1/Z."""
    totals = pairs.masses + weights.sum(axis=1)
    gradient = raw.gradient / totals[:, np.newaxis]
    slopes = beta * weights[:, :, np.newaxis] * np.swapaxes(pairs.offsets, 0, 1)
    np.einsum("iia->ia", slopes)[:] = beta * raw.gradient
    relative = slopes / totals[:, np.newaxis, np.newaxis]
    jacobian = raw.jacobian / totals[:, np.newaxis, np.newaxis, np.newaxis]
    jacobian -= gradient[:, :, np.newaxis, np.newaxis] * relative[:, np.newaxis, :, :]
    own = raw.own_gradients / totals[:, np.newaxis, np.newaxis]
    own -= beta * gradient[:, :, np.newaxis] * gradient[:, np.newaxis, :]
    return FieldDerivatives(gradient, jacobian, own, raw.scales / totals)


def _add_to_diagonal(blocks: FloatArray, diagonal: FloatArray) -> None:
    index = np.arange(len(diagonal))
    blocks[index, :, index, :] += diagonal


def head_derivatives(
    head: Attention, points: FloatArray, frames: FloatArray, masses: FloatArray
) -> FieldDerivatives:
    """The head's drift at atoms (n, d) with tangent ``frames`` (n, d - 1, d), derived."""
    beta, count = head.beta, len(points)
    logits = points @ head.keys_matrix @ points.T
    largest = logits.max(axis=1) if head.needs_values else np.full(count, head.size)
    cosines = 1 + (logits - largest[:, np.newaxis]) / head.size
    weights = masses * head.zonal_kernel.slope(cosines)
    if not head.needs_values:
        weights *= head.amplitude
    sent = points @ head.values_matrix.T
    pulls = np.einsum("iad,jd->ija", frames, sent)
    toward = beta * np.einsum("iad,jd->ija", frames, points @ head.keys_matrix.T)
    away = beta * np.einsum("jbd,id->ijb", frames, points @ head.keys_matrix)
    gradient = np.einsum("ij,ija->ia", weights, pulls)
    own = np.einsum("ij,ija,ijb->iab", weights, pulls, toward, optimize=True)
    radial = (weights * (points @ sent.T)).sum(axis=1)
    own -= radial[:, np.newaxis, np.newaxis] * np.eye(frames.shape[1])
    turned = np.einsum("iad,de,jbe->iajb", frames, head.values_matrix, frames)
    jacobian = weights[:, np.newaxis, :, np.newaxis] * turned
    jacobian += np.einsum("ij,ija,ijb->iajb", weights, pulls, away, optimize=True)
    lengths = np.linalg.norm(sent, axis=1)
    steepness = 1 + np.linalg.norm(toward, axis=2) + np.linalg.norm(away, axis=2)
    scales = (weights * lengths * steepness).sum(axis=1)
    if head.needs_values:
        totals = weights.sum(axis=1)
        gradient = gradient / totals[:, np.newaxis]
        own_totals = np.einsum("ij,ija->ia", weights, toward) / totals[:, np.newaxis]
        own = own / totals[:, np.newaxis, np.newaxis]
        own -= gradient[:, :, np.newaxis] * own_totals[:, np.newaxis, :]
        slopes = weights[:, :, np.newaxis] * away / totals[:, np.newaxis, np.newaxis]
        jacobian = jacobian / totals[:, np.newaxis, np.newaxis, np.newaxis]
        jacobian -= gradient[:, :, np.newaxis, np.newaxis] * slopes[:, np.newaxis]
        scales = scales / totals
    index = np.arange(count)
    jacobian[index, :, index, :] += own
    return FieldDerivatives(gradient, jacobian, own, scales)


def summed(parts: list[FieldDerivatives]) -> FieldDerivatives:
    """Sum of fields with their derivatives."""
    return FieldDerivatives(
        np.sum([part.gradient for part in parts], axis=0),
        np.sum([part.jacobian for part in parts], axis=0),
        np.sum([part.own_gradients for part in parts], axis=0),
        np.sum([part.scales for part in parts], axis=0),
    )


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
        if term.is_zonal:
            parts.append(zonal_derivatives(term, pairs))
        elif isinstance(term, Attention):
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
    radial = (outputs * (points @ vectors.T)).sum(axis=1) + points @ term.output_bias
    gradients -= radial[:, np.newaxis, np.newaxis] * np.eye(frames.shape[1])
    strengths = np.linalg.norm(vectors, axis=1)
    lengths = np.linalg.norm(term.directions, axis=1)
    largest = np.maximum(np.abs(left), np.abs(right))
    scales = (np.abs(outputs) + largest * lengths) @ strengths
    scales += np.linalg.norm(term.output_bias)
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
