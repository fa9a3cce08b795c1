"""``mfpde resume`` goes on with an interrupted run, to the bit as if it had never stopped.

It goes on from the checkpoint in the journal of the store; a run whose checkpoint is damaged
begins anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mfpde.commands.answers import check_inside_folder, complain, is_store
from mfpde.commands.options import Quiet, Store

if TYPE_CHECKING:
    from mfpde.runs.checkpoint import Checkpoint
    from mfpde.settings.settings import Settings


def resume(store: Store, /, *, quiet: Quiet = False) -> int:
    """Continue an interrupted run, in the same store.

    The result is that of a run that was never interrupted, to the bit. What
    `mfpde run` stored can be resumed after Ctrl-C, a kill, a full disk or a
    limit of steps or time.

    Example: mfpde resume run.zarr
    """
    from mfpde.storage.lock import lock_store

    with lock_store(store):
        return _resumed(store, quiet=quiet)


def _resumed(store: str, *, quiet: bool) -> int:
    from mfpde.commands.interruption import stopped_by_signals
    from mfpde.commands.report import conclude
    from mfpde.runs.stopping import ENDED
    from mfpde.storage import load, stored_stop
    from mfpde.storage.resumption import resume_run

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
        continued = resume_run(
            store, settings, stored, stop=[signalled], progress=not quiet
        )
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


def _checkpoint(store: str) -> Checkpoint | None:
    """Return the checkpoint to go on from; None, with a line, if it is damaged."""
    from mfpde.storage import StoreError, stored_checkpoint

    try:
        return stored_checkpoint(store)
    except StoreError as error:
        complain(f"mfpde resume: {error}; the run begins anew")
        return None


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
    if not matches_stored(store, settings.dynamics):
        raise ValueError(
            f"the files that the settings of {store} name have changed since: they give "
            "another equation than the one it was begun with"
        )
    return settings


def _with_own_start(data: dict[str, Any], store: str) -> dict[str, Any]:
    """Return settings whose start is the first save of ``store`` if the run they name is gone.

    What has begun goes on from its own states, and needs no other store.
    """
    from mfpde.storage import load

    start = data.get("start", {})
    path = start.get("path") if start.get("kind") == "run" else None
    if path is None or is_store(path):
        return data
    own = {"kind": "run", "path": store, "time": float(load(store).times[0])}
    return {**data, "start": own, "output": {**data.get("output", {}), "store": None}}
