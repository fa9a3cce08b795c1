"""``mfpde run`` solves what a settings file describes.

``mfpde settings``: every key that a settings file may hold, with its default.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from mfpde.commands import DONE
from mfpde.commands.answers import (
    check_file_place,
    check_inside_folder,
    check_writable,
    complain,
    say,
)
from mfpde.commands.interruption import stopped_by_signals
from mfpde.commands.report import conclude
from mfpde.settings.grid_and_start import GEOMETRY_KINDS, START_KINDS
from mfpde.settings.settings import Settings, read_settings
from mfpde.solver.solve import solve
from mfpde.solver.symmetric_start import BEGINNING
from mfpde.storage import RunWriter
from mfpde.storage.claim import alone

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
    for role in (":class:", ":func:", ":meth:"):
        words = words.replace(role, "")
    return words.replace("`", "")


def run(arguments: argparse.Namespace) -> int:
    """Check all settings and the store's path, solve, store, report."""
    settings = read_settings(arguments.config, _overrides(arguments))
    settings = _beside_store(settings, arguments)
    check_inside_folder(settings.output, _chosen(arguments))
    check_writable("--out", settings.output.store)
    check_file_place("--figure", settings.output.figure)
    settings.check_memory()
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
    # The store is ours until particles and figure are written too.
    with nullcontext() if store is None else alone(store):
        with stopped_by_signals() as signalled, warnings.catch_warnings():
            # The report says it.
            warnings.filterwarnings("ignore", message=BEGINNING)
            wanted = settings.solve_arguments()
            wanted["stop"] = [*wanted["stop"], signalled]
            result = solve(
                dynamics, start, **wanted, progress=not arguments.quiet, observer=writer
            )
        conclude(result, settings, quiet=arguments.quiet)
    if result.stop.kind == "interrupted" and store is not None:
        complain(f"interrupted; continue with: mfpde resume {store}")
    return signalled.exit_code(result)


def _overrides(arguments: argparse.Namespace) -> list[str]:
    """Return --set, with --out and --figure as what they are: settings of [output]."""
    overrides = list(arguments.set)
    for name in ("store", "figure"):
        path = getattr(arguments, name)
        if path is not None:
            overrides.append(f"output.{name}={json.dumps(path)}")
    return overrides


def _chosen(arguments: argparse.Namespace) -> set[str]:
    """Return the names of the outputs that the command names, not the settings file."""
    names = {text.partition("=")[0].strip() for text in _overrides(arguments)}
    # A figure goes beside a store that is named.
    return names | ({"output.figure"} if arguments.store is not None else set())


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
