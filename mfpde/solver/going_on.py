"""How a time loop is held in a checkpoint, and how another one goes on from it."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.layers import Stage
from mfpde.runs.stopping import ENDED, StopReason
from mfpde.solver.diagnostics import Recorder
from mfpde.solver.step_sizes import StepBelowRefused
from mfpde.solver.time_loop import TimeLoop

PLAIN_NUMBERS = (
    "start_time",
    "first_mass",
    "accurate_step",
    "last_step",
    "steps",
    "steps_before",
    "rejected",
    "rates",
    "steps_since_hand_off",
    "is_under_way",
    "is_smooth",
    "resolved_until",
    "smooth_phase",
)
"""Attributes of a loop that a checkpoint holds as they are."""
HELD_OTHERWISE = (
    "state",
    "time",
    "stage",
    "saves",
    "save_times",
    "below_refused",
    "seconds_before",
)
"""Attributes of a loop that a checkpoint holds in another form."""
MADE_ANEW = (
    "stepper",
    "atoms",
    "recorder",
    "t_end",
    "layer_end",
    "longest",
    "started_at",
    "stopped_by",
    "is_torn",
    "keep",
    "_attention_time",
)
"""Attributes of a loop that follow from the arguments of the run."""
STEP_LIMIT = "step_limit"


def held(loop: TimeLoop, recorder: Recorder, *, stopped_by: str = "") -> Checkpoint:
    """Return everything that ``loop`` and its ``recorder`` hold between two steps."""
    numbers: dict[str, Any] = {name: getattr(loop, name) for name in PLAIN_NUMBERS}
    numbers["rates"] = list(loop.rates)
    numbers["below_refused"] = asdict(loop.below_refused)
    numbers["seconds"] = loop.seconds
    numbers["seconds_of_parts"] = dict(recorder.watch.seconds)
    return Checkpoint(
        state=loop.state,
        geometry=recorder.geometry,
        time=loop.time,
        saves=loop.saves,
        stage=loop.stage,
        numbers=numbers,
        events=tuple(recorder.events),
        tracker=None if recorder.tracker is None else recorder.tracker.memory,
        stopped_by=stopped_by,
    )


def take_up(loop: TimeLoop, recorder: Recorder, checkpoint: Checkpoint) -> None:
    """Let a new ``loop`` with its ``recorder`` stand where the ``checkpoint`` was taken.

    A limit of steps at which the run stopped counts from here on.
    """
    numbers = checkpoint.numbers
    for name in PLAIN_NUMBERS:
        setattr(loop, name, numbers[name])
    loop.rates = list(numbers["rates"])
    loop.below_refused = StepBelowRefused(**numbers["below_refused"])
    loop.seconds_before = float(numbers["seconds"])
    loop.started_at = time.monotonic()
    recorder.watch.add(numbers.get("seconds_of_parts", {}))
    loop.state = loop.stepper.transport.resumed(checkpoint.state)
    loop.time = checkpoint.time
    loop.saves = checkpoint.saves
    loop.stage, loop.stopped_by = checkpoint.stage, checkpoint.stopped_by
    del loop.save_times[: checkpoint.saves]
    if checkpoint.stopped_by == STEP_LIMIT:
        loop.steps_before = loop.steps
    recorder.events[:] = checkpoint.events


def let_keep(loop: TimeLoop, recorder: Recorder) -> None:
    """Let ``loop`` show a checkpoint at each save to the observers that keep them."""
    keeping = [o for o in recorder.observers if o.keeps_checkpoints]

    def keep() -> None:
        with recorder.watch.part("storage"):
            checkpoint = held(loop, recorder)
            for observer in keeping:
                observer.keep(checkpoint)

    loop.keep = keep if keeping else None


def keep_last(loop: TimeLoop, recorder: Recorder, reason: StopReason) -> None:
    """Show the checkpoint at which ``loop`` stopped, if it can go on from there.

    An interruption in the middle of a step leaves the checkpoint of the last save.
    """
    if loop.is_torn or reason.kind in ENDED:
        return
    for observer in recorder.observers:
        if observer.keeps_checkpoints:
            observer.keep(held(loop, recorder, stopped_by=reason.kind))


def stages_left(
    checkpoint: Checkpoint | None, stages: tuple[Stage, ...], times: FloatArray
) -> tuple[Stage, ...]:
    """Return the ``stages`` of a run from a ``checkpoint`` on; all without one.

    Raises
    ------
    ValueError
        If saves and layers are not those of the run that stopped.
    """
    if checkpoint is None:
        return stages
    before, after = np.split(times, [checkpoint.saves])
    fits = len(before) == checkpoint.saves and checkpoint.stage < len(stages)
    if len(before):
        fits = fits and bool(before[-1] <= checkpoint.time)
    if len(after):
        fits = fits and bool(after[0] > checkpoint.time)
    if not fits:
        raise ValueError(
            f"resume_from was taken at t = {checkpoint.time:g} after {checkpoint.saves} "
            f"saves in layer {checkpoint.stage + 1}, which is no moment of this run: it "
            "goes on with the very arguments of the run that stopped"
        )
    return stages[checkpoint.stage :]
