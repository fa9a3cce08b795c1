r"""A positive, conservative heat flow on a line of cells.

It is of third order in time: backward Euler with the two-point Laplacian is an M-matrix,
positive for any step, but of first order only, and no positive method is better for every
step (Bolley & Crouzeix 1978).  So one, two and three equal backward-Euler steps are
extrapolated (weights 1/2, -4, 9/2; L-stable, third order); what is negative then, beside masses
that no cell resolves, is none, and the rest is scaled to the mass that there was.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled


@compiled
def backward_euler(
    masses: FloatArray, rise: FloatArray, fall: FloatArray, steps: int
) -> FloatArray:
    """Masses after ``steps`` steps of (1 + step (rise + fall)) m - inflow = old m.

    ``rise`` and ``fall`` (n,) are the step times the rate at which a cell's mass moves to
    the cell above and below.  The elimination has no subtractions, so that the smallest
    masses keep all their digits.
    """
    n = len(masses)
    result = masses.copy()
    # The pivot of cell i, less its rise: 1 + fall_i times the share of it not given back.
    kept = np.empty(n)
    back = np.empty(n)
    kept[0] = 1.0
    back[0] = 0.0
    for i in range(1, n):
        kept_below = kept[i - 1]
        pivot_below = kept_below + rise[i - 1]
        kept[i] = 1.0 + fall[i] * kept_below / pivot_below
        back[i] = rise[i - 1] / pivot_below
    for _ in range(steps):
        for i in range(1, n):
            result[i] += back[i] * result[i - 1]
        result[n - 1] /= kept[n - 1] + rise[n - 1]
        for i in range(n - 2, -1, -1):
            inflow = fall[i + 1] * result[i + 1]
            result[i] = (result[i] + inflow) / (kept[i] + rise[i])
    return result


def heat_step(
    masses: FloatArray, rise: FloatArray, fall: FloatArray, time: float
) -> FloatArray:
    """Masses after the heat flow of duration ``time`` with rates ``rise`` and ``fall``."""
    one, two, three = (
        backward_euler(masses, time / k * rise, time / k * fall, k) for k in (1, 2, 3)
    )
    flowed = np.maximum(0.5 * one - 4.0 * two + 4.5 * three, 0.0)
    return np.asarray(flowed * (masses.sum() / flowed.sum()))
