"""The tables [[layers]] of a settings file: the terms of each layer, and how long it acts.

    [[layers]]                     one table for each layer, or for ``count`` of them
    duration = 0.5
    perceptron = {random = {units = 2, seed = 1}}

A section (attention, perceptron, equation) that a layer leaves out is that of the whole file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mfpde.arrays import real_number, shown, whole_number
from mfpde.equation import MeanFieldEquation
from mfpde.runs.layers import MOST_LAYERS, Layers
from mfpde.settings.base import Table, marked, raise_all, section
from mfpde.settings.neurons import PERCEPTRON
from mfpde.settings.sections import EQUATION, HEADS

Builder = Callable[[tuple[Table, ...], Table | None, Table], MeanFieldEquation]


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


LAYER = section(
    layer,
    check=Table.build,
    attention=HEADS,
    perceptron=PERCEPTRON,
    equation=EQUATION,
)


def read_layers(given: Any) -> list[Table] | None:
    """Return the tables of all layers."""
    if given is None:
        return None
    if not isinstance(given, list):
        raise ValueError(f"[layers] = {shown(given)} must be a table of settings")
    tables: list[Table] = []
    lines: list[str] = []
    for number, one in enumerate(given):
        try:
            tables.append(LAYER.read(one))
        except ValueError as error:
            lines += marked(error, f"[layers.{number}]")
    raise_all(lines)
    return tables


def built_layers(
    tables: Sequence[Table],
    *,
    attention: tuple[Table, ...],
    perceptron: Table | None,
    equation: Table,
    build: Builder,
) -> Layers:
    """Return the layers; what a table leaves out is the ``attention``, ... of the file.

    ``build`` makes an equation of the three sections.
    """
    pairs = [
        (
            build(one.attention or attention, neurons, one.equation or equation),
            one.duration,
        )
        for one in tables
        for neurons in _perceptrons(one.perceptron or perceptron, one.count)
    ]
    return Layers(pairs)


def _perceptrons(table: Table | None, count: int) -> Iterator[Table | None]:
    for k in range(count):
        if table is None or table.random is None:
            yield table
        else:
            random = table.random
            yield table.changed(random=random.changed(seed=random.seed + k))


def completed(data: Any) -> Any:
    """Return a file's table with what its [[layers]] say of the rest, if it has layers.

    The run ends with the last layer, and the equation of the first layer is that of the file,
    where these are left out.
    """
    tables = data.get("layers") if isinstance(data, Mapping) else None
    if not isinstance(tables, list) or not all(isinstance(t, Mapping) for t in tables):
        return data
    data = dict(data)
    if tables and "equation" in tables[0]:
        data.setdefault("equation", tables[0]["equation"])
    solve = data.get("solve", {})
    if isinstance(solve, Mapping) and "t_end" not in solve:
        try:
            depth = math.fsum(
                duration
                for table in tables
                for duration in [table["duration"]]
                * min(table.get("count", 1), MOST_LAYERS)
            )
        except (KeyError, TypeError, ValueError):
            # The section of the layer says what is wrong.
            depth = 1.0
        data["solve"] = {**solve, "t_end": depth}
    return data
