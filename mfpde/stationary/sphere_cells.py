r"""Cells that cover S^(d-1): boxes on the faces of a cube, in equal angles, which can be halved.

A face +-e_k carries the coordinates (t_1, ..., t_{d-1}) in [-pi/4, pi/4]^{d-1} and the points
x ~ +-e_k + sum tan(t_i) e_i.  A box is a convex spherical polytope, so that it lies within
the ball around its centre that holds its corners.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import FloatArray, IntArray
from mfpde.stationary.tangent_frames import distances

Selection = IntArray | NDArray[np.bool_]


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

    def __len__(self) -> int:
        return len(self.faces)

    @property
    def dimension(self) -> int:
        """Dimension d of the space that the sphere lies in."""
        return int(self.middles.shape[1]) + 1

    def chosen(self, which: Selection) -> SphereCells:
        """Return the cells at ``which`` (a mask or indices)."""
        return SphereCells(self.faces[which], self.middles[which], self.half)

    def halved(self) -> SphereCells:
        """Return the 2^(d-1) children of every cell."""
        signs = _signs(self.dimension - 1)
        middles = self.middles[:, np.newaxis, :] + self.half / 2 * signs
        return SphereCells(
            np.repeat(self.faces, len(signs)),
            middles.reshape(-1, self.dimension - 1),
            self.half / 2,
        )

    def balls(self) -> tuple[FloatArray, FloatArray]:
        """Centres (n, d) and radii (n,) of balls that hold the cells."""
        centres = _on_sphere(self.faces, self.middles)
        radii = np.zeros(len(self))
        for sign in _signs(self.dimension - 1):
            corners = _on_sphere(self.faces, self.middles + self.half * sign)
            radii = np.maximum(radii, distances(centres, corners))
        return centres, radii * (1 + 1e-9) + 1e-15


def _signs(count: int) -> FloatArray:
    return np.asarray(2.0 * np.indices((2,) * count).reshape(count, -1).T - 1)


def _on_sphere(faces: IntArray, places: FloatArray) -> FloatArray:
    count, size = places.shape
    axes = faces % (size + 1)
    points = np.empty((count, size + 1))
    columns = np.arange(size)[np.newaxis, :]
    np.put_along_axis(
        points, columns + (columns >= axes[:, np.newaxis]), np.tan(places), axis=1
    )
    points[np.arange(count), axes] = np.where(faces > size, -1.0, 1.0)
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))
