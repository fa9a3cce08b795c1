"""The potential V with its derivatives on points all over the sphere, to find minima of F."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.stationary.arc_forms import ArcForms
from mfpde.stationary.bounded_fields import AtomicField
from mfpde.stationary.external_bounds import ExternalBounds
from mfpde.stationary.local_minima import lowest_apart, newton_moves, polished
from mfpde.stationary.sphere_cells import SphereCells
from mfpde.stationary.tangent_frames import geodesic_moves, tangent_frames

MOST_STARTS = 100
APART = 0.25
DISTINCT = 1e-3
POLISHING_STEPS = 5


@dataclass(frozen=True, eq=False)
class PotentialScan:
    """Points (n, d) with tangent frames, and V there with its derivatives."""

    points: FloatArray
    frames: FloatArray
    values: FloatArray
    forms: ArcForms
    spacing: float

    @classmethod
    def of(cls, external: ExternalBounds, spacing: float) -> PotentialScan:
        """Scan S^(d-1) with points at most ``spacing`` apart along the axes of a cell."""
        points = SphereCells.covering(external.dimension, spacing / 2).balls()[0]
        frames = tangent_frames(points)
        forms = external.forms((points, frames, np.zeros(len(points))))
        return cls(points, frames, external.values(points), forms, spacing)

    def minima(self, field: AtomicField, level: float, *, width: float) -> FloatArray:
        """Local minima of ``field`` below ``level``, a thousandth of ``width`` apart.

        One step of Newton's method is made from every point, since where F is flat minima lie in
        valleys of which no point of the scan is the lowest.  The lowest ends are chosen by F
        itself, since the quadratic model's values may be far off.
        """
        values, gradient, hessian = field.second_order(self.points, self.frames)
        steps, change = newton_moves(
            gradient + self.forms.gradient, hessian + self.forms.hessian, self.spacing
        )
        reached = self.values + values + change
        low = np.flatnonzero(reached < level)
        ends = geodesic_moves(self.points[low], self.frames[low], steps[low])
        limits = np.inf, APART * width
        chosen = lowest_apart(ends, field.values(ends), limits, most=MOST_STARTS)
        found = polished(field, ends[chosen], steps=POLISHING_STEPS)
        limits = level, DISTINCT * width
        kept = lowest_apart(found, field.values(found), limits, most=MOST_STARTS)
        return np.asarray(found[kept])
