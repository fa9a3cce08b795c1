"""``mfpde run`` solves what a settings file describes; ``mfpde resume`` goes on with it.

``mfpde settings`` lists what a settings file may hold.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import mfpde
from mfpde.commands import DONE
from mfpde.commands.answers import complain, say
from mfpde.commands.options import (
    Changes,
    Config,
    Figure,
    Place,
    Quiet,
    Store,
    about,
    check_inside_folder,
    check_place,
)

if TYPE_CHECKING:
    from mfpde.runs.checkpoint import Checkpoint
    from mfpde.settings import Settings
    from mfpde.settings.base import Section
    from mfpde.storage import RunWriter


def run(
    config: Config,
    /,
    *,
    changes: Changes = (),
    out: Annotated[Place, about("Store it there, as in run.zarr.")] = None,
    figure: Figure = None,
    overwrite: Annotated[bool, about("Replace a store that is there.")] = False,
    quiet: Quiet = False,
) -> int:
    """Solve what a settings file describes, report on it, store it and draw it.

    All settings are checked before any work. On a terminal a line shows the
    progress and the time that is left; Ctrl-C stops the run after the present
    step, with all that was saved.

    Example: mfpde run run.toml --out run.zarr --set attention.beta=9
    """
    # --out and --figure are settings of [output].
    named = {"output.store": out, "output.figure": figure}
    given = [f"{name}={json.dumps(path)}" for name, path in named.items() if path]
    settings = mfpde.settings.read_settings(config, [*changes, *given])
    chosen = {text.partition("=")[0].strip() for text in [*changes, *given]}
    if out and settings.output.figure and "output.figure" not in chosen:
        # Beside a store that is named, not over the figure of the settings' own.
        settings = settings.with_output(figure=str(Path(out).with_suffix(".pdf")))
        chosen.add("output.figure")
    _check_output(settings, chosen)
    settings.check_memory()
    store, writer = settings.output.store, None
    if store is not None:
        model = settings.dynamics, settings.geometry
        writer = mfpde.storage.RunWriter(
            store, *model, settings=settings, overwrite=overwrite
        )
    return _solve(settings, writer, quiet=quiet)


def _solve(
    settings: Settings,
    writer: RunWriter | None,
    *,
    checkpoint: Checkpoint | None = None,
    quiet: bool,
) -> int:
    """Solve until the end or a signal, report on the whole run, and return the exit code."""
    from mfpde.commands import report
    from mfpde.commands.interruption import stopped_by_signals
    from mfpde.solver.symmetric_start import BEGINNING
    from mfpde.storage.lock import lock_store

    store, wanted = settings.output.store, settings.solve_arguments()
    # The store is ours until particles and figure are written too.
    with nullcontext() if store is None else lock_store(store):
        with stopped_by_signals() as signalled, warnings.catch_warnings():
            # The report says it.
            warnings.filterwarnings("ignore", message=BEGINNING)
            run = mfpde.solve(
                settings.dynamics,
                settings.start,
                **wanted | {"stop": [*wanted["stop"], signalled]},
                progress=not quiet,
                observer=writer,
                resume_from=checkpoint,
            )
        # What goes on from a checkpoint has only the saves after it.
        whole = run if store is None or checkpoint is None else mfpde.load(store)
        report.conclude(whole, settings, quiet=quiet)
    if run.stop.kind == "interrupted" and store is not None:
        complain(f"interrupted; continue with: mfpde resume {store}")
    return signalled.exit_code(run)


def _check_output(settings: Settings, chosen: Collection[str]) -> None:
    """Refuse paths that cannot be written; ``chosen`` are those that the command itself names."""
    for name, option in {"store": "--out", "figure": "--figure"}.items():
        path = getattr(settings.output, name)
        if path is None:
            continue
        if f"output.{name}" not in chosen:
            check_inside_folder(option, f"[output] {name}", path)
        check_place(path, option, is_store=name == "store")


def resume(store: Store, /, *, quiet: Quiet = False) -> int:
    """Continue an interrupted run, in the same store.

    The result is that of a run that was never interrupted, to the bit. What
    `mfpde run` stored can be resumed after Ctrl-C, a kill, a full disk or a
    limit of steps or time.

    Example: mfpde resume run.zarr
    """
    from mfpde.runs.stopping import ENDED
    from mfpde.storage.lock import lock_store

    with lock_store(store):
        settings, stop = _settings_of(store), mfpde.storage.stored_stop(store)
        if stop is not None and stop.kind in ENDED:
            raise ValueError(
                f"{store} has already ended ({stop.message}); to go further start a run "
                f'from its last state: [start] kind = "run", path = "{store}"; or '
                "solve(..., run.final, start_time=run.final_time, t_end=...)"
            )
        checkpoint = None
        try:
            checkpoint = mfpde.storage.stored_checkpoint(store)
        except mfpde.storage.StoreError as error:
            complain(f"mfpde resume: {error}; the run begins anew")
        settings = settings.with_output(store=store)
        try:
            _check_output(settings, ["output.store"])
        except ValueError as error:
            complain(f"mfpde resume: {str(error).partition(':')[0]}: it is not drawn")
            settings = settings.with_output(figure=None)
        writer = mfpde.storage.RunWriter.resume(store, checkpoint)
        return _solve(settings, writer, checkpoint=checkpoint, quiet=quiet)


def _settings_of(store: str) -> Settings:
    """Return the settings of a stored run, which goes on from its own states."""
    from mfpde.commands.stores import is_store

    data = mfpde.storage.stored_settings(store)
    if data is None:
        raise ValueError(
            f"{store} was not written by `mfpde run` and has no settings: continue it "
            "with mfpde.solve(equation, run.final, start_time=run.final_time, ...)"
        )
    begun_from = data["start"].get("path")
    if begun_from and not is_store(begun_from):
        # The run that it starts from is gone, and not needed any more.
        first = float(mfpde.load(store).times[0])
        data["start"] = {"kind": "run", "path": store, "time": first}
        data.get("output", {}).pop("store", None)
    settings = mfpde.settings.settings_from_dict(data)
    if not mfpde.storage.matches_stored(store, settings.dynamics):
        raise ValueError(
            f"the files that the settings of {store} name have changed since: they give "
            "another equation than the one it was begun with"
        )
    return settings


def settings() -> int:
    """List every section and key of a settings file, with its default.

    Example: mfpde settings | less
    """
    parts = []
    for name, table in mfpde.settings.FILE.tables.items():
        is_needed = mfpde.settings.FILE.keys[name] is mfpde.settings.NEEDED
        optional = "" if is_needed else "    (the section may be left out)"
        header = f"[[{name}]]" if name == "layers" else f"[{name}]"
        for kind, section in table.sections.items():
            lines = [f"{header}{optional}", f"  # {section.meaning}"]
            lines += [f'  kind = "{kind}"'] if kind else []
            parts.append("\n".join([*lines, *_list_keys(section, "  ")]))
    say("\n\n".join(parts))
    return DONE


def _list_keys(section: Section, indent: str) -> list[str]:
    lines = []
    for name, default in section.keys.items():
        words = {
            mfpde.settings.NEEDED: "    (needed)",
            None: "    (none)",
            (): "    (none)",
        }
        told = words[default] if default in words else f" = {json.dumps(default)}"
        lines.append(f"{indent}{name}{told}")
        inside = section.tables.get(name)
        for inner in inside.sections.values() if inside else ():
            lines += _list_keys(inner, indent + "  ")
    return lines
