r"""The moving mass of a measure on S^2 as weighted points, and the cores and curves in it.

The points are cells, parts of cells, and atoms.  A core has the mean, mass and covariance of
the mass within a radius of its mean.

Mass on a curve is narrow across, long along, and of dimension 1 in balls.  Points that are
typical of the *mass* of a basin (not of its peak) are looked at one by one: about the mean of
the mass within 2.5 cells, a ball of 4 cells holds a piece of a curve if its principal rms radii
s1 >= s2 (in cells) and its ball masses satisfy

    s2 < 1.6,   s1 > 1.6,   s1 > 1.5 s2,   0.6 < log2 mu(B(4h)) / mu(B(2h)) < 1.45

(a line has s1 = 4/sqrt(3) and exponent 1, an evenly filled disc s1 = s2 = 2 and exponent 2,
an atom s1 < 1.2 and exponent 0).  A region is a curve if that is so for most of its
concentrated mass: where a ball of 2h holds 4 times its uniform share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from mfpde.arrays import FloatArray, IntArray
from mfpde.detection.lattice import Lattice
from mfpde.detection.paths import parts_of_cells
from mfpde.detection.report import REST
from mfpde.detection.sphere_basins import LatticeField
from mfpde.geometry.arcs import coordinates_about
from mfpde.measures.measure import Atoms, Measure

NO_MASS = 1e-25


@dataclass(frozen=True, eq=False)
class MovingMass:
    """Weighted points: places (n, 3), masses as shares of the whole, and each point's cell.

    ``densities`` are those of the cells, of shares; an atom's is above all of them.
    ``atom_numbers`` are negative for cells.
    """

    points: FloatArray
    masses: FloatArray
    densities: FloatArray
    cells: IntArray
    atom_numbers: IntArray

    @classmethod
    def of(cls, measure: Measure | Atoms, on_lattice: LatticeField) -> MovingMass:
        """The mass of ``measure`` that is not at rest, and its exact atoms."""
        lattice = on_lattice.lattice
        if isinstance(measure, Atoms):
            atoms = measure
            masses, densities = np.empty(0), np.empty(0)
        else:
            atoms = measure.atoms
            masses = measure.density.masses.ravel()
            densities = measure.density.values.ravel() / measure.total_mass
        cells = np.concatenate([np.arange(len(masses)), lattice.cells_of(atoms.points)])
        shares = np.concatenate([masses, atoms.masses]) / measure.total_mass
        moving = (shares > NO_MASS) & ~on_lattice.found.frozen[cells]
        if isinstance(measure, Measure):
            # An atom of the measure is one also where it rests.
            moving[len(masses) :] = True
        points = np.concatenate([lattice.points[: len(masses)], atoms.points])
        above = densities.max(initial=0.0) + atoms.masses
        return cls(
            points[moving],
            shares[moving],
            np.concatenate([densities, above])[moving],
            cells[moving],
            np.arange(-len(masses), len(atoms))[moving],
        )

    def divided(self, counts: IntArray, lattice: Lattice) -> MovingMass:
        """The mass with each point that stands for a cell divided into counts^2 parts, (n,)."""
        owners = np.repeat(np.arange(len(counts)), counts**2)
        points = self.points[owners]
        split = counts > 1
        points[split[owners]] = parts_of_cells(
            lattice, self.cells[split], counts[split]
        )
        return MovingMass(
            points,
            self.masses[owners] / counts[owners] ** 2,
            self.densities[owners],
            self.cells[owners],
            self.atom_numbers[owners],
        )


SAMPLES = 64
CENTRING, SMALL, LARGE = 2.5, 2.0, 4.0
NARROW, LONG, SLENDER = 1.6, 1.6, 1.5
LEAST_DIMENSION, LARGEST_DIMENSION = 0.6, 1.45
CONCENTRATED = 4.0
LEAST_CONCENTRATED = 0.1
MAJORITY = 0.5


class Curves:
    """Search for curves among weighted points (n, 3) with masses (n,) of total 1."""

    def __init__(self, points: FloatArray, masses: FloatArray, spacing: float) -> None:
        self.points = points
        self.masses = masses
        self.spacing = spacing
        self.tree = cKDTree(points)

    def length(self, points: FloatArray, masses: FloatArray) -> float | None:
        """Length of the curve that these ``points`` (m, 3) form; None if they form none."""
        seen = [self._piece(points[k]) for k in _typical(masses)]
        dense = [piece for piece in seen if piece is not None]
        if len(dense) < LEAST_CONCENTRATED * len(seen):
            return None
        lengths = [length for length in dense if length > 0]
        if len(lengths) <= MAJORITY * len(dense):
            return None
        mass = float(masses.sum()) * len(lengths) / len(seen)
        return mass * float(np.mean(lengths))

    def _piece(self, start: FloatArray) -> float | None:
        """Length per mass of the curve at ``start``; 0 without one, None where mass is thin."""
        least = CONCENTRATED * (SMALL * self.spacing) ** 2 / 4
        if self.masses[self._within(start, 2 * SMALL)].sum() < least:
            return None
        centre = start
        for _ in range(2):
            near = self._within(centre, CENTRING)
            total = self.masses[near] @ self.points[near]
            centre = total / np.linalg.norm(total)
        near = self._within(centre, LARGE)
        # Chords: in a ball of 4 cells they are tangents to O(h^2).
        chords = (self.points[near] - centre) / self.spacing
        weights = self.masses[near]
        large = float(weights.sum())
        inner = np.einsum("ni,ni->n", chords, chords) <= SMALL**2
        small = float(weights[inner].sum())
        if small < least:
            return None
        chords -= weights @ chords / large
        covariance = (weights[:, np.newaxis] * chords).T @ chords / large
        squares = np.linalg.eigvalsh(covariance)
        second, first = np.sqrt(np.maximum(squares[1:], 0.0))
        dimension = np.log2(large / small)
        is_piece = (
            second < NARROW
            and first > LONG
            and first > SLENDER * second
            and LEAST_DIMENSION < dimension < LARGEST_DIMENSION
        )
        return 2 * LARGE * self.spacing / large if is_piece else 0.0

    def _within(self, centre: FloatArray, cells: float) -> IntArray:
        chord = 2 * np.sin(cells * self.spacing / 2)
        return np.asarray(self.tree.query_ball_point(centre, chord), dtype=np.int64)


def _typical(masses: FloatArray) -> IntArray:
    """Indices of the points at equal steps of the cumulated mass."""
    cumulated = np.cumsum(masses)
    levels = (np.arange(SAMPLES) + 0.5) / SAMPLES * cumulated[-1]
    found = np.searchsorted(cumulated, levels)
    return np.asarray(np.minimum(found, len(masses) - 1))


_CORE_STEPS = 30


@dataclass(frozen=True)
class SphereCore:
    """Mean direction, mass and covariance of a core."""

    centre: FloatArray
    mass: float
    covariance: FloatArray

    @property
    def principal_radii(self) -> FloatArray:
        """Root mean square extents (2,) in radians, largest first."""
        variances = np.linalg.eigvalsh(self.covariance)[::-1]
        return np.asarray(np.sqrt(np.maximum(variances, 0.0)))


@dataclass(frozen=True)
class Cores:
    """The cores of moving mass; ``members`` are indices of the points of a basin."""

    mass: MovingMass

    def densest(
        self, attractor: FloatArray, members: IntArray, radius: float
    ) -> SphereCore:
        """SphereCore about the attractor or about the densest point, whichever holds more."""
        densest = members[np.argmax(self.mass.densities[members])]
        starts = attractor, self.mass.points[densest]
        cores = [self.about(start, members, radius) for start in starts]
        return max(cores, key=lambda core: core.mass)

    def about(self, start: FloatArray, members: IntArray, radius: float) -> SphereCore:
        """SphereCore by mean shift from ``start`` over balls of ``radius``."""
        points, masses = self.mass.points[members], self.mass.masses[members]
        centre = start
        near = points @ centre >= np.cos(radius)
        for _ in range(_CORE_STEPS):
            if not near.any():
                return SphereCore(centre, 0.0, np.zeros((2, 2)))
            total = masses[near] @ points[near]
            mean = total / np.linalg.norm(total)
            near = points @ mean >= np.cos(radius)
            step = np.linalg.norm(mean - centre)
            centre = mean
            if step < 1e-12:
                break
        mass = float(masses[near].sum())
        if mass == 0.0:
            return SphereCore(centre, 0.0, np.zeros((2, 2)))
        offsets = coordinates_about(centre, points[near])
        covariance = (masses[near, np.newaxis] * offsets).T @ offsets / mass
        return SphereCore(centre, mass, covariance)

    def near(self, centre: FloatArray, members: IntArray, radius: float) -> IntArray:
        """Members within ``radius`` of a point."""
        cosines = self.mass.points[members] @ centre
        return np.asarray(members[cosines >= np.cos(radius)])

    def mass_about(self, centre: FloatArray, members: IntArray, radius: float) -> float:
        """Mass of the members within ``radius`` of a point."""
        return float(self.mass.masses[self.near(centre, members, radius)].sum())

    def rival(
        self, core: SphereCore, members: IntArray, window: float
    ) -> SphereCore | None:
        """The second densest window of the members, apart from the core; None if there is none."""
        cosines = self.mass.points[members] @ core.centre
        apart = members[cosines < np.cos(2 * window)]
        if not len(apart) or core.mass <= REST:
            return None
        start = self.mass.points[apart[np.argmax(self.mass.densities[apart])]]
        return self.about(start, apart, window)
