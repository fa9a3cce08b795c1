r"""Cells that cover S^(d-1): boxes on the faces of a cube, in equal angles, which can be divided.

A face +-e_k carries the coordinates (t_1, ..., t_{d-1}) in [-pi/4, pi/4]^{d-1} and the points
x ~ +-e_k + sum tan(t_i) e_i.  A box is a convex spherical polytope, so that it lies within
the ball around its centre that holds its corners.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.geometry.arcs import distances, normalize


@dataclass(frozen=True, eq=False)
class SphereCells:
    """Boxes of one size: ``faces`` (n,), ``middles`` (n, d - 1), ``half`` their half-width."""

    faces: IntArray
    middles: FloatArray
    half: float

    @classmethod
    def covering(cls, dimension: int, half: float) -> SphereCells:
        """Cover S^(dimension-1) by boxes of half-width at most ``half``."""
        count = int(np.ceil(max(np.pi / 4 / half, 1.0)))
        line = (2 * np.arange(count) + 1) * np.pi / (4 * count) - np.pi / 4
        axes = np.meshgrid(*[line] * (dimension - 1), indexing="ij")
        boxes = np.stack(axes, axis=-1).reshape(-1, dimension - 1)
        faces = np.repeat(np.arange(2 * dimension), len(boxes))
        return cls(faces, np.tile(boxes, (2 * dimension, 1)), np.pi / 4 / count)

    def divide(self, which: BoolArray) -> tuple[SphereCells, IntArray]:
        """The 2^(d-1) children of every cell of the mask ``which``, and their parents' numbers."""
        signs = _signs(self.middles.shape[1])
        middles = self.middles[which, np.newaxis, :] + self.half / 2 * signs
        parents = np.repeat(np.flatnonzero(which), len(signs))
        middles = middles.reshape(-1, self.middles.shape[1])
        return SphereCells(self.faces[parents], middles, self.half / 2), parents

    def balls(self) -> tuple[FloatArray, FloatArray]:
        """Centres (n, d) and radii (n,) of balls that hold the cells."""
        centres = self._on_sphere(self.middles)
        radii = np.zeros(len(centres))
        for sign in _signs(self.middles.shape[1]):
            corners = self._on_sphere(self.middles + self.half * sign)
            radii = np.maximum(radii, distances(centres, corners))
        return centres, radii * (1 + 1e-9) + 1e-15

    def _on_sphere(self, places: FloatArray) -> FloatArray:
        count, size = places.shape
        axes, columns = self.faces % (size + 1), np.arange(size)
        points = np.empty((count, size + 1))
        shifted = columns + (columns >= axes[:, np.newaxis])
        np.put_along_axis(points, shifted, np.tan(places), axis=1)
        points[np.arange(count), axes] = np.where(self.faces > size, -1.0, 1.0)
        return normalize(points)


def _signs(count: int) -> FloatArray:
    return np.asarray(2.0 * np.indices((2,) * count).reshape(count, -1).T - 1)
