"""Checkpoints: everything that a run of the density solver holds at one moment.

A run that goes on from a checkpoint is to the bit the run that was never stopped, on the same
machine with as many threads.  The masses are those that the scheme evolves, not the density
that is saved, and the next step is the one that would have been tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde.geometry import Geometry
from mfpde.measures.events import Event
from mfpde.tracking import TrackerMemory
from mfpde.transport import State


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """One moment of a run, between two steps.

    Attributes
    ----------
    state, geometry
        The state in the form that the scheme evolves, and the present grid.
    time
        Time of the state.
    saves
        The number of states saved so far.
    stage
        The number of layers that have ended.
    numbers
        What else the loop knows, by name: counts, step sizes, recent rates.
    events
        What exact atoms have told so far.
    tracker
        The memory of the tracker; None without a track.
    stopped_by
        The kind of the reason with which the run stopped here; empty while it runs.
    """

    state: State
    geometry: Geometry
    time: float
    saves: int
    stage: int
    numbers: Mapping[str, Any]
    events: tuple[Event, ...] = ()
    tracker: TrackerMemory | None = None
    stopped_by: str = ""

    @property
    def is_finite(self) -> bool:
        """Whether all masses and points are finite: only then it is worth keeping."""
        state = self.state
        arrays = (state.masses, state.points, state.atom_masses)
        return all(bool(np.isfinite(array).all()) for array in arrays)
