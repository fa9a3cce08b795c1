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
_INSTEAD = {
    "several heads are several terms: MeanFieldEquation(Attention(...), Attention(...))": (
        "heads num_heads n_heads"
    ),
    "each token attends to all: a measure has no order that a mask could follow": (
        "mask causal is_causal attn_mask"
    ),
    "its dimension is that of the geometry, or of bilinear": "d dim dimension embed_dim",
}
"""What to do in place of what networks have and Attention has not, by its names."""


def refuse(name: str) -> ValueError:
    """Return the error for an argument that attention has not, with what is to be done."""
    instead = [words for words, names in _INSTEAD.items() if name in names.split()]
    advice = next(iter(instead), f"it takes {', '.join(_KNOWN)}")
    return ValueError(
        f"Attention has no argument {name!r}{nearest(name, _KNOWN)}: {advice}"
    )


def read_matrices(
    bilinear: ArrayLike | None, value: ArrayLike | None
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return D and V, matrices (d, d) that are read-only, or None.

    Raises
    ------
    ValueError
        For a matrix that is not square, V without D or of another size, and D = 0.
    """
    if bilinear is None:
        if value is not None:
            raise ValueError(
                "value without bilinear: give both matrices, bilinear = identity for "
                "logits beta x.y"
            )
        return None, None
    keys = _read_square("bilinear", bilinear)
    if not keys.any():
        raise ValueError(
            "bilinear is zero: all logits are 0; use beta = 0 with bilinear = identity "
            "for tokens that count alike"
        )
    values = None if value is None else _read_square("value", value)
    if values is not None and values.shape != keys.shape:
        raise ValueError(
            f"value has shape {values.shape} and bilinear {keys.shape}: both must be "
            "(d, d) with the same d"
        )
    return keys, values


def _read_square(name: str, matrix: ArrayLike) -> FloatArray:
    found = real_array(name, matrix)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or len(found) < 2:
        raise ValueError(
            f"{name} has shape {found.shape}: it must be a square matrix (d, d), d at least 2"
        )
    return read_only(np.ascontiguousarray(found))


def check_largest_logit(named: str, largest: float, kernel: str) -> None:
    """Raise ``ValueError`` if e to the largest logit, which is ``named``, is no number."""
    if largest > LARGEST_BETA:
        raise ValueError(f"{named} must be at most {LARGEST_BETA:g}")
    if kernel == "unshifted" and largest > LARGEST_UNSHIFTED_BETA:
        raise ValueError(
            f"{named} with kernel='unshifted' must be at most {LARGEST_UNSHIFTED_BETA:g}; use "
            "kernel='shifted' with weights and diffusion times e^-beta and time times e^beta "
            "(softmax attention is the same under both)"
        )


def format_matrix(matrix: FloatArray) -> str:
    """Return a small matrix in digits, of a large one its size."""
    if len(matrix) > 4:
        return f"<matrix {len(matrix)} x {len(matrix)}>"
    return str([[float(f"{entry:.6g}") for entry in row] for row in matrix])
