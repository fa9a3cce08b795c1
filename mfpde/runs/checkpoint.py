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

    The ``state``, in the form that the scheme evolves, is that at ``time``; ``first_mass`` is the
    mass of the start.  Of the states ``saves`` are saved so far, the last one at ``saved_until``:
    later than ``time`` for a save within the step that comes next, which is taken again.
    ``stage`` layers have ended.

    The ``next_step`` is the longest one to try, by the error of the ``last_step``.  Of the
    ``steps`` accepted so far a limit does not count ``steps_before``; ``rejected`` were refused.
    ``rates`` are the masses that changed cells per unit time in the last steps.  Before the first
    exchange of mass with exact atoms ``steps_since_hand_off`` are very many.  A transport of two
    phases was in its first until ``smooth_until``.

    ``seconds`` are wall time, ``events`` those that exact atoms tell of, ``tracker`` is the memory
    of the tracker, if there is a track.  ``stopped_by`` is the kind of the reason with which the
    run stopped here; empty while it runs.
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
