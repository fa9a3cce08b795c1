r"""Optimal transport of weighted points for the cost (geodesic distance)^p.

The cost is computed exactly, by the network simplex of POT (Bonneel et al., 2011; Flamary et
al., 2021), or with entropy: with P_ij = a_i b_j exp((f_i + g_j - C_ij)/eps) of marginals a
and b, and
OT_eps = f.a + g.b, the debiased cost is

    S = OT_eps(a, b) - (OT_eps(a, a) + OT_eps(b, b)) / 2     (Feydy et al., 2019).

The unregularised cost lies between the value of the potentials, made feasible by
g_j = min_i (C_ij - f_i), and the cost of P, rounded to its marginals (Altschuler, Weed &
Rigollet, 2017); S is clipped to that interval, whose width bounds its error.

A measure as finitely many weighted points, and its coarsening, with the error of both.

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
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import logsumexp, roots_legendre

from mfpde.arrays import FloatArray, IntArray, read_only
from mfpde.geometry import Sphere
from mfpde.geometry.arcs import whole_angles
from mfpde.geometry.sphere import as_sphere, points_at
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure, atoms_of

_GAUSS_POINTS = 8
_BALANCED = 1e-12


@dataclass(frozen=True, eq=False)
class Pieces:
    """Points (n, d) with masses (n,) above zero that stand for cells of rms ``radii`` (n,)."""

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
    sphere = as_sphere("measure", density.geometry)
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


def coarsened(first: Pieces, second: Pieces, *, order: int, count: int) -> Coarsened:
    """Replace each of two measures by at most ``count`` points, on common clusters."""
    both = np.concatenate([first.points, second.points])
    masses = np.concatenate([first.masses, second.masses])
    labels = _clusters(both, masses, order=order, count=count)
    split = len(first.masses)
    return Coarsened(
        *_aggregated(first, labels[:split], order),
        *_aggregated(second, labels[split:], order),
    )


@dataclass(frozen=True, eq=False)
class Coarsened:
    """Two measures on fewer points, and how far (in W_p at most) each was moved."""

    first: Pieces
    first_displacement: float
    second: Pieces
    second_displacement: float


def _aggregated(pieces: Pieces, labels: IntArray, order: int) -> tuple[Pieces, float]:
    present, owners = np.unique(labels, return_inverse=True)
    masses = np.asarray(np.bincount(owners, weights=pieces.masses), dtype=np.float64)
    weighted = pieces.masses[:, np.newaxis] * pieces.points
    sums = np.stack([np.bincount(owners, weights=column) for column in weighted.T], -1)
    lengths = np.linalg.norm(sums, axis=1)
    # The centre of a balanced cluster has no direction: any of its points will do.
    balanced = lengths <= _BALANCED * masses
    anyone = np.empty(len(present), dtype=np.int64)
    anyone[owners] = np.arange(len(owners))
    lengths[balanced] = 1.0
    sums[balanced] = pieces.points[anyone[balanced]]
    centres = sums / lengths[:, np.newaxis]
    moved = whole_angles(pieces.points, centres[owners])
    displacement = float((pieces.masses @ moved**order) ** (1 / order))
    return Pieces(centres, masses, np.zeros(len(masses))), displacement


def _clusters(
    points: FloatArray, masses: FloatArray, *, order: int, count: int
) -> IntArray:
    """Label (n,) of each point's cluster, of ``count`` clusters."""
    everything = np.arange(len(points))
    clusters = [everything]
    queue = [(-_displacement(points, masses, order), 0)]
    while len(clusters) < count and queue[0][0] < 0:
        _, index = heapq.heappop(queue)
        members = clusters[index]
        beyond = _beyond_middle(points[members], masses[members])
        clusters[index] = members[~beyond]
        clusters.append(members[beyond])
        for changed in (index, len(clusters) - 1):
            part = clusters[changed]
            moved = _displacement(points[part], masses[part], order)
            heapq.heappush(queue, (-moved, changed))
    labels = np.empty(len(points), dtype=np.int64)
    for index, members in enumerate(clusters):
        labels[members] = index
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
ENTROPY = 2e-3
"""Regularisation eps, as a share of the largest cost."""

SWEEPS = 40
LAST_SWEEPS = 1000
MARGINAL_ERROR = 1e-6


class Cost(NamedTuple):
    """A transport cost, and an interval that holds the exact one."""

    value: float
    lowest: float
    highest: float

    def distance(self, order: int) -> tuple[float, float]:
        """The distance, the root of the cost, and a bound for its error."""
        value, low, high = (max(cost, 0.0) ** (1 / order) for cost in self)
        return value, max(value - low, high - value)


def geodesic_distances(points: FloatArray, others: FloatArray) -> FloatArray:
    """Angles (n, m) between all pairs of unit vectors, accurate at 0 and at pi."""
    return np.asarray(2 * np.arctan2(cdist(points, others), cdist(points, -others)))


def exact_cost(first: Pieces, second: Pieces, order: int) -> Cost:
    """Cost of the optimal plan between two probabilities.

    Raises
    ------
    ArithmeticError
        If the network simplex does not end.
    """
    import ot

    costs = geodesic_distances(first.points, second.points) ** order
    a, b = first.masses, second.masses * (first.total_mass / second.total_mass)
    value, log = ot.emd2(a, b, costs, numItermax=SIMPLEX_PIVOTS, log=True)
    if log["warning"] is not None:
        raise ArithmeticError(
            f"the network simplex failed on {len(a)} x {len(b)} points: "
            f"{log['warning']}; coarsen further (support=...) or use method='entropic'"
        )
    return Cost(
        float(value), float(value) - SIMPLEX_ERROR, float(value) + SIMPLEX_ERROR
    )


def entropic_cost(first: Pieces, second: Pieces, order: int) -> Cost:
    """Debiased entropic cost between two probabilities."""
    costs = geodesic_distances(first.points, second.points) ** order
    entropy = ENTROPY * float(costs.max()) if costs.max() > 0 else ENTROPY
    a, b = first.masses, second.masses
    f, g = _potentials(a, b, costs, entropy)
    value = float(f @ a + g @ b)
    for pieces in (first, second):
        own = geodesic_distances(pieces.points, pieces.points) ** order
        masses = pieces.masses
        potential = _own_potential(masses, own, entropy)
        value -= float(potential @ masses)
    feasible = (costs - f[:, np.newaxis]).min(axis=0)
    lowest = float(f @ a + feasible @ b)
    plan = np.exp((f[:, np.newaxis] + g - costs) / entropy)
    plan *= a[:, np.newaxis] * b
    highest = _rounded_cost(plan, a, b, costs)
    return Cost(min(max(value, lowest), highest), lowest, highest)


def _potentials(
    a: FloatArray, b: FloatArray, costs: FloatArray, entropy: float
) -> tuple[FloatArray, FloatArray]:
    """Sinkhorn's potentials f, g of masses a, b, for an entropy halved stage by stage."""
    f, g = np.zeros(len(a)), np.zeros(len(b))
    stages = int(np.ceil(np.log2(max(float(costs.max()) / entropy, 1.0))))
    for stage in range(stages, -1, -1):
        eps = entropy * 2.0**stage
        sweeps = LAST_SWEEPS if stage == 0 else SWEEPS
        for _ in range(sweeps // SWEEPS):
            # In logarithms once, so that no sum below is zero.
            f = -eps * logsumexp((g - costs) / eps, b=b, axis=1)
            kernel = np.exp((f[:, np.newaxis] + g - costs) / eps)
            u, v = np.ones(len(a)), np.ones(len(b))
            for _ in range(SWEEPS):
                v = 1 / (kernel.T @ (a * u))
                u = 1 / (kernel @ (b * v))
            f, g = f + eps * np.log(u), g + eps * np.log(v)
            if np.abs(b * (v * (kernel.T @ (a * u)) - 1)).sum() < MARGINAL_ERROR:
                break
    return f, g


def _own_potential(masses: FloatArray, costs: FloatArray, entropy: float) -> FloatArray:
    """The potential of a measure with itself, for which a few averaged sweeps suffice."""
    kernel = np.exp(-costs / entropy)
    scaling = np.ones(len(masses))
    for _ in range(LAST_SWEEPS):
        wanted = 1 / (kernel @ (masses * scaling))
        change = float(masses @ np.abs(wanted / scaling - 1))
        scaling = np.sqrt(scaling * wanted)
        if change < MARGINAL_ERROR:
            break
    return np.asarray(entropy * np.log(scaling))


def _rounded_cost(
    plan: FloatArray, a: FloatArray, b: FloatArray, costs: FloatArray
) -> float:
    """Cost of the plan after it is moved onto the marginals a, b exactly."""
    plan = plan * np.minimum(a / plan.sum(axis=1), 1.0)[:, np.newaxis]
    plan *= np.minimum(b / plan.sum(axis=0), 1.0)
    left, right = a - plan.sum(axis=1), b - plan.sum(axis=0)
    rest = float(left.sum())
    extra = float(left @ costs @ right) / rest if rest > 0 else 0.0
    return float((plan * costs).sum()) + extra
