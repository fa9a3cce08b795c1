"""Outflows of one row of cells through both of its sides, for rings of the sphere.

The functions work on whole rows, so that meridians and rings share them: ``flows`` (rho
v) and ``densities`` are the rows (low, here, high) along the line, ``high`` and ``low``
receive what the cells send through their high and low faces, ``faces`` are the
velocities at the low and the high face, positive towards high, and ``lengths`` those of
the two faces.  ``shares`` are the blends: the share of the donor flux.
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
    """Largest of three rows of blends; adds that share of the mass to ``unresolved``."""
    low, here, high = blends
    for j in range(len(out)):
        out[j] = max(max(low[j], here[j]), high[j])
        unresolved[j] += out[j] * (density[j] * area)


@compiled
def _donor(back: float, here: float, front: float, share: float) -> float:
    """Share b times the donor flux: see :func:`mfpde.transport.line.donor_flux`.

    It leaves a cell on one side only, that to which its own velocity points, and has
    the sign of that velocity.
    """
    up = here > 0.0
    behind = back if up else -front
    ahead = front if up else -back
    flow = abs(here)
    rise = third_order_rise(max(behind, 0.0), flow, max(ahead, 0.0))
    donor = share * (flow + (1.0 - share) * rise)
    return donor if up else -donor


@compiled
def third_order_rows(
    sides: Pair,
    shares: FloatArray,
    flows: Rows,
    faces: Pair,
    weights: tuple[Weights, Weights],
    lengths: tuple[float, float],
) -> None:
    """Donor-blended outflows with the third-order upwind flux of rho v as smooth part.

    ``sides`` are low and high; ``weights``, towards high and towards low, are those of
    rho v behind, here and ahead, and contain the lengths.
    """
    low, high = sides
    back, here, front = flows
    at_low, at_high = faces
    (h0, h1, h2), (l0, l1, l2) = weights
    low_length, high_length = lengths
    for j in range(len(high)):
        kept = 1.0 - shares[j]
        up = h0 * back[j] + h1 * here[j] + h2 * front[j]
        up = max(up, 0.0) if at_high[j] > 0.0 else 0.0
        down = -(l0 * front[j] + l1 * here[j] + l2 * back[j])
        down = max(down, 0.0) if at_low[j] < 0.0 else 0.0
        donor = _donor(back[j], here[j], front[j], shares[j])
        high[j] = kept * up + high_length * max(donor, 0.0)
        low[j] = kept * down + low_length * max(-donor, 0.0)


@compiled
def third_order_polar_rows(
    sides: Pair,
    shares: FloatArray,
    lines: tuple[Rows, Rows],
    faces: Pair,
    flux_share: float,
    lengths: tuple[float, float],
) -> None:
    """As ``third_order_rows``, on a ring of few groups.

    There only ``flux_share`` of the smooth part is reconstructed as one field; the rest
    is third-order density times velocity.  ``lines`` are densities and flows,
    ``lengths`` that of the smooth flux and that of the donor flux.
    """
    low, high = sides
    (r_back, r, r_front), (back, here, front) = lines
    at_low, at_high = faces
    flux_length, length = flux_share * lengths[0] / 6.0, lengths[1]
    density_length = (1.0 - flux_share) * lengths[0] / 6.0
    for j in range(len(high)):
        kept = 1.0 - shares[j]
        up = flux_length * (5.0 * here[j] + 2.0 * front[j] - back[j])
        up = max(up, 0.0) if at_high[j] > 0.0 else 0.0
        density = density_length * (5.0 * r[j] + 2.0 * r_front[j] - r_back[j])
        up += max(at_high[j] * density, 0.0)
        down = -flux_length * (5.0 * here[j] + 2.0 * back[j] - front[j])
        down = max(down, 0.0) if at_low[j] < 0.0 else 0.0
        density = density_length * (5.0 * r[j] + 2.0 * r_back[j] - r_front[j])
        down += max(-at_low[j] * density, 0.0)
        donor = _donor(back[j], here[j], front[j], shares[j])
        high[j] = kept * up + length * max(donor, 0.0)
        low[j] = kept * down + length * max(-donor, 0.0)


@compiled
def limited_rows(
    sides: Pair,
    shares: FloatArray,
    lines: tuple[Rows, Rows],
    faces: Pair,
    lengths: tuple[float, float],
) -> None:
    """Donor-blended outflows with limited linear density times velocity as smooth part.

    ``sides`` are low and high, ``lines`` densities and flows.
    """
    low, high = sides
    (r_back, r, r_front), (back, here, front) = lines
    at_low, at_high = faces
    low_length, high_length = lengths
    for j in range(len(high)):
        kept = 1.0 - shares[j]
        slope = half_slope(r_back[j], r[j], r_front[j])
        up = max(at_high[j], 0.0) * max(r[j] + slope, 0.0)
        down = max(-at_low[j], 0.0) * max(r[j] - slope, 0.0)
        donor = _donor(back[j], here[j], front[j], shares[j])
        high[j] = high_length * (kept * up + max(donor, 0.0))
        low[j] = low_length * (kept * down + max(-donor, 0.0))
