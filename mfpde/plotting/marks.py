"""Texts and legends of pictures, where they hide nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from mfpde.arrays import FloatArray

Look = dict[str, Any]
"""Options of matplotlib's artists."""

ABOVE: Look = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.1}


def write_beside(
    ax: Axes, text: str, place: Any, offset: tuple[float, float], **look: Any
) -> None:
    """Write a small text ``offset`` points beside a place (x, y)."""
    small = {"textcoords": "offset points", "fontsize": 8, **look}
    ax.annotate(text, tuple(place), xytext=offset, **small)


def add_legend_above(ax: Axes, handles: Sequence[Artist]) -> None:
    """Explain marks in a row on the upper edge of axes."""
    if handles:
        count = len(handles)
        ax.legend(handles=handles, ncols=count, handletextpad=0.4, **ABOVE)


def spread(places: FloatArray, weights: FloatArray, size: Any) -> list[int]:
    """Indices of places (n, 2), heaviest first, that are not within ``size`` (2,) of others."""
    chosen: list[int] = []
    for index in np.argsort(-weights, kind="stable"):
        near = np.abs(places[chosen] - places[index]) < size
        if not near.all(axis=-1).any():
            chosen.append(int(index))
    return chosen
