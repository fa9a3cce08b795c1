"""All claims, or some of them, checked and reported: what ``mfpde verify`` does."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from validation.report import summary, write_report
from validation.results import Result, remove_stale_files
from validation.runner import run_scripts, selected_scripts

FOLDER = Path(__file__).parent


def verify_claims(
    only: Sequence[str] = (),
    *,
    quick: bool = False,
    out: str | None = None,
    update: bool = False,
    fresh: bool = False,
    jobs: int = 2,
    say: Callable[[str], object] = print,
) -> bool:
    """Run the scripts, write what they found, and return if all of it holds.

    Parameters
    ----------
    only
        Sections or scripts; all by default.
    quick
        Whether they run at reduced size.
    out
        Folder of the results, by default a temporary one.
    update
        Write the report of the checkout in its place.
    fresh
        Whether what has been run before is run again.
    jobs
        Number of processes.
    say
        Is told the folders and the findings.

    Raises
    ------
    ValueError
        For arguments that do not go together.
    """
    if jobs < 1:
        raise ValueError(f"--jobs {jobs} must be 1 or more")
    scripts = selected_scripts(only)
    if update and (quick or out is not None):
        raise ValueError(
            "--update makes the report of the checkout anew, at full size: it goes with neither "
            "--quick nor --out"
        )
    place = Path(out or tempfile.mkdtemp(prefix="mfpde-verify-"))
    place = FOLDER / "report" if update else place
    say(f"the scripts of {FOLDER}")
    say(f"results go to {place}")
    results = run_scripts(
        scripts,
        place,
        quick=quick,
        fresh=fresh,
        jobs=jobs,
        on_done=lambda result: print(one_line(result), file=sys.stderr, flush=True),
    )
    is_whole = update and not only
    if is_whole:
        remove_stale_files(results, place)
    written = write_report(
        results,
        place,
        name="selected" if only else "report",
        readme=FOLDER / "README.md" if is_whole else None,
    )
    say(summary(results))
    say(f"written: {', '.join(str(path) for path in written)}")
    return all(result.holds for result in results)


def one_line(result: Result) -> str:
    """Return verdict, script, number of quantities and seconds in one line."""
    kept = sum(quantity.holds for quantity in result.quantities)
    what = result.error or f"{kept} of {len(result.quantities)} quantities hold"
    mark = "ok  " if result.holds else "FAIL"
    return f"{mark} {result.script.key}: {what} ({result.seconds:.1f} s)"
