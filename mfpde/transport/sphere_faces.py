r"""Geometry of the faces that the schemes of the sphere need, computed once.

The third-order scheme writes the mass that flows south through a face as

    H = dphi sum_k c_k sin(theta_k) f_k,    f = rho v_theta,   c = (-1, 5, 2)/6 upwind,

a difference in the *ring number*: nodes and weights satisfy w / sin(theta) = d theta /
d i to 1e-5 beyond ring 5, so that it is third order there.  Near the poles the weights
c_k are corrected, by the change of least norm, such that two fields have their exact
divergence on the rings: f = sin(theta) (a flow from pole to pole) and f = cos(theta)
cos(phi) with v_phi = -sin(phi) (a flow over the pole), for which

    H_0 = dphi sin^2(theta^e),  H_1 = dphi sin(theta^e) cos(theta^e) cos(phi),
    sin^2(theta^e_(i+1/2)) = sum_(k <= i) 2 w_k cos(theta_k),

with zonal faces of length (difference of sin cos at theta^e) + 2 w_i sin(theta_i).  The
line of rings continues over the pole: beyond it lie the cells opposite, with the signs
of sin(theta) and of v_theta changed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry.sphere import Sphere
from mfpde.transport.sphere import Tables

UPWIND = np.array([-1.0, 5.0, 2.0]) / 6.0
CORRECTED_RINGS = 8
CORRECTED_SHARE = 6
# Groups of a ring this close to a pole are too few to reconstruct the flux itself.
_FIRST_FLUX_RING, _FLUX_RINGS = 2, 6


@dataclass(frozen=True, eq=False)
class Faces:
    """Lengths and weights of the faces of a sphere.

    Attributes
    ----------
    areas, sizes
        Cell area and group size of each ring, (nlat,).
    south
        Length of the south face of each cell, (nlat,); 0 for the last ring.
    zonal
        True length of the east and west faces, (nlat,).
    zonal_flux
        Length of the east and west faces in the third-order flux, (nlat,).
    southward, northward
        Weights (nlat, 3) of f behind, here and ahead of each cell for the third-order
        flux through its south and its north face.
    flux_share
        Share, by ring, of the zonal flux that is reconstructed as one field rather than
        as density times velocity, (nlat,).
    """

    areas: FloatArray
    sizes: IntArray
    south: FloatArray
    zonal: FloatArray
    zonal_flux: FloatArray
    southward: FloatArray
    northward: FloatArray
    flux_share: FloatArray

    @property
    def tables(self) -> Tables:
        """The arrays for the kernels, in their order."""
        return (
            self.areas,
            self.sizes,
            self.south,
            self.southward,
            self.northward,
            self.zonal,
            self.zonal_flux,
            self.flux_share,
        )


def faces_of(sphere: Sphere) -> Faces:
    """Return the faces of ``sphere``."""
    rings, dphi = sphere.rings, sphere.longitude_step
    south = np.sin(rings.face_colatitudes[1:]) * dphi
    south[-1] = 0.0
    southward, effective = _southward_weights(sphere)
    num_corrected = len(effective)
    sines = np.sin(rings.colatitudes)
    zonal_flux = rings.weights / sines
    turned = np.concatenate([[0.0], np.sin(effective) * np.cos(effective)])
    corrected = np.diff(turned) + 2 * (rings.weights * sines)[:num_corrected]
    zonal_flux[:num_corrected] = corrected
    zonal_flux[-num_corrected:] = corrected[::-1]
    from_pole = np.minimum(np.arange(sphere.nlat), np.arange(sphere.nlat)[::-1])
    x = np.clip((from_pole - _FIRST_FLUX_RING) / _FLUX_RINGS, 0.0, 1.0)
    return Faces(
        areas=rings.weights * dphi,
        sizes=rings.group_sizes,
        south=south,
        zonal=np.diff(rings.face_colatitudes),
        zonal_flux=zonal_flux,
        southward=southward,
        northward=np.ascontiguousarray(southward[::-1]),
        flux_share=x * x * (3 - 2 * x),
    )


def _southward_weights(sphere: Sphere) -> tuple[FloatArray, FloatArray]:
    """Weights (nlat, 3) for flow to the south, and theta^e of the corrected faces.

    By reflection, the weights for flow to the north through the north face of a cell
    are those of its mirror image.
    """
    rings, nlat = sphere.rings, sphere.nlat
    theta = np.concatenate(
        [-rings.colatitudes[:1], rings.colatitudes, 2 * np.pi - rings.colatitudes[-1:]]
    )
    columns = np.stack([theta[:-2], theta[1:-1], theta[2:]], axis=1)
    sines, cosines = np.sin(columns), np.cos(columns)
    weights = UPWIND * sines
    num_corrected = max(CORRECTED_RINGS, nlat // CORRECTED_SHARE)
    enclosed = np.cumsum(2 * rings.weights * np.cos(rings.colatitudes))[:num_corrected]
    effective = np.arcsin(np.sqrt(enclosed))
    # Face i is the south face of ring i and, seen from the south pole, of its mirror
    # image.
    for ring in range(num_corrected):
        angle = effective[ring]
        for row, sign in ((ring, 1.0), (nlat - 2 - ring, -1.0)):
            targets = np.array(
                [np.sin(angle) ** 2, sign * np.sin(angle) * np.cos(angle)]
            )
            fields = np.stack([sines[row], cosines[row]])
            # H = sum (c_k + d_k) sin_k f_k: least change d of the three weights.
            system = fields * sines[row]
            missing = targets - system @ UPWIND
            change = np.linalg.lstsq(system, missing, rcond=None)[0]
            weights[row] = (UPWIND + change) * sines[row]
    weights[-1] = 0.0
    return weights * sphere.longitude_step, effective
