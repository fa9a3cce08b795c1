r"""The line kernels: what three to five consecutive cells of any line send to both sides.

With density rho and velocity v at the centres (-, 0, +), the contrast
c = (max rho - min rho) / (max rho + min rho) over the three cells gives the blend
b = min(1, 4 c^2): O(h^2) where the density is smooth, 1 at an atom.  The flux out of cell 0
through its high face is

    (1 - b) [ smooth flux ]  +  b [ q_0 + (1 - b) S(q) ],        q = rho max(v, 0)

The donor part, with the cell's *own* velocity, lets atoms move on the grid: their
self-force is zero at their own centre, while any velocity taken at a face pins an atom of
mass m as soon as the outside pull is below m h / 2.  S is a limited third-order rise to the
face.  Its factor (1 - b) matters: with S at an atom too, the self-forces of its cells no
longer cancel, and two atoms merge 1 to 6 % too early instead of 0.1 to 3 % (512 and 256
cells).  Fluxes are per unit face length.
"""

from __future__ import annotations

from mfpde.compiled import compiled


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
    """Share b = min(1, 4 c^2) of the donor flux, c the contrast of three densities."""
    largest = max(max(low, middle), high)
    smallest = min(min(low, middle), high)
    total = largest + smallest
    contrast = (largest - smallest) / max(total, 1e-300)
    return min(1.0, 4.0 * contrast * contrast)


@compiled
def third_order_rise(low: float, middle: float, high: float) -> float:
    """Rise from the centre to the high face, third order and limited: Koren (1993).

    minmod(x0 - x-, x+ - x0, (x0 - x-)/6 + (x+ - x0)/3).
    """
    back = middle - low
    ahead = high - middle
    biased = (back + 2.0 * ahead) / 6.0
    smallest = min(min(back, ahead), biased)
    largest = max(max(back, ahead), biased)
    return max(smallest, 0.0) + min(largest, 0.0)


@compiled
def donor_flux(flow_low: float, flow: float, flow_high: float, share: float) -> float:
    """Donor flux q_0 + (1 - b) S(q) through the high face, q = max(rho v, 0).

    ``share`` is the blend b.  At an atom (b = 1) the flux is q_0 alone, so that the centre
    of mass moves with sum m_i v_i exactly and self-forces cancel; in smooth regions the
    third-order rise S keeps the blended flux accurate.
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
