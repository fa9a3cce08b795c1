"""Atoms as arrays of masses, positions and covariances, and the states that hold them.

Rates at which a flow contracts about a point, by central differences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled
from mfpde.measures.clouds import (
    Cluster,
    cloud_points,
    cloud_size,
    joined,
    means_and_covariances,
    tangents_of,
)
from mfpde.measures.measure import Atoms
from mfpde.transport import State


class Clusters(NamedTuple):
    """Masses (n,), positions (n, d) and tangent covariances (n, d, d)."""

    masses: FloatArray
    positions: FloatArray
    covariances: FloatArray

    @classmethod
    def of(cls, clusters: Sequence[Cluster]) -> Clusters:
        """Clusters as arrays, from a sequence of at least one (mass, position, covariance)."""
        return cls(*(np.array(part) for part in zip(*clusters, strict=True)))

    @classmethod
    def of_state(cls, state: State) -> Clusters:
        """The atoms of a state; their covariances are zero unless the state holds clouds."""
        dimension = state.points.shape[1]
        if state.cloud_size == 1:
            nothing = np.zeros((len(state.points), dimension, dimension))
            return cls(state.atom_masses.copy(), state.points.copy(), nothing)
        clouds = state.points.reshape(-1, state.cloud_size, dimension)
        masses = state.atom_masses.reshape(-1, state.cloud_size).sum(axis=1)
        return cls(masses, *means_and_covariances(clouds))

    def state(self, masses: FloatArray) -> State:
        """State of the cell ``masses`` and these atoms, each represented by its cloud."""
        dimension = self.positions.shape[1]
        size = cloud_size(dimension)
        clouds = cloud_points(self.positions, self.covariances)
        shares = np.repeat(self.masses / size, size)
        return State(masses, clouds.reshape(-1, dimension), shares, size)

    def one(self, index: int) -> Cluster:
        """Mass, position (d,) and covariance (d, d) of the atom ``index``."""
        return self.masses[index], self.positions[index], self.covariances[index]

    def chosen(self, which: npt.NDArray[np.bool_] | list[int]) -> Clusters:
        """The atoms with the indices ``which``, or where the mask ``which`` is true."""
        return Clusters(*(part[which] for part in self))

    def with_others(self, others: Clusters) -> Clusters:
        """These atoms followed by the others."""
        pairs = zip(self, others, strict=True)
        return Clusters(*(np.concatenate(pair) for pair in pairs))

    def joined(self, others: Clusters) -> Clusters:
        """Each atom united with the one of the same index in ``others`` where that has mass."""
        return Clusters(*_joined(self, others))


@compiled
def _joined(
    atoms: Clusters, others: Clusters
) -> tuple[FloatArray, FloatArray, FloatArray]:
    masses = atoms[0].copy()
    positions = atoms[1].copy()
    covariances = atoms[2].copy()
    dimension = positions.shape[1]
    for n in range(len(masses)):
        if others[0][n] > 0.0:
            one = masses[n], positions[n], covariances[n]
            other = others[0][n], others[1][n], others[2][n]
            masses[n], position, covariance = joined(one, other)
            for i in range(dimension):
                positions[n, i] = position[i]
                for j in range(dimension):
                    covariances[n, i, j] = covariance[i, j]
    return masses, positions, covariances


def state_of(masses: FloatArray, atoms: Atoms) -> State:
    """State of cell masses and atoms, each atom represented by its cloud."""
    widths = atoms.covariances
    if widths is None:
        count, dimension = atoms.points.shape
        widths = np.zeros((count, dimension, dimension))
    return Clusters(atoms.masses, atoms.points, widths).state(masses)


@lru_cache(maxsize=8)
def _nobody(dimension: int) -> Atoms:
    """No atoms, made once: every save of a density alone has them."""
    return Atoms.none(dimension)


def atoms_of_state(state: State) -> Atoms:
    """The atoms of a state, with their covariances where they are clouds."""
    if state.cloud_size == 1 and len(state.atom_masses) == 0:
        return _nobody(state.points.shape[1])
    if state.cloud_size == 1:
        return Atoms(state.points, state.atom_masses)
    masses, positions, covariances = Clusters.of_state(state)
    return Atoms(positions, masses, covariances)


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
    gradients = _gradients(speeds, centres, basis, reach)
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
        tangents = tangents_of(centres[n])
        for a in range(dimension - 1):
            for i in range(dimension):
                basis[n, a, i] = tangents[a, i]
                middle = np.cos(reach) * centres[n, i]
                step = np.sin(reach) * basis[n, a, i]
                ends[n, 0, a, i] = middle + step
                ends[n, 1, a, i] = middle - step
    return ends, basis


@compiled
def _gradients(
    speeds: FloatArray, centres: FloatArray, basis: FloatArray, reach: float
) -> FloatArray:
    """Gradients (n, d - 1, d - 1) from velocities (n, 2, d - 1, d) on the stencils."""
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
