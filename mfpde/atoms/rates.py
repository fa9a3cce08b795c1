"""Rates at which a flow contracts about a point, by central differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.clouds import tangents_of


def contraction_rates(
    velocity_at: Callable[[FloatArray], FloatArray], centres: FloatArray, reach: float
) -> FloatArray:
    """Real parts (n, d - 1) of the eigenvalues of the velocity's gradient at ``centres``.

    Parameters
    ----------
    velocity_at
        Velocities (n, d) at points (n, d).
    centres
        Points (n, d).
    reach
        Half the distance over which velocities are differenced, in radians; a kink
        within it counts by its share.

    Returns
    -------
    Eigenvalues of s Hess F for a gradient flow, increasing.  All negative: the flow
    contracts there.
    """
    count, dimension = centres.shape
    if count == 0:
        return np.empty((0, dimension - 1))
    basis = np.stack([tangents_of(centre) for centre in centres])
    middles = np.cos(reach) * centres[:, np.newaxis]
    ends = np.stack([middles + np.sin(reach) * basis, middles - np.sin(reach) * basis])
    ahead, behind = velocity_at(ends.reshape(-1, dimension)).reshape(ends.shape)
    # Along the arc the tangent turns with it: cos(reach) e -+ sin(reach) x.
    gradients = (ahead - behind) @ basis.transpose(0, 2, 1)
    turning = -np.sin(reach) * np.einsum("nai,ni->na", ahead + behind, centres)
    for a in range(dimension - 1):
        gradients[:, a, a] = np.cos(reach) * gradients[:, a, a] + turning[:, a]
    return np.sort(np.linalg.eigvals(gradients / (2 * reach)).real, axis=1)
