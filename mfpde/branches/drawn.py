"""What a picture of a branch shows of one state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray


class Drawn(NamedTuple):
    """Heights of a state in a picture; NaN for what it does not have.

    Positions (n, d) of atoms, length of the mean of x of a density, energy of atoms, largest
    rates of motion and of splitting.
    """

    points: FloatArray
    order: float = np.nan
    energy: float = np.nan
    rate: float = np.nan
    split_rate: float = np.nan
