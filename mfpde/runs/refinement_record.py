"""The record of a refinement of a run's grid."""

from __future__ import annotations

from dataclasses import dataclass

from mfpde.geometry import Geometry


@dataclass(frozen=True)
class Refinement:
    """One doubling of a run's grid.

    Attributes
    ----------
    time
        Time of the doubling.
    before, after
        The grids.
    reason
        Reason of the doubling, in words with the numbers that decided.
    """

    time: float
    before: Geometry
    after: Geometry
    reason: str

    def __str__(self) -> str:
        return f"t = {self.time:.6g}: {self.before!r} -> {self.after!r}: {self.reason}"
