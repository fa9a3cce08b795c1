r"""The minimiser of E on S^2 where V has an axis and kernels are of x.y: rings and poles.

The minimiser is unique, hence symmetric about the axis e (paper, Proposition 3.7).  A ring stands
for one point y = (cos t, sin t) of the half circle of polar angles t, and the average over the
azimuth makes of W(x.y) the mean of W(x.By) over B = diag(1, cos phi): the rings are atoms on S^1
with this kernel, and with V on a meridian.  The mean over phi_i = (i + 1/2) pi / n is exact for
the degrees of W below 2 n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import normalize, tangent_frames
from mfpde.stationary.cell_maximum import SAME
from mfpde.stationary.convex_energy import ConvexEnergy, PairKernel
from mfpde.terms import Perceptron, PointMasses


@dataclass(frozen=True, eq=False)
class AxialRings:
    """Rings around ``axis`` (3,): polar ``angles`` (n,), 0 and pi for atoms, and ``masses``."""

    axis: FloatArray
    angles: FloatArray
    masses: FloatArray

    @classmethod
    def of(cls, axis: FloatArray, points: FloatArray, masses: FloatArray) -> AxialRings:
        """The rings of ``points`` (n, 2) of the half circle, by angle; next to a pole, on it."""
        across = np.where(points[:, 1] < SAME, 0.0, points[:, 1])
        angles = np.arctan2(across, points[:, 0])
        order = np.argsort(angles)
        return cls(axis, angles[order], masses[order])

    @property
    def on_half_circle(self) -> FloatArray:
        """Points (n, 2): coordinates of the rings along the axis and across it."""
        return np.stack([np.cos(self.angles), np.sin(self.angles)], axis=1)

    def atoms(self, count: int) -> PointMasses:
        """Arrangement of ``count`` equally spaced atoms on each ring, one on a pole."""
        across = tangent_frames(self.axis[np.newaxis])[0]
        points, masses = [], []
        for number, (height, radius) in enumerate(self.on_half_circle):
            own = 1 if self.angles[number] in (0.0, np.pi) else count
            turns = (np.arange(own) + number / len(self.angles)) * 2 * np.pi / own
            circle = np.stack([np.cos(turns), np.sin(turns)], axis=1) @ across
            points.append(height * self.axis + radius * circle)
            masses.append(np.full(own, self.masses[number] / own))
        return PointMasses(normalize(np.concatenate(points)), np.concatenate(masses))


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
