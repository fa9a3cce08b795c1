"""Embeddings of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde.arrays import FloatArray, IntArray, real_array


@dataclass(frozen=True, eq=False, repr=False)
class Embedding:
    """Vectors of ids (N,): rows of ``tokens`` (V, d), of ``positions`` (n, d), and ``shift`` (d,).

    Tables are arrays, or give rows as arrays do.
    """

    tokens: Any
    positions: Any = None
    shift: FloatArray | float = 0.0

    def __call__(self, ids: IntArray) -> FloatArray:
        """The vectors (N, d); ``ValueError`` for an id or a length beyond the tables."""
        known = self.tokens.shape[0]
        wrong = ids[(ids < 0) | (ids >= known)]
        if wrong.size:
            raise ValueError(
                f"id {wrong[0]} is none of the {known} tokens: 0 to {known - 1}"
            )
        vectors = real_array("tokens", self.tokens[ids]) + self.shift
        if self.positions is not None:
            most = self.positions.shape[0]
            if len(ids) > most:
                raise ValueError(f"{len(ids)} tokens: the network has {most} positions")
            vectors += real_array("positions", self.positions[: len(ids)])
        return np.asarray(vectors)
