"""``mfpde run`` solves what a settings file describes; ``mfpde resume`` goes on with it.

``mfpde settings``: every key that a settings file may hold, with its default.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from mfpde.arrays import FloatArray
from mfpde.commands import DONE, exit_code
from mfpde.commands.answers import check_file_place, check_writable, complain, say
from mfpde.commands.report import conclude
from mfpde.measures.measure import AnyMeasure
from mfpde.runs.layers import begins_layer
from mfpde.runs.run import Run
from mfpde.runs.stopping import reached_end
from mfpde.settings.grid_and_start import GEOMETRY_KINDS, START_KINDS
from mfpde.settings.settings import (
    Settings,
    SettingsError,
    read_settings,
    settings_from_dict,
)
from mfpde.solver.solve import solve
from mfpde.storage import RunWriter, load, stored_settings, stored_stop
from mfpde.tracking import Tracker

_KINDS: dict[str, Mapping[str, Any]] = {
    "geometry": GEOMETRY_KINDS,
    "start": START_KINDS,
}
_REPEATED = ("layers",)


def settings(_arguments: argparse.Namespace) -> int:
    """Print all sections and keys; read from the classes that check a settings file."""
    say(settings_text())
    return DONE


def settings_text() -> str:
    """Return all sections with their keys, defaults, and what each is about."""
    parts = []
    for name, field in Settings.model_fields.items():
        for kind, section in _KINDS.get(name, {"": _table(field)}).items():
            optional = (
                "" if field.is_required() else "    (the section may be left out)"
            )
            header = f"[[{name}]]" if name in _REPEATED else f"[{name}]"
            lines = [f"{header}{optional}", f"  # {_meaning(section)}"]
            if kind:
                lines.append(f'  kind = "{kind}"')
            lines += _keys(section)
            parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _keys(section: type[BaseModel], indent: str = "  ") -> list[str]:
    lines = []
    for name, field in section.model_fields.items():
        if name == "kind":
            continue
        inner = _table(field)
        lines.append(f"{indent}{name}{_default(field)}")
        if inner is not None:
            lines += _keys(inner, indent + "  ")
    return lines


def _table(field: FieldInfo) -> type[BaseModel] | None:
    """Return the class of a setting that is a table, optional or not; None for a value."""
    for option in getattr(field.annotation, "__args__", (field.annotation,)):
        # A table that may be there several times is in a list.
        for kind in getattr(option, "__args__", (option,)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                return kind
    return None


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "    (needed)"
    value = field.default
    if value is None:
        return "    (none)"
    shown = str(value).lower() if isinstance(value, bool) else value
    return f' = "{shown}"' if isinstance(value, str) else f" = {shown}"


def _meaning(section: type[BaseModel]) -> str:
    """Return the first line of the class's docstring, without names and marks."""
    first = (section.__doc__ or "").strip().splitlines()[0]
    words = first.partition("]")[2].lstrip("]: ")
    return words.replace(":class:", "").replace(":func:", "").replace("`", "")


ENDED = ("t_end", "steady_state", "non_finite", "step_too_small")


def resume(arguments: argparse.Namespace) -> int:
    """Go on to the t_end of the stored settings, appending to the store."""
    settings = _settings(arguments.store)
    stop = stored_stop(arguments.store)
    if stop is not None and stop.kind in ENDED:
        raise SettingsError(
            f"{arguments.store} has already ended ({stop.message}); to go further run "
            "it anew with another t_end"
        )
    continued = _continued(load(arguments.store), settings, arguments)
    # The whole of it, with what was saved before.
    whole = load(arguments.store)
    output = settings.output.model_copy(update={"store": arguments.store})
    settings = settings.model_copy(update={"output": output})
    conclude(whole, settings, quiet=arguments.quiet)
    if continued.stop.kind == "interrupted":
        complain(f"interrupted; continue with: mfpde resume {arguments.store}")
    return exit_code(continued.stop.kind)


def _continued(earlier: Run, settings: Settings, arguments: argparse.Namespace) -> Run:
    wanted = settings.solve_arguments()
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
        ended = replace(earlier, stop=reached_end(at), events=())
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
    return settings_from_dict(data)


def run(arguments: argparse.Namespace) -> int:
    """Check all settings and the store's path, solve, store, report."""
    settings = read_settings(arguments.config, _overrides(arguments))
    settings = _beside_store(settings, arguments)
    check_writable("--out", settings.output.store)
    check_file_place("--figure", settings.output.figure)
    dynamics, start = settings.build_dynamics(), settings.build_start()
    store = settings.output.store
    writer = None
    if store is not None:
        writer = RunWriter(
            store,
            dynamics,
            settings.build_geometry(),
            settings=settings,
            overwrite=arguments.overwrite,
        )
    result = solve(
        dynamics,
        start,
        **settings.solve_arguments(),
        progress=not arguments.quiet,
        observer=writer,
    )
    conclude(result, settings, quiet=arguments.quiet)
    if result.stop.kind == "interrupted" and store is not None:
        complain(f"interrupted; continue with: mfpde resume {store}")
    return exit_code(result.stop.kind)


def _overrides(arguments: argparse.Namespace) -> list[str]:
    """Return --set, with --out and --figure as what they are: settings of [output]."""
    overrides = list(arguments.set)
    for name in ("store", "figure"):
        path = getattr(arguments, name)
        if path is not None:
            overrides.append(f"output.{name}={json.dumps(path)}")
    return overrides


def _beside_store(settings: Settings, arguments: argparse.Namespace) -> Settings:
    """Draw beside a store that --out names, not over the figure of the settings' own."""
    output = settings.output
    chosen = [text.partition("=")[0].strip() for text in arguments.set]
    is_chosen = arguments.figure is not None or "output.figure" in chosen
    if arguments.store is None or output.figure is None or is_chosen:
        return settings
    figure = str(Path(arguments.store).with_suffix(".pdf"))
    moved = output.model_copy(update={"figure": figure})
    return settings.model_copy(update={"output": moved})
