"""The tables [[layers]] of a settings file: the terms of each layer, and how long it acts.

    [[layers]]                     one table for each layer, or for ``count`` of them
    duration = 0.5
    perceptron = {random = {units = 2, seed = 1}}

A section (attention, perceptron, equation) that a layer leaves out is that of the whole file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from mfpde.arrays import real_number, whole_number
from mfpde.runs.layers import MOST_LAYERS
from mfpde.settings.base import Section, Table
from mfpde.settings.neurons import PERCEPTRON
from mfpde.settings.sections import EQUATION, HEADS


def layer(
    duration: float,
    count: int = 1,
    attention: tuple[Table, ...] = (),
    perceptron: Table | None = None,
    equation: Table | None = None,
) -> None:
    """How long a layer acts, and the sections in which it differs from the file.

    Of ``count`` layers the k-th, from 0, draws its random neurons from the seed plus k.
    """
    real_number("duration", duration, above=0.0)
    whole_number("count", count, at_least=1, at_most=MOST_LAYERS)


LAYER = Section(layer, attention=HEADS, perceptron=PERCEPTRON, equation=EQUATION)


def perceptrons(table: Table | None, count: int) -> Iterator[Table | None]:
    """Return the perceptron of each of ``count`` layers; random ones differ."""
    random = None if table is None else table.random
    for k in range(count):
        if table is None or random is None:
            yield table
        else:
            yield table.changed(random=random.changed(seed=random.seed + k))


def completed(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a file's table with what its [[layers]] say of the rest, if it has layers.

    The run ends with the last layer, and the equation of the first layer is that of the file,
    where these are left out.
    """
    tables, solve = data.get("layers"), data.get("solve", {})
    if not (isinstance(tables, list) and tables and isinstance(solve, Mapping)):
        return data
    try:
        counts = [min(one.get("count", 1), MOST_LAYERS) for one in tables]
        durations = [one["duration"] for one in tables]
        depth = math.fsum(
            duration
            for duration, count in zip(durations, counts, strict=True)
            for _ in range(count)
        )
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        # The section of the layer says what is wrong.
        depth = 1.0
    first = tables[0] if isinstance(tables[0], Mapping) else {}
    shared = {"equation": first["equation"]} if "equation" in first else {}
    return {**shared, **data, "solve": {"t_end": depth, **solve}}
