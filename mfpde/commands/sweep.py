"""``mfpde sweep`` runs what a sweep file spans; ``mfpde import`` writes one."""

from __future__ import annotations

import argparse
from pathlib import Path

from mfpde.commands import DONE, NUMERICAL_FAILURE
from mfpde.commands.answers import (
    check_file_place,
    check_writable,
    complain,
    figure_saved,
    say,
)
from mfpde.settings.base import SettingsError
from mfpde.sweeps.particle_configuration import imported
from mfpde.sweeps.sweep import Sweep
from mfpde.sweeps.table import column_named, rows_of


def sweep(arguments: argparse.Namespace) -> int:
    """Check every run of a sweep, compute what is not done, and report."""
    made = Sweep(arguments.config, arguments.out, arguments.set)
    if arguments.out is None:
        _check_inside(made.folder)
    made.shard(arguments.shard)
    _check_drawing(made, arguments)
    check_writable("the folder", made.folder / "runs")
    check_file_place("--csv", arguments.csv)
    if arguments.list:
        _list(made, arguments.shard)
        return DONE
    try:
        made.run(
            arguments.workers,
            scheduler=arguments.scheduler,
            shard=arguments.shard,
            retry_failed=arguments.retry_failed,
            progress=not arguments.quiet,
        )
    except KeyboardInterrupt:
        complain("what is done is kept; the same command goes on")
        raise
    _report(made, arguments)
    chosen = {run.name for run in made.shard(arguments.shard)}
    states = [
        record.state
        for record in made.records
        if record is not None and record.name in chosen
    ]
    failed, stopped = states.count("failed"), states.count("stopped")
    if failed and not arguments.retry_failed:
        complain(f"{failed} runs failed; try them again by --retry-failed")
    if stopped:
        complain(
            f"{stopped} runs stopped at a limit; the same command goes on with them"
        )
    return NUMERICAL_FAILURE if failed else DONE


def import_configuration(arguments: argparse.Namespace) -> int:
    """Write a sweep file from a configuration of the particle code, and say what is left out."""
    source = Path(arguments.config)
    place = Path(arguments.output or source.with_suffix(".toml"))
    check_file_place("--output", place)
    if place.exists() and not arguments.overwrite:
        raise FileExistsError(
            f"{place} exists: choose another by --output, or replace it by --overwrite"
        )
    found = imported(source, name=place.stem)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(found.text, encoding="utf-8")
    # Whatever was written can be read: all its runs are checked.
    count = len(Sweep(place).runs)
    say(f"{place}: {count} runs; start them by: mfpde sweep {place}")
    for line in found.notes:
        say(line)
    return DONE


def _report(made: Sweep, arguments: argparse.Namespace) -> None:
    """Say what became of the runs, and write the table and the picture."""
    if not arguments.quiet:
        say(str(made))
    if arguments.csv is not None:
        _write_table(made, arguments.csv)
    if arguments.plot is not None:
        place = arguments.figure or made.folder / f"{arguments.plot}.pdf"
        drawn = figure_saved(made.plot(arguments.plot, arguments.against), place)
        if not arguments.quiet:
            say(drawn)


def _check_inside(folder: Path) -> None:
    """Refuse a folder of a sweep file that lies outside of the one where it is started."""
    if not folder.resolve().is_relative_to(Path.cwd().resolve()):
        raise SettingsError(
            f"[sweep] folder = {str(folder)!r} lies outside of the folder in which the sweep "
            "is started, where a sweep file writes nothing: name it by --out"
        )


def _check_drawing(made: Sweep, arguments: argparse.Namespace) -> None:
    check_file_place("--figure", arguments.figure)
    if arguments.plot is None:
        for name in ("figure", "against"):
            if getattr(arguments, name) is not None:
                raise SettingsError(f"--{name} needs --plot QUANTITY")
    elif arguments.against is not None:
        # The quantities are known when there are runs.
        column_named(made.summary, arguments.against, varied=True)


def _list(made: Sweep, shard: str | None) -> None:
    states = {r.name: r.state for r in made.records if r is not None}
    for run in made.shard(shard):
        say(f"{run.name}  {states.get(run.name, 'to do'):8}  {run.label}")
    say(str(made))


def _write_table(made: Sweep, path: str) -> None:
    """Write a line for each run: what varies, and the numbers with one value for each run."""
    rows = rows_of(made.plan, made.records)
    single = [name for name in rows if rows[name].dims == ("run",)]
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    rows[single].to_dataframe().to_csv(path)
