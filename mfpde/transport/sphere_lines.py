"""Outflows of one line of cells through one side, for rings of the sphere.

The functions work on whole rows, so that a row of cells flows south, north, east or
west by the same code: ``behind``, ``here`` and ``ahead`` are the rows in the direction
of the flow, and ``sign`` is +1 if that is the direction of positive velocity, -1 if
not.  Each function has few arrays, so that the compiler can prove them apart and
vectorise the loop.
"""

from __future__ import annotations

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled
from mfpde.transport.line import blend, donor_flux, half_slope


@compiled
def own_blends(
    out: FloatArray, before: FloatArray, here: FloatArray, after: FloatArray
) -> None:
    """Blend min(1, 4 c^2) of each cell from three rows of densities."""
    for j in range(len(out)):
        out[j] = blend(before[j], here[j], after[j])


@compiled
def largest_of(
    out: FloatArray, before: FloatArray, here: FloatArray, after: FloatArray
) -> None:
    """Largest of three rows of blends: the share of the donor flux."""
    for j in range(len(out)):
        out[j] = max(max(before[j], here[j]), after[j])


@compiled
def third_order_row(
    out: FloatArray,
    shares: FloatArray,
    flows: tuple[FloatArray, FloatArray, FloatArray],
    face_velocity: FloatArray,
    sign: float,
    weights: tuple[float, float, float],
    length: float,
) -> None:
    """Donor-blended outflow with the third-order upwind flux as smooth part.

    ``flows`` are rho v behind, here and ahead; ``weights`` contain the face's length.
    """
    behind, here, ahead = flows
    w0, w1, w2 = sign * weights[0], sign * weights[1], sign * weights[2]
    for j in range(len(out)):
        b = shares[j]
        smooth = max(w0 * behind[j] + w1 * here[j] + w2 * ahead[j], 0.0)
        smooth = smooth if sign * face_velocity[j] > 0.0 else 0.0
        donor = donor_flux(sign * behind[j], sign * here[j], sign * ahead[j], b)
        out[j] = max((1.0 - b) * smooth + b * length * donor, 0.0)


@compiled
def product_row(
    out: FloatArray,
    densities: tuple[FloatArray, FloatArray, FloatArray],
    face_velocity: FloatArray,
    factor: float,
) -> None:
    """Third-order density at the face times the velocity there times ``factor``."""
    behind, here, ahead = densities
    for j in range(len(out)):
        density = (5.0 * here[j] + 2.0 * ahead[j] - behind[j]) / 6.0
        out[j] = max(factor * face_velocity[j] * density, 0.0)


@compiled
def third_order_polar_row(
    out: FloatArray,
    shares: FloatArray,
    flows: tuple[FloatArray, FloatArray, FloatArray],
    face_velocity: FloatArray,
    sign: float,
    lengths: tuple[float, float, float],
) -> None:
    """As ``third_order_row``, on a ring of few groups.

    ``out`` holds the flux of :func:`product_row`; ``lengths`` are that of the
    third-order flux, the share of it in the smooth part, and that of the donor flux.
    """
    behind, here, ahead = flows
    smooth_length, flux_share, length = lengths
    for j in range(len(out)):
        b = shares[j]
        flux = (5.0 * here[j] + 2.0 * ahead[j] - behind[j]) / 6.0
        flux = max(sign * smooth_length * flux, 0.0)
        flux = flux if sign * face_velocity[j] > 0.0 else 0.0
        smooth = (1.0 - flux_share) * out[j] + flux_share * flux
        donor = donor_flux(sign * behind[j], sign * here[j], sign * ahead[j], b)
        out[j] = max((1.0 - b) * smooth + b * length * donor, 0.0)


@compiled
def face_velocity_row(
    out: FloatArray,
    densities: tuple[FloatArray, FloatArray, FloatArray],
    face_velocity: FloatArray,
    factor: float,
) -> None:
    """Limited linear density at the face times the velocity there times ``factor``."""
    behind, here, ahead = densities
    for j in range(len(out)):
        density = here[j] + half_slope(behind[j], here[j], ahead[j])
        out[j] = max(factor * face_velocity[j], 0.0) * max(density, 0.0)


@compiled
def blended_row(
    out: FloatArray,
    shares: FloatArray,
    flows: tuple[FloatArray, FloatArray, FloatArray],
    sign: float,
    length: float,
) -> None:
    """Blend the donor flux into the smooth flux that ``out`` holds."""
    behind, here, ahead = flows
    for j in range(len(out)):
        b = shares[j]
        donor = donor_flux(sign * behind[j], sign * here[j], sign * ahead[j], b)
        out[j] = max((1.0 - b) * out[j] + b * length * donor, 0.0)
