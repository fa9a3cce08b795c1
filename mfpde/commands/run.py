"""``mfpde run``: solve what a settings file describes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from mfpde.commands import exit_code

if TYPE_CHECKING:
    from mfpde.settings.settings import Settings


def run(arguments: argparse.Namespace) -> int:
    """Check all settings and the store's path, solve, store, report."""
    from mfpde.commands.places import check_file_place, check_writable
    from mfpde.commands.report import conclude
    from mfpde.commands.text import complain
    from mfpde.settings.settings import read_settings
    from mfpde.solver.solve import solve
    from mfpde.storage.stored_runs import RunWriter

    settings = read_settings(arguments.config, _overrides(arguments))
    settings = _beside_store(settings, arguments)
    check_writable("--out", settings.output.store)
    check_file_place("--figure", settings.output.figure)
    equation, start = settings.build_equation(), settings.build_start()
    store = settings.output.store
    writer = None
    if store is not None:
        writer = RunWriter(
            store,
            equation,
            settings.build_geometry(),
            settings=settings,
            overwrite=arguments.overwrite,
        )
    result = solve(
        equation,
        start,
        **settings.solve_arguments(),
        progress=not arguments.quiet,
        on_save=None if writer is None else writer.save,
        on_track=None if writer is None else writer.follow,
        on_events=None if writer is None else writer.tell,
        on_refine=None if writer is None else writer.refined,
    )
    if writer is not None:
        writer.finish(result)
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
