r"""The moving mass of a measure as weighted points, and the cores of the mass in it.

A point stands for a cell, at the edge of a basin for its part on one side, or for an atom.  A
ball covers the share

    c = min(max((r - distance) / h + 1/2, 0), 1)

of a cell of width h, so that no mass enters it abruptly.  A core is found by mean shift,
x <- normalise(sum of c m y over the ball about x); it has the mean, mass and covariance of
the mass in the ball about its mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.flow import ROUNDING
from mfpde.geometry.arcs import coordinates_about, distances, normalize

MOST_SHIFTS = 20
TINY = float(np.finfo(float).tiny)


class Cloud(NamedTuple):
    """Weighted points (n, d), whose ``masses`` (n,) are shares of the whole.

    Each is in the basin ``owners`` (n,), and stands for a cell of ``widths`` (n,) radians, 1e-12
    of an atom.  The ``heights`` (n,) are densities, by angle on lines; 0 of exact atoms, of
    particles the mass about each.  Exact atoms have ``numbers`` (n,), cells and particles -1.
    """

    points: FloatArray
    masses: FloatArray
    widths: FloatArray
    heights: FloatArray
    owners: IntArray
    numbers: IntArray

    def take(self, chosen: IntArray | BoolArray | slice) -> Cloud:
        """Those of the points that are ``chosen``."""
        return Cloud._make(part[chosen] for part in self)

    def add(self, other: Cloud) -> Cloud:
        """These points and then the ``other`` ones."""
        return Cloud._make(map(np.concatenate, zip(self, other, strict=True)))

    def core_about(self, start: FloatArray, radius: float) -> Core:
        """Core by mean shift from ``start`` over balls of ``radius``."""
        centre = start
        for _ in range(MOST_SHIFTS):
            near, masses = self._cut_ball(centre, radius)
            total = masses @ self.points[near]
            last, centre = centre, normalize(total)
            if np.linalg.norm(centre - last) < ROUNDING:
                break
        return self.core_at(centre, radius)

    def core_at(self, centre: FloatArray, radius: float) -> Core:
        """Core of the mass within ``radius`` of a point, which need not be its mean."""
        near, masses = self._cut_ball(centre, radius)
        offsets = coordinates_about(centre, self.points[near])
        mass = float(masses.sum())
        covariance = (masses[:, np.newaxis] * offsets).T @ offsets / max(mass, TINY)
        members = int(np.count_nonzero(masses))
        return Core(centre, mass, find_principal_radii(covariance), members)

    def masses_about(self, centre: FloatArray, radii: FloatArray) -> FloatArray:
        """Masses (m,) within each of ``radii`` (m,) of a point."""
        away = distances(self.points, centre)
        return cover(away, radii[:, np.newaxis], self.widths) @ self.masses

    def _cut_ball(
        self, centre: FloatArray, radius: float
    ) -> tuple[IntArray, FloatArray]:
        """Points that a ball about a point may cover, and their masses in it."""
        farthest = min(radius + self.widths.max(initial=0.0), np.pi)
        cosines = self.points @ centre
        near = np.flatnonzero(cosines >= np.cos(farthest))
        away = np.arccos(np.minimum(cosines[near], 1.0))
        return near, cover(away, radius, self.widths[near]) * self.masses[near]


def cover(
    away: FloatArray, radius: FloatArray | float, widths: FloatArray | float
) -> FloatArray:
    """Shares of cells at distances ``away`` that balls of a ``radius`` cover."""
    return np.asarray(np.clip((radius - away) / widths + 0.5, 0.0, 1.0))


def masses_in_boxes(points: FloatArray, masses: FloatArray, width: float) -> FloatArray:
    """Masses (n,) in the boxes, ``width`` wide, of a lattice that hold each of the points."""
    boxes = np.unique(np.floor(points / width), axis=0, return_inverse=True)[1].ravel()
    return np.asarray(np.bincount(boxes, masses)[boxes])


class Core(NamedTuple):
    """The mass within a radius of ``centre`` (d,), as a share of the whole, of ``members`` points.

    Its ``principal_radii`` (d - 1,) are those of the covariance about the centre.
    """

    centre: FloatArray
    mass: float
    principal_radii: FloatArray
    members: int


def find_principal_radii(covariance: FloatArray) -> FloatArray:
    """Root mean square extents (n,) of a ``covariance`` (n, n) in radians, largest first."""
    variances = np.linalg.eigvalsh(covariance)[::-1]
    return np.asarray(np.sqrt(np.maximum(variances, 0.0)))
