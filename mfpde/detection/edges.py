r"""Edges of basins on a line of angles: where the velocity vanishes, interpolated linearly.

Between two cells that flow apart, v_i < 0 < v_(i+1), the face is moved from their middle to

    theta_i + (theta_(i+1) - theta_i) v_i / (v_i - v_(i+1)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.basins import Basins
from mfpde.detection.flow import CellFlow


class MovedParts(NamedTuple):
    """Parts of ``cells`` (k,) beyond an edge: their lengths, middle angles and basins (k,)."""

    cells: IntArray
    lengths: FloatArray
    angles: FloatArray
    owners: IntArray


@dataclass(frozen=True, eq=False)
class Edges:
    """Ends of the cells of a line, moved where basins part.

    Attributes
    ----------
    ends, middles
        Angles (n,) at which each cell ends, and those half-way to the next cell.
    parts
        Which of the ends (n,) part basins, or the two sides of one.
    is_closed
        Whether the line is a circle; else it ends at pi.
    """

    ends: FloatArray
    middles: FloatArray
    parts: BoolArray
    is_closed: bool

    def cells_of(self, angles: FloatArray) -> IntArray:
        """Numbers of the cells that hold ``angles`` (m,)."""
        if self.is_closed:
            last = self.ends[-1]
            angles = last - np.mod(last - angles, 2 * np.pi)
        found = np.searchsorted(self.ends, angles, side="left")
        return np.minimum(found, len(self.ends) - 1)

    def moved_parts(self, basins: Basins) -> MovedParts:
        """The parts of cells that lie beyond a moved end, in the basin next to their own."""
        before = np.arange(len(self.ends))
        after = np.roll(before, -1)
        beyond = self.middles - self.ends
        cells = np.where(beyond > 0, before, after)
        owners = basins.labels[np.where(beyond > 0, after, before)]
        moved = self.parts & (beyond != 0) & (owners != basins.labels[cells])
        middles = (self.middles + self.ends) / 2
        return MovedParts(
            cells[moved], np.abs(beyond)[moved], middles[moved], owners[moved]
        )

    def around(self, angle: float, dividers: FloatArray) -> tuple[float, float]:
        """Angles of the edges on both sides of an angle; ``dividers`` (k,) are edges too."""
        cuts = np.concatenate([self.ends[self.parts], dividers])
        if not self.is_closed:
            cuts = np.concatenate([[0.0], cuts, [np.pi]])
            low = cuts[cuts <= angle].max(initial=0.0)
            return float(low), float(cuts[cuts > low].min(initial=np.pi))
        if not len(cuts):
            return angle - np.pi, angle + np.pi
        low = angle - np.mod(angle - cuts, 2 * np.pi).min()
        turned = np.mod(cuts - low, 2 * np.pi)
        # The edge itself, up to rounding, is a turn away.
        turned[np.minimum(turned, 2 * np.pi - turned) < ROUNDED] = 2 * np.pi
        low = np.mod(low, 2 * np.pi)
        return float(low), float(low + turned.min())


ROUNDED = 1e-9
"""Radians within which two edges are the same."""


def find_edges(flow: CellFlow, basins: Basins) -> Edges:
    """Return where the cells of a line end."""
    points, is_closed = flow.cells.points, flow.place == "circle"
    angles = flow.angles_of(points)
    # Towards larger angles: counter-clockwise, or away from the pole.
    tangents = points[:, ::-1] * ([-1.0, 1.0] if is_closed else [1.0, -1.0])
    speeds = np.einsum("ni,ni->n", flow.velocity, tangents)
    speeds = np.where(flow.speeds <= flow.rest_speed, 0.0, speeds)
    before, after = speeds, np.roll(speeds, -1)
    one, other = basins.labels, np.roll(basins.labels, -1)
    moves = (one >= 0) & (other >= 0) & (before <= 0) & (after >= 0)
    opens = moves & (after > before) & ((one != other) | (before * after < 0))
    parts = opens | (one != other)
    lengths = np.mod(np.roll(angles, -1) - angles, 2 * np.pi)
    shares = np.full(len(angles), 0.5)
    shares[opens] = before[opens] / (before[opens] - after[opens])
    ends, middles = angles + shares * lengths, angles + lengths / 2
    if not is_closed:
        ends[-1] = middles[-1] = np.pi
        parts[-1] = False
    return Edges(ends, middles, parts, is_closed)
