r"""Atoms as pieces of the search for the minimiser of E (``sliding.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import geodesic_moves, tangent_frames
from mfpde.stationary.bounded_fields import AtomicField, kernel_width
from mfpde.stationary.certification import (
    Certificate,
    Levels,
    bounded_gap,
    energy_scale,
    hasty_gap,
)
from mfpde.stationary.external_bounds import ExternalBounds, external_bounds
from mfpde.stationary.potential_search import PotentialScan, lowest_apart, polished
from mfpde.stationary.sliding import SlidingEnd, sliding_minimum
from mfpde.stationary.sliding_newton import Arrangement, Derivatives

SCAN_SPACING = 0.4
APART = 0.5
MANY = 20


def atomic_minimum(
    equation: MeanFieldEquation, dimension: int, tolerance: float
) -> SlidingEnd:
    """Minimise E over atoms on S^(dimension-1) to a gap of ``tolerance``, if possible."""
    return sliding_minimum(AtomicPieces(equation, dimension), tolerance)


@dataclass(frozen=True, eq=False)
class AtomicPieces:
    """Atoms on S^(d-1), d = ``dimension``, as pieces of the search for the minimiser."""

    equation: MeanFieldEquation
    dimension: int

    @cached_property
    def external(self) -> ExternalBounds:
        """The potential V with its bounds."""
        return external_bounds(self.equation, self.dimension)

    @cached_property
    def scale(self) -> float:
        """Scale of the energy, times the curvature of V where that is above 1."""
        return energy_scale(self.equation) * max(1.0, self.external.curvature)

    @cached_property
    def width(self) -> float:
        """Width of the narrowest kernel, in radians."""
        return kernel_width(self.equation)

    @cached_property
    def scan(self) -> PotentialScan:
        """The potential V on points all over the sphere."""
        return PotentialScan.of(self.external, self._spacing)

    @cached_property
    def fine_scan(self) -> PotentialScan:
        """The potential V on points twice as dense as those of ``scan``."""
        return PotentialScan.of(self.external, self._spacing / 2)

    @property
    def _spacing(self) -> float:
        return SCAN_SPACING * min(self.width, self.external.width)

    def kernel(self, positions: FloatArray, others: FloatArray) -> FloatArray:
        """Matrix (n, m) of the kernels K / beta, summed, between points (n, d) and (m, d)."""
        chords = positions[:, np.newaxis, :] - others
        cosines = 1 - np.einsum("ijd,ijd->ij", chords, chords) / 2
        total = np.zeros(cosines.shape)
        for term in self.equation.zonal_terms:
            total += term.amplitude * term.zonal_kernel.value(cosines)
        return total

    def potential(self, positions: FloatArray) -> FloatArray:
        """Values (n,) of V at ``positions`` (n, d)."""
        return self.external.values(positions)

    def derivatives(self, state: Arrangement) -> Derivatives:
        """Derivatives of the energy by positions, in ``tangent_frames``, and by masses."""
        points, masses = state
        frames = tangent_frames(points)
        count, size, d = frames.shape
        roots = np.sqrt(masses)
        wide = np.repeat(roots, size)
        field = AtomicField(self.equation, points, masses)
        found = field.expansion(points, np.zeros(count))
        assert found.hessian is not None
        tangents = frames.reshape(-1, d)
        inward = tangents @ points.T
        facing = np.repeat(inward, size, axis=1)
        moves, cross = np.zeros((count * size,) * 2), np.zeros(inward.shape)
        for term in self.equation.zonal_terms:
            kernel, cosines = term.zonal_kernel, points @ points.T
            first = np.repeat(term.amplitude * kernel.slope(cosines), size, axis=0)
            second = np.repeat(term.amplitude * kernel.bend(cosines), size, axis=0)
            cross += first * inward
            moves += np.repeat(first, size, axis=1) * (tangents @ tangents.T)
            moves += np.repeat(second, size, axis=1) * (facing * facing.T)
        moves *= np.outer(wide, wide)
        blocks = moves.reshape(count, size, count, size)
        index = np.arange(count)
        blocks[index, :, index, :] += found.hessian
        matrix = self.kernel(points, points) * np.outer(roots, roots)
        gradient = wide * found.gradient.ravel()
        return Derivatives(gradient, moves, cross * np.outer(wide, roots), matrix)

    def displace(self, positions: FloatArray, steps: FloatArray) -> FloatArray:
        """Points (n, d) after tangent ``steps`` (n, d - 1) along great arcs."""
        return geodesic_moves(positions, tangent_frames(positions), steps)

    def start(self) -> Arrangement:
        """One atom of mass 1 where V is lowest on the scan."""
        lowest = int(np.argmin(self.scan.values))
        return Arrangement(self.scan.points[lowest : lowest + 1], np.ones(1))

    def lowest(self, state: Arrangement, below: float) -> FloatArray:
        """Minima (k, d) of F more than ``below`` under its mean.

        They are found from the scan; if it finds none and there are many atoms, from the fine
        scan: many atoms mean a flat F, whose minima are narrow and which is costly to bound.
        """
        field = AtomicField(self.equation, *state)
        level = float(state.masses @ field.values(state.positions))
        found = self.scan.minima(field, level - below, width=self.width)
        if not len(found) and len(state.masses) > MANY:
            found = self.fine_scan.minima(field, level - below, width=self.width)
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
        return bounded_gap(*self._known(state), tolerance)

    def probe(
        self, state: Arrangement, tolerance: float
    ) -> tuple[Certificate, FloatArray]:
        """Certificate of a search that stops early, and minima of F near the low points it met."""
        field, known = self._known(state)
        found, low = hasty_gap(field, known, tolerance)
        kept = lowest_apart(low, field.values(low), apart=APART * self.width)
        return found, polished(field, low[kept])

    def _known(self, state: Arrangement) -> tuple[AtomicField, Levels]:
        """The field F, with the energy E and the mean of F."""
        points, masses = state
        field = AtomicField(self.equation, points, masses)
        level = float(masses @ field.values(points))
        energy = level - float(masses @ self.kernel(points, points) @ masses) / 2
        return field, Levels(energy, level)
