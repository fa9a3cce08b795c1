"""Commands that make many runs: sweep, verify."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated, Any

import mfpde
from mfpde.commands import DONE, NUMERICAL_FAILURE, options
from mfpde.commands.options import about, check_place, option
from mfpde.commands.terminal import complain, say


def sweep(
    config: Annotated[str, about("A settings file with a table [sweep].")],
    /,
    *,
    changes: options.Changes = (),
    out: Annotated[options.Folder, about("The folder, in place of the file's.")] = None,
    workers: Annotated[options.Count, about("Processes of this machine.")] = 1,
    scheduler: Annotated[
        str | None, option("WORD"), about("A Dask cluster: tcp://host:8786.")
    ] = None,
    list: Annotated[bool, about("List all runs; compute nothing.")] = False,
    csv: options.Csv = None,
    quiet: options.Quiet = False,
) -> int:
    """Run each combination of settings that a sweep file spans.

    A sweep file is a settings file with a table [sweep] of what varies:

        [sweep]
        folder = "betas"                # where the runs are kept
        product.attention.beta = [1, 5, 25]
        product.equation.direction = ["ascent", "descent"]

    Started again, it skips what is done, goes on with what was interrupted, and
    computes again what failed.
    `python -c "help('mfpde.sweeps')"` says more, and how clusters are used.

    Example: mfpde sweep sweep.toml --workers 8 --csv atoms.csv
    """
    made = mfpde.Sweep(config, out, changes)
    if out is None and not made.folder.resolve().is_relative_to(Path.cwd().resolve()):
        # Nor may a link lead out of it.
        raise ValueError(
            f"[sweep] folder = {str(made.folder)!r} lies outside of the folder in which the "
            "command is started, where a file writes nothing: name it by --out"
        )
    check_place(str(made.folder / "runs"), is_store=True)
    if list:
        states = {record.name: record.state for record in made.records}
        for run in made.runs:
            say(f"{run.name}  {states[run.name]:8}  {run.label}")
        say(made)
        return DONE
    try:
        made.run(workers, scheduler=scheduler, progress=not quiet)
    except KeyboardInterrupt:
        complain("what is done is kept; the same command goes on")
        raise
    say(made, quiet=quiet)
    if csv is not None:
        # A line for each run: what varies, and its numbers.
        Path(csv).parent.mkdir(parents=True, exist_ok=True)
        made.table.to_csv(csv, index=False)
    if made.reasons("failed"):
        complain("some runs failed; the same command computes them again")
        return NUMERICAL_FAILURE
    return DONE


def verify(
    *,
    quick: Annotated[bool, about("At reduced size, in a few minutes.")] = False,
    only: Annotated[
        options.Names, about("Sections or scripts: theorems exact_facts/growth_rates.")
    ] = (),
    out: Annotated[
        options.Folder, about("Folder of the results; those in it are not made again.")
    ] = None,
    update: Annotated[bool, about("Make validation/report anew.")] = False,
    fresh: Annotated[bool, about("Run again what has been run before.")] = False,
    jobs: Annotated[options.Count, about("How many processes.")] = 2,
) -> int:
    """Check the claims of validation/ in a checkout, and write a report.

    The exit code is 3 unless every quantity is within its tolerance.

    Example: mfpde verify --quick --only theorems
    """
    try:
        verification: Any = importlib.import_module("validation.verification")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "validation":
            raise
        raise ValueError(
            "the scripts of validation/ are not installed with the package; run "
            "`python -m mfpde verify` in the root of a checkout (git clone), or of the "
            f"unpacked mfpde-{mfpde.__version__}.tar.gz, which holds them too"
        ) from error
    holds = verification.verify_claims(
        only, quick=quick, out=out, update=update, fresh=fresh, jobs=jobs, say=say
    )
    return DONE if holds else NUMERICAL_FAILURE
