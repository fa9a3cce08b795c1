r"""The minimiser of E on S^2 where V has an axis and kernels are of x.y: rings and poles.

The minimiser is unique, hence symmetric about the axis e (paper, Proposition 3.7).  A ring stands
for one point y = (cos t, sin t) of the half circle of polar angles t, and the average over the
azimuth makes of W(x.y) the mean of W(x.By) over B = diag(1, cos phi): the rings are atoms on S^1
with this kernel, and with V on a meridian.  The mean over phi_i = (i + 1/2) pi / n is exact for
the degrees of W below 2 n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import normalize, tangent_frames
from mfpde.stationary.cell_maximum import SAME
from mfpde.stationary.convex_energy import ConvexEnergy, PairKernel
from mfpde.stationary.local_minima import unite_neighbours
from mfpde.terms import Perceptron, PointMasses


class AxialRings(NamedTuple):
    """Rings around ``axis`` (3,): polar ``angles`` (n,), 0 and pi for atoms, and ``masses``."""

    axis: FloatArray
    angles: FloatArray
    masses: FloatArray

    def atoms(self, count: int) -> PointMasses:
        """Arrangement of ``count`` equally spaced atoms on each ring, one on a pole."""
        turns = (
            np.arange(count) + np.linspace(0.0, 1.0, len(self.angles))[:, np.newaxis]
        )
        turns *= 2 * np.pi / count
        circles = np.stack([np.cos(turns), np.sin(turns)], axis=-1)
        circles = circles @ tangent_frames(self.axis[np.newaxis])[0]
        heights, radii = np.cos(self.angles), np.sin(self.angles)
        points = np.multiply.outer(heights, self.axis)[:, np.newaxis]
        points = points + radii[:, np.newaxis, np.newaxis] * circles
        masses = np.repeat(self.masses / count, count)
        return unite_neighbours(
            PointMasses(normalize(points.reshape(-1, 3)), masses), SAME
        )


def common_axis(energy: ConvexEnergy) -> FloatArray | None:
    """Axis (3,) of V on S^2, if kernels are of x.y; None if there is none."""
    if energy.dimension != 3 or any(
        (kernel.matrices != np.eye(3)).any() for kernel in energy.kernels
    ):
        return None
    rows = [t.directions[t.acts] for t in energy.neurons]
    directions = np.concatenate([np.empty((0, 3)), *rows])
    if not len(directions):
        return np.array([0.0, 0.0, 1.0])
    axis = directions[0] / np.linalg.norm(directions[0])
    return axis if np.linalg.matrix_rank(directions) == 1 else None


def ring_count(energy: ConvexEnergy) -> int:
    """Number of atoms on a ring at which F is that of the ring to rounding."""
    return max(len(kernel.profile.chebyshev) for kernel in energy.kernels)


def energy_of_rings(energy: ConvexEnergy, axis: FloatArray) -> ConvexEnergy:
    """The energy on S^1, of coordinates along the ``axis`` and across it, for rings as atoms."""
    count = ring_count(energy)
    azimuths = (np.arange(count) + 0.5) * np.pi / count
    matrices = np.stack([np.diag([1.0, c]) for c in np.cos(azimuths)])
    kernels = tuple(
        PairKernel(k.profile, k.amplitude, matrices) for k in energy.kernels
    )
    along = np.outer(axis, [1.0, 0.0])
    neurons = tuple(
        Perceptron(
            t.directions[t.acts] @ along,
            t.weights[t.acts],
            t.activation,
            biases=t.biases[t.acts],
        )
        for t in energy.neurons
        if t.acts.any()
    )
    return ConvexEnergy(kernels, neurons, 2, is_mirrored=True)
