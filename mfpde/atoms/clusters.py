"""Atoms as arrays of masses, positions and covariances, and the states that hold them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mfpde.arrays import FloatArray
from mfpde.measures.clouds import (
    Cluster,
    cloud_points,
    cloud_size,
    join_clusters,
    means_and_covariances,
)
from mfpde.measures.measure import Atoms
from mfpde.transport import State


class Clusters(NamedTuple):
    """Masses (n,), positions (n, d) and tangent covariances (n, d, d)."""

    masses: FloatArray
    positions: FloatArray
    covariances: FloatArray

    @classmethod
    def of_state(cls, state: State) -> Clusters:
        """The atoms of a state; their covariances are zero unless the state holds clouds."""
        dimension = state.points.shape[1]
        if state.cloud_size == 1 or len(state.points) == 0:
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

    def chosen(self, which: npt.NDArray[np.bool_] | list[int] | int) -> Clusters:
        """The atoms with the indices or mask ``which``, or the one (without n) at an index."""
        return Clusters(*(part[which] for part in self))

    def with_others(self, others: Clusters) -> Clusters:
        """These atoms followed by the others."""
        return Clusters(*map(np.concatenate, zip(self, others, strict=True)))

    def replaced(self, which: int | npt.NDArray[np.bool_], by: Cluster) -> Clusters:
        """The atoms, those with the index or mask ``which`` replaced."""
        parts = [part.copy() for part in self]
        for part, other in zip(parts, by, strict=True):
            part[which] = other
        return Clusters(*parts)

    def merge_pair(self, first: int, second: int) -> Clusters:
        """These atoms with the ``second`` united with the ``first``."""
        united = join_clusters(self.chosen(first), self.chosen(second))
        united = self.replaced(first, united)
        return united.chosen(np.arange(len(self.masses)) != second)

    def join_each(self, others: Clusters) -> Clusters:
        """Each atom united with the one of the same index in ``others`` where that has mass."""
        comes = others.masses > 0.0
        united = join_clusters(self.chosen(comes), others.chosen(comes))
        return self.replaced(comes, united)


def state_of(masses: FloatArray, atoms: Atoms) -> State:
    """State of cell masses and atoms, each atom represented by its cloud."""
    widths = atoms.covariances
    if widths is None:
        count, dimension = atoms.points.shape
        widths = np.zeros((count, dimension, dimension))
    return Clusters(atoms.masses, atoms.points, widths).state(masses)


# Every save of a density alone has them.
_no_atoms = lru_cache(maxsize=8)(Atoms.none)


def atoms_of_state(state: State) -> Atoms:
    """The atoms of a state, with their covariances where they are clouds."""
    if state.cloud_size == 1 and len(state.atom_masses) == 0:
        return _no_atoms(state.points.shape[1])
    if state.cloud_size == 1:
        return Atoms(state.points, state.atom_masses)
    masses, positions, covariances = Clusters.of_state(state)
    return Atoms(positions, masses, covariances)
