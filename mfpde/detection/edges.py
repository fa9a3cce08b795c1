r"""Edges of basins on a line of angles: where the velocity vanishes, interpolated linearly.

Between two cells that flow apart, v_i < 0 < v_(i+1), the face is moved from their middle to

    theta_i + (theta_(i+1) - theta_i) v_i / (v_i - v_(i+1)).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.basins import Basins
from mfpde.detection.cores import POINT_WIDTH, Cloud
from mfpde.detection.flow import CellFlow


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

    def split_cells(self, flow: CellFlow, labels: IntArray, cloud: Cloud) -> Cloud:
        """The mass, with each part of a cell beyond its moved end as a point of its own.

        The part is in the basin next to that of the cell.
        """
        before = np.arange(len(self.ends))
        after, beyond = np.roll(before, -1), self.middles - self.ends
        own = np.where(beyond > 0, before, after)
        owners = labels[np.where(beyond > 0, after, before)]
        moved = self.parts & (beyond != 0) & (owners != labels[own])
        cells, lengths = own[moved], np.abs(beyond)[moved]
        whole, masses = cloud.take(cells), cloud.masses.copy()
        held = whole.masses * lengths / flow.cells.width
        masses[cells] -= held
        part = replace(
            whole,
            points=flow.points_at((self.middles + self.ends)[moved] / 2),
            masses=held,
            widths=np.maximum(lengths, POINT_WIDTH),
            owners=owners[moved],
        )
        return replace(cloud, masses=masses).joined(part)

    def around(self, angle: float, dividers: FloatArray) -> tuple[float, float]:
        """Angles of the edges on both sides of an angle; ``dividers`` (k,) are edges too."""
        cuts = np.append(self.ends[self.parts], dividers)
        if not self.is_closed:
            cuts = np.sort(np.append(cuts, [0.0, np.pi]))
            place = np.clip(np.searchsorted(cuts, angle, "right"), 1, len(cuts) - 1)
            return float(cuts[place - 1]), float(cuts[place])
        ahead = np.mod(cuts - angle, 2 * np.pi) if len(cuts) else np.array([np.pi])
        low = float(angle + ahead.max() - 2 * np.pi)
        turn = -2 * np.pi * np.floor(low / (2 * np.pi))
        return float(low + turn), float(angle + ahead.min() + turn)


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
