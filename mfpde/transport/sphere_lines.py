"""Outflows of one row of cells through both of its sides, for rings of the sphere.

The functions work on whole rows, so that meridians and rings share them: ``flows`` and
``densities`` are the rows (low, here, high) along the line, ``high`` and ``low``
receive what the cells send through their high and low faces, and ``faces`` are the
velocities at the low and the high face, positive towards high.
"""

from __future__ import annotations

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled
from mfpde.transport.line import blend, half_slope, third_order_rise

Rows = tuple[FloatArray, FloatArray, FloatArray]
Pair = tuple[FloatArray, FloatArray]
Weights = tuple[float, float, float]


@compiled
def own_blends(out: FloatArray, densities: Rows) -> None:
    """Blend min(1, (2c)^4) of each cell from three rows of densities."""
    low, here, high = densities
    for j in range(len(out)):
        out[j] = blend(low[j], here[j], high[j])


@compiled
def shares_of(
    out: FloatArray,
    blends: Rows,
    density: FloatArray,
    area: float,
    unresolved: FloatArray,
) -> None:
    """Largest of three rows of blends, the donor's share; and adds that share of the mass."""
    low, here, high = blends
    for j in range(len(out)):
        out[j] = max(max(low[j], here[j]), high[j])
        unresolved[j] += out[j] * (density[j] * area)


@compiled
def third_order_rows(
    high: FloatArray,
    low: FloatArray,
    flows: Rows,
    faces: Pair,
    weights: tuple[Weights, Weights],
) -> None:
    """Third-order upwind flux of rho v, towards high and towards low.

    ``weights``, which contain the lengths, are those of rho v behind, here and ahead.
    """
    back, here, front = flows
    at_low, at_high = faces
    (h0, h1, h2), (l0, l1, l2) = weights
    for j in range(len(high)):
        up = h0 * back[j] + h1 * here[j] + h2 * front[j]
        high[j] = max(up, 0.0) if at_high[j] > 0.0 else 0.0
        down = l0 * front[j] + l1 * here[j] + l2 * back[j]
        low[j] = max(-down, 0.0) if at_low[j] < 0.0 else 0.0


@compiled
def mix_density_rows(
    high: FloatArray,
    low: FloatArray,
    densities: Rows,
    faces: Pair,
    share: float,
    length: float,
) -> None:
    """Keep ``share`` of a flux; the rest becomes third-order density times velocity."""
    back, here, front = densities
    at_low, at_high = faces
    factor = (1.0 - share) * length / 6.0
    for j in range(len(high)):
        up = 5.0 * here[j] + 2.0 * front[j] - back[j]
        high[j] = share * high[j] + max(factor * at_high[j] * up, 0.0)
        down = 5.0 * here[j] + 2.0 * back[j] - front[j]
        low[j] = share * low[j] + max(-factor * at_low[j] * down, 0.0)


@compiled
def limited_rows(
    high: FloatArray,
    low: FloatArray,
    densities: Rows,
    faces: Pair,
    lengths: tuple[float, float],
) -> None:
    """Limited linear density at the face times velocity and length (low, high)."""
    back, here, front = densities
    at_low, at_high = faces
    low_length, high_length = lengths
    for j in range(len(high)):
        slope = half_slope(back[j], here[j], front[j])
        up, down = max(here[j] + slope, 0.0), max(here[j] - slope, 0.0)
        high[j] = max(high_length * at_high[j], 0.0) * up
        low[j] = max(-low_length * at_low[j], 0.0) * down


@compiled
def blend_donor(
    high: FloatArray,
    low: FloatArray,
    shares: FloatArray,
    flows: Rows,
    lengths: tuple[float, float],
) -> None:
    """Blend the donor flux into the smooth fluxes that ``high`` and ``low`` hold.

    It is that of :func:`mfpde.transport.line.donor_flux`, and leaves a cell on one side
    only: that to which its own velocity points.
    """
    back, here, front = flows
    low_length, high_length = lengths
    for j in range(len(high)):
        up = here[j] > 0.0
        behind = back[j] if up else -front[j]
        ahead = front[j] if up else -back[j]
        flow = abs(here[j])
        kept = 1.0 - shares[j]
        rise = third_order_rise(max(behind, 0.0), flow, max(ahead, 0.0))
        donor = shares[j] * (flow + kept * rise)
        high[j] = kept * high[j] + (high_length * donor if up else 0.0)
        low[j] = kept * low[j] + (0.0 if up else low_length * donor)
