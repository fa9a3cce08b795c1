"""Checks of the arguments that the functions of this package share."""

from __future__ import annotations

from typing import Any

from mfpde.arrays import choice, whole_number
from mfpde.terms import Attention


def checked_attention(
    beta: float, *, normalized: bool = False, kernel: str = "shifted"
) -> Attention:
    """Return the attention with these settings, or raise ``ValueError``."""
    # Attention's annotation is narrower than what is checked at run time.
    chosen: Any = choice("kernel", kernel, ("shifted", "unshifted"))
    return Attention(beta, normalized, chosen)


def checked_dimension(dimension: int) -> int:
    """Return d >= 2 of S^(d-1), or raise ``ValueError``."""
    return whole_number("dimension", dimension, at_least=2)


def sign_of(direction: str) -> int:
    """Return s, +1 in ascent and -1 in descent, or raise ``ValueError``."""
    chosen = choice("direction", direction, ("ascent", "descent"))
    return 1 if chosen == "ascent" else -1
