"""Equations in one direction, in few words: ``descent(4.0, neurons)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from mfpde import Attention, Interaction, Kernel, MeanFieldEquation, Potential


def ascent(*terms: Any, diffusion: float = 0.0, **options: Any) -> MeanFieldEquation:
    """The ascent of the energy of these terms.

    A kernel among them is one of an interaction, a number beta of attention with ``options``.
    """
    terms = tuple(_term_of(term, options) for term in terms)
    return MeanFieldEquation(*terms, direction="ascent", diffusion=diffusion)


def descent(*terms: Any, diffusion: float = 0.0, **options: Any) -> MeanFieldEquation:
    """The descent of the same energy."""
    terms = ascent(*terms, **options).terms
    return MeanFieldEquation(*terms, direction="descent", diffusion=diffusion)


def pull(axis: Any) -> Potential:
    """The potential V = axis . x, which draws to the direction of ``axis`` (d,)."""
    axis = np.asarray(axis, dtype=float)
    return Potential(
        lambda x: x @ axis,
        lambda x: np.broadcast_to(axis, x.shape),
        dimension=len(axis),
    )


def _term_of(given: Any, options: dict[str, Any]) -> Any:
    if isinstance(given, Kernel):
        return Interaction(given)
    return Attention(given, **options) if isinstance(given, int | float) else given
