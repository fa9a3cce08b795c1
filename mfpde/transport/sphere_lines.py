"""Fluxes along one row of cells of the sphere, and what each cell sends to both sides.

The functions work on whole rows, so that meridians and rings share them: ``flows`` (rho
v) and ``densities`` are rows side by side along the line, in its direction.  A smooth
flux is signed, positive in the direction of the line, and belongs to a face; a cell
sends only what points away from it.  See :mod:`mfpde.transport.line` for the blends of
faces and the shares of cells.
"""

from __future__ import annotations

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled
from mfpde.transport.line import blend, half_slope

Pair = tuple[FloatArray, FloatArray]
Rows = tuple[FloatArray, FloatArray, FloatArray]
FourRows = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
Weights = tuple[float, float, float, float]

OUTER, INNER = -1.0 / 12.0, 7.0 / 12.0
"""Weights of the fourth-order central flux: (-1, 7, 7, -1) / 12."""
_DAMPING = 1.0 / 12.0


@compiled
def own_blends(out: FloatArray, densities: Rows) -> None:
    """Blend min(1, (1.2 c)^4) of each cell from three rows of densities."""
    low, here, high = densities
    for j in range(len(out)):
        out[j] = blend(low[j], here[j], high[j])


@compiled
def face_blends(out: FloatArray, pair: Pair) -> None:
    """Blend of each face: the larger of the two cells'."""
    low, high = pair
    for j in range(len(out)):
        out[j] = max(low[j], high[j])


@compiled
def donor_shares(out: FloatArray, blends: Pair, masses: Pair, area: float) -> None:
    """Share of each cell's flow that it sends as a donor; see :mod:`mfpde.transport.line`.

    ``blends`` are those of the faces to either side; ``masses`` are densities and the
    unresolved masses to add to.
    """
    low, high = blends
    density, unresolved = masses
    for j in range(len(out)):
        out[j] = 0.5 * (low[j] + high[j])
        unresolved[j] += max(low[j], high[j]) * (density[j] * area)


@compiled
def inward_flow(
    out: FloatArray, blends: Pair, shares: FloatArray, flow: FloatArray
) -> None:
    """Fill in how much of the flow along a ring leaves the cell's circle, per half angle.

    What moves by an angle to a face's other side moves along a chord: what a cell sends
    to both sides in the same measure leaves its great circle on neither.
    """
    low, high = blends
    for j in range(len(out)):
        uneven = 0.5 * (high[j] - low[j])
        out[j] = shares[j] * abs(flow[j]) - uneven * flow[j]


@compiled
def less_blend(flux: FloatArray, blends: FloatArray) -> None:
    """Leave the share 1 - B of the smooth flux, in place."""
    for j in range(len(flux)):
        flux[j] *= 1.0 - blends[j]


@compiled
def third_order_flux(
    out: FloatArray,
    lines: tuple[FourRows, FourRows],
    velocity: FloatArray,
    weights: Weights,
    length: float,
) -> None:
    """Fill in the third-order flux through the faces in the middle of four rows.

    It is the central flux of rho v less |v| / 12 times the third difference of rho,
    both fourth order: with a constant v the upwind-biased flux (-1, 5, 2) / 6.  Damping
    rho instead of rho v makes no error where v has a kink or changes sign.

    ``lines`` are densities and flows, ``velocity`` is that at the faces; ``weights`` are
    those of the flows and contain the length.
    """
    (r0, r1, r2, r3), (f0, f1, f2, f3) = lines
    w0, w1, w2, w3 = weights
    damping = _DAMPING * length
    for j in range(len(out)):
        central = (w0 * f0[j] + w1 * f1[j]) + (w2 * f2[j] + w3 * f3[j])
        drop = 3.0 * (r1[j] - r2[j]) - (r0[j] - r3[j])
        out[j] = central + damping * abs(velocity[j]) * drop


@compiled
def reconstruct_apart(
    out: FloatArray,
    lines: tuple[FourRows, FourRows],
    velocity: FloatArray,
    length: float,
) -> None:
    """Exchange the central flux of rho v over ``length`` for v times central density.

    For rings of few groups, on which rho v varies too much from one to the next.
    """
    (r0, r1, r2, r3), (f0, f1, f2, f3) = lines
    outer, inner = OUTER * length, INNER * length
    for j in range(len(out)):
        density = inner * (r1[j] + r2[j]) + outer * (r0[j] + r3[j])
        flow = inner * (f1[j] + f2[j]) + outer * (f0[j] + f3[j])
        out[j] += velocity[j] * density - flow


@compiled
def limited_flux(
    out: FloatArray,
    densities: FourRows,
    velocity: FloatArray,
    length: float,
) -> None:
    """Fill in limited linear upwind density times velocity at the middle of four rows."""
    r0, r1, r2, r3 = densities
    for j in range(len(out)):
        behind = max(r1[j] + half_slope(r0[j], r1[j], r2[j]), 0.0)
        ahead = max(r2[j] - half_slope(r1[j], r2[j], r3[j]), 0.0)
        speed = velocity[j] * length
        out[j] = max(speed, 0.0) * behind + min(speed, 0.0) * ahead


@compiled
def sided_outflows(
    sides: Pair, donors: FloatArray, fluxes: Pair, lengths: tuple[float, float]
) -> None:
    """Fill in what each cell sends to both sides: smooth fluxes and donor flow.

    ``sides``, smooth ``fluxes`` and ``lengths`` for the donor flow are low and high.  The
    donor flow leaves a cell on one side only, that to which it points.
    """
    low, high = sides
    at_low, at_high = fluxes
    low_length, high_length = lengths
    for j in range(len(low)):
        donor = low_length * min(donors[j], 0.0)
        low[j] = max(-at_low[j], 0.0) - donor
    for j in range(len(high)):
        donor = high_length * max(donors[j], 0.0)
        high[j] = max(at_high[j], 0.0) + donor
