"""Checkpoints: everything that a run of the density solver holds at one moment.

The time loop itself works on one, and stores it as it is: a run that goes on from a checkpoint is
to the bit the run that was never stopped, on the same machine with as many threads.  The masses
are those that the scheme evolves, and the next step is the one that would have been tried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mfpde.geometry import Geometry
from mfpde.measures.events import Event
from mfpde.runs.stopping import STEP_LIMIT
from mfpde.tracking import TrackerMemory
from mfpde.transport import State

RECENT_STEPS = 6
"""Steps whose rates of change a stopping condition sees."""
LONG_AGO = 10**9


@dataclass(eq=False, kw_only=True)
class Checkpoint:
    """One moment of a run, between two steps.

    Attributes
    ----------
    state, geometry
        The state in the form that the scheme evolves, and the grid.
    time, start_time
        Time of the state, and of the start.
    first_mass
        Mass of the start.
    saves, saved_until
        The number of states saved so far, and the time of the last one: later than ``time``
        for a save within the step that comes next, which is taken again.
    stage
        The number of layers that have ended.
    next_step, last_step
        The longest time step to try, by the error of the last one, and that one itself.
    steps, steps_before, rejected
        Numbers of steps: accepted, those of them that a limit of steps does not count, refused.
    rates
        Mass that changed cells per unit time in the last steps.
    steps_since_hand_off
        Steps since the last exchange of mass with exact atoms; very many before the first.
    smooth_until
        Time up to which the transport was in its first phase, if it has two.
    seconds
        Wall time so far.
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
    start_time: float
    first_mass: float
    saves: int = 0
    saved_until: float = -np.inf
    stage: int = 0
    next_step: float = np.inf
    last_step: float = 0.0
    steps: int = 0
    steps_before: int = 0
    rejected: int = 0
    rates: tuple[float, ...] = ()
    steps_since_hand_off: int = LONG_AGO
    smooth_until: float = 0.0
    seconds: float = 0.0
    events: tuple[Event, ...] = ()
    tracker: TrackerMemory | None = None
    stopped_by: str = ""

    @property
    def is_finite(self) -> bool:
        """Whether all masses and points are finite: only then it is worth keeping."""
        return all(np.isfinite(part).all() for part in self.state[:3])

    def resumed(self) -> Checkpoint:
        """Return the moment to go on from: a limit of steps at which it stopped counts anew."""
        before = self.steps if self.stopped_by == STEP_LIMIT else self.steps_before
        return replace(self, steps_before=before)
