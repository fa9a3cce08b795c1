"""The quantities of one state that a picture of a branch shows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray


class Drawn(NamedTuple):
    """Quantities of a state that a picture shows; NaN for those that it does not have.

    They are the positions (n, d) of atoms, the length of the mean of x of a density, the energy
    of atoms, and the largest rates of motion and of splitting.
    """

    points: FloatArray
    order: float = np.nan
    energy: float = np.nan
    rate: float = np.nan
    split_rate: float = np.nan
