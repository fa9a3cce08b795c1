r"""Atoms as pieces of the search for the minimiser of E (``sliding.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import geodesic_moves, tangent_frames
from mfpde.stationary.certification import (
    Certificate,
    certify,
    state_of_atoms,
)
from mfpde.stationary.convex_energy import ConvexEnergy
from mfpde.stationary.potential_search import (
    DISTINCT,
    PotentialScan,
    lowest_apart,
    polished,
)
from mfpde.stationary.sliding_newton import Arrangement, Derivatives
from mfpde.terms import PointMasses

__all__ = ["DISTINCT", "AtomicPieces"]

SCAN_SPACING = 0.4
APART = 0.5
MANY = 20


@dataclass(frozen=True, eq=False)
class AtomicPieces:
    """Atoms on a sphere with an ``energy``, as pieces of the search for its minimiser."""

    energy: ConvexEnergy

    @cached_property
    def scale(self) -> float:
        """Scale of the energy, times the curvature of V where that is above 1."""
        return self.energy.scale * max(1.0, self.energy.external.curvature)

    @property
    def width(self) -> float:
        """Width of the narrowest kernel, in radians."""
        return self.energy.kernel_width

    @cached_property
    def scan(self) -> PotentialScan:
        """The potential V on points all over the sphere."""
        return PotentialScan.of(self.energy, self._spacing)

    @cached_property
    def fine_scan(self) -> PotentialScan:
        """The potential V on points twice as dense as those of ``scan``."""
        return PotentialScan.of(self.energy, self._spacing / 2)

    @property
    def _spacing(self) -> float:
        return SCAN_SPACING * min(self.width, self.energy.external.width)

    def kernel(self, positions: FloatArray, others: FloatArray) -> FloatArray:
        """Matrix (n, m) of the kernels K / beta, summed, between points (n, d) and (m, d)."""
        return self.energy.matrix(positions, others)

    def potential(self, positions: FloatArray) -> FloatArray:
        """Values (n,) of V at ``positions`` (n, d)."""
        return self.energy.external.values(positions)

    def derivatives(self, state: Arrangement) -> Derivatives:
        """Derivatives of the energy by positions, in ``tangent_frames``, and by masses."""
        points, masses = state
        frames = tangent_frames(points)
        count, size, _ = frames.shape
        roots = np.sqrt(masses)
        field = self.energy.first_variation(PointMasses(points, masses))
        found = field.expansion(points, np.zeros(count))
        parts = [kernel.slopes(points, frames) for kernel in self.energy.kernels]
        by_x, by_both = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
        moves = by_both * roots[:, np.newaxis, np.newaxis, np.newaxis]
        moves *= roots[:, np.newaxis]
        index = np.arange(count)
        moves[index, :, index, :] += found.hessian
        cross = by_x * roots[:, np.newaxis, np.newaxis] * roots
        gradient = roots[:, np.newaxis] * found.gradient
        return Derivatives(
            gradient.ravel(),
            moves.reshape(count * size, -1),
            cross.reshape(count * size, -1),
            self.kernel(points, points) * np.outer(roots, roots),
        )

    def displace(self, positions: FloatArray, steps: FloatArray) -> FloatArray:
        """Points (n, d) after tangent ``steps`` (n, d - 1) along great arcs."""
        return geodesic_moves(positions, tangent_frames(positions), steps)

    def start(self) -> Arrangement:
        """One atom of mass 1 where V is lowest on the scan."""
        lowest = int(np.argmin(self.scan.outside.values))
        return Arrangement(self.scan.points[lowest : lowest + 1], np.ones(1))

    def lowest(self, state: Arrangement, below: float) -> FloatArray:
        """Minima (k, d) of F more than ``below`` under its mean.

        They are found from the scan; if it finds none and there are many atoms, from the fine
        scan: many atoms mean a flat F, whose minima are narrow and which is costly to bound.
        """
        atoms = PointMasses(*state)
        field = self.energy.first_variation(atoms)
        level = float(state.masses @ field.values(state.positions)) - below
        found = self.scan.minima(atoms, level)
        if not len(found) and len(state.masses) > MANY:
            found = self.fine_scan.minima(atoms, level)
        return found

    def unite(self, state: Arrangement, within: float) -> Arrangement:
        """The state with each group of atoms ``within`` a distance of its heaviest made one."""
        points, masses = state
        owner = np.full(len(masses), -1)
        for index in np.argsort(-masses, kind="stable"):
            if owner[index] < 0:
                near = np.linalg.norm(points - points[index], axis=1) <= within
                owner[near & (owner < 0)] = index
        _, group = np.unique(owner, return_inverse=True)
        totals = np.bincount(group, weights=masses)
        means = np.zeros((len(totals), points.shape[1]))
        np.add.at(means, group, masses[:, np.newaxis] * points)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        return Arrangement(means, np.asarray(totals, dtype=np.float64))

    def certify(self, state: Arrangement, tolerance: float) -> Certificate:
        """Certificate of the atoms from a full search."""
        return certify(state_of_atoms(self.energy, PointMasses(*state)), tolerance)[0]

    def probe(
        self, state: Arrangement, tolerance: float
    ) -> tuple[Certificate, FloatArray]:
        """Certificate of a search that stops early, and minima of F near the low points it met."""
        known = state_of_atoms(self.energy, PointMasses(*state))
        found, low = certify(known, tolerance, enough=tolerance / 2)
        field = known.field
        kept = lowest_apart(low, field.values(low), apart=APART * self.width)
        return found, polished(field, low[kept])
