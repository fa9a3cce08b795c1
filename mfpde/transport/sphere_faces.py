r"""Geometry of the faces that the schemes of the sphere need, computed once.

The third-order scheme writes the mass that flows south through a face as

    H = dphi sum_k c_k sin(theta_k) f_k,    f = rho v_theta,    c = (-1, 7, 7, -1)/12,

less damping: a difference in the *ring number*.  Nodes and weights satisfy w /
sin(theta) = d theta / d i to 1e-5 beyond ring 5, so that it is fourth order there.  Near
the poles the weights c_k are corrected, by the change of least norm, and the lengths l_i
of the zonal faces are chosen, such that two flows are exact on the rings:

(1) from pole to pole, f = sin(theta), has the divergence 2 cos(theta);
(2) over the pole, v = grad x, that is v_theta = cos(theta) cos(phi), v_phi = -sin(phi),
    has for rho = 1 the divergence -2 x, and carries the mean of x of *any* density
    rho(theta) on the first rings at the right speed:

        l_i sin_i + sin_i cos_i sum_k c_(k+1/2, i) (sin_(k+1) - sin_k) = w_i (1 + cos_i^2).

Without the last condition a density moves over a pole at a speed that is wrong by
O(h^2); all other defects of the few rings near the pole are O(h^4).  The line of rings
continues over the pole: beyond it lie the cells opposite, with the signs of sin(theta)
and of v_theta changed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry.gauss_legendre import Rings
from mfpde.geometry.sphere import Sphere
from mfpde.transport.line import CENTRAL

CORRECTED_RINGS = 8
# Groups of a ring this close to a pole are too few to reconstruct the flux itself.
_FIRST_FLUX_RING, _FLUX_RINGS = 2, 6

SOUTHWARD = 0
"""First of the four weights of f in the rings i - 1 to i + 2 for the flux to the south of i."""
SOUTH, ZONAL = 4, 5
"""Lengths of the south face of each cell, 0 for the last ring; and of its share of the east face
of its group, for the third-order flux."""
FLUX_SHARE = 6
"""Part of that flux that is reconstructed as one field rather than as density times velocity."""
ZONAL_DONOR, DONOR_NORTH, DONOR_SOUTH = 7, 8, 9
"""Lengths for the donor flow along rings, to the north and to the south."""
CHORD = 10
"""Flow by which chords approach the pole, as a share of what is sent along rings."""


class Faces(NamedTuple):
    """Lengths and weights of the faces of a sphere.

    ``per_area`` (nlat, 1) is 1 / cell area and ``sizes`` (nlat,) the group size of each ring;
    ``lengths`` have a row for each ring, by the columns above: one array is compiled sooner.
    """

    per_area: FloatArray
    sizes: IntArray
    lengths: FloatArray


@lru_cache(maxsize=8)
def faces_of(sphere: Sphere) -> Faces:
    """Return the faces of ``sphere``.

    The lengths for the donor flow are such that in the tangent plane of the cell's centre the
    mean of the mass that a cell sends moves with exactly the cell's velocity: area over
    distance, not that of the face.  (With the length of the face mass that flows away from a
    pole is too fast, by h cot(theta) / 2, and mass that flows to it too slow: a bump that
    contracts would drift.)

    Mass that goes east or west by an angle moves along a chord, hence towards the pole too,
    at the rate |v_phi| tan(angle / 2) cos(theta): a flow of this size away from the pole
    makes up for it.
    """
    rings, dphi = sphere.rings, sphere.longitude_step
    theta, areas = rings.colatitudes, rings.weights * dphi
    angles, apart = rings.group_sizes * dphi, np.sin(np.diff(theta))
    south = np.sin(rings.face_colatitudes[1:]) * dphi
    south[-1] = 0.0
    southward, zonal = _third_order_lengths(rings)
    from_pole = np.minimum(np.arange(sphere.nlat), np.arange(sphere.nlat)[::-1])
    along_ring = areas / (np.sin(theta) * np.sin(angles))
    x = np.clip((from_pole - _FIRST_FLUX_RING) / _FLUX_RINGS, 0.0, 1.0)
    lengths = np.empty((sphere.nlat, CHORD + 1))
    lengths[:, SOUTHWARD:SOUTH] = southward * dphi
    lengths[:, SOUTH] = south
    lengths[:, ZONAL] = zonal / rings.group_sizes
    lengths[:, FLUX_SHARE] = x * x * (3 - 2 * x)
    lengths[:, ZONAL_DONOR] = along_ring
    lengths[:, DONOR_NORTH] = np.append(0.0, areas[1:] / apart)
    lengths[:, DONOR_SOUTH] = np.append(areas[:-1] / apart, 0.0)
    lengths[:, CHORD] = np.tan(angles / 2) * np.cos(theta) / along_ring
    return Faces(1 / areas[:, np.newaxis], rings.group_sizes, lengths)


def _third_order_lengths(rings: Rings) -> tuple[FloatArray, FloatArray]:
    """Weights c_k sin(theta_k) of the south faces (nlat, 4), and zonal lengths (nlat,).

    The south is the mirror image of the north.
    """
    theta, nlat = rings.colatitudes, len(rings.colatitudes)
    line = np.concatenate([-theta[:1], theta, 2 * np.pi - theta[:-3:-1]])
    columns = np.stack([line[k : k + nlat] for k in range(4)], axis=1)
    weights = CENTRAL * np.sin(columns)
    weights[:CORRECTED_RINGS] += _correction(rings, columns[: CORRECTED_RINGS + 1])
    weights[-1] = 0.0
    weights[nlat // 2 : -1] = weights[nlat // 2 - 2 :: -1, ::-1]
    # Flow over the pole, rho = 1: H_(i+1/2) - H_(i-1/2) - l_i = -2 w_i sin_i.
    over = np.sum(weights * np.cos(columns), axis=1)
    zonal = np.diff(over, prepend=0.0) + 2 * rings.weights * np.sin(theta)
    return weights, zonal


def _correction(rings: Rings, columns: FloatArray) -> FloatArray:
    """Least change (CORRECTED_RINGS, 4) of the weights that makes both flows exact.

    ``columns`` (CORRECTED_RINGS + 1, 4) are the signed colatitudes of the four rings around
    each of the first faces.
    """
    count = CORRECTED_RINGS
    sines, over = np.sin(columns), 0.5 * np.sin(2 * columns)
    theta, areas = rings.colatitudes[: count + 2], rings.weights[:count]
    rises, ring_sines = np.diff(np.sin(theta)), np.sin(theta[:count])
    # Axes of the system: ring, face, and the four rings about that face.
    ring = np.arange(count)[:, np.newaxis, np.newaxis]
    south, north = (np.eye(count, count + 1, k)[..., np.newaxis] for k in (0, -1))
    from_pole_to_pole = south * sines**2
    nodes = np.arange(count + 1)[:, np.newaxis] + np.arange(-1, 3)
    is_of_ring = np.where(nodes >= 0, nodes, -1 - nodes) == ring
    # The zonal length, but for its constant part, and what the faces carry of the ring.
    speed = over * (
        (south - north) * np.sin(theta)[ring] + is_of_ring * rises[:, np.newaxis]
    )
    enclosed = np.cumsum(2 * areas * np.cos(theta[:count]))
    wanted = areas * (1 + np.cos(theta[:count]) ** 2) - 2 * areas * ring_sines**2
    system = np.concatenate([from_pole_to_pole, speed])
    missing = np.concatenate([enclosed, wanted]) - np.sum(system * CENTRAL, axis=(1, 2))
    unknowns = system[:, :count].reshape(2 * count, -1)
    change = np.linalg.lstsq(unknowns, missing, rcond=None)[0]
    return np.asarray(change.reshape(count, 4) * sines[:count])
