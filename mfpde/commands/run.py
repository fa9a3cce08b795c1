"""``mfpde run`` solves what a settings file describes; ``mfpde settings`` lists its keys."""

from __future__ import annotations

import json
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mfpde.commands import DONE
from mfpde.commands.answers import (
    check_file_place,
    check_inside_folder,
    check_writable,
    complain,
    say,
)
from mfpde.commands.options import Changes, Config, Figure, File, Quiet

if TYPE_CHECKING:
    from mfpde.settings.base import Section


def run(
    config: Config,
    /,
    *,
    changes: Changes = (),
    out: File = None,
    figure: Figure = None,
    overwrite: bool = False,
    quiet: Quiet = False,
) -> int:
    """Solve what a settings file describes, report on it, store it and draw it.

    All settings are checked before any work. On a terminal a line shows the
    progress and the time that is left; Ctrl-C stops the run after the present
    step, with all that was saved.

    Example: mfpde run run.toml --out run.zarr --set attention.beta=9

    Parameters
    ----------
    out
        Store the run there, as in run.zarr: it can be shown and resumed.
    overwrite
        Replace a store that is there.
    """
    from mfpde.commands.interruption import stopped_by_signals
    from mfpde.commands.report import conclude
    from mfpde.settings.settings import read_settings
    from mfpde.solver.solve import solve
    from mfpde.solver.symmetric_start import BEGINNING
    from mfpde.storage import RunWriter
    from mfpde.storage.lock import lock_store

    # --out and --figure are settings of [output].
    named = {"output.store": out, "output.figure": figure}
    given = [f"{name}={json.dumps(path)}" for name, path in named.items() if path]
    settings = read_settings(config, [*changes, *given])
    chosen = {text.partition("=")[0].strip() for text in [*changes, *given]}
    if out and settings.output.figure and "output.figure" not in chosen:
        # Beside a store that is named, not over the figure of the settings' own.
        settings = settings.with_output(figure=str(Path(out).with_suffix(".pdf")))
        chosen.add("output.figure")
    store = settings.output.store
    check_inside_folder(settings.output, chosen)
    check_writable("--out", store)
    check_file_place("--figure", settings.output.figure)
    settings.check_memory()
    dynamics, start = settings.dynamics, settings.start
    grid, writer = settings.geometry, None
    if store is not None:
        writer = RunWriter(
            store, dynamics, grid, settings=settings, overwrite=overwrite
        )
    # The store is ours until particles and figure are written too.
    with nullcontext() if store is None else lock_store(store):
        with stopped_by_signals() as signalled, warnings.catch_warnings():
            # The report says it.
            warnings.filterwarnings("ignore", message=BEGINNING)
            wanted = settings.solve_arguments()
            wanted["stop"] = [*wanted["stop"], signalled]
            result = solve(
                dynamics, start, **wanted, progress=not quiet, observer=writer
            )
        conclude(result, settings, quiet=quiet)
    if result.stop.kind == "interrupted" and store is not None:
        complain(f"interrupted; continue with: mfpde resume {store}")
    return signalled.exit_code(result)


def settings() -> int:
    """List every section and key of a settings file, with its default.

    Example: mfpde settings | less
    """
    say(settings_text())
    return DONE


def settings_text() -> str:
    """Return all sections with their keys, defaults, and what each is about."""
    from mfpde.settings.base import NEEDED
    from mfpde.settings.settings import FILE

    parts = []
    for name, default in FILE.keys.items():
        optional = "" if default is NEEDED else "    (the section may be left out)"
        header = f"[[{name}]]" if name == "layers" else f"[{name}]"
        for kind, section in FILE.tables[name].sections.items():
            lines = [f"{header}{optional}", f"  # {section.meaning}"]
            if kind:
                lines.append(f'  kind = "{kind}"')
            parts.append("\n".join([*lines, *_keys(section)]))
    return "\n\n".join(parts)


def _keys(section: Section, indent: str = "  ") -> list[str]:
    lines = []
    for name, default in section.keys.items():
        lines.append(f"{indent}{name}{_default(default)}")
        inside = section.tables.get(name)
        for inner in inside.sections.values() if inside is not None else ():
            lines += _keys(inner, indent + "  ")
    return lines


def _default(default: Any) -> str:
    from mfpde.settings.base import NEEDED

    if default is NEEDED:
        return "    (needed)"
    if default in (None, ()):
        return "    (none)"
    return f" = {json.dumps(default)}"
