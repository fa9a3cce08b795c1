r"""Optimal transport of weighted points for the cost (geodesic distance)^p.

The cost is computed exactly, by the network simplex of POT (Bonneel et al., 2011; Flamary et
al., 2021), an optional package.

Measures become finitely many weighted points, which are coarsened, with bounds of both errors.
A cell of a density counts as a point at its centre; with a bound r_i of the rms distance of the
cell's points from there, and parts whose masses move to their normalised centre of mass c,

    |W_p(mu) - W_p(coarse mu)| <= (sum m_i d(x_i, c_i)^p)^{1/p} + (sum m_i r_i^p)^{1/p}

for either argument (triangle inequality; Minkowski's).  The parts are the same for both
measures, so that measures near each other stay near: all points are halved by weight, again
and again.  The weights m^(2/(2+p)) give parts of the density that is best in two dimensions
(Graf & Luschgy, 2000, Foundations of quantization for probability distributions).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import ModuleType

import numpy as np
from scipy.spatial.distance import cdist

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry import Sphere
from mfpde.geometry.arcs import distances
from mfpde.geometry.base import as_kind
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure, atoms_of

_BALANCED = 1e-12
SIMPLEX_PIVOTS = 100_000_000
SIMPLEX_ERROR = 1e-12


@dataclass(frozen=True, eq=False)
class Pieces:
    """Points (n, d) with masses (n,) above zero, which stand for mass within ``radii`` (n,).

    Radii are means of distances: of a cell's points from its centre, of a part's from its own.
    """

    points: FloatArray
    masses: FloatArray
    radii: FloatArray

    def normalized(self) -> Pieces:
        """Return the pieces scaled to total mass 1."""
        return Pieces(self.points, self.masses / self.masses.sum(), self.radii)

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
    radii = np.repeat(_cell_radii(sphere), sphere.nlon)
    return Pieces(
        np.concatenate([sphere.points.reshape(-1, 3)[held], atoms.points]),
        np.concatenate([masses[held], atoms.masses]),
        np.concatenate([radii[held], np.zeros(len(atoms))]),
    )


def _cell_radii(sphere: Sphere) -> FloatArray:
    """Bound (nlat,) of the rms distance of the points of a ring's cell from its centre.

    With half widths a of the colatitude and b of the longitude, sqrt((a^2 + sin^2 b^2) / 3),
    where the sine is the largest in the cell.
    """
    faces, centres = sphere.rings.face_colatitudes, sphere.rings.colatitudes
    heights = np.maximum(centres - faces[:-1], faces[1:] - centres)
    sines = np.sin(np.clip(np.pi / 2, faces[:-1], faces[1:]))
    return np.asarray(np.hypot(heights, sines * sphere.longitude_step / 2) / np.sqrt(3))


def sums_by_label(labels: IntArray, values: FloatArray) -> FloatArray:
    """Sums (count, d) of the ``values`` (n, d) with each label, from 0 to the largest."""
    sums = np.zeros((labels.max() + 1, values.shape[1]))
    np.add.at(sums, labels, values)
    return sums


def coarsen(
    first: Pieces, second: Pieces, *, order: int, count: int
) -> tuple[Pieces, Pieces]:
    """Replace each of two measures by at most ``count`` points, on common parts.

    Their radii are the distances (in the mean of the power ``order``) by which mass was moved.
    """
    points = np.concatenate([first.points, second.points])
    masses = np.concatenate([first.masses, second.masses])
    labels = np.empty(len(points), dtype=np.int64)
    parts = _divide(points, masses ** (2 / (2 + order)), np.arange(len(points)), count)
    for number, members in enumerate(parts):
        labels[members] = number
    split = len(first.masses)
    return (
        _merge_parts(first, labels[:split], order),
        _merge_parts(second, labels[split:], order),
    )


def _divide(
    points: FloatArray, weights: FloatArray, members: IntArray, count: int
) -> list[IntArray]:
    """Divide ``members`` among ``count`` parts, halving the weight across the longest axis."""
    extents = np.ptp(points[members], axis=0)
    if count < 2 or extents.max() == 0:
        return [members]
    heights = points[members, np.argmax(extents)]
    order = np.argsort(heights)
    cumulated = np.cumsum(weights[members[order]])
    middle = heights[order[np.searchsorted(cumulated, cumulated[-1] / 2)]]
    # Points that coincide stay together.
    is_low = heights <= middle if middle < heights.max() else heights < middle
    low, high = members[is_low], members[~is_low]
    share = count * weights[low].sum() / cumulated[-1]
    few = int(np.clip(np.round(share), 1, count - 1))
    return [
        *_divide(points, weights, low, few),
        *_divide(points, weights, high, count - few),
    ]


def _merge_parts(pieces: Pieces, labels: IntArray, order: int) -> Pieces:
    """One point for each label, at its centre of mass on the sphere."""
    _, anyone, owners = np.unique(labels, return_index=True, return_inverse=True)
    masses = np.bincount(owners, weights=pieces.masses).astype(np.float64)
    sums = sums_by_label(owners, pieces.masses[:, np.newaxis] * pieces.points)
    lengths = np.linalg.norm(sums, axis=1)
    # The centre of a balanced part has no direction: any of its points will do.
    balanced = lengths <= _BALANCED * masses
    lengths[balanced], sums[balanced] = 1.0, pieces.points[anyone[balanced]]
    centres = sums / lengths[:, np.newaxis]
    moved = distances(pieces.points, centres[owners]) ** order
    means = np.bincount(owners, weights=pieces.masses * moved) / masses
    return Pieces(centres, masses, means ** (1 / order))


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


def exact_distance(first: Pieces, second: Pieces, order: int) -> tuple[float, float]:
    """Distance between two probabilities, and a bound for its error.

    Raises
    ------
    ArithmeticError
        If the network simplex does not end.
    """
    apart = cdist(first.points, second.points), cdist(first.points, -second.points)
    # Accurate at 0 and at pi.
    costs = (2 * np.arctan2(*apart)) ** order
    a, b = first.masses, second.masses * (first.masses.sum() / second.masses.sum())
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
