"""``mfpde resume`` goes on with an interrupted run, to the bit as if it had never stopped.

It goes on from the checkpoint of the store.  A store of an older version has none: there the
run goes on from its last state, with the same accuracy but other steps.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.commands.answers import check_inside_folder, complain
from mfpde.commands.interruption import Signalled, stopped_by_signals
from mfpde.commands.report import conclude
from mfpde.measures.events import Events
from mfpde.measures.measure import AnyMeasure
from mfpde.runs.run import Run
from mfpde.runs.stopping import ENDED, reached_end
from mfpde.runs.times import begins_layer
from mfpde.settings.settings import Settings, SettingsError, settings_from_dict
from mfpde.solver.solve import solve
from mfpde.storage import (
    RunWriter,
    StoredCheckpoint,
    StoreError,
    load,
    matches_stored,
    stored_checkpoint,
    stored_settings,
    stored_stop,
    was_just_begun,
)
from mfpde.storage.claim import alone
from mfpde.storage.resumption import resumed_exactly
from mfpde.tracking import Tracker


def resume(arguments: argparse.Namespace) -> int:
    """Go on to the t_end of the stored settings, appending to the store."""
    with alone(arguments.store):
        return _resumed(arguments)


def _resumed(arguments: argparse.Namespace) -> int:
    settings = _settings(arguments.store)
    stop = stored_stop(arguments.store)
    if stop is not None and stop.kind in ENDED:
        raise SettingsError(
            f"{arguments.store} has already ended ({stop.message}); to go further start a run "
            f'from its last state: [start] kind = "run", path = "{arguments.store}"; or '
            "solve(..., run.final, start_time=run.final_time, t_end=...)"
        )
    stored = _checkpoint(arguments.store)
    with stopped_by_signals() as signalled:
        if stored is not None or was_just_begun(arguments.store):
            continued = resumed_exactly(
                arguments.store,
                settings,
                stored,
                stop=[signalled],
                progress=not arguments.quiet,
            )
        else:
            continued = _from_last_state(settings, arguments, signalled)
    # The whole of it, with what was saved before.
    whole = load(arguments.store)
    settings = settings.with_output(store=arguments.store)
    try:
        check_inside_folder(settings.output, ["output.store"])
    except SettingsError as error:
        complain(f"mfpde resume: {error.args[0].partition(':')[0]}: it is not drawn")
        settings = settings.with_output(figure=None)
    conclude(whole, settings, quiet=arguments.quiet)
    if continued.stop.kind == "interrupted":
        complain(f"interrupted; continue with: mfpde resume {arguments.store}")
    return signalled.exit_code(continued)


def _checkpoint(store: str) -> StoredCheckpoint | None:
    try:
        return stored_checkpoint(store)
    except StoreError as error:
        complain(
            f"mfpde resume: {error}; the run goes on from its last saved state, with other "
            "steps"
        )
        return None


def _from_last_state(
    settings: Settings, arguments: argparse.Namespace, signalled: Signalled
) -> Run:
    """Go on from the last state, which is a density: the next steps are found anew."""
    earlier = load(arguments.store)
    wanted = settings.solve_arguments()
    wanted["stop"] = [*wanted["stop"], signalled]
    times, t_end = wanted["save_at"], wanted["t_end"]
    ahead = times[times > earlier.times[-1]] if len(earlier.times) else times
    state, at = _latest(earlier, ahead, t_end)
    if earlier.track is not None and wanted["track"] is not None:
        wanted["track"] = Tracker.resumed(
            wanted["track"],
            settings.build_dynamics(),
            track=earlier.track,
            states=earlier.states,
        )
    if at >= t_end:
        # It was killed after its last save, before it could say that it was done.
        ended = replace(earlier, stop=reached_end(at), events=Events())
        RunWriter.resumed(arguments.store, earlier.events).finish(ended)
        return ended
    # Times may end before t_end where they were given one by one.
    ahead = ahead[ahead >= at]
    wanted["save_at"] = ahead if len(ahead) else np.array([t_end])
    steps = earlier.diagnostics.get("step", np.zeros(0))
    # A process that was killed could not say how far it had counted: then the numbers are
    # those from this time on.
    is_counted = "steps" in earlier.statistics
    dynamics = settings.build_dynamics()
    first = float(steps[-1]) if len(steps) and steps[-1] > 0 else None
    if begins_layer(dynamics, at):
        # As in the whole run the size of the steps is found anew.
        first = None
    return solve(
        dynamics,
        state,
        **wanted,
        start_time=at,
        first_step=first,
        progress=not arguments.quiet,
        observer=RunWriter.resumed(
            arguments.store,
            earlier.events,
            counted=earlier.statistics if is_counted else {"counted_from": at},
        ),
    )


class _TimedState(NamedTuple):
    state: AnyMeasure
    time: float


def _latest(earlier: Run, ahead: FloatArray, t_end: float) -> _TimedState:
    """Return the state to go on from and its time: the last one, if that can be.

    An interrupt in the middle of the very last save leaves the state at t_end without
    its diagnostics: then it is the last one saved.
    """
    if earlier.final_time >= t_end and len(ahead) and earlier.states:
        return _TimedState(earlier.states[-1], float(earlier.times[-1]))
    return _TimedState(earlier.final, earlier.final_time)


def _settings(store: str) -> Settings:
    data = stored_settings(store)
    if data is None:
        raise SettingsError(
            f"{store} was not written by `mfpde run` and has no settings: continue it "
            "with mfpde.solve(equation, run.final, start_time=run.final_time, ...)"
        )
    settings = settings_from_dict(_with_own_start(data, store))
    if not matches_stored(store, settings.build_dynamics()):
        raise SettingsError(
            f"the files that the settings of {store} name have changed since: they give "
            "another equation than the one it was begun with"
        )
    return settings


def _with_own_start(data: dict[str, Any], store: str) -> dict[str, Any]:
    """Return settings that start from the store's own first save if they name one that is gone.

    What has begun goes on from its own states, and needs no other store.
    """
    start = data.get("start", {})
    path = start.get("path") if start.get("kind") == "run" else None
    is_gone = path is not None and not (Path(path) / "zarr.json").is_file()
    if not is_gone or was_just_begun(store):
        return data
    first = float(load(store).times[0])
    own = {"kind": "run", "path": store, "time": first}
    return {**data, "start": own, "output": {**data.get("output", {}), "store": None}}
