r"""A network as mean-field equations: what its blocks add, as terms in coordinates of the sphere.

A sublayer sees of a token in the direction x = U z, with gain g and bias c of the norm before it,

    y = Y z + c,   Y = sqrt(d) diag(g) U,

and its output f moves z by F.  Under LayerNorm the columns of U (d, d') span the hyperplane of
entries that add up to 0, d' = d - 1; under RMSNorm U = 1.

    post-LN   x -> N(x + F(x)),   F = B (f + y) - z,   B = U^T / s,   s = sqrt(d) mean(g)
    pre-LN    u -> u + F(N(u)),   F = B f,             B = U^T

Attention is f = b + sum_h A_h m_h(z), m_h the mean of z' under the weights exp(z.D_h z' + w_h.z'):

    D_h = (Q Y)^T (K Y) / sqrt(d_h),   w_h = (K Y)^T (Q c + b_q) / sqrt(d_h),   A_h = O V Y

so that biases of keys count for nothing, and those of queries weigh the sources.  The perceptron
has the directions W_1 Y, the biases W_1 c + b_1 and the vector weights B W_2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import helmert

from mfpde.arrays import FloatArray, choice, real_array
from mfpde.equation import MeanFieldEquation
from mfpde.networks.block import NetworkBlock, Norm
from mfpde.runs.layers import Layers
from mfpde.terms import Attention, ExternalTerm, InteractionTerm, Perceptron
from mfpde.terms.normalization import Normalization

if TYPE_CHECKING:
    from mfpde.networks.network import Network

GAIN, DRIFT, INNER = PARTS = ("gain", "drift constants", "inner constants")
"""What may be dropped: the drift by gains that differ; the constants of F; c and biases in y."""
NEGLIGIBLE = 1e-14
"""Size below which a matrix, or a direction, is nothing but rounding."""


class View(NamedTuple):
    """What a sublayer sees of z, y = ``seen`` z + ``offset``, and B, which takes y ``back``.

    ``constant`` (d',) and ``form`` (d', d') are what post-LN does to z itself: B y - z.
    """

    seen: FloatArray
    offset: FloatArray
    back: FloatArray
    constant: FloatArray
    form: FloatArray


class Sublayer(NamedTuple):
    """F of a sublayer: that of ``terms``, a ``constant`` and ``form`` z."""

    terms: Sequence[InteractionTerm | ExternalTerm]
    constant: FloatArray
    form: FloatArray


def find_basis(dimension: int, *, rms: bool) -> FloatArray:
    """U (d, d'): under LayerNorm Helmert's."""
    return np.eye(dimension) if rms else helmert(dimension).T


def fold_network(
    network: Network,
    basis: FloatArray,
    order: str,
    time: str,
    drop: str | Iterable[str],
    radius: ArrayLike,
) -> Layers:
    """Return what :meth:`mfpde.Network.layers` describes, in the coordinates of ``basis``."""
    is_parallel = choice("order", order, ("parallel", "serial")) == "parallel"
    is_free = choice("time", time, ("free radius", "unit")) == "free radius"
    is_post = network.norm == "post"
    if not (is_post or is_free):
        raise ValueError(
            "time = 'unit' is for norm = 'post': tokens of 'pre' carry their radii from layer to "
            "layer, time = 'free radius'"
        )
    parts = [drop] if isinstance(drop, str) else drop
    dropped = {choice("drop", part, PARTS) for part in parts}
    keeps = INNER not in dropped
    stages: list[list[Sublayer]] = []
    for index, block in enumerate(network.blocks):
        _check_block(index, block)
        first, second = (
            _find_view(norm, basis, is_post) for norm in network.norms_seen[index]
        )
        attention = _fold_attention(block, first, keeps)
        perceptron = _fold_perceptron(block, second, keeps)
        both = [attention, perceptron]
        stages += [both] if is_parallel else [[attention], [perceptron]]
    # In post-LN |u| starts from 1 in each layer; in pre-LN it goes on.
    radii = real_array("radius", 1.0 if is_post else radius)
    first_radius: Any = float(radii) if radii.ndim == 0 else lambda _: radii
    scaled = [Normalization("pre", 1.0 if is_post else None)] * len(stages)
    scaled[0] = Normalization("pre", first_radius)
    return Layers(
        (_write_equation(stage, dropped, one if is_free else None), network.step)
        for stage, one in zip(stages, scaled, strict=True)
    )


def _check_block(index: int, block: NetworkBlock) -> None:
    """Raise ``ValueError`` for what no measure on the sphere knows."""
    for name in ("causal", "rope", "gate"):
        given = getattr(block, name)
        if given is not None and given is not False:
            raise ValueError(
                f"blocks[{index}] has {name}, which is no function of a measure on the sphere "
                "(tokens see by their positions, gates are no perceptron): take run(...) and "
                f"refined(m), which have it, or the layers of a network without {name}"
            )


def _find_view(norm: Norm, basis: FloatArray, is_post: bool) -> View:
    gain, bias = norm
    root, mean = np.sqrt(len(gain)), float(gain.mean())
    if is_post and mean <= 0:
        raise ValueError(
            f"the gains of a norm have the mean {mean:g}, which is the scale of time after it: "
            "it must be above 0"
        )
    seen = root * gain[:, np.newaxis] * basis
    back = basis.T / (root * mean if is_post else 1.0)
    rest = back @ seen - np.eye(len(back))
    return View(seen, bias, back, is_post * (back @ bias), is_post * rest)


def _fold_attention(block: NetworkBlock, view: View, keeps_inner: bool) -> Sublayer:
    width = block.head_width

    def by_head(rows: FloatArray) -> FloatArray:
        """Rows of all heads, or of those that share, as (H, d_h, ...)."""
        split = rows.reshape(-1, width, *rows.shape[1:])
        return np.repeat(split, block.heads // len(split), axis=0)

    asked = by_head(block.q @ view.offset + block.bq) * keeps_inner
    sent = by_head(block.v @ view.offset + block.bv)
    outputs = by_head((view.back @ block.o).T)
    seen = (by_head(one @ view.seen) for one in (block.q, block.k, block.v))
    constant = view.back @ block.bo + np.einsum("hwi,hw->i", outputs, sent)
    heads = zip(*seen, outputs, asked, strict=True)
    terms = [_write_head(*head) for head in heads if head[2].any() and head[3].any()]
    return Sublayer(terms, view.constant + constant, view.form)


def _write_head(
    query: FloatArray,
    key: FloatArray,
    value: FloatArray,
    output: FloatArray,
    asked: FloatArray,
) -> Attention:
    """A head of width r from arrays (r, d') and the constant query (r,)."""
    scaled = key / np.sqrt(len(key))
    weight = asked @ scaled
    # Without logits of pairs a head needs a matrix all the same.
    nothing = NEGLIGIBLE * np.eye(key.shape[1])
    return Attention(
        1.0,
        True,
        bilinear=(query.T, scaled) if query.any() and key.any() else nothing,
        value=(output.T, value),
        source=weight if weight.any() else None,
    )


def _fold_perceptron(block: NetworkBlock, view: View, keeps_inner: bool) -> Sublayer:
    directions, weights = block.w1 @ view.seen, (view.back @ block.w2).T
    biases = (block.w1 @ view.offset + block.b1) * keeps_inner
    acts = np.abs(directions).max(axis=1) > NEGLIGIBLE
    fixed = block.activation.sigma(biases[~acts]) @ weights[~acts]
    neurons = directions[acts], weights[acts], block.activation
    terms = [Perceptron(*neurons, biases=biases[acts])] if acts.any() else []
    return Sublayer(terms, view.constant + view.back @ block.b2 + fixed, view.form)


def _write_equation(
    sublayers: Sequence[Sublayer],
    dropped: Collection[str],
    normalization: Normalization | None,
) -> MeanFieldEquation:
    """The equation of sublayers that act at once."""
    terms = [term for one in sublayers for term in one.terms]
    constant = np.sum([one.constant for one in sublayers], axis=0)
    form = np.sum([one.form for one in sublayers], axis=0)
    if GAIN not in dropped and np.abs(form).max() > NEGLIGIBLE:
        terms.append(Perceptron.quadratic(form))
    if DRIFT not in dropped and np.abs(constant).max() > NEGLIGIBLE:
        terms.append(Perceptron.constant(constant))
    if not terms:
        terms.append(Perceptron(np.eye(1, len(constant)), [0.0], "linear"))
    return MeanFieldEquation(*terms, direction="ascent", normalization=normalization)
