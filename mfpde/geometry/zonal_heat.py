r"""Heat flow on a line of cells: positive, conservative, third order in time.

Backward Euler with the two-point Laplacian is an M-matrix: positive for any step, but of
first order only, and no positive method is better for every step (Bolley & Crouzeix 1978).
So the extrapolation of one, two and three equal backward-Euler steps (weights 1/2, -4, 9/2;
L-stable, third order) is written as the three-step result plus corrections that flow through
the faces; a cell whose corrections would take more than it has sends a smaller share of
them.  Where the density is smooth nothing is reduced.
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


@compiled
def heat_step(
    masses: FloatArray, rise: FloatArray, fall: FloatArray, time: float
) -> FloatArray:
    """Masses after the heat flow of duration ``time`` with rates ``rise`` and ``fall``."""
    n = len(masses)
    one = backward_euler(masses, time * rise, time * fall, 1)
    two = backward_euler(masses, time / 2 * rise, time / 2 * fall, 2)
    base = backward_euler(masses, time / 3 * rise, time / 3 * fall, 3)
    # Mass that the extrapolation moves up through each face, beyond the base.
    upward = np.zeros(n + 1)
    for i in range(n - 1):
        correction = 0.5 * one[i] - 4.0 * two[i] + 3.5 * base[i]
        upward[i + 1] = upward[i] - correction
    result = base.copy()
    for i in range(n):
        leaving = max(upward[i + 1], 0.0) + max(-upward[i], 0.0)
        share = min(1.0, (1.0 - 1e-14) * base[i] / leaving) if leaving > 0.0 else 0.0
        up = share * max(upward[i + 1], 0.0)
        down = share * max(-upward[i], 0.0)
        result[i] -= up + down
        if i < n - 1:
            result[i + 1] += up
        if i > 0:
            result[i - 1] += down
    for i in range(n):
        result[i] = max(result[i], 0.0)
    return np.asarray(result * (masses.sum() / result.sum()))
