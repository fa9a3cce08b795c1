r"""Optimal transport of weighted points for the cost (geodesic distance)^p.

The cost is computed exactly, by the network simplex of POT (Bonneel et al., 2011; Flamary et
al., 2021), an optional package.

Measures become finitely many weighted points, which are coarsened, with bounds of both errors.
A cell of a density counts as a point at its centre; with the rms distance r_i of the cell's
points from there, and clusters whose masses move to their normalised centre of mass c,

    |W_p(mu) - W_p(coarse mu)| <= (sum m_i d(x_i, c_i)^p)^{1/p} + (sum m_i r_i^p)^{1/p}

for either argument (triangle inequality; Minkowski's).  The clusters are the same for both
measures, so that measures near each other stay near: the cluster with the largest
displacement of the two together is halved across its longest principal axis until there
are enough (as in the recursive splitting of Buzo, Gray & Linde, 1980).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cache, lru_cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import roots_legendre

from mfpde.arrays import FloatArray, IntArray, read_only
from mfpde.geometry import Sphere
from mfpde.geometry.arcs import whole_angles
from mfpde.geometry.base import as_kind
from mfpde.geometry.sphere import points_at
from mfpde.measures.mass_points import sums_by_label
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure, atoms_of

_GAUSS_POINTS = 8
_BALANCED = 1e-12


@dataclass(frozen=True, eq=False)
class Pieces:
    """Points (n, d) with masses (n,) above zero, which stand for mass within ``radii`` (n,).

    Radii are means of distances: of a cell's points from its centre, of a cluster's from its own.
    """

    points: FloatArray
    masses: FloatArray
    radii: FloatArray

    @property
    def total_mass(self) -> float:
        """Sum of the masses."""
        return float(self.masses.sum())

    def normalized(self) -> Pieces:
        """Return the pieces scaled to total mass 1."""
        return Pieces(self.points, self.masses / self.total_mass, self.radii)

    def spread(self, order: int) -> float:
        """Bound (sum m r^p)^{1/p} for W_p from the points to the measure that they stand for."""
        return float((self.masses @ self.radii**order) ** (1 / order))


def pieces_of(measure: AnyMeasure, cell_masses: FloatArray | None = None) -> Pieces:
    """Return atoms, and the cells of a density on a :class:`Sphere`, as weighted points.

    ``cell_masses`` replaces the masses of the cells.
    """
    atoms = atoms_of(measure)
    if isinstance(measure, Atoms):
        return Pieces(atoms.points, atoms.masses, np.zeros(len(atoms)))
    density = as_measure(measure).density
    sphere = as_kind("geometry", density.geometry, Sphere)
    masses = (density.masses if cell_masses is None else cell_masses).ravel()
    held = masses > 0
    radii = np.repeat(_cell_radii(sphere.nlat, sphere.nlon), sphere.nlon)
    return Pieces(
        np.concatenate([sphere.points.reshape(-1, 3)[held], atoms.points]),
        np.concatenate([masses[held], atoms.masses]),
        np.concatenate([radii[held], np.zeros(len(atoms))]),
    )


@lru_cache(maxsize=8)
def _cell_radii(nlat: int, nlon: int) -> FloatArray:
    """Rms distance (nlat,) of the points of a ring's cell from its centre."""
    sphere = Sphere(nlat, nlon)
    nodes, weights = roots_legendre(_GAUSS_POINTS)
    heights = np.cos(sphere.rings.face_colatitudes)
    middles, halves = (heights[:-1] + heights[1:]) / 2, np.diff(heights) / 2
    inside = middles[:, np.newaxis] + halves[:, np.newaxis] * nodes
    longitudes = nodes * sphere.longitude_step / 2
    points = points_at(np.arccos(inside)[..., np.newaxis], longitudes)
    centres = sphere.points[:, 0][:, np.newaxis, np.newaxis]
    squares = whole_angles(points, centres) ** 2
    return read_only(np.sqrt(squares @ weights @ weights) / 2)


def coarsen(
    first: Pieces, second: Pieces, *, order: int, count: int
) -> tuple[Pieces, Pieces]:
    """Replace each of two measures by at most ``count`` points, on common clusters.

    Their radii are the distances (in the mean of the power ``order``) by which mass was moved.
    """
    both = np.concatenate([first.points, second.points])
    masses = np.concatenate([first.masses, second.masses])
    labels = _clusters(both, masses, order=order, count=count)
    split = len(first.masses)
    return (
        _merge_clusters(first, labels[:split], order),
        _merge_clusters(second, labels[split:], order),
    )


def _merge_clusters(pieces: Pieces, labels: IntArray, order: int) -> Pieces:
    """One point for each cluster, at its centre of mass on the sphere."""
    present, owners = np.unique(labels, return_inverse=True)
    count = len(present)
    masses = np.bincount(owners, weights=pieces.masses).astype(np.float64)
    sums = sums_by_label(owners, pieces.masses[:, np.newaxis] * pieces.points, count)
    lengths = np.linalg.norm(sums, axis=1)
    # The centre of a balanced cluster has no direction: any of its points will do.
    balanced = lengths <= _BALANCED * masses
    anyone = np.empty(count, dtype=np.int64)
    anyone[owners] = np.arange(len(owners))
    lengths[balanced] = 1.0
    sums[balanced] = pieces.points[anyone[balanced]]
    centres = sums / lengths[:, np.newaxis]
    moved = whole_angles(pieces.points, centres[owners]) ** order
    means = np.bincount(owners, weights=pieces.masses * moved) / masses
    return Pieces(centres, masses, means ** (1 / order))


def _clusters(
    points: FloatArray, masses: FloatArray, *, order: int, count: int
) -> IntArray:
    """Label (n,) of each point's cluster, of ``count`` clusters."""
    labels = np.zeros(len(points), dtype=np.int64)
    queue = [(-_displacement(points, masses, order), 0)]
    while len(queue) < count and queue[0][0] < 0:
        _, label = heapq.heappop(queue)
        (members,) = np.nonzero(labels == label)
        beyond = _beyond_middle(points[members], masses[members])
        new = len(queue) + 1
        labels[members[beyond]] = new
        for changed, part in ((label, members[~beyond]), (new, members[beyond])):
            moved = _displacement(points[part], masses[part], order)
            heapq.heappush(queue, (-moved, changed))
    return labels


def _displacement(points: FloatArray, masses: FloatArray, order: int) -> float:
    """Sum of m d(x, c)^p about the cluster's centre of mass; 0 if all points coincide."""
    if len(points) < 2 or (points == points[0]).all():
        return 0.0
    centre = masses @ points
    length = np.linalg.norm(centre)
    centre = centre / length if length > _BALANCED * masses.sum() else points[0]
    return float(masses @ whole_angles(points, centre) ** order)


def _beyond_middle(points: FloatArray, masses: FloatArray) -> NDArray[np.bool_]:
    """Mask (n,) of the points that lie beyond the mean along the longest principal axis."""
    shifted = points - masses @ points / masses.sum()
    axis = np.linalg.eigh((masses[:, np.newaxis] * shifted).T @ shifted)[1][:, -1]
    heights = shifted @ axis
    beyond = heights > 0
    # Rounding may put all on one side when the points nearly coincide.
    halved = beyond.any() and not beyond.all()
    return np.asarray(beyond if halved else heights >= heights.max())


SIMPLEX_PIVOTS = 100_000_000
SIMPLEX_ERROR = 1e-12


@cache
def network_simplex() -> ModuleType:
    """Import POT, or say how to install it."""
    try:
        import ot
    except ImportError as error:
        raise ImportError(
            "Wasserstein distances on S^2, and between atoms for d > 3, need the package "
            f"POT, which could not be imported ({error}): pip install "
            "'mfpde[wasserstein]' (or pip install POT); on the circle and on zonal grids "
            "they need nothing"
        ) from error
    module: ModuleType = ot
    return module


def geodesic_distances(points: FloatArray, others: FloatArray) -> FloatArray:
    """Angles (n, m) between all pairs of unit vectors, accurate at 0 and at pi."""
    return np.asarray(2 * np.arctan2(cdist(points, others), cdist(points, -others)))


def exact_distance(first: Pieces, second: Pieces, order: int) -> tuple[float, float]:
    """Distance between two probabilities, and a bound for its error.

    Raises
    ------
    ArithmeticError
        If the network simplex does not end.
    """
    costs = geodesic_distances(first.points, second.points) ** order
    a, b = first.masses, second.masses * (first.total_mass / second.total_mass)
    cost, log = network_simplex().emd2(a, b, costs, numItermax=SIMPLEX_PIVOTS, log=True)
    if log["warning"] is not None:
        raise ArithmeticError(
            f"the network simplex failed on {len(a)} x {len(b)} points: "
            f"{log['warning']}; coarsen further (support=...)"
        )
    value, low, high = (
        max(float(cost) + error, 0.0) ** (1 / order)
        for error in (0.0, -SIMPLEX_ERROR, SIMPLEX_ERROR)
    )
    return value, max(value - low, high - value)
