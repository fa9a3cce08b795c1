"""Fluxes between the cells of a row of the sphere, formula by formula.

Meridians and rings share them: arguments are four neighbours along the line, the face in
their middle, or a cell and the blends of its two faces; the loops are in
:mod:`mfpde.transport.sphere_meridians` and :mod:`mfpde.transport.sphere_ring`.  A smooth
flux is signed, positive in the direction of the line, and belongs to a face; a donor
flow belongs to a cell, which sends it to that side only to which it points.  See
:mod:`mfpde.transport.line` for the blends of faces and the shares of cells.

A donor flow alone diffuses along a ring or an arc of mass that contracts, and by an amount
that depends on its angle alpha to the grid: across the velocity by |v| h / 2 times
|sin alpha cos alpha| (|sin alpha| + |cos alpha|), 0 along either line and 2^-1/2 on the
diagonal.  As centres of mass are kept, mass then gathers where the ring follows the grid,
and the ring breaks into beads.  So cells send to *both* sides too, along the line that the
velocity follows less, as much as makes the factor 2^-1/2 at any angle; this moves no
centre of mass.  For the same reason a cell has one blend for both lines.
"""

from __future__ import annotations

from mfpde.compiled import compiled_fused
from mfpde.transport.line import half_slope

Four = tuple[float, float, float, float]

OUTER, INNER = -1.0 / 12.0, 7.0 / 12.0
"""Weights of the fourth-order central flux: (-1, 7, 7, -1) / 12."""
_DAMPING = 1.0 / 12.0


@compiled_fused
def third_order_flux(
    densities: Four, flows: Four, weights: Four, damping: float
) -> float:
    """Third-order flux through the face in the middle of four cells.

    It is the central flux of rho v less |v| / 12 times the third difference of rho,
    both fourth order: with a constant v the upwind-biased flux (-1, 5, 2) / 6.  Damping
    rho instead of rho v makes no error where v has a kink or changes sign.

    ``weights`` are those of the flows and contain the length of the face; ``damping`` is
    |v| at the face times its length.
    """
    r0, r1, r2, r3 = densities
    f0, f1, f2, f3 = flows
    w0, w1, w2, w3 = weights
    central = (w0 * f0 + w1 * f1) + (w2 * f2 + w3 * f3)
    drop = 3.0 * (r1 - r2) - (r0 - r3)
    return central + _DAMPING * damping * drop


@compiled_fused
def apart(densities: Four, flows: Four, velocity: float) -> float:
    """Difference of v times the central density and the central flux of rho v.

    It serves rings of few groups, on which rho v varies too much from group to group.
    """
    r0, r1, r2, r3 = densities
    f0, f1, f2, f3 = flows
    density = INNER * (r1 + r2) + OUTER * (r0 + r3)
    flow = INNER * (f1 + f2) + OUTER * (f0 + f3)
    return velocity * density - flow


@compiled_fused
def limited_flux(densities: Four, speed: float) -> float:
    """Limited linear upwind density times ``speed``, in the middle of four cells."""
    r0, r1, r2, r3 = densities
    behind = max(r1 + half_slope(r0, r1, r2), 0.0)
    ahead = max(r2 - half_slope(r1, r2, r3), 0.0)
    return max(speed, 0.0) * behind + min(speed, 0.0) * ahead


@compiled_fused
def spread_both_ways(own: float, across: float) -> float:
    """Flow that a cell sends to *either* side of a line, from the components of its flow.

    ``own`` is the component o along the line, ``across`` the other one, a.  A linear
    function replaces (2^-1/2 l^3 - a o (a + o)) / (2 a^2), l^2 = a^2 + o^2: the diffusion
    that remains depends on the angle by 4 %.
    """
    return max(0.354 * abs(across) - 0.44 * abs(own), 0.0)


@compiled_fused
def net_flux(
    smooth: float,
    donors: tuple[float, float],
    spreads: tuple[float, float],
    lengths: tuple[float, float],
) -> float:
    """Net flux through a face: the smooth flux plus the flows of the donors on either side.

    ``donors`` are the flows of the cells before and behind the face, ``spreads`` the flows
    that they send both ways, ``lengths`` the lengths by which both are multiplied.
    """
    before, behind = donors
    first, last = lengths
    forward = max(before, 0.0) + spreads[0]
    backward = min(behind, 0.0) - spreads[1]
    return smooth + (first * forward + last * backward)


@compiled_fused
def outflow(
    smooth: tuple[float, float],
    donor: float,
    spread: float,
    lengths: tuple[float, float],
) -> float:
    """Outflow of a cell to both sides; ``smooth`` fluxes and ``lengths`` are low, high."""
    at_low, at_high = smooth
    low, high = lengths
    sent = max(at_high, 0.0) - min(at_low, 0.0)
    forward, backward = max(donor, 0.0) + spread, min(donor, 0.0) - spread
    return sent + (high * forward - low * backward)
