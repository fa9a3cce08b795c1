r"""The velocity at atoms and its derivatives: all terms together, in tangent coordinates.

External terms act at each atom alone:

    Hess V = sum_j w_j [ sigma'(z_j) (P a_j)(P a_j)^T - sigma(z_j) (a_j.x) P ],   z_j = a_j.x + b_j
    D drift = sum_j [ sigma'(z_j) (P W_j)(P a_j)^T - sigma(z_j) (W_j.x) P ]       vector weights

At a kink of sigma (ReLU at z = 0) the side is taken that makes s Hess V larger, so that
what is called stable is stable on either side; with vector weights, where the sides have no
order, the one with the larger sigma'.  Any other term, a user's potential, is
differentiated by central differences of its drift along great arcs.

An interaction is summed directly over the atoms: with E_ij = m_j W'(u_ij), u_ij = x_i.B x_j,
E'_ij = m_j W''(u_ij) and the frames f_i of the atoms,

    G_i = f_i sum_j E_ij V x_j                                                  its drift at x_i
    dG_i / dx_i = sum_j [ E'_ij (f_i V x_j) (f_i B x_j)^T - E_ij (x_i.V x_j) 1 ]    masses fixed
    dG_i / dx_j = E'_ij (f_i V x_j) (f_j B^T x_i)^T + E_ij f_i V f_j^T               x_j moved

Kernels of x.y have B = V = 1, a head with matrices D and V has B = D / |D|_2 and the kernel of
inverse temperature beta |D|_2.  Softmax divides E and E' by Z_i = sum_j E_ij, with

    dZ_i / dx_i = sum_j E'_ij f_i B x_j,    dZ_i / dx_j = E'_ij f_j B^T x_i.

Where V = 1 the force of an atom on itself is exactly zero and is left out of the sums over j:
forces of e^-20 between atoms keep all their digits beside a term of size 1.  For the same reason
f_i x_j is computed as f_i (x_j - x_i), and u - 1 as -|x_i - x_j|^2 / 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import tangent_frames, velocity_gradients
from mfpde.terms import Attention, ExternalTerm, InteractionTerm, Perceptron

DIFFERENCE_STEP = float(np.cbrt(np.finfo(np.float64).eps))
"""Step, in radians, of central differences: they err by its square, and round by as much."""


class FieldDerivatives(NamedTuple):
    """The ``gradient`` (n, d - 1) of F at n atoms and its derivatives, in tangent coordinates.

    The ``jacobian`` (n, d - 1, n, d - 1) is that by the positions of all atoms, whose own masses
    move with them; ``own_gradients`` (n, d - 1, d - 1) are those in space with all masses held,
    the atom's own included.  At each atom ``scales`` (n,) > 0, of rounding errors, are the sums of
    the sizes of all contributions and of their changes over one radian.
    """

    gradient: FloatArray
    jacobian: FloatArray
    own_gradients: FloatArray
    scales: FloatArray


LocalField = tuple[FloatArray, FloatArray, FloatArray]
"""The drift (n, d - 1) of one external term at n points, its derivative by their positions
(n, d - 1, d - 1), of component a along b at [a, b], and the scales (n,)."""


def field_derivatives(
    equation: MeanFieldEquation, points: FloatArray, masses: FloatArray
) -> FieldDerivatives:
    """The gradient of F (or the general drift) at atoms and its derivatives.

    The velocity v is s times that gradient.  Components and derivatives are in the frames of
    ``tangent_frames(points)``.
    """
    frames = tangent_frames(points)
    parts = [external_field(equation.externals, points, sign=equation.sign)]
    for term in equation.interactions:
        parts.append(_of_interaction(term, points, frames, masses))
    return FieldDerivatives(*(sum(part) for part in zip(*parts, strict=True)))


def _of_interaction(
    term: InteractionTerm, points: FloatArray, frames: FloatArray, masses: FloatArray
) -> FieldDerivatives:
    """The drift of an interaction at atoms, with its derivatives."""
    count, d = points.shape
    kernel, strengths = term.zonal_kernel, term.amplitude * masses
    weight = np.zeros(d)
    if isinstance(term, Attention) and not term.is_zonal:
        keys, values = term.keys_matrix / term.size, term.values_matrix
        others = np.broadcast_to(points, (count, count, d))
        weight = term.weight / term.size
        cosines = points @ keys @ points.T + points @ weight
        if term.needs_values:
            # The largest logit of each row is that of the kernel at 1, as any would cancel.
            cosines += 1 - cosines.max(axis=1, keepdims=True)
        is_other, selves = np.ones((count, count)), np.zeros(count)
    else:
        keys = values = np.eye(d)
        others = points - points[:, np.newaxis]
        cosines = 1 - np.einsum("ijd,ijd->ij", others, others) / 2
        is_other, selves = 1 - np.eye(count), strengths * kernel.slope(np.ones(1))
    weights = is_other * strengths * kernel.slope(cosines)
    seconds = is_other * strengths * kernel.bend(cosines)
    if term.needs_values:
        totals = weights.sum(axis=1) + selves
        selves = selves / totals
        weights, seconds = (x / totals[:, np.newaxis] for x in (weights, seconds))
    pulls = np.einsum("iad,de,ije->ija", frames, values, others, optimize=True)
    toward = np.einsum("iad,de,ije->ija", frames, keys, others, optimize=True)
    away = np.einsum("jbd,ed,jie->ijb", frames, keys, others, optimize=True)
    away += frames @ weight
    turned = np.einsum("iad,de,jbe->iajb", frames, values, frames, optimize=True)
    gradient = np.einsum("ij,ija->ia", weights, pulls)
    own = np.einsum("ij,ija,ijb->iab", seconds, pulls, toward, optimize=True)
    radial = (weights * (points @ values @ points.T)).sum(axis=1)
    own -= radial[:, np.newaxis, np.newaxis] * np.eye(d - 1)
    jacobian = weights[:, np.newaxis, :, np.newaxis] * turned
    jacobian += np.einsum("ij,ija,ijb->iajb", seconds, pulls, away, optimize=True)
    if term.needs_values:
        own -= np.einsum("ia,ij,ijb->iab", gradient, seconds, toward, optimize=True)
        jacobian -= np.einsum("ia,ij,ijb->iajb", gradient, seconds, away, optimize=True)
    np.einsum("iaib->iab", jacobian)[:] += own
    lengths, sent = np.linalg.norm(pulls, axis=2), points @ values.T
    sizes = np.abs(weights) * (lengths + np.linalg.norm(sent, axis=1))
    sizes += np.abs(seconds) * lengths * np.linalg.norm(toward, axis=2)
    own = own - selves[:, np.newaxis, np.newaxis] * np.eye(d - 1)
    return FieldDerivatives(gradient, jacobian, own, sizes.sum(axis=1))


def external_field(
    terms: Iterable[ExternalTerm], points: FloatArray, *, sign: int
) -> FieldDerivatives:
    """Sum of the drifts of ``terms`` at ``points`` (n, d), with its derivatives.

    On a kink the side is taken on which ``sign`` times the derivative is larger.
    """
    frames = tangent_frames(points)
    count, size, _ = frames.shape
    drift, own = np.zeros((count, size)), np.zeros((count, size, size))
    parts = [(drift, own, np.full(count, np.finfo(np.float64).tiny))]
    for term in terms:
        if term.layer is None:
            parts.append(_by_differences(term, points, frames))
        else:
            parts.append(_of_layer(term.layer, points, frames, sign=sign))
    drift, own, scales = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
    jacobian = np.zeros((count, size, count, size))
    np.einsum("iaib->iab", jacobian)[:] = own
    return FieldDerivatives(drift, jacobian, own, scales)


def _of_layer(
    term: Perceptron, points: FloatArray, frames: FloatArray, *, sign: int
) -> LocalField:
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
    drift = np.einsum("nai,ni->na", frames, term.drift(points))
    return drift, gradients, np.asarray(scales)


def _by_differences(
    term: ExternalTerm, points: FloatArray, frames: FloatArray
) -> LocalField:
    drift, gradients = velocity_gradients(
        term.drift, points, frames=frames, step=DIFFERENCE_STEP
    )
    if term.is_gradient:
        gradients = (gradients + np.swapaxes(gradients, 1, 2)) / 2
    scales = np.linalg.norm(drift, axis=1) + np.linalg.norm(gradients, axis=(1, 2))
    return drift, gradients, scales
