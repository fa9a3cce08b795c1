r"""Particles of S^2 that are smaller where basins part.

Of a lattice of n points of mass 1/n some sqrt(n) lie on the separatrices, and each may end on
the wrong side: the masses of the basins are off by about n^(-1/2 - 1/4).  Only these need be
smaller: each that has a neighbour in another basin gives way to the points of a lattice
``parts`` times as dense that are nearer to it than to any other, of equal mass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from mfpde.geometry import Sphere
from mfpde.measures.measure import Atoms, uniform
from mfpde.measures.sampling import quantized

Owners = NDArray[np.int64]

# Neighbours in the lattice lie within 1.2 times the root of a particle's share of the
# sphere, those across a corner within 1.5.
NEIGHBOURS = 1.5


def lattice(count: int) -> Atoms:
    """Particles of equal mass that stand for the uniform measure."""
    return quantized(uniform(Sphere(32)), count)


def at_separatrices(start: Atoms, owners: Owners) -> NDArray[np.bool_]:
    """Which particles of a lattice have a neighbour that ended in another basin.

    Parameters
    ----------
    start
        The lattice.
    owners
        Number of the basin of each particle (n,).
    """
    spacing = np.sqrt(4 * np.pi / len(start))
    pairs = cKDTree(start.points).query_pairs(
        NEIGHBOURS * spacing, output_type="ndarray"
    )
    parted = pairs[owners[pairs[:, 0]] != owners[pairs[:, 1]]]
    chosen = np.zeros(len(start), dtype=np.bool_)
    chosen[parted.ravel()] = True
    return chosen


def graded(start: Atoms, chosen: NDArray[np.bool_], parts: int) -> Atoms:
    """The lattice with ``chosen`` particles (n,) divided, each into about ``parts``."""
    fine = lattice(parts * len(start)).points
    nearest = cKDTree(start.points).query(fine)[1]
    inside = chosen[nearest]
    members = np.bincount(nearest, minlength=len(start))
    divided = chosen & (members > 0)
    inside &= divided[nearest]
    smaller = (start.masses / np.maximum(members, 1))[nearest[inside]]
    return Atoms(
        np.concatenate([start.points[~divided], fine[inside]]),
        np.concatenate([start.masses[~divided], smaller]),
    )
