"""Equations in one direction, in few words."""

from __future__ import annotations

from typing import Any

from mfpde import MeanFieldEquation


def ascent(*terms: Any, **options: Any) -> MeanFieldEquation:
    """The ascent of the energy of these terms."""
    return MeanFieldEquation(*terms, direction="ascent", **options)


def descent(*terms: Any, **options: Any) -> MeanFieldEquation:
    """The descent of the energy of these terms."""
    return MeanFieldEquation(*terms, direction="descent", **options)
