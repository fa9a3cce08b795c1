r"""Whom a token sees: weights by which the measure that acts on a row mixes all rows.

Tokens at the position s in [0, 1] of a context have a measure f_s of their own.  On cells of
positions 0 = e_0 < ... < e_P = 1 of widths w_i a row i is moved by the mixture sum_j W_ij f_j,
with weights W_ij >= 0 of sum 1 in each row.

With the causal mask and ALiBi (a bias -lambda (s - s') of the logits) the weight of s' <= s is
E'(s')/E(s), E(s) = e^(lambda s) - 1, or s for lambda = 0; a weight of cells is its mean over cell
i, integrated over cell j, and what is missing to 1 the row gives to itself:

    W_ij = b_i (E(e_j) - E(e_(j-1))),  j < i,     b_i = (1/w_i) int_(e_(i-1))^(e_i) ds / E(s).

Under softmax the sum 1 of rows changes nothing; without, it is a convention (arXiv 2605.09213).
lambda counts over the whole context: the bias between neighbours among N tokens is lambda / N.
So does omega of RoPE, which on the circle turns queries and keys by their positions, and values
not: logits are beta cos(theta - theta' + omega (s - s')).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import exprel

from mfpde.arrays import (
    FloatArray,
    IntArray,
    check_entries,
    read_only,
    real_array,
    real_number,
)
from mfpde.compiled import compiled
from mfpde.terms import Positions
from mfpde.terms.interaction import Mix, Weigh

SUM_OF_WEIGHTS = 1e-12
"""How far the weights of a row may be from the sum 1."""


@dataclass(frozen=True)
class Full(Positions):
    """No mask: all rows see the mean over positions.  Begin with ``Full()``.

    Parameters
    ----------
    rope
        omega, as for :class:`Causal`.
    """

    def see(self, edges: FloatArray) -> tuple[Mix, Weigh]:
        """Return the mean over positions, and the widths of the cells."""
        widths = np.diff(edges)
        return (
            lambda rows: np.tile(widths @ rows, (len(rows), 1)),
            lambda index: np.tile(widths, (len(index), 1)),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Weights(Positions):
    """Weights W_ij of one's own.

    Parameters
    ----------
    matrix
        W (P, P), none negative, each row of sum 1.
    rope
        omega, as for :class:`Causal`.

    Raises
    ------
    ValueError
        If it is no such matrix.
    """

    matrix: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        weights = real_array("matrix", self.matrix)
        if weights.ndim != 2 or weights.shape[0] != weights.shape[1]:
            raise ValueError(
                f"matrix has shape {weights.shape}: it must be (P, P) for P rows"
            )
        check_entries("matrix", weights, weights >= 0, "must not be negative")
        is_right = np.abs(weights.sum(axis=1) - 1) <= SUM_OF_WEIGHTS
        check_entries("matrix", weights, is_right, "must have the sum 1")
        object.__setattr__(self, "matrix", read_only(weights))

    def see(self, edges: FloatArray) -> tuple[Mix, Weigh]:
        """Return the product with W, and its rows."""
        count = len(edges) - 1
        if len(self.matrix) != count:
            raise ValueError(
                f"matrix has shape {self.matrix.shape}, but there are {count} rows: it must be "
                f"({count}, {count})"
            )
        return lambda rows: np.asarray(self.matrix @ rows), self.matrix.__getitem__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Weights) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.matrix.tobytes(), self.rope

    def __repr__(self) -> str:
        size = len(self.matrix)
        return f"Weights(<matrix {size} x {size}>, rope={self.rope!r})"


@dataclass(frozen=True)
class Causal(Positions):
    """The causal mask: a token sees those before it, all alike or with ALiBi the near ones more.

    Begin with ``Causal(alibi=1.0)``.

    Parameters
    ----------
    alibi
        lambda: logits are beta x.y - lambda (s - s').
    sees_itself
        Whether a token is among those that it sees (j <= i) or not (j < i): then nothing pulls the
        first one.  Rows are the limit of many tokens, where both are one: they take True.
    rope
        omega: on the circle logits are beta cos(theta - theta' + omega (s - s')).
    """

    alibi: float = 0.0
    sees_itself: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alibi", real_number("alibi", self.alibi))
        if not isinstance(self.sees_itself, bool):
            raise ValueError(
                f"sees_itself = {self.sees_itself!r} must be True or False"
            )

    @property
    def description(self) -> str:
        """Mask, ALiBi and RoPE in words."""
        alibi = f", ALiBi {self.alibi:g}" if self.alibi else ""
        return super().description + alibi

    def see(self, edges: FloatArray) -> tuple[Mix, Weigh]:
        """Return one recursion over the rows, and its weights."""
        if not self.sees_itself:
            raise ValueError(
                "sees_itself = False is for tokens one by one, solve_particles(..., positions=): "
                "rows are the limit of many, where it changes nothing; leave it out"
            )
        # The share b_i E(e_(i-1)), without exponentials that overflow.
        before, widths = edges[1:-1], np.diff(edges)
        later, sooner = self.alibi * widths[1:], self.alibi * before
        ratios = widths[1:] / before
        if self.alibi < 0.0:
            growths = ratios * exprel(later) / exprel(-sooner)
            shares = exprel(sooner) * np.log1p(growths) / ratios - np.expm1(sooner)
        else:
            falls = ratios * exprel(-later) / exprel(sooner)
            shares = np.log1p(falls) / np.where(falls > 0, falls, 1.0) + (falls == 0)
            shares *= exprel(-later)
        logits = self.alibi * edges[:-1] + log_size(self.alibi, widths)
        return see_earlier(logits, np.append(0.0, shares))

    def see_tokens(
        self, masses: FloatArray, positions: FloatArray
    ) -> tuple[Mix, Weigh]:
        """Return how tokens one by one, of ``masses`` (n,) at ``positions`` (n,), see."""
        logits = np.log(masses) + self.alibi * positions
        return see_earlier(logits, None if self.sees_itself else np.ones(len(logits)))


def see_earlier(logits: FloatArray, shares: FloatArray | None) -> tuple[Mix, Weigh]:
    """Return how rows mix and weigh those before them, by e^logits (n,), and themselves.

    Of the sum 1 those before have ``shares`` (n,), by default as their e^logits, the rest is own.
    """
    sums = np.append(-np.inf, np.logaddexp.accumulate(logits))
    decays, order = np.exp(sums[:-1] - sums[1:]), np.arange(len(logits))
    shares = decays if shares is None else shares

    def mix(numbers: NDArray[Any]) -> NDArray[Any]:
        return mix_with_earlier(np.ascontiguousarray(numbers), shares, decays)

    def weigh(index: IntArray) -> FloatArray:
        own = index[:, np.newaxis]
        seen = np.where(order < own, logits - sums[np.maximum(own, 1)], -np.inf)
        others = shares[own] * np.exp(seen)
        return np.asarray(others + (1 - shares[own]) * (order == own))

    return mix, weigh


def log_size(alibi: ArrayLike, positions: ArrayLike) -> FloatArray:
    """Return log |E(s) / lambda|, which is log s for lambda = 0."""
    exponents = np.multiply(alibi, positions)
    sizes = positions * exprel(-np.abs(exponents))
    return np.asarray(np.log(sizes) + np.maximum(exponents, 0.0))


@compiled
def mix_with_earlier(
    rows: NDArray[Any], shares: FloatArray, decays: FloatArray
) -> NDArray[Any]:
    """Mix ``rows`` (P, m) with the means of those before them."""
    mixed, earlier = rows.copy(), np.zeros_like(rows[0])
    for i in range(len(rows)):
        share, decay = shares[i], decays[i]
        for k in range(len(earlier)):
            here = rows[i, k]
            mixed[i, k] = here + share * (earlier[k] - here)
            earlier[k] = here + decay * (earlier[k] - here)
    return mixed


POSITIONS: dict[str, type[Positions]] = {
    "causal": Causal,
    "full": Full,
    "weights": Weights,
}
"""Positions by the names that settings and stores have for them."""
