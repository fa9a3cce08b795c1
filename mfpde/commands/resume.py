"""``mfpde resume`` goes on with an interrupted run, to the bit as if it had never stopped.

It goes on from the checkpoint of the store.  A store whose checkpoint is damaged has none: there
the run goes on from its last state, with the same accuracy but other steps.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mfpde.commands.answers import check_inside_folder, complain
from mfpde.commands.options import Quiet, Store

if TYPE_CHECKING:
    from mfpde.commands.interruption import Signalled
    from mfpde.runs.run import Run
    from mfpde.settings.settings import Settings
    from mfpde.storage import StoredCheckpoint


def resume(store: Store, /, *, quiet: Quiet = False) -> int:
    """Continue an interrupted run, in the same store.

    The result is that of a run that was never interrupted, to the bit. What
    `mfpde run` stored can be resumed after Ctrl-C, a kill, a full disk or a
    limit of steps or time.

    Example: mfpde resume run.zarr
    """
    from mfpde.storage.claim import alone

    with alone(store):
        return _resumed(store, quiet=quiet)


def _resumed(store: str, *, quiet: bool) -> int:
    from mfpde.commands.interruption import stopped_by_signals
    from mfpde.commands.report import conclude
    from mfpde.runs.stopping import ENDED
    from mfpde.storage import load, stored_stop, was_just_begun
    from mfpde.storage.resumption import resumed_exactly

    settings = _settings(store)
    stop = stored_stop(store)
    if stop is not None and stop.kind in ENDED:
        raise ValueError(
            f"{store} has already ended ({stop.message}); to go further start a run from its "
            f'last state: [start] kind = "run", path = "{store}"; or '
            "solve(..., run.final, start_time=run.final_time, t_end=...)"
        )
    stored = _checkpoint(store)
    with stopped_by_signals() as signalled:
        if stored is not None or was_just_begun(store):
            continued = resumed_exactly(
                store, settings, stored, stop=[signalled], progress=not quiet
            )
        else:
            continued = _from_last_state(settings, store, signalled, quiet=quiet)
    settings = settings.with_output(store=store)
    try:
        check_inside_folder(settings.output, ["output.store"])
    except ValueError as error:
        complain(f"mfpde resume: {str(error).partition(':')[0]}: it is not drawn")
        settings = settings.with_output(figure=None)
    # The whole of it, with what was saved before.
    conclude(load(store), settings, quiet=quiet)
    if continued.stop.kind == "interrupted":
        complain(f"interrupted; continue with: mfpde resume {store}")
    return signalled.exit_code(continued)


def _checkpoint(store: str) -> StoredCheckpoint | None:
    from mfpde.storage import StoreError, stored_checkpoint

    try:
        return stored_checkpoint(store)
    except StoreError as error:
        complain(
            f"mfpde resume: {error}; the run goes on from its last saved state, with other "
            "steps"
        )
        return None


def _from_last_state(
    settings: Settings, store: str, signalled: Signalled, *, quiet: bool
) -> Run:
    """Go on from the last state, which is a density: the next steps are found anew."""
    import numpy as np

    from mfpde.measures.events import Events
    from mfpde.runs.stopping import reached_end
    from mfpde.runs.times import begins_layer
    from mfpde.solver.solve import solve
    from mfpde.storage import RunWriter, load
    from mfpde.tracking import Tracker

    earlier = load(store)
    wanted = settings.solve_arguments()
    wanted["stop"] = [*wanted["stop"], signalled]
    times, t_end = wanted["save_at"], wanted["t_end"]
    ahead = times[times > earlier.times[-1]] if len(earlier.times) else times
    state, at = earlier.final, earlier.final_time
    if at >= t_end and len(ahead) and earlier.states:
        # An interrupt in the very last save leaves the state without its diagnostics.
        state, at = earlier.states[-1], float(earlier.times[-1])
    dynamics = settings.build_dynamics()
    if earlier.track is not None and wanted["track"] is not None:
        wanted["track"] = Tracker.resumed(
            wanted["track"], dynamics, track=earlier.track, states=earlier.states
        )
    if at >= t_end:
        # It was killed after its last save, before it could say that it was done.
        ended = replace(earlier, stop=reached_end(at), events=Events())
        RunWriter.resumed(store, earlier.events).finish(ended)
        return ended
    # Times may end before t_end where they were given one by one.
    ahead = ahead[ahead >= at]
    wanted["save_at"] = ahead if len(ahead) else np.array([t_end])
    steps = earlier.diagnostics.get("step", np.zeros(0))
    # In a layer that begins the size of the steps is found anew, as in the whole run.
    is_known = len(steps) and steps[-1] > 0 and not begins_layer(dynamics, at)
    # A process that was killed could not say how far it had counted: then the numbers are
    # those from this time on.
    is_counted = "steps" in earlier.statistics
    counted = earlier.statistics if is_counted else {"counted_from": at}
    return solve(
        dynamics,
        state,
        **wanted,
        start_time=at,
        first_step=float(steps[-1]) if is_known else None,
        progress=not quiet,
        observer=RunWriter.resumed(store, earlier.events, counted=counted),
    )


def _settings(store: str) -> Settings:
    from mfpde.settings.settings import settings_from_dict
    from mfpde.storage import matches_stored, stored_settings

    data = stored_settings(store)
    if data is None:
        raise ValueError(
            f"{store} was not written by `mfpde run` and has no settings: continue it "
            "with mfpde.solve(equation, run.final, start_time=run.final_time, ...)"
        )
    settings = settings_from_dict(_with_own_start(data, store))
    if not matches_stored(store, settings.build_dynamics()):
        raise ValueError(
            f"the files that the settings of {store} name have changed since: they give "
            "another equation than the one it was begun with"
        )
    return settings


def _with_own_start(data: dict[str, Any], store: str) -> dict[str, Any]:
    """Return settings whose start is the first save of ``store`` if the run they name is gone.

    What has begun goes on from its own states, and needs no other store.
    """
    from mfpde.storage import load, was_just_begun

    start = data.get("start", {})
    path = start.get("path") if start.get("kind") == "run" else None
    is_gone = path is not None and not (Path(path) / "zarr.json").is_file()
    if not is_gone or was_just_begun(store):
        return data
    first = float(load(store).times[0])
    own = {"kind": "run", "path": store, "time": first}
    return {**data, "start": own, "output": {**data.get("output", {}), "store": None}}
