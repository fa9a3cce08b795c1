"""``mfpde sweep`` runs what a sweep file spans."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from mfpde.commands import DONE, NUMERICAL_FAILURE
from mfpde.commands.answers import (
    check_file_place,
    check_writable,
    complain,
    figure_saved,
    say,
)
from mfpde.commands.options import Changes, Count, Csv, Figure, File, Quiet

if TYPE_CHECKING:
    from mfpde.sweeps.sweep import Sweep


def sweep(
    config: str,
    /,
    *,
    changes: Changes = (),
    out: File = None,
    workers: Count = 1,
    scheduler: Annotated[str | None, Parameter(metavar="ADDRESS")] = None,
    shard: Annotated[str | None, Parameter(metavar="I/N")] = None,
    retry_failed: bool = False,
    list: bool = False,
    plot: Annotated[str | None, Parameter(metavar="QUANTITY")] = None,
    against: Annotated[str | None, Parameter(metavar="NAME")] = None,
    figure: Figure = None,
    csv: Csv = None,
    quiet: Quiet = False,
) -> int:
    """Run each combination of settings that a sweep file spans.

    A sweep file is a settings file with a table [sweep]:

        [sweep]
        folder = "betas"                # where the runs are kept
        [sweep.product]                 # each value with each other
        attention.beta = [1, 5, 25]
        perceptron.random.seed = { from = 1, to = 3, count = 3 }
        [sweep.zip]                     # in step: lists of one length
        geometry.cells = [256, 512]
        solve.rtol = [1e-3, 1e-4]
        [[sweep.cases]]                 # changes, with a name each
        name = "ascent, no perceptron"
        equation.direction = "ascent"
        perceptron = "none"

    Started again, it skips what is done and goes on with what was interrupted.
    `python -c "help('mfpde.sweeps')"` says more, and how clusters are used.

    Example: mfpde sweep sweep.toml --workers 8 --plot atoms

    Parameters
    ----------
    config
        Sweep file: a settings file with a table [sweep] that says what varies.
    out
        The folder, in place of the file's.
    workers
        How many processes of this machine.
    scheduler
        Of a Dask cluster, as in tcp://host:8786.
    shard
        Only the I-th of N parts, for the job arrays of a batch system.
    retry_failed
        Compute again what has failed.
    list
        Check all runs and list them with their state; compute nothing.
    plot
        Draw a quantity of the summary: atoms, energy_last, ...
    against
        Draw it against this setting; by default the first of numbers.
    """
    from mfpde.sweeps.sweep import Sweep

    made = Sweep(config, out, changes)
    inside = made.folder.resolve().is_relative_to(Path.cwd().resolve())
    if out is None and not inside:
        raise ValueError(
            f"[sweep] folder = {str(made.folder)!r} lies outside of the folder in which the "
            "sweep is started, where a sweep file writes nothing: name it by --out"
        )
    chosen = made.shard(shard)
    _check_drawing(made, plot=plot, against=against, figure=figure)
    check_writable("the folder", made.folder / "runs")
    check_file_place("--csv", csv)
    if list:
        states = {r.name: r.state for r in made.records if r is not None}
        for run in chosen:
            say(f"{run.name}  {states.get(run.name, 'to do'):8}  {run.label}")
        say(str(made))
        return DONE
    try:
        made.run(
            workers,
            scheduler=scheduler,
            shard=shard,
            retry_failed=retry_failed,
            progress=not quiet,
        )
    except KeyboardInterrupt:
        complain("what is done is kept; the same command goes on")
        raise
    tell: Callable[[str], Any] = (lambda _: None) if quiet else say
    tell(str(made))
    if csv is not None:
        _write_table(made, csv)
    if plot is not None:
        place = figure or made.folder / f"{plot}.pdf"
        tell(figure_saved(made.plot(plot, against), place))
    return _code(made, {run.name for run in chosen}, retry_failed=retry_failed)


def _code(made: Sweep, names: set[str], *, retry_failed: bool) -> int:
    """Return the exit code, and say how to go on with what is not done."""
    states = [r.state for r in made.records if r is not None and r.name in names]
    failed, stopped = states.count("failed"), states.count("stopped")
    if failed and not retry_failed:
        complain(f"{failed} runs failed; try them again by --retry-failed")
    if stopped:
        complain(
            f"{stopped} runs stopped at a limit; the same command goes on with them"
        )
    return NUMERICAL_FAILURE if failed else DONE


def _check_drawing(
    made: Sweep, *, plot: str | None, against: str | None, figure: str | None
) -> None:
    from mfpde.sweeps.table import column_named

    check_file_place("--figure", figure)
    for name, given in (("--figure", figure), ("--against", against)):
        if given is not None and plot is None:
            raise ValueError(f"{name} needs --plot QUANTITY")
    if against is not None:
        # The quantities are known when there are runs.
        column_named(made.summary, against, varied=True)


def _write_table(made: Sweep, path: str) -> None:
    """Write a line for each run: what varies, and the numbers with one value for each run."""
    from mfpde.sweeps.table import rows_of

    rows = rows_of(made.plan, made.records)
    single = [name for name in rows if rows[name].dims == ("run",)]
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    rows[single].to_dataframe().to_csv(path)
