r"""Atoms as pieces of the search for the minimiser of E (``sliding.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import geodesic_moves, tangent_frames
from mfpde.stationary.certification import (
    Certificate,
    certify,
    state_of_atoms,
)
from mfpde.stationary.convex_energy import ConvexEnergy
from mfpde.stationary.local_minima import descend, find_minima, scanning_points
from mfpde.terms import PointMasses


class Arrangement(NamedTuple):
    """Positions of pieces, and their masses (n,)."""

    positions: FloatArray
    masses: FloatArray


class Derivatives(NamedTuple):
    """Derivatives of E in (y, q): ``gradient`` E_y (n k,), ``moves`` E_yy, ``cross`` E_yq.

    ``masses`` is E_qq (n, n).
    """

    gradient: FloatArray
    moves: FloatArray
    cross: FloatArray
    masses: FloatArray


@dataclass(frozen=True, eq=False)
class AtomicPieces:
    """Atoms on a sphere with an ``energy``, as pieces of the search for its minimiser."""

    energy: ConvexEnergy

    @cached_property
    def scale(self) -> float:
        """Scale of the energy, times the curvature of V where that is above 1."""
        return self.energy.scale * max(1.0, self.energy.curvature)

    @property
    def width(self) -> float:
        """Width of the narrowest kernel, in radians."""
        return self.energy.kernel_width

    @cached_property
    def scan(self) -> FloatArray:
        """Points (n, d) all over the sphere."""
        width = min(self.width, self.energy.external.width)
        return self.energy.represent(scanning_points(self.energy.dimension, width))

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
            self.energy.matrix(points, points) * np.outer(roots, roots),
        )

    def displace(self, positions: FloatArray, steps: FloatArray) -> FloatArray:
        """Points (n, d) after tangent ``steps`` (n, d - 1) along great arcs."""
        ends = geodesic_moves(positions, tangent_frames(positions), steps)
        return self.energy.represent(ends)

    def start(self) -> Arrangement:
        """One atom of mass 1 where V is lowest on the scan."""
        lowest = self.scan[np.argmin(self.energy.external.values(self.scan))]
        return Arrangement(lowest[np.newaxis], np.ones(1))

    def lowest(self, state: Arrangement, below: float) -> FloatArray:
        """Minima (k, d) of F more than ``below`` under its mean, as far as a scan finds them."""
        field = self.energy.first_variation(PointMasses(*state))
        level = float(state.masses @ field.values(state.positions)) - below
        return self.energy.represent(find_minima(field, self.scan, below=level))

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

    def probe(
        self, state: Arrangement, tolerance: float
    ) -> tuple[Certificate, FloatArray]:
        """Certificate of a search that stops early, and minima of F near the low points it met."""
        known = state_of_atoms(self.energy, PointMasses(*state))
        found, low = certify(known, tolerance, enough=tolerance / 2)
        return found, self.energy.represent(descend(known.field, low))
