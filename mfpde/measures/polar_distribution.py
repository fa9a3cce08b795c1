r"""The polar angle of a zonal measure: C(theta) = mu{x : angle(x, e) <= theta}, exactly.

The mass of a band is spread evenly over its polar angles and an atom, which stands for its
ring, is a jump: C is piecewise linear on [0, pi].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mfpde.arrays import FloatArray, read_only
from mfpde.geometry import Zonal
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure, atoms_of


@dataclass(frozen=True, eq=False)
class PolarDistribution:
    """The graph of C, scaled to mass 1, from (0, 0) to (pi, 1).

    Attributes
    ----------
    angles, levels
        Nodes (m,) of the graph, both nondecreasing: a jump of C is a vertical edge, a gap
        of the measure a horizontal one.
    """

    angles: FloatArray
    levels: FloatArray

    @classmethod
    def of(cls, measure: AnyMeasure) -> PolarDistribution:
        """Distribution of a measure on a :class:`Zonal` grid, or of atoms as rings.

        Raises
        ------
        ValueError
            If the mass is zero, or the density lies on another geometry.
        """
        faces, cumulated = _cumulated_bands(measure)
        atoms = atoms_of(measure)
        positions = polar_angles(atoms.points)
        nodes = np.union1d(faces, positions)
        places = np.searchsorted(nodes, positions)
        jumps = np.bincount(places, weights=atoms.masses, minlength=len(nodes))
        jumped = np.concatenate([[0.0], np.cumsum(jumps)])
        spread = np.interp(nodes, faces, cumulated)
        levels = np.stack([spread + jumped[:-1], spread + jumped[1:]], axis=-1).ravel()
        if levels[-1] <= 0:
            raise ValueError(f"total mass = {levels[-1]:g} must be above 0")
        levels = np.maximum.accumulate(levels / levels[-1])
        return cls(read_only(np.repeat(nodes, 2)), read_only(levels))

    def quantile(
        self, levels: FloatArray, side: Literal["left", "right"] = "left"
    ) -> FloatArray:
        """Polar angles Q(u-) or Q(u+) for ``levels`` u in [0, 1], of any shape."""
        places = np.searchsorted(self.levels, levels, side=side)
        ends = np.clip(places, 1, len(self.levels) - 1)
        rises = self.levels[ends] - self.levels[ends - 1]
        shares = (levels - self.levels[ends - 1]) / np.where(rises > 0, rises, 1.0)
        steps = self.angles[ends] - self.angles[ends - 1]
        return np.asarray(self.angles[ends - 1] + np.clip(shares, 0.0, 1.0) * steps)


def polar_angles(points: FloatArray) -> FloatArray:
    """Angles (...) between points (..., d) and the last basis vector."""
    across = np.linalg.norm(points[..., :-1], axis=-1)
    return np.asarray(np.arctan2(across, points[..., -1]))


def _cumulated_bands(measure: AnyMeasure) -> tuple[FloatArray, FloatArray]:
    """Faces from 0 to pi, and the density's mass below each."""
    if isinstance(measure, Atoms):
        return np.array([0.0, np.pi]), np.zeros(2)
    density = as_measure(measure).density
    zonal = density.geometry
    if not isinstance(zonal, Zonal):
        raise ValueError(f"measure lies on {zonal!r}, but must lie on a Zonal grid")
    return zonal.face_angles, np.concatenate([[0.0], np.cumsum(density.masses)])
