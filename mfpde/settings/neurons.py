"""The perceptron of a settings file: given neurons, neurons along the axis, or random ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from mfpde.arrays import FloatArray, real_array
from mfpde.geometry import Circle, Geometry
from mfpde.settings.base import Section, Table, default, seed
from mfpde.terms import Perceptron

_ACTIVATION = default(Perceptron, "activation")


def perceptron(
    geometry: Geometry,
    directions: Any = None,
    along_axis: Any = None,
    weights: Any = None,
    activation: Any = _ACTIVATION,
    biases: Any = None,
    output_bias: Any = None,
    random: Table | None = None,
) -> Perceptron:
    """Neurons: given ones, multiples of the axis (zonal), or random ones."""
    if random is not None:
        return random.build(dimension=geometry.dimension, activation=activation)  # type: ignore[no-any-return]
    if along_axis is not None:
        directions = _along_axis(along_axis, geometry)
        if output_bias is not None and np.ndim(output_bias) == 0:
            output_bias = _along_axis([output_bias], geometry)[0]
    weights = [] if weights is None else weights
    return Perceptron(
        directions, weights, activation, biases=biases, output_bias=output_bias
    )


def _check_neurons(table: Table) -> None:
    """Raise ``ValueError`` unless exactly one of the three ways is used.

    Neurons that do not need the geometry's axis are checked too.
    """
    ways = ("directions", "along_axis", "weights", "biases", "output_bias")
    named = [name for name in ways if table.values[name] is not None]
    if table.random is not None and named:
        raise ValueError(
            f"random and {', '.join(named)} exclude each other: give one of them"
        )
    placed = [name for name in named if name in ("directions", "along_axis")]
    if len(placed) == 2:
        raise ValueError(
            "directions and along_axis exclude each other: give one of them"
        )
    if table.random is None and not (placed and "weights" in named):
        raise ValueError(
            "needs the settings 'directions' and 'weights', or 'random' = "
            "{units, seed, scale}, or on a zonal grid 'along_axis' and 'weights'"
        )
    # Along the axis, neurons are judged when there is a geometry that has one.
    if table.along_axis is None:
        table.build(Circle(16))


def _along_axis(components: list[float], geometry: Geometry) -> FloatArray:
    """Return the directions c_j e, (units, d), with e the axis of ``geometry``."""
    if geometry.axis is None:
        raise ValueError(
            f"along_axis = {components!r} needs a geometry with an axis (kind = "
            f"'zonal'), which {geometry!r} has not: use directions"
        )
    return np.outer(real_array("along_axis", components), geometry.axis)


_RANDOM = Section(
    Perceptron.random, only=("units", "seed", "scale"), check=None, seed=seed
)
PERCEPTRON = Section(
    perceptron, without=("geometry",), check=_check_neurons, random=_RANDOM
)
