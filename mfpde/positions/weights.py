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
    check_entries,
    read_only,
    real_array,
    real_number,
)
from mfpde.compiled import compiled
from mfpde.terms import Positions
from mfpde.terms.interaction import Mix

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

    def mixing(self, edges: FloatArray) -> Mix:
        """Return what takes each row to the mean over positions."""
        widths = np.diff(edges)
        return lambda rows: np.repeat((widths @ rows)[np.newaxis], len(rows), axis=0)


@dataclass(frozen=True, eq=False)
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

    def __init__(self, matrix: ArrayLike, *, rope: float = 0.0) -> None:
        weights = real_array("matrix", matrix)
        if weights.ndim != 2 or weights.shape[0] != weights.shape[1]:
            raise ValueError(
                f"matrix has shape {weights.shape}: it must be (P, P) for P rows"
            )
        check_entries("matrix", weights, weights >= 0, "must not be negative")
        is_right = np.abs(weights.sum(axis=1) - 1) <= SUM_OF_WEIGHTS
        check_entries("matrix", weights, is_right, "must have the sum 1")
        object.__setattr__(self, "matrix", read_only(weights))
        object.__setattr__(self, "rope", rope)
        super().__post_init__()

    def mixing(self, edges: FloatArray) -> Mix:
        """Return the product with W."""
        count = len(edges) - 1
        if len(self.matrix) != count:
            raise ValueError(
                f"matrix has shape {self.matrix.shape}, but there are {count} rows: it must be "
                f"({count}, {count})"
            )
        return lambda rows: np.asarray(self.matrix @ rows)

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

    def mixing(self, edges: FloatArray) -> Mix:
        """Return one recursion over the rows."""
        if not self.sees_itself:
            raise ValueError(
                "sees_itself = False is for tokens one by one, solve_particles(..., positions=): "
                "rows are the limit of many, where it changes nothing; leave it out"
            )
        shares, decays = self._recursion(edges)
        return lambda rows: mix_with_earlier(np.ascontiguousarray(rows), shares, decays)

    def _recursion(self, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
        r"""Return the weights of all earlier rows in rows 1..P-1, and their decays.

        The mean of the earlier rows, S_i = sum_{j<i} (E(e_j) - E(e_(j-1))) r_j / E(e_(i-1)), has
        the weight b_i E(e_(i-1)), and follows S_(i+1) = decay S_i + (1 - decay) r_i.
        """
        before, widths = edges[1:-1], np.diff(edges)[1:]
        later, sooner = self.alibi * widths, self.alibi * before
        ratios = widths / before
        # Where exponentials overflow, their quotients are 0 or 1.
        growths = ratios * exprel(later) / exprel(-sooner)
        decays = 1 / (1 + growths)
        if self.alibi < 0.0:
            logarithms = np.log1p(growths) / ratios
            return exprel(sooner) * logarithms - np.expm1(sooner), decays
        falls = ratios * exprel(-later) / exprel(sooner)
        shares = np.log1p(falls) / np.where(falls > 0, falls, 1.0) + (falls == 0)
        return exprel(-later) * shares, decays


@compiled
def mix_with_earlier(
    rows: NDArray[Any], shares: FloatArray, decays: FloatArray
) -> NDArray[Any]:
    """Mix ``rows`` (P, m) with the means of those before them."""
    mixed, earlier = rows.copy(), rows[0].copy()
    for i in range(1, len(rows)):
        share, decay = shares[i - 1], decays[i - 1]
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
