r"""The line kernels: fluxes from three to six consecutive cells of any line.

With density rho and velocity v at the centres, the contrast
c = (max rho - min rho) / (max rho + min rho) over a cell and its two neighbours (on the
sphere all four) gives its blend b = min(1, (1.2 c)^4).  The blend B of a face is the largest
b near it: O(h^4) where the density is smooth, 1 all over an atom (also in the middle cells of
an atom that a strong pull makes several cells wide, and that have little contrast).  With
a smooth flux H of the flow f = rho v, the flux through a face is

    (1 - B) H  +  [ share f_i of each cell i next to it, through the face to which the cell's
                    own velocity points ],      share = sum_k c_k B_(i-k+1/2),

where the c_k are the weights of a central flux: (-1, 7, 7, -1) / 12 on the circle, (1, 1) / 2
on the sphere.  With H = sum_k c_k f_(i+k) the fluxes from a cell both ways add up to f_i exactly:
the centre of mass of any density moves with sum m_i v_i, and self-forces cancel while a bump
shrinks to an atom.  Damping and terms of sixth order stay outside of the shares: shares by
all weights of the fifth-order flux make waves beside a jump.  At an atom the flux is the donor's
alone: a face velocity would pin an atom of mass m as soon as the outside pull is below m h / 2.
Fluxes are per unit face length.

Meridians and rings of the sphere (:mod:`mfpde.transport.sphere_fluxes`) share the formulas of the
second half.  There a smooth flux is signed, positive in the direction of the line, and belongs to
a face; a donor flow belongs to a cell, which sends it to that side only to which it points.

A donor flow alone diffuses along a ring or an arc of mass that contracts, and by an amount
that depends on its angle alpha to the grid: across the velocity by |v| h / 2 times
|sin alpha cos alpha| (|sin alpha| + |cos alpha|), 0 along either line and 2^-1/2 on the
diagonal.  As centres of mass are kept, mass then gathers where the ring follows the grid,
and the ring breaks into beads.  So cells send to *both* sides too, along the line that the
velocity follows less, as much as makes the factor 2^-1/2 at any angle; this moves no
centre of mass.  For the same reason a cell has one blend for both lines.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled, compiled_fused, compiled_inside
from mfpde.geometry.remap import GHOSTS

# From 1 to 2 two clusters merge equally well; the larger, the more diffusion while bumps
# shrink and in the valleys between them.
CONTRAST_SCALE = 1.2


@compiled_inside
def blend_between(smallest: float, largest: float) -> float:
    """Blend min(1, (1.2 c)^4) for the contrast c of densities between the two arguments."""
    contrast = (largest - smallest) / max(largest + smallest, 1e-300)
    scaled = CONTRAST_SCALE * contrast
    return min(1.0, scaled * scaled * scaled * scaled)


@compiled
def face_blends(extended: FloatArray) -> FloatArray:
    """Blend B of each face of a line: the largest b of the four nearest cells, (n + 1,).

    ``extended`` are the densities of n cells and three more at each end; face i lies below cell i.
    """
    n = len(extended) - 2 * GHOSTS
    own, result = np.empty(n + 4), np.empty(n + 1)
    for i in range(n + 4):
        low, middle, high = extended[i], extended[i + 1], extended[i + 2]
        smallest = min(min(low, middle), high)
        own[i] = blend_between(smallest, max(max(low, middle), high))
    for i in range(n + 1):
        result[i] = max(max(own[i], own[i + 1]), max(own[i + 2], own[i + 3]))
    return result


@compiled
def blends(extended: FloatArray) -> FloatArray:
    """Blend of each cell of a line: the larger one of its faces, (n,)."""
    faces = face_blends(extended)
    result = np.empty(len(faces) - 1)
    for i in range(len(result)):
        result[i] = max(faces[i], faces[i + 1])
    return result


@compiled_inside
def fifth_order_flux(
    flows: FloatArray, densities: FloatArray, cell: int, speed: float
) -> float:
    """Fifth-order flux through the face between a cell and the next one of a line.

    It is the sixth-order central flux of the *point values* rho v, whose differences over h are
    derivatives at the centres, less |v| / 60 times the fifth difference of rho: with a constant
    v the upwind-biased flux (2, -13, 47, 27, -3) / 60.  Damping rho in place of rho v, the
    flux is continuous in v: one that switches sides with the sign of v never lets a step end
    where the face of a kink is a point of rest.

    ``flows`` and ``densities`` are rho v and rho at the centres, ``cell`` is the one before the
    face (two before it and three behind it count), ``speed`` is |v| at the face.
    """
    f, r, j = flows, densities, cell
    central = (
        37.0 * (f[j] + f[j + 1]) - 8.0 * (f[j - 1] + f[j + 2]) + (f[j - 2] + f[j + 3])
    )
    drop = (
        10.0 * (r[j] - r[j + 1]) - 5.0 * (r[j - 1] - r[j + 2]) + (r[j - 2] - r[j + 3])
    )
    return float((central + speed * drop) / 60.0)


Four = tuple[float, float, float, float]
"""A quantity in four neighbours along a line."""

CENTRAL: Four = (-1.0 / 12.0, 7.0 / 12.0, 7.0 / 12.0, -1.0 / 12.0)
"""Weights of the fourth-order central flux."""
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
def spread_both_ways(own: float, across: float) -> float:
    """Flow that a cell sends to *either* side of a line, from the components of its flow.

    ``own`` is the component o along the line, ``across`` the other one, a.  A linear
    function replaces (2^-1/2 l^3 - a o (a + o)) / (2 a^2), l^2 = a^2 + o^2: the diffusion
    that remains depends on the angle by 4 %.
    """
    return max(0.354 * abs(across) - 0.44 * abs(own), 0.0)
