"""``mfpde run`` solves what a settings file describes.

``mfpde settings``: every key that a settings file may hold, with its default.
"""

from __future__ import annotations

import argparse
import json
import warnings
from contextlib import nullcontext
from pathlib import Path

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
from mfpde.settings.base import NEEDED, Key, Section
from mfpde.settings.settings import SECTIONS, Settings, read_settings
from mfpde.solver.solve import solve
from mfpde.solver.symmetric_start import BEGINNING
from mfpde.storage import RunWriter
from mfpde.storage.claim import alone

_REPEATED = ("layers",)


def settings(_arguments: argparse.Namespace) -> int:
    """Print all sections and keys; read from the classes that check a settings file."""
    say(settings_text())
    return DONE


def settings_text() -> str:
    """Return all sections with their keys, defaults, and what each is about."""
    parts = []
    for name, key in SECTIONS.items():
        optional = "" if key.default is NEEDED else "    (the section may be left out)"
        header = f"[[{name}]]" if name in _REPEATED else f"[{name}]"
        for kind, section in key.sections.items():
            lines = [f"{header}{optional}", f"  # {section.meaning}"]
            if kind:
                lines.append(f'  kind = "{kind}"')
            parts.append("\n".join([*lines, *_keys(section)]))
    return "\n\n".join(parts)


def _keys(section: Section, indent: str = "  ") -> list[str]:
    lines = []
    for name, key in section.keys.items():
        lines.append(f"{indent}{name}{_default(key)}")
        for inner in key.sections.values():
            lines += _keys(inner, indent + "  ")
    return lines


def _default(key: Key) -> str:
    match key.default:
        case value if value is NEEDED:
            return "    (needed)"
        case None | ():
            return "    (none)"
        case bool() as value:
            return f" = {str(value).lower()}"
        case str() as value:
            return f' = "{value}"'
        case value:
            return f" = {value}"


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
    return settings.with_output(figure=figure)
