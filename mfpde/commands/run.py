"""The commands of one run: solve it and go on with it, show, draw and view what is stored.

``mfpde settings`` lists what a settings file may hold.
"""

from __future__ import annotations

import json
import signal
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import mfpde
from mfpde.commands import DONE, INTERRUPTED, NUMERICAL_FAILURE, TERMINATED, options
from mfpde.commands.options import about
from mfpde.commands.signals import (
    handled_by,
    raise_for_second,
    received,
    stop_by_signal,
)
from mfpde.commands.terminal import complain, save_picture, say

if TYPE_CHECKING:
    from mfpde.runs.checkpoint import Checkpoint
    from mfpde.settings import Settings
    from mfpde.settings.base import Section
    from mfpde.storage import RunWriter


def run(
    config: options.Config,
    /,
    *,
    changes: options.Changes = (),
    out: Annotated[options.Folder, about("Store it there, as in run.zarr.")] = None,
    figure: options.Figure = None,
    overwrite: Annotated[bool, about("Replace a store that is there.")] = False,
    quiet: options.Quiet = False,
) -> int:
    """Solve what a settings file describes, report on it, store it and draw it.

    All settings are checked before any work. On a terminal a line shows the
    progress and the time that is left; Ctrl-C stops the run after the present
    step, with all that was saved.

    Example: mfpde run run.toml --out run.zarr --set attention.beta=9
    """
    settings = mfpde.settings.read_settings(config, changes)
    settings.check_memory()
    writer = None
    if out is not None:
        starts = paths_of(settings.data["start"])
        if any(Path(one).resolve() == Path(out).resolve() for one in starts):
            raise ValueError(
                f"--out = {out!r}: a run does not write over its own start"
            )
        model = settings.dynamics, settings.geometry
        writer = mfpde.storage.RunWriter(
            out, *model, settings=settings, overwrite=overwrite
        )
    return _solve(settings, writer, out, figure=figure, quiet=quiet)


def _solve(
    settings: Settings,
    writer: RunWriter | None,
    store: str | None,
    *,
    figure: str | None = None,
    checkpoint: Checkpoint | None = None,
    quiet: bool,
) -> int:
    """Solve until the end or a signal, report on the whole run, and return the exit code."""
    from mfpde.commands import report
    from mfpde.runs.stopping import FAILED
    from mfpde.solver.notes import SYMMETRY
    from mfpde.storage.places import lock_store

    arguments = settings.solve_arguments()
    # The store is ours until the particles are written too.
    with nullcontext() if store is None else lock_store(store):
        with handled_by(raise_for_second), warnings.catch_warnings():
            # The report says it.
            warnings.filterwarnings("ignore", message=SYMMETRY)
            run = mfpde.solve(
                settings.dynamics,
                settings.start,
                **arguments | {"stop": [*arguments["stop"], stop_by_signal()]},
                progress=not quiet,
                observer=writer,
                resume_from=checkpoint,
            )
        # What goes on from a checkpoint has only the saves after it.
        whole = run if store is None or checkpoint is None else mfpde.load(store)
        report.conclude(whole, settings, store, figure=figure, quiet=quiet)
    if run.stop.kind == "interrupted":
        if store is not None:
            complain(f"interrupted; continue with: mfpde resume {store}")
        return TERMINATED if signal.SIGTERM in received else INTERRUPTED
    return NUMERICAL_FAILURE if run.stop.kind in FAILED else DONE


def resume(store: options.Store, /, *, quiet: options.Quiet = False) -> int:
    """Continue an interrupted run, in the same store.

    The result is that of a run that was never interrupted, to the bit. What
    `mfpde run` stored can be resumed after Ctrl-C, a kill, a full disk or a
    limit of steps or time.

    Example: mfpde resume run.zarr
    """
    from mfpde.runs.stopping import ENDED
    from mfpde.storage.places import lock_store

    with lock_store(store):
        settings = _settings_of(store)
        stop = mfpde.storage.read_description(store).stop
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
        writer = mfpde.storage.RunWriter.resume(store, checkpoint)
        return _solve(settings, writer, store, checkpoint=checkpoint, quiet=quiet)


def _settings_of(store: str) -> Settings:
    """Return the settings of a stored run, which goes on from its own states."""
    from mfpde.commands.report import is_store
    from mfpde.storage.records import to_json

    begun = mfpde.storage.read_description(store)
    data = begun.settings
    if data is None:
        raise ValueError(
            f"{store} was not written by `mfpde run` and has no settings: continue it "
            "with mfpde.solve(equation, run.final, start_time=run.final_time, ...)"
        )
    if not all(map(is_store, paths_of(data["start"]))):
        # The run that it starts from is gone, and not needed any more.
        first = float(mfpde.load(store).times[0])
        data["start"] = {"kind": "run", "path": store, "time": first}
        data.pop("rows", None)
    settings = mfpde.settings.settings_from_dict(data)
    if to_json(begun.equation) != to_json(settings.dynamics):
        raise ValueError(
            f"the files that the settings of {store} name have changed since: they give "
            "another equation than the one it was begun with"
        )
    return settings


def paths_of(starts: Any) -> list[str]:
    """Return the paths of the stored runs among ``starts``, one table or several."""
    tables = starts if isinstance(starts, list) else [starts]
    return [table["path"] for table in tables if "path" in table]


def settings() -> int:
    """List every section and key of a settings file, with its default.

    Example: mfpde settings | less
    """
    say("\n".join(_list_keys(mfpde.settings.FILE)))
    return DONE


def _list_keys(section: Section, indent: str = "") -> Iterator[str]:
    """Yield a line for each key, and for each table of a key what it builds, and its keys."""
    for name, default in section.keys.items():
        form: Any = section.tables.get(name, {})
        forms = form if isinstance(form, dict) else {"": form}
        if default is mfpde.settings.NEEDED:
            told = "    (needed)"
        elif forms or default is None:
            told = "    (may be left out)"
        else:
            told = f" = {json.dumps(default)}"
        yield f"{indent}{section.mark(name)}{told}"
        for kind, inner in forms.items():
            yield f"{indent}  # {inner.meaning}"
            if kind:
                yield f'{indent}  kind = "{kind}"'
            yield from _list_keys(inner, f"{indent}  ")
            yield ""


def show(
    store: options.Store,
    /,
    *,
    origin: Annotated[bool, about("Settings, wall times, versions too.")] = False,
) -> int:
    """Summarise a stored run.

    Example: mfpde show run.zarr --origin
    """
    from mfpde.commands import report

    run = mfpde.load(store)
    say(run)
    if origin:
        say(f"\n{report.describe_origin(store, run.statistics)}")
    beside = Path(store, mfpde.storage.PARTICLES)
    if report.is_store(beside):
        say(f"\n{report.compare_with_particles(run, mfpde.load(beside))}")
    return DONE


def plot(
    store: options.Store,
    /,
    *,
    out: Annotated[options.File, about("Where; by default beside the store.")] = None,
) -> int:
    """Draw a stored run, as PDF and PNG.

    Example: mfpde plot run.zarr --out figures/run.pdf
    """
    figure = mfpde.plotting.plot_run(mfpde.load(store))
    save_picture(figure, out or Path(store).with_suffix(".pdf"))
    return DONE


def view(
    store: Annotated[str, about("A stored run, or a folder as a sweep leaves it.")],
    /,
    *others: Annotated[str, about("Others to be on the page, as one to compare.")],
    out: Annotated[options.File, about("Where; by default beside the store.")] = None,
    track: Annotated[bool, about("Follow atoms that were not followed.")] = False,
) -> int:
    """Write stored runs as one HTML page, to be opened in a browser.

    Example: mfpde view one.zarr other.zarr --out both.html
    """
    from mfpde.commands.report import find_stores, read_runs
    from mfpde.viewer import write_page

    found = [one for place in (store, *others) for one in find_stores(Path(place))]
    first = Path(store)
    # Beside a store, or inside of a folder of stores.
    beside = first.with_suffix(".html") if found[0] == first else first / "view.html"
    runs = read_runs(found, track=track)
    path = write_page(runs, Path(out or beside), count=len(found))
    say(f"written to {path} ({path.stat().st_size / 1e6:.1f} MB): open it in a browser")
    return DONE
