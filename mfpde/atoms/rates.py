"""Rates at which a flow contracts about a point, by central differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.clouds import tangents_of


def contraction_rates(
    velocity_at: Callable[[FloatArray], FloatArray], centre: FloatArray, reach: float
) -> FloatArray:
    """Real parts (d - 1,) of the eigenvalues of the velocity's gradient at ``centre``.

    Parameters
    ----------
    velocity_at
        Velocities (n, d) at points (n, d).
    centre
        A point (d,).
    reach
        Half the distance over which velocities are differenced, in radians; a kink
        within it counts by its share.

    Returns
    -------
    Eigenvalues of s Hess F for a gradient flow, increasing.  All negative: the flow
    contracts there.
    """
    basis = tangents_of(centre)
    ahead = np.cos(reach) * centre + np.sin(reach) * basis
    behind = np.cos(reach) * centre - np.sin(reach) * basis
    speeds = velocity_at(np.concatenate([ahead, behind]))
    count = len(basis)
    # Along the arc the tangent turns with it: cos(reach) e -+ sin(reach) x.
    rises = (speeds[:count] - speeds[count:]) @ basis.T
    turning = -np.sin(reach) * (speeds[:count] + speeds[count:]) @ centre
    along = np.cos(reach) * np.diag(rises) + turning
    gradient = rises.copy()
    np.fill_diagonal(gradient, along)
    return np.sort(np.linalg.eigvals(gradient / (2 * reach)).real)
