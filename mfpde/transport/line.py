r"""The line kernels: what three to five consecutive cells of any line send to both sides.

With density rho and velocity v at the centres, the contrast
c = (max rho - min rho) / (max rho + min rho) over a cell and its two neighbours gives the
blend b, the largest min(1, (2c)^4) of the cells up to two cells away: O(h^4) where the
density is smooth, 1 all over an atom (also in the middle cells of one that a strong pull
makes several cells wide, which see little contrast themselves).  The flux out of cell 0
through its high face is

    (1 - b) [ smooth flux ]  +  b [ q_0 + (1 - b) S(q) ],        q = rho max(v, 0)

The donor part, with the cell's *own* velocity, lets atoms move on the grid: their
self-force is zero at their own centre, while any velocity taken at a face pins an atom
of mass m as soon as the outside pull is below m h / 2.  S is a limited third-order rise
to the face.  Its factor (1 - b) matters: with S at an atom too, the self-forces of its
cells no longer cancel, and the merge time of two atoms on 512 cells depends on where
they sit on the grid (-0.3 to -2.6 %; -0.4 % wherever they sit without S; 0.03 % at 1024
cells). Fluxes are per unit face length.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled

GHOSTS = 3
"""Cells from elsewhere that a line needs at each end."""


@compiled
def half_slope(low: float, middle: float, high: float) -> float:
    """Half the monotonised-central slope: minmod(x0 - x-, x+ - x0, (x+ - x-)/4)."""
    back = middle - low
    ahead = high - middle
    centred = 0.25 * (high - low)
    smallest = min(min(back, ahead), centred)
    largest = max(max(back, ahead), centred)
    return max(smallest, 0.0) + min(largest, 0.0)


@compiled
def blend(low: float, middle: float, high: float) -> float:
    """min(1, (2c)^4), c the contrast of three densities."""
    largest = max(max(low, middle), high)
    smallest = min(min(low, middle), high)
    total = largest + smallest
    contrast = (largest - smallest) / max(total, 1e-300)
    doubled = 2.0 * contrast
    return min(1.0, doubled * doubled * doubled * doubled)


@compiled
def blends(density: FloatArray) -> FloatArray:
    """Share b of the donor flux in each cell of a line but the three at either end.

    Returns an array of the length of ``density``: 0 in the three end cells, which are
    copies of cells elsewhere.
    """
    n = len(density)
    own = np.zeros(n)
    for i in range(1, n - 1):
        own[i] = blend(density[i - 1], density[i], density[i + 1])
    result = np.zeros(n)
    for i in range(GHOSTS, n - GHOSTS):
        near = max(max(own[i - 1], own[i]), own[i + 1])
        result[i] = max(near, max(own[i - 2], own[i + 2]))
    return result


@compiled
def third_order_rise(low: float, middle: float, high: float) -> float:
    """Rise from the centre to the high face, third order and limited: Koren (1993).

    minmod(x0 - x-, x+ - x0, (x0 - x-)/6 + (x+ - x0)/3).
    """
    back = middle - low
    ahead = high - middle
    biased = (back + 2.0 * ahead) * (1.0 / 6.0)
    smallest = min(min(back, ahead), biased)
    largest = max(max(back, ahead), biased)
    return max(smallest, 0.0) + min(largest, 0.0)


@compiled
def donor_flux(flow_low: float, flow: float, flow_high: float, share: float) -> float:
    """Donor flux q_0 + (1 - b) S(q) through the high face, q = max(rho v, 0).

    ``share`` is the blend b.  At an atom (b = 1) the flux is q_0 alone, so that the
    centre of mass moves with sum m_i v_i exactly and self-forces cancel; in smooth
    regions the third-order rise S keeps the blended flux accurate.
    """
    q_low = max(flow_low, 0.0)
    q = max(flow, 0.0)
    q_high = max(flow_high, 0.0)
    return q + (1.0 - share) * third_order_rise(q_low, q, q_high)


@compiled
def upwind_difference_5(
    behind2: float, behind: float, here: float, ahead: float, ahead2: float
) -> float:
    """Fifth-order upwind-biased flux at the face between ``here`` and ``ahead``.

    From *point values* f = rho v: the difference of two such fluxes over h is the
    derivative of f at the centre to O(h^5); weights (2, -13, 47, 27, -3)/60.
    """
    return (
        2.0 * behind2 - 13.0 * behind + 47.0 * here + 27.0 * ahead - 3.0 * ahead2
    ) / 60.0
