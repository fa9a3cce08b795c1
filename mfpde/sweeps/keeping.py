"""What a process that is killed leaves of runs that advance together: checkpoints, now and then.

A run alone writes each save as it comes.  Runs that take milliseconds would spend their time so;
together they are stored as they end, and before that only when the last time is long ago.
"""

from __future__ import annotations

import time
from pathlib import Path

from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.observer import Observer
from mfpde.runs.stopping import interrupted
from mfpde.settings.settings import Settings
from mfpde.solver.loop_report import left_by
from mfpde.solver.preparation import PreparedRun
from mfpde.storage.resumption import stored_so_far

SECONDS_BETWEEN_CHECKPOINTS = 10.0
LARGEST_SHARE = 0.1
"""Largest part of the time that checkpoints of runs together may take."""


class Pace:
    """Rounds in which each of the runs that advance together keeps one checkpoint."""

    def __init__(self) -> None:
        self._round, self._spent = 0, 0.0
        self._began = time.monotonic()

    def round(self) -> int:
        """Return the number of the present round."""
        now = time.monotonic()
        wait = max(SECONDS_BETWEEN_CHECKPOINTS, self._spent / LARGEST_SHARE)
        if now > self._began + wait:
            self._round += 1
            self._began, self._spent = now, 0.0
        return self._round

    def spend(self, seconds: float) -> None:
        """Count what a checkpoint took."""
        self._spent += seconds


class Keeper(Observer):
    """Stores one run of several as far as it has come, at its first save in each round."""

    keeps_checkpoints = True

    def __init__(self, store: Path, settings: Settings, pace: Pace) -> None:
        self._store, self._settings, self._pace = store, settings, pace
        self._round = 0
        self.prepared: PreparedRun | None = None

    def keep(self, checkpoint: Checkpoint) -> None:
        """Store the run up to the ``checkpoint``, if it is time."""
        present = self._pace.round()
        if self.prepared is None or present == self._round:
            return
        self._round, began = present, time.monotonic()
        loop, record = self.prepared.loop, self.prepared.record
        stop = interrupted(loop.time)
        run = record.so_far(stop, left_by(loop), loop.time, statistics={})
        stored_so_far(self._store, self._settings, run, checkpoint)
        self._pace.spend(time.monotonic() - began)
