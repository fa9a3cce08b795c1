"""The tables [[layers]] of a settings file: the terms of each layer, and how long it acts.

    [[layers]]                     one table for each layer, or for ``count`` of them
    duration = 0.5
    perceptron = {random = {units = 2, seed = 1}}

A section (attention, perceptron, equation) that a layer leaves out is that of the whole file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator

from mfpde.arrays import real_number, whole_number
from mfpde.equation import MeanFieldEquation
from mfpde.runs.layers import MOST_LAYERS, Layers
from mfpde.settings.base import Real, Section, Whole
from mfpde.settings.sections import (
    AttentionSection,
    EquationSection,
    PerceptronSection,
    heads_of,
)

"""Beyond it even the list of the layers would not fit in memory."""


class LayerSection(Section):
    """[[layers]]: how long a layer acts, and the sections in which it differs from the file.

    Of ``count`` layers the k-th, from 0, draws its random neurons from the seed plus k.
    """

    duration: Real
    count: Whole = 1
    attention: Annotated[tuple[AttentionSection, ...], BeforeValidator(heads_of)] = ()
    perceptron: PerceptronSection | None = None
    equation: EquationSection | None = None

    def check(self) -> None:
        """Raise ``ValueError`` for a duration or a number of layers that is not allowed."""
        real_number("duration", self.duration, above=0.0)
        whole_number("count", self.count, at_least=1, at_most=MOST_LAYERS)

    def perceptrons(
        self, of_file: PerceptronSection | None
    ) -> Iterator[PerceptronSection | None]:
        """Yield the section of the perceptron for each of the ``count`` layers."""
        section = self.perceptron or of_file
        for k in range(self.count):
            if section is None or section.random is None:
                yield section
            else:
                drawn = {"seed": section.random.seed + k}
                random = section.random.model_copy(update=drawn)
                yield section.model_copy(update={"random": random})


Builder = Callable[
    [tuple[AttentionSection, ...], PerceptronSection | None, EquationSection],
    MeanFieldEquation,
]


def built_layers(
    sections: Sequence[LayerSection],
    *,
    attention: tuple[AttentionSection, ...],
    perceptron: PerceptronSection | None,
    equation: EquationSection,
    build: Builder,
) -> Layers:
    """Return the layers; what a section leaves out is the ``attention``, ... of the file.

    ``build`` makes an equation of the three sections.
    """
    pairs = [
        (
            build(one.attention or attention, neurons, one.equation or equation),
            one.duration,
        )
        for one in sections
        for neurons in one.perceptrons(perceptron)
    ]
    return Layers(pairs)


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
