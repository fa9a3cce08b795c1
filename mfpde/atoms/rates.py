"""Rates at which a flow contracts about a point, by central differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled
from mfpde.measures.clouds import tangents_of


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
    if len(centres) == 0:
        return np.empty((0, centres.shape[1] - 1))
    ends, basis = _stencils(centres, reach)
    speeds = velocity_at(ends.reshape(-1, centres.shape[1])).reshape(ends.shape)
    gradients = _gradients(speeds, (centres, basis), reach)
    if centres.shape[1] == 2:
        return gradients[:, 0]
    return np.sort(np.linalg.eigvals(gradients).real, axis=1)


@compiled
def _stencils(centres: FloatArray, reach: float) -> tuple[FloatArray, FloatArray]:
    """Points (n, 2, d - 1, d) ahead and behind, and orthonormal tangents (n, d - 1, d)."""
    count, dimension = centres.shape
    ends = np.empty((count, 2, dimension - 1, dimension))
    basis = np.empty((count, dimension - 1, dimension))
    for n in range(count):
        basis[n] = tangents_of(centres[n])
        for a in range(dimension - 1):
            for i in range(dimension):
                middle = np.cos(reach) * centres[n, i]
                step = np.sin(reach) * basis[n, a, i]
                ends[n, 0, a, i] = middle + step
                ends[n, 1, a, i] = middle - step
    return ends, basis


@compiled
def _gradients(
    speeds: FloatArray, frames: tuple[FloatArray, FloatArray], reach: float
) -> FloatArray:
    """Gradients (n, d - 1, d - 1) from velocities (n, 2, d - 1, d) on the stencils."""
    centres, basis = frames
    count, directions, dimension = basis.shape
    gradients = np.zeros((count, directions, directions))
    for n in range(count):
        for a in range(directions):
            for i in range(dimension):
                rise = speeds[n, 0, a, i] - speeds[n, 1, a, i]
                total = speeds[n, 0, a, i] + speeds[n, 1, a, i]
                for b in range(directions):
                    # Along the arc the tangent turns with it: cos(reach) e -+ sin(reach) x.
                    share = np.cos(reach) if a == b else 1.0
                    gradients[n, a, b] += share * rise * basis[n, b, i]
                gradients[n, a, a] -= np.sin(reach) * total * centres[n, i]
    return gradients / (2.0 * reach)
