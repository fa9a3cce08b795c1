r"""Clusters in one basin, told apart as exact atoms are.

A cluster may rest or creep where the velocity field has no attractor of its own, or where the
cells do not resolve its basin: beside the kink of a ReLU, on the side that leaves it.

Of particles it is many points in a place much smaller than all other lengths.  On S^2 it is a
peak of the density that is a point to the grid.  It moves as one, by the velocity of everything
else (it exerts no force on itself),

    x' = v[mu - m_c + m delta_x](x),    m_c the cluster, m its mass,

and rests if that carries it no farther than 1.5 cells.  On lines of angles cells tell basins
apart: the sign of the velocity is all there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import gammaln

from mfpde.arrays import FloatArray, IntArray
from mfpde.detection.balls import CORE_CELLS
from mfpde.detection.basins import Basins, connect
from mfpde.detection.cores import Cloud, Core, chord_angles
from mfpde.detection.flow import NARROW_WITHOUT_GRID, ROUNDING, CellFlow
from mfpde.detection.region import ATOM_EXPONENT, LEAST_SHARE, NARROW
from mfpde.geometry.arcs import exponential_map, normalize
from mfpde.measures.measure import Atoms, Density, Measure, as_measure
from mfpde.measures.sampling import sum_by_label

LEAST_MEMBERS, LIKELY_BY_CHANCE = 5, 1e-7
"""Fewest particles of a cluster; how often as many may come together in uniform draws."""
MEETING, STEP = 1.5, 0.5
"""A cluster that rests moves no farther than this in steps as long as that, in cells."""
SLOW = 1e-2
"""Largest speed of a cluster at rest, in cells per unit time: tails of its own pull too."""


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


def particle_clusters(atoms: Atoms) -> FloatArray:
    """Return the centres (k, d) of the clusters of particles, unit vectors.

    A cluster is a chain of points with gaps below about 1e-3, of rms radius at most 1e-3
    about its mean; it holds at least five points and a hundredth of the mass, and points drawn
    from the uniform measure lie so close together once in ten million draws at most.
    """
    width = NARROW_WITHOUT_GRID / 2
    boxes, box_of = np.unique(
        np.floor(atoms.points / width), axis=0, return_inverse=True
    )
    # Boxes first: pairs of points would be as many as the square of a cluster.
    cluster_of = _linked(boxes, 2.0)[np.ravel(box_of)]
    count = int(cluster_of.max(initial=-1)) + 1
    masses = np.bincount(cluster_of, weights=atoms.masses, minlength=count)
    members = np.bincount(cluster_of, minlength=count)
    sums = sum_by_label(cluster_of, atoms.masses[:, np.newaxis] * atoms.points)
    centres: FloatArray = sums / np.maximum(masses, np.finfo(float).tiny)[:, np.newaxis]
    away = atoms.points - centres[cluster_of]
    squares = np.bincount(
        cluster_of, weights=atoms.masses * (away**2).sum(axis=1), minlength=count
    )
    found = (members >= LEAST_MEMBERS) & (masses >= LEAST_SHARE * atoms.total_mass)
    found &= squares <= NARROW_WITHOUT_GRID**2 * masses
    radii = np.zeros(count)
    np.maximum.at(radii, cluster_of, np.linalg.norm(away, axis=1))
    chance = _expected_by_chance(members, radii, atoms.points.shape)
    found &= chance <= LIKELY_BY_CHANCE
    return normalize(centres[found])


def _expected_by_chance(
    members: IntArray, radii: FloatArray, shape: tuple[int, ...]
) -> FloatArray:
    """How many groups as large and narrow there are among uniform points of this ``shape``.

    Of n points one is the first; each of m - 1 others lies within ``radii`` r of the middle with
    the probability p of a cap of the sphere, p ~ r^(d-1): n (n p)^(m-1) / (m-1)! in the mean.
    """
    count, dimension = shape
    cap = gammaln(dimension / 2) - gammaln((dimension - 1) / 2)
    cap -= np.log(np.sqrt(np.pi) * (dimension - 1))
    with np.errstate(divide="ignore"):
        caps = cap + (dimension - 1) * np.log(radii)
    others = np.maximum(members - 1, 1)
    logarithm = np.log(max(count, 1))
    expected = logarithm + others * (logarithm + caps) - gammaln(members)
    return np.asarray(np.exp(np.minimum(expected, 0.0)))


def _linked(points: FloatArray, distance: float) -> IntArray:
    """Number of the connected component of each point, ``distance`` a chord (single linkage)."""
    pairs = cKDTree(points).query_pairs(distance, output_type="ndarray")
    return connect(len(points), pairs)


def resting_clusters(flow: CellFlow, basins: Basins, cloud: Cloud) -> FloatArray:
    """Centres (k, d) of clusters of cells at rest in one basin of S^2, if it holds several.

    The heaviest is at the basin's attractor, or on its way there.  None on lines.
    """
    if flow.cells.on_line:
        return flow.cells.points[:0]
    peaks = _find_narrow_peaks(cloud, flow.spacing)
    peaks.sort(key=lambda peak: -peak.mass)
    cells = flow.cells.cells_of(np.reshape([peak.centre for peak in peaks], (-1, 3)))
    heaviest: dict[int, Core] = {}
    found: list[Core] = []
    for peak, label in zip(peaks, basins.labels[cells].tolist(), strict=True):
        first = heaviest.setdefault(label, peak)
        if label >= 0 and first is not peak and _rests(flow, peak):
            found += [peak] if first in found else [first, peak]
    return np.reshape([peak.centre for peak in found], (-1, 3))


def _find_narrow_peaks(cloud: Cloud, spacing: float) -> list[Core]:
    """Clusters that are points to the grid and hold a hundredth of the mass."""
    window = CORE_CELLS * spacing
    # The density in the middle of such a cluster is at least twice this.
    least = LEAST_SHARE / (np.pi * (2 * NARROW * spacing) ** 2)
    is_open = cloud.densities >= least
    found: list[Core] = []
    while is_open.any():
        start = cloud.points[np.argmax(np.where(is_open, cloud.densities, -np.inf))]
        near = cloud.take(cloud.points @ start >= np.cos(min(3 * window, np.pi)))
        core = near.core_about(start, window)
        for place in (start, core.centre):
            is_open &= cloud.points @ place < np.cos(window)
        inner = near.masses_about(core.centre, np.array([window / 2]))[0]
        is_point = core.mass < inner * 2**ATOM_EXPONENT
        is_narrow = core.principal_radii[0] <= NARROW * spacing
        if core.mass >= LEAST_SHARE and is_point and is_narrow:
            found.append(core)
    return found


def _rests(flow: CellFlow, peak: Core) -> bool:
    """Whether a cluster stays within 1.5 cells, as one more atom of the rest of the measure."""
    spacing, whole = flow.spacing, as_measure(flow.measure)
    density, atoms = whole.density, whole.atoms.as_clouds()
    farthest = np.cos(CORE_CELLS * spacing)
    away = density.geometry.points @ peak.centre < farthest
    others = Density(density.geometry, np.where(away, density.values, 0.0))
    kept = atoms.points @ peak.centre < farthest
    masses = np.append(atoms.masses[kept], 0.0)
    masses[-1] = whole.total_mass - others.total_mass - masses.sum()
    place = peak.centre[np.newaxis]
    for _ in range(int(2 * MEETING / STEP)):
        moved = Atoms(np.concatenate([atoms.points[kept], place]), masses)
        velocity = flow.equation.field(Measure(others, moved)).velocity(place)
        speed = float(np.linalg.norm(velocity))
        if speed < SLOW * spacing:
            return True
        place = exponential_map(place, STEP * spacing / speed * velocity)
        if chord_angles(place, peak.centre)[0] > MEETING * spacing:
            return False
    return True
