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

from collections.abc import Collection, Iterable
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, choice, real_array
from mfpde.equation import MeanFieldEquation
from mfpde.networks.block import NetworkBlock, Norm
from mfpde.positions.weights import Causal
from mfpde.runs.layers import Layers
from mfpde.terms import Attention, ExternalTerm, InteractionTerm, Perceptron
from mfpde.terms.normalization import Normalization

if TYPE_CHECKING:
    from mfpde.networks.network import Network

GAIN, DRIFT, INNER = PARTS = ("gain", "drift constants", "inner constants")
"""What may be dropped: the drift by gains that differ; the constants of F; c and biases in y."""
Terms: TypeAlias = list[InteractionTerm | ExternalTerm]
NEGLIGIBLE = 1e-14
"""Size below which a matrix, or a direction, is nothing but rounding."""


class View(NamedTuple):
    """What a sublayer sees of z, y = ``seen`` z + ``offset``, and B, which takes y ``back``."""

    seen: FloatArray
    offset: FloatArray
    back: FloatArray
    is_post: bool


def fold_network(
    network: Network,
    order: str,
    time: str,
    drop: str | Iterable[str],
    radius: ArrayLike,
    *,
    causal: bool,
) -> Layers:
    """Return what :meth:`mfpde.Network.layers` describes, in the coordinates of its basis."""
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
    stages: list[Terms] = []
    for index, block in enumerate(network.blocks):
        _check_block(index, block, causal=causal)
        first, second = (
            _find_view(norm, network.basis, is_post)
            for norm in network.norms_seen[index]
        )
        attention = _fold_attention(block, first, dropped)
        perceptron = _fold_perceptron(block, second, dropped)
        stages += [attention + perceptron] if is_parallel else [attention, perceptron]
    # In post-LN |u| starts from 1 in each layer; in pre-LN it goes on.
    radii = real_array("radius", 1.0 if is_post else radius)
    begin = Normalization("pre", float(radii) if radii.ndim == 0 else lambda _: radii)
    scaled = Normalization("pre", 1.0 if is_post else None)
    idle = Perceptron(np.eye(1, network.basis.shape[1]), [0.0], "linear")
    normalizations = [begin, *[scaled] * len(stages)] if is_free else repeat(None)
    equations = [
        MeanFieldEquation(*(terms or [idle]), direction="ascent", normalization=scale)
        for terms, scale in zip(stages, normalizations, strict=False)
    ]
    return Layers((one, network.step) for one in equations)


def _check_block(index: int, block: NetworkBlock, *, causal: bool) -> None:
    """Raise ``ValueError`` for what no measure on the sphere knows."""
    found = {"rope": block.rope is not None, "gate": block.gate is not None}
    found["causal"] = block.causal and not causal
    for name in (name for name, stands in found.items() if stands):
        raise ValueError(
            f"blocks[{index}] has {name}, which is no function of a measure on the sphere "
            "(tokens see by their positions, gates are no perceptron): take run(...) and "
            f"refined(m), which have it, or the layers of a network without {name}; the causal "
            "mask is in layers(causal=True), which move PositionedAtoms"
        )


def _find_view(norm: Norm, basis: FloatArray, is_post: bool) -> View:
    gain, bias = norm
    root, mean = np.sqrt(len(gain)), float(gain.mean())
    if is_post and mean <= 0:
        raise ValueError(
            f"the gains of a norm have the mean {mean:g}, which is the scale of time after it: "
            "it must be above 0"
        )
    back = basis.T / (root * mean if is_post else 1.0)
    return View(root * gain[:, np.newaxis] * basis, bias, back, is_post)


def _fold_attention(block: NetworkBlock, view: View, dropped: Collection[str]) -> Terms:
    width = block.head_width
    terms: Terms = []
    positions = Causal() if block.causal else None

    def by_head(rows: FloatArray) -> FloatArray:
        """Rows of all heads, or of those that share, as (H, d_h, ...)."""
        split = rows.reshape(-1, width, *rows.shape[1:])
        return np.repeat(split, block.heads // len(split), axis=0)

    outputs = by_head((view.back @ block.o).T)
    sent = by_head(block.v @ view.offset + block.bv)
    asked = by_head(block.q @ view.offset + block.bq) * (INNER not in dropped)
    matrices = block.q, block.k / np.sqrt(width), block.v
    queries, keys, values = (by_head(one @ view.seen) for one in matrices)
    sources = np.einsum("hw,hwi->hi", asked, keys)
    for q, k, v, o, w in zip(queries, keys, values, outputs, sources, strict=True):
        if v.any() and o.any():
            # Without logits of pairs a head needs a matrix all the same.
            pairs = (q.T, k) if q.any() and k.any() else NEGLIGIBLE * np.eye(len(w))
            source = w if w.any() else None
            parts: Any = {"bilinear": pairs, "value": (o.T, v), "source": source}
            terms.append(Attention(1.0, True, positions=positions, **parts))
    constant = view.back @ block.bo + np.einsum("hwi,hw->i", outputs, sent)
    return terms + _fold_drift(constant, view, dropped)


def _fold_perceptron(
    block: NetworkBlock, view: View, dropped: Collection[str]
) -> Terms:
    directions, weights = block.w1 @ view.seen, (view.back @ block.w2).T
    biases = (block.w1 @ view.offset + block.b1) * (INNER not in dropped)
    acts = np.abs(directions).max(axis=1) > NEGLIGIBLE
    neurons = directions[acts], weights[acts], block.activation
    terms: Terms = [Perceptron(*neurons, biases=biases[acts])] if acts.any() else []
    fixed = block.activation.sigma(biases[~acts]) @ weights[~acts]
    return terms + _fold_drift(view.back @ block.b2 + fixed, view, dropped)


def _fold_drift(constant: FloatArray, view: View, dropped: Collection[str]) -> Terms:
    """A constant, and B y - z, what post-LN does to a token itself, as terms."""
    terms: Terms = []
    rest = view.back @ view.seen - np.eye(len(view.back))
    if view.is_post:
        constant = constant + view.back @ view.offset
        if GAIN not in dropped and np.abs(rest).max() > NEGLIGIBLE:
            terms.append(Perceptron.quadratic(rest))
    if DRIFT not in dropped and np.abs(constant).max() > NEGLIGIBLE:
        terms.append(Perceptron.constant(constant))
    return terms
