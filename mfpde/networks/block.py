r"""One block of a transformer, on what it sees of tokens, y (N, d): attention and a perceptron.

    attention    b_o + O [sum_j p_ij v_j],    p_i = softmax_j(q_i.k_j / sqrt(d_h))
    perceptron   b_2 + W_2 s(W_1 y_i + b_1),  gated  b_2 + W_2 (s(G y_i) * (W_1 y_i + b_1))

with q, k, v = Q y + b_q, K y + b_k, V y + b_v, and [] over heads.  The norm is LayerNorm,
g * P u / sqrt(|P u|^2 / d + eps) + c with P = 1 - 11^T / d, or RMSNorm, where P = 1.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, softmax

from mfpde.arrays import (
    FloatArray,
    blocks_of_rows,
    check_entries,
    check_kind,
    read_only,
    real_array,
    real_number,
    whole_number,
)
from mfpde.terms.activations import find_activation

LARGEST = 1e50
"""Of weights and tokens: squares of their products are numbers."""
MOST_LOGITS = 2**18
"""Logits of all heads that are held at a time: so few stay near the processor."""
Norm = tuple[FloatArray, FloatArray]
"""Gain and bias (d,) of a norm."""
SHAPES = """q rd, k kd, v kd, o dr, w1 fd, w2 df, gate fd, bq r, bk k, bv k, bo d, b1 f, b2 d,
            gain1 d, bias1 d, gain2 d, bias2 d"""
"""Of weights, with r = H d_h rows of queries, k = H_kv d_h of keys, and f = F units."""
_NONE: Any = None


@dataclass(frozen=True, eq=False, repr=False)
class NetworkBlock:
    r"""The weights of a block; matrices act on tokens (N, d) as y @ W.T.

    Begin with ``NetworkBlock(*np.ones((6, 4, 4)), heads=2)``.

    Parameters
    ----------
    q, k, v, o
        Queries (H d_h, d), keys and values (H_kv d_h, d), of which head after head owns d_h
        rows; and the output of attention (d, H d_h).
    w1, w2, gate
        The perceptron (F, d), (d, F), and G (F, d) if it is gated.
    heads, kv_heads
        H, and H_kv, a divisor of it; by default H.
    bq, bk, bv, bo, b1, b2
        Biases; zeros by default.
    activation
        ``"gelu"`` (by erf), ``"silu"``, another of a :class:`Perceptron`, or sigma alone.
    gain1, bias1, gain2, bias2
        Of the norms (d,) of attention and of the perceptron; ones and zeros by default.
    rms, eps
        Whether the norm is RMSNorm, and its eps, at least 0.
    causal
        Whether a token sees itself and those before it alone.
    rope
        The base theta of rotary positions, if there are: at the position t entries
        (j, j + d_h/2) of queries and keys are turned by t theta^(-2 j / d_h).

    Raises
    ------
    ValueError
        For shapes that do not fit, heads that do not divide, numbers that are not finite or
        above 1e50, an unknown activation.
    """

    q: FloatArray
    k: FloatArray
    v: FloatArray
    o: FloatArray
    w1: FloatArray
    w2: FloatArray
    _: KW_ONLY
    heads: int
    kv_heads: int = _NONE
    bq: FloatArray = _NONE
    bk: FloatArray = _NONE
    bv: FloatArray = _NONE
    bo: FloatArray = _NONE
    b1: FloatArray = _NONE
    b2: FloatArray = _NONE
    gate: FloatArray | None = None
    activation: Any = "gelu"
    gain1: FloatArray = _NONE
    bias1: FloatArray = _NONE
    gain2: FloatArray = _NONE
    bias2: FloatArray = _NONE
    rms: bool = False
    eps: float = 1e-12
    causal: bool = False
    rope: float | None = None

    def __post_init__(self) -> None:
        heads = whole_number("heads", self.heads, at_least=1)
        keys = heads if self.kv_heads is None else self.kv_heads
        keys = whole_number("kv_heads", keys, at_least=1, at_most=heads)
        rows, d = np.atleast_2d(real_array("q", self.q)).shape[-2:]
        share = heads if self.rope is None else 2 * heads
        if not rows or rows % share or heads % keys:
            raise ValueError(
                f"q has {rows} rows for heads = {heads}, kv_heads = {keys}: each head takes "
                "equally many (an even number with rope), and kv_heads divides heads"
            )
        units = len(np.atleast_1d(real_array("w1", self.w1)))
        sizes = {"r": rows, "d": d, "k": rows // heads * keys, "f": units}
        found: dict[str, Any] = {"kv_heads": keys}
        why = f" with heads = {heads}, kv_heads = {keys}"
        for name, letters in map(str.split, SHAPES.split(",")):
            given, shape = getattr(self, name), tuple(sizes[one] for one in letters)
            if given is None and name.startswith(("b", "gain")):
                given = np.full(shape, float(name.startswith("gain")))
            if given is not None or name != "gate":
                found[name] = check_weights(name, given, shape, why)
        found["activation"] = find_activation(self.activation, needs_primitive=False)
        for flag in ("rms", "causal"):
            check_kind(flag, getattr(self, flag), bool, source="True or False")
        found["eps"] = real_number("eps", self.eps, at_least=0.0)
        if self.rope is not None:
            found["rope"] = real_number("rope", self.rope, at_least=1.0)
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @property
    def dimension(self) -> int:
        """Entries d of a token."""
        return int(self.q.shape[1])

    @property
    def head_width(self) -> int:
        """Entries d_h of a query."""
        return len(self.q) // self.heads

    @property
    def norms(self) -> tuple[Norm, Norm]:
        """Those of attention and of the perceptron."""
        return (self.gain1, self.bias1), (self.gain2, self.bias2)

    def __repr__(self) -> str:
        units = f"{len(self.w1)} {self.activation.name} units"
        return f"NetworkBlock(d = {self.dimension}, {self.heads} heads, {units})"

    def attend(self, seen: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The output of attention (N, d), e^entropy of its masses (H, N), mean first mass (H,)."""
        weights = (self.q, self.bq), (self.k, self.bk), (self.v, self.bv)
        rows = (seen @ matrix.T + bias for matrix, bias in weights)
        by_head = (len(seen), -1, self.head_width)
        q, k, v = (one.reshape(by_head).swapaxes(0, 1) for one in rows)
        if self.rope is not None:
            q, k = rotate(q, self.rope), rotate(k, self.rope)
        means, looks, first = find_means(q, k, v, causal=self.causal)
        joined = means.swapaxes(0, 1).reshape(len(seen), -1)
        return joined @ self.o.T + self.bo, looks, first.mean(axis=1)

    def feed(self, seen: FloatArray) -> FloatArray:
        """The output of the perceptron (N, d)."""
        inner, sigma = seen @ self.w1.T + self.b1, self.activation.sigma
        inner = sigma(inner) if self.gate is None else sigma(seen @ self.gate.T) * inner
        return np.asarray(inner @ self.w2.T + self.b2)

    def center(self, u: FloatArray) -> FloatArray:
        """P u (..., d): without its mean, or u itself under RMSNorm."""
        return u if self.rms else u - u.mean(axis=-1, keepdims=True)

    def normalize(self, u: FloatArray, norm: Norm) -> FloatArray:
        """The norm of u (..., d)."""
        centred, (gain, bias) = self.center(u), norm
        square = (centred**2).mean(axis=-1, keepdims=True)
        return np.asarray(gain * centred / np.sqrt(square + self.eps) + bias)


def find_means(
    q: FloatArray, k: FloatArray, v: FloatArray, *, causal: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Means (H, N, d_h) of values v under softmax(q.k / sqrt(d_h)), of (H or H_kv, N, d_h).

    With e^entropy of the masses, and the first of them, (H, N).
    """
    heads, count, width = q.shape
    # Head h looks at the keys h // (H / H_kv).
    q = q.reshape(len(k), -1, count, width) / np.sqrt(width)
    k, v = k[:, np.newaxis].swapaxes(-1, -2), v[:, np.newaxis]
    places, parts = np.arange(count), []
    for rows in blocks_of_rows(count, heads * count, MOST_LOGITS):
        logits = q[:, :, rows] @ k
        if causal:
            logits[..., places > places[rows, np.newaxis]] = -np.inf
        masses = softmax(logits, axis=-1)
        looks = np.exp(entr(masses).sum(axis=-1, keepdims=True))
        parts.append(np.concatenate([masses @ v, looks, masses[..., :1]], axis=-1))
    found = np.concatenate(parts, axis=2).reshape(heads, count, -1)
    return found[..., :-2], found[..., -2], found[..., -1]


def rotate(vectors: FloatArray, base: float) -> FloatArray:
    """Vectors (..., N, d_h), entries (j, j + d_h/2) turned by t base^(-2 j / d_h)."""
    count, width = vectors.shape[-2:]
    speeds = base ** (-np.arange(0, width, 2) / width)
    turns = np.exp(1j * np.outer(np.arange(count), speeds))
    low, high = np.split(vectors, 2, axis=-1)
    turned = (low + 1j * high) * turns
    return np.concatenate([turned.real, turned.imag], axis=-1)


def check_weights(
    name: str, given: ArrayLike, shape: tuple[int, ...], why: str = ""
) -> FloatArray:
    """``given`` as a read-only array of that ``shape``, or a ``ValueError``."""
    weights = real_array(name, given)
    if weights.shape != shape:
        why += "; W acts as y @ W.T" if weights.shape == shape[::-1] else ""
        raise ValueError(f"{name} of shape {weights.shape} must be {shape}{why}")
    allowed = f"must be at most {LARGEST:g} in size"
    check_entries(name, weights, np.abs(weights) <= LARGEST, allowed)
    return read_only(weights)
