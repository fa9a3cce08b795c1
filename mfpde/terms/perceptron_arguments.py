"""Arguments of a perceptron that are refused: directions that are none, too many neurons."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import (
    LARGEST_DIMENSION,
    FloatArray,
    check_entries,
    real_array,
    whole_number,
)
from mfpde.geometry.memory import check_memory

LARGEST = 1e50
"""Of weights, biases and lengths of directions: squares of their products are numbers."""
MOST_UNITS = 1_000_000
"""Of random perceptrons: more take seconds for each hundred cells."""
_COPIES = 4
"""Arrays of the size of the directions that are held while they are drawn and checked."""


def check_number_of_neurons(units: int, dimension: int) -> None:
    """Raise ``ValueError`` for too many neurons, ``MemoryError`` where they do not fit."""
    whole_number("units", units, at_least=1)
    whole_number("dimension", dimension, at_least=2, at_most=LARGEST_DIMENSION)
    if units > MOST_UNITS:
        raise ValueError(
            f"units = {units} must be at most {MOST_UNITS}: each cell sums over all of "
            "them; a mean over so many is a potential of its own (mfpde.Potential)"
        )
    what = f"units = {units} in dimension {dimension}"
    check_memory(what, _COPIES * 8.0 * units * (dimension + 1), "use fewer neurons")


def read_numbers(
    name: str, given: ArrayLike | None, count: int, directions: FloatArray
) -> FloatArray:
    """Return as many numbers as are needed, zeros where none are given."""
    found = np.zeros(count) if given is None else real_array(name, given)
    if found.shape != (count,):
        units, d = directions.shape
        raise ValueError(
            f"{name} of shape {found.shape} must have shape ({count},): there are {units} "
            f"directions of {d} entries"
        )
    return found


def check_sizes(name: str, values: FloatArray) -> None:
    """Raise ``ValueError`` for numbers whose squares are none."""
    allowed = f"must be at most {LARGEST:g} in size"
    check_entries(name, values, np.abs(values) <= LARGEST, allowed)


def check_directions(directions: FloatArray) -> None:
    """Raise ``ValueError`` for directions of which one is none, or its square no number."""
    check_sizes("directions", directions)
    lengths = np.linalg.norm(directions, axis=1)
    where = int(np.argmin(lengths))
    if lengths[where] < 1 / LARGEST:
        what = "is zero" if not directions[where].any() else "is almost zero"
        raise ValueError(
            f"directions[{where}] = {directions[where].tolist()} {what}; a neuron "
            f"needs a direction, of a length of at least {1 / LARGEST:g}"
        )
