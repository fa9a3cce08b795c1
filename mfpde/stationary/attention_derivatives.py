r"""First and second derivatives of the attention between atoms, by direct sums.

With K_ij = exp(beta (x_i.x_j - 1)) (times e^beta for an unshifted, unnormalised kernel),
g_ij = P_i x_j, and atom i taken out of its own sums, where its force vanishes,

    G_i   = sum_j m_j K_ij g_ij                                             grad A at x_i
    D_ij  = m_j K_ij (beta g_ij g_ji^T + P_i P_j)                           dG_i / dx_j
    D_ii  = sum_{j != i} m_j K_ij (beta g_ij g_ij^T - (x_i.x_j) P_i)        dG_i / dx_i
    Hess A(x_i) = D_ii - m_i P_i                                            own mass included

and for softmax, Z_i = m_i + sum_{j != i} m_j K_ij: G / Z, (D - beta G_i (dZ_i / beta)^T / Z_i)
/ Z_i with dZ_i / dx_i = beta G_i and dZ_i / dx_j = beta m_j K_ij g_ji.

The self-force is exactly zero and therefore never added: forces of e^-20 between atoms keep
all their digits beside a self-term of size 1.  For the same reason x_i.x_j - 1 is computed
as -|x_i - x_j|^2 / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.terms import Attention


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


def attention_derivatives(
    attention: Attention, pairs: PairGeometry
) -> FieldDerivatives:
    """Gradient of A[mu] at the atoms of mu, with its derivatives."""
    beta, offsets = attention.beta, pairs.offsets
    weights = pairs.masses * np.exp(beta * pairs.deficits)
    np.fill_diagonal(weights, 0.0)
    gradient = np.einsum("ij,ija->ia", weights, offsets)
    blocks = np.einsum("ij,ija,jib->iajb", beta * weights, offsets, offsets)
    blocks += weights[:, np.newaxis, :, np.newaxis] * pairs.overlaps
    diagonal = np.einsum("ij,ija,ijb->iab", beta * weights, offsets, offsets)
    identity = np.eye(offsets.shape[2])
    cosines = (weights * (1 + pairs.deficits)).sum(axis=1)
    diagonal -= cosines[:, np.newaxis, np.newaxis] * identity
    _add_to_diagonal(blocks, diagonal)
    own = diagonal - pairs.masses[:, np.newaxis, np.newaxis] * identity
    lengths = np.linalg.norm(offsets, axis=2)
    scales = (weights * (1 + lengths + beta * lengths**2)).sum(axis=1)
    raw = FieldDerivatives(gradient, blocks, own, scales)
    if attention.needs_values:
        return _normalized(raw, weights, (beta, pairs))
    return _multiplied(raw, attention.amplitude)


def summed(parts: list[FieldDerivatives]) -> FieldDerivatives:
    """Sum of fields with their derivatives."""
    return FieldDerivatives(
        np.sum([part.gradient for part in parts], axis=0),
        np.sum([part.jacobian for part in parts], axis=0),
        np.sum([part.own_gradients for part in parts], axis=0),
        np.sum([part.scales for part in parts], axis=0),
    )


def _multiplied(field: FieldDerivatives, factor: float) -> FieldDerivatives:
    return FieldDerivatives(
        factor * field.gradient,
        factor * field.jacobian,
        factor * field.own_gradients,
        factor * field.scales,
    )


def _normalized(
    raw: FieldDerivatives, weights: FloatArray, kernel: tuple[float, PairGeometry]
) -> FieldDerivatives:
    """The softmax field: ``raw`` divided by Z, with the derivatives of 1/Z."""
    beta, pairs = kernel
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
