"""Basins with mass, split between the exact atoms and between the clusters of particles in them.

Each point of a basin belongs to the nearest of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from mfpde.arrays import FloatArray, IntArray
from mfpde.detection.basins import Basins
from mfpde.detection.cores import Cloud
from mfpde.detection.flow import ROUNDING


@dataclass(frozen=True, eq=False)
class Part:
    """A basin, or the part of one that belongs to a cluster or to an exact atom.

    Attributes
    ----------
    cloud
        The mass in it.
    cells
        Numbers of the basin's cells.
    atom
        Number of the exact atom.
    centre
        Place (d,) of the atom or cluster; None of a basin that is not split.
    """

    cloud: Cloud
    cells: IntArray
    atom: int | None = None
    centre: FloatArray | None = None


def split_basins(
    basins: Basins,
    moving: Cloud,
    exact: FloatArray,
    clusters: FloatArray,
    *,
    apart: float,
) -> Iterator[Part]:
    """The parts of each basin, by the places of ``exact`` atoms and of ``clusters``, (k, d).

    A cluster within ``apart`` radians of an exact atom in the same basin is that atom's tail.
    """
    owners_of_clusters = np.empty(0, np.int64)
    if len(clusters):
        owners_of_clusters = moving.owners[cKDTree(moving.points).query(clusters)[1]]
    order = np.argsort(moving.owners, kind="stable")
    starts = np.nonzero(np.diff(moving.owners[order]))[0] + 1
    for members in np.split(order, starts):
        basin = moving.take(members)
        if basin.masses.sum() <= ROUNDING:
            continue
        owner = basin.owners[0]
        cells = np.nonzero(basins.labels == owner)[0]
        if not len(cells):
            cells = np.unique(basin.cells)
        atoms = np.sort(basin.numbers[basin.numbers >= 0])
        held, found = exact[atoms], clusters[owners_of_clusters == owner]
        if len(atoms):
            found = found[(found @ held.T).max(axis=1) < np.cos(apart)]
        if len(atoms) or len(found) > 1:
            numbers = [*atoms.tolist(), *[None] * len(found)]
            yield from _split(basin, cells, np.concatenate([held, found]), numbers)
        else:
            yield Part(basin, cells)


def _split(
    basin: Cloud, cells: IntArray, centres: FloatArray, atoms: list[int | None]
) -> Iterator[Part]:
    """The part of each of ``centres`` (k, d)."""
    nearest = cKDTree(centres).query(basin.points)[1]
    for rank, centre in enumerate(centres):
        # A cluster across an edge may have its centre here and its points beyond.
        if (nearest == rank).any():
            yield Part(basin.take(nearest == rank), cells, atoms[rank], centre)
