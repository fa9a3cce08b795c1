"""Arguments of attention that are refused: other words, wrong matrices, logits that overflow."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, nearest, read_only, real_array

LARGEST_BETA = 1000.0
LARGEST_FACTOR = 1e100
"""The largest beta of an attention with matrices D: beta |D| is at most 1000."""
LARGEST_UNSHIFTED_BETA = 350.0
"""Largest beta |D|_2, whose exponentials and their squares are representable."""
_KNOWN = ("beta", "normalized", "kernel", "bilinear", "value")
_HEADS = (
    "several heads are several terms: MeanFieldEquation(Attention(...), Attention(...))"
)
_MASK = "each token attends to all: a measure has no order that a mask could follow"
_DIMENSION = "its dimension is that of the geometry, or of bilinear"
_OTHERS = {
    **dict.fromkeys(("heads", "num_heads", "n_heads"), _HEADS),
    **dict.fromkeys(("mask", "causal", "is_causal", "attn_mask"), _MASK),
    **dict.fromkeys(("d", "dim", "dimension", "embed_dim"), _DIMENSION),
}
"""What networks have and Attention has not, and what is to be done."""


def refuse(name: str) -> ValueError:
    """Return the error for an argument that attention has not, with what is to be done."""
    advice = _OTHERS.get(name, f"it takes {', '.join(_KNOWN)}")
    return ValueError(
        f"Attention has no argument {name!r}{nearest(name, _KNOWN)}: {advice}"
    )


def read_matrix(name: str, matrix: ArrayLike | None) -> FloatArray | None:
    """Return a square matrix (d, d), read-only, or None; ``ValueError`` for any other."""
    if matrix is None:
        return None
    found = real_array(name, matrix)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or len(found) < 2:
        raise ValueError(
            f"{name} has shape {found.shape}: it must be a square matrix (d, d), d at least 2"
        )
    return read_only(np.ascontiguousarray(found))


def check_matrices(bilinear: FloatArray | None, value: FloatArray | None) -> None:
    """Raise ``ValueError`` for V without D or of another size, and for D = 0."""
    if bilinear is None and value is not None:
        raise ValueError(
            "value without bilinear: give both matrices, bilinear = identity for "
            "logits beta x.y"
        )
    if bilinear is None:
        return
    if value is not None and value.shape != bilinear.shape:
        raise ValueError(
            f"value has shape {value.shape} and bilinear {bilinear.shape}: both must be "
            "(d, d) with the same d"
        )
    if not bilinear.any():
        raise ValueError(
            "bilinear is zero: all logits are 0; use beta = 0 with bilinear = identity "
            "for tokens that count alike"
        )


def check_largest_logit(named: str, largest: float, kernel: str) -> None:
    """Raise ``ValueError`` if e to the largest logit, which is ``named``, is no number."""
    if largest > LARGEST_BETA:
        raise ValueError(f"{named} must be at most {LARGEST_BETA:g}")
    if kernel == "unshifted" and largest > LARGEST_UNSHIFTED_BETA:
        raise ValueError(
            f"{named} with kernel='unshifted' is too large: its exponential "
            f"and the square must be representable (at most {LARGEST_UNSHIFTED_BETA:g}); "
            "use kernel='shifted' with weights and diffusion times e^-beta and time "
            "times e^beta (softmax attention is the same under both)"
        )


def format_matrix(matrix: FloatArray) -> str:
    """Return a small matrix in digits, of a large one its size."""
    if len(matrix) > 4:
        return f"<matrix {len(matrix)} x {len(matrix)}>"
    return str([[float(f"{entry:.6g}") for entry in row] for row in matrix])
