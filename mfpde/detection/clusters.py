r"""Clusters in one basin, told apart as exact atoms are.

A cluster may rest or creep where the velocity field has no attractor of its own, or where the
cells do not resolve its basin: beside the kink of a ReLU, on the side that leaves it.  It is
a peak of the mass that is a point to the grid, or of particles many points in a place much
smaller than all other lengths.  It moves as one, by the velocity of everything else (it
exerts no force on itself),

    x' = v[mu - m_c + m delta_x](x),    m_c the cluster, m its mass,

and rests if that carries it no farther than 2 cells, half the radius of a core.  What does not
rest flows to the heaviest cluster of its basin, which is then still forming.  Clusters of
particles, which are as good as atoms already, are told apart in any case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from mfpde.arrays import FloatArray, IntArray
from mfpde.detection.balls import CORE_CELLS
from mfpde.detection.basins import Basins
from mfpde.detection.cores import Cloud, Core, masses_in_boxes
from mfpde.detection.flow import ROUNDING, CellFlow
from mfpde.detection.region import ATOM_EXPONENT, LEAST_SHARE, NARROW
from mfpde.geometry.arcs import distances, exponential_map
from mfpde.measures.measure import Atoms, Density, Measure, as_measure

LEAST_MEMBERS = 10
"""Fewest particles of a cluster: so many of a thousand do not come together by chance."""


@dataclass(frozen=True, eq=False)
class Part:
    """A basin, or the part of one that belongs to a cluster or to an exact atom.

    Its mass is ``cloud``, and ``cells`` are the numbers of the basin's cells; ``atom`` is the
    number of the exact atom, ``centre`` (d,) the place of the atom or cluster, None of a whole
    basin.  The heaviest cluster that flows to another here holds the share ``second_peak``.
    """

    cloud: Cloud
    cells: IntArray
    atom: int | None = None
    centre: FloatArray | None = None
    second_peak: float = 0.0


def split_basins(flow: CellFlow, basins: Basins, moving: Cloud) -> Iterator[Part]:
    """The parts of each basin, by the places of exact atoms and of clusters."""
    exact = flow.cells.places_of(flow.exact.points)
    clusters = find_clusters(flow, moving)
    owners = [moving.owners[(moving.points @ c.centre).argmax()] for c in clusters]
    # A cluster beside an exact atom is that atom's tail.
    tail = np.cos(CORE_CELLS * flow.cell)
    for owner in np.unique(moving.owners):
        basin = moving.take(moving.owners == owner)
        if basin.masses.sum() <= ROUNDING:
            continue
        cells = np.flatnonzero(basins.labels == owner)
        if not len(cells):
            cells = flow.cells.cells_of(basin.points)
        atoms = np.sort(basin.numbers[basin.numbers >= 0]).tolist()
        within = [c for c, o in zip(clusters, owners, strict=True) if o == owner]
        apart = [c for c in within if (exact[atoms] @ c.centre < tail).all()]
        # The heaviest is what the others flow to.
        leads = 0 if atoms else 1
        rests = [rank < leads or _rests(flow, c) for rank, c in enumerate(apart)]
        late = [c for c, stays in zip(apart, rests, strict=True) if not stays]
        resting = [c.centre for c, stays in zip(apart, rests, strict=True) if stays]
        centres = [*exact[atoms], *resting]
        if len(centres) < 2 and not atoms:
            second = max((c.mass for c in late), default=0.0)
            yield Part(basin, cells, second_peak=second)
            continue
        tree = scipy.spatial.cKDTree(np.stack(centres))
        nearest = tree.query(basin.points)[1]
        # A cluster across an edge may have its centre here and its points beyond.
        for rank in np.unique(nearest):
            here = [c.mass for c in late if tree.query(c.centre)[1] == rank]
            yield Part(
                basin.take(nearest == rank),
                cells,
                atom=atoms[rank] if rank < len(atoms) else None,
                centre=centres[rank],
                second_peak=max(here, default=0.0),
            )


def find_crowds(flow: CellFlow, places: FloatArray, masses: FloatArray) -> FloatArray:
    """Densities (n,) about particles: of the mass in boxes as wide as a cluster.

    A cluster meets up to 2^d of them.
    """
    held = masses_in_boxes(places, masses, 2 * NARROW * flow.cell)
    return np.asarray(held * 2 ** places.shape[1] / _measure_cluster(flow))


def _measure_cluster(flow: CellFlow) -> float:
    """Length of the widest cluster on a line, or its area on S^2."""
    width = 2 * NARROW * flow.cell
    return float(np.pi * width**2 if flow.cells.place == "sphere" else width)


def find_clusters(flow: CellFlow, cloud: Cloud) -> list[Core]:
    """Return peaks that are points to the grid, heaviest first; none on a Zonal grid.

    Each holds a hundredth of the mass.  Rings of a Zonal grid are told apart by the sign of the
    velocity.
    """
    if flow.cells.place == "zonal":
        return []
    window = CORE_CELLS * flow.cell
    is_open = cloud.heights * _measure_cluster(flow) >= LEAST_SHARE
    found: list[Core] = []
    while is_open.any():
        start = cloud.points[np.argmax(np.where(is_open, cloud.heights, -np.inf))]
        near = cloud.take(cloud.points @ start >= np.cos(min(3 * window, np.pi)))
        core = near.core_about(start, window)
        for centre in (start, core.centre):
            is_open &= cloud.points @ centre < np.cos(window)
        inner = near.masses_about(core.centre, np.array([window / 2]))[0]
        is_point = core.mass < inner * 2**ATOM_EXPONENT
        is_narrow = core.principal_radii[0] <= NARROW * flow.cell
        is_many = flow.has_grid or core.members >= LEAST_MEMBERS
        is_new = all(core.centre @ one.centre < np.cos(window) for one in found)
        is_cluster = is_point and is_narrow and is_many and is_new
        if is_cluster and core.mass >= LEAST_SHARE:
            found.append(core)
    return sorted(found, key=lambda core: -core.mass)


def _rests(flow: CellFlow, cluster: Core) -> bool:
    """Whether a cluster stays within 2 cells, as one more atom of the rest of the measure.

    Clusters of particles do by decree; on a circle the sign of the velocity has told already.
    """
    if flow.cells.on_line or not flow.has_grid:
        return not flow.has_grid
    spacing, whole = flow.spacing, as_measure(flow.measure)
    density, atoms = whole.density, whole.atoms.as_clouds()
    farthest = np.cos(CORE_CELLS * spacing)
    away = density.geometry.points @ cluster.centre < farthest
    others = Density(density.geometry, np.where(away, density.values, 0.0))
    kept = atoms.points @ cluster.centre < farthest
    masses = np.append(atoms.masses[kept], 0.0)
    masses[-1] = whole.total_mass - others.total_mass - masses.sum()
    place = cluster.centre[np.newaxis]
    # Steps of half a cell.
    for _ in range(int(2 * CORE_CELLS)):
        moved = Atoms(np.concatenate([atoms.points[kept], place]), masses)
        velocity = flow.equation.field(Measure(others, moved)).velocity(place)
        speed = float(np.linalg.norm(velocity))
        # Slower than this it is pulled by its own tails.
        if speed < LEAST_SHARE * spacing:
            return True
        place = exponential_map(place, spacing / (2 * speed) * velocity)
        if distances(place, cluster.centre)[0] > CORE_CELLS / 2 * spacing:
            return False
    return True
