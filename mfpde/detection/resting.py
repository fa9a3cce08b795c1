r"""Clusters on S^2 at rest in basins that the cells do not resolve.

Beside the kink of a neuron a cluster may rest in a basin that ends a fraction of a cell,
or a few cells, from it.  From the values at cell centres such a basin cannot be told from
the image of a ridge on a lattice.  But the cluster can: it is a point to the grid, and moves
as one, by the velocity of everything else (it exerts no force on itself),

    x' = v[mu - m_c + m delta_x](x),    m_c the cluster, m its mass.

It rests if, within 1.5 cells, that carries it to a zero of this velocity or to where it is
below 1e-2 cells per unit time, such as where no neuron acts.  A cluster that rests is at an
attractor of its own.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.basins import Basins
from mfpde.detection.cores import LEAST_SHARE, Cloud, Core
from mfpde.detection.flow import CellFlow
from mfpde.detection.paths import Paths
from mfpde.detection.region import ATOM_EXPONENT, NARROW
from mfpde.field import GridField
from mfpde.measures.measure import Atoms, Density, Measure, as_measure
from mfpde.terms import PointMasses

CLUSTER_WINDOW = 4.0
"""Radius of the ball that a cluster is looked for in, in cells."""
INNER_WINDOW = CLUSTER_WINDOW / 2
"""In cells: from here to there the mass about a point is constant."""
MEETING = 1.5
"""A cluster that rests moves no farther than this, in cells."""
SLOW = 1e-2
"""Largest speed of a cluster at rest, in cells per unit time: tails of its own pull too."""
STEPS_PER_CELL, LONGEST_PATH = 10, 10.0
"""Steps of the path of a cluster that may rest, and its length in cells."""


def find_resting(flow: CellFlow, basins: Basins, cloud: Cloud) -> IntArray | None:
    """Cell (n,) at rest that each cell about a resting cluster belongs to; -1 elsewhere.

    None if no cluster that shares a basin with another is at rest.
    """
    peaks = _find_narrow_peaks(cloud, flow.spacing)
    cells = flow.cells.cells_of(np.reshape([peak.centre for peak in peaks], (-1, 3)))
    labels = basins.labels[cells]
    attractors = np.full(len(flow.cells), -1)
    for peak, label in zip(peaks, labels, strict=True):
        is_alone = label < 0 or (labels == label).sum() < 2
        place = None if is_alone else _find_rest(flow, peak)
        if place is None:
            continue
        about = flow.cells.within(peak.centre, INNER_WINDOW * flow.spacing)
        place_of_cell = int(flow.cells.cells_of(place[np.newaxis])[0])
        attractors[np.append(about, place_of_cell)] = place_of_cell
    return attractors if (attractors >= 0).any() else None


def _find_narrow_peaks(cloud: Cloud, spacing: float) -> list[Core]:
    """Clusters that are points to the grid and hold a hundredth of the mass."""
    window = CLUSTER_WINDOW * spacing
    # The density in the middle of such a cluster is at least twice this.
    least = LEAST_SHARE / (4 * np.pi * (NARROW * spacing) ** 2)
    is_open = cloud.densities >= least
    found: list[Core] = []
    while is_open.any():
        start = cloud.points[np.argmax(np.where(is_open, cloud.densities, -np.inf))]
        near = cloud.take(cloud.points @ start >= np.cos(min(3 * window, np.pi)))
        core = near.core_about(start, window)
        for place in (start, core.centre):
            is_open &= cloud.points @ place < np.cos(window)
        inner = near.masses_about(core.centre, np.array([INNER_WINDOW * spacing]))[0]
        is_point = core.mass < inner * (CLUSTER_WINDOW / INNER_WINDOW) ** ATOM_EXPONENT
        is_narrow = core.principal_radii[0] <= NARROW * spacing
        if core.mass >= LEAST_SHARE and is_point and is_narrow:
            found.append(core)
    return found


def _find_rest(flow: CellFlow, peak: Core) -> FloatArray | None:
    """Place (3,) at which a cluster comes to rest near its centre; None if it leaves."""
    spacing, start = flow.spacing, peak.centre[np.newaxis]
    whole = as_measure(flow.measure)
    density, atoms = whole.density, whole.atoms
    farthest = np.cos(CLUSTER_WINDOW * spacing)
    away = density.geometry.points @ peak.centre < farthest
    kept = atoms.points @ peak.centre < farthest
    covariances = None if atoms.covariances is None else atoms.covariances[kept]
    left = Measure(
        Density(density.geometry, np.where(away, density.values, 0.0)),
        Atoms(atoms.points[kept], atoms.masses[kept], covariances),
    )
    others = GridField(flow.equation.on(density.geometry), left)
    mass = np.array([whole.total_mass - left.total_mass])

    def velocity_at(points: FloatArray) -> FloatArray:
        return np.concatenate([_move_atom(others, one, mass) for one in points])

    def has_left(points: FloatArray) -> BoolArray:
        moved = np.linalg.norm(points - start, axis=1)
        return np.asarray(moved > MEETING * spacing)

    def is_slow(points: FloatArray) -> BoolArray:
        speeds = np.linalg.norm(velocity_at(points), axis=1)
        return np.asarray(speeds < SLOW * spacing)

    paths = Paths(velocity_at, spacing / STEPS_PER_CELL, LONGEST_PATH * spacing)
    ends, _ = paths.ends(start, lambda points: has_left(points) | is_slow(points))
    return None if has_left(ends)[0] else np.asarray(ends[0])


def _move_atom(others: GridField, point: FloatArray, mass: FloatArray) -> FloatArray:
    """Velocity (1, 3) of one more atom of a mass (1,) at a point (3,).

    The atom's own field has no gradient at its place; under softmax its mass counts in the
    normalisation.
    """
    grid, moments, place = others.grid, others.moments, point[np.newaxis]
    if grid.pulls_on_itself:
        own = grid.geometry.atom_moments(place, mass, grid.degree)
        acting = PointMasses(
            np.concatenate([others.acting.points, place]),
            np.concatenate([others.acting.masses, mass]),
        )
        cells = others.measure.density.masses
        moments = grid.with_masses(
            np.asarray(moments) + own, cells, acting, everywhere=True
        )
    return np.asarray(grid.velocity_at(moments, place))
