"""``mfpde verify``: run the scripts of ``validation/`` and write what they found.

They stand beside the package in a checkout and are not installed with it.  The report of the
checkout is replaced only with ``--update``.
"""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from mfpde.commands import DONE, NUMERICAL_FAILURE
from mfpde.commands.answers import say
from mfpde.commands.options import Count, File
from mfpde.version import __version__


def verify(
    *,
    quick: bool = False,
    only: Annotated[
        tuple[str, ...], Parameter(consume_multiple=1, metavar="NAME")
    ] = (),
    out: File = None,
    update: bool = False,
    fresh: bool = False,
    jobs: Count = 2,
) -> int:
    """Check the claims of validation/ in a checkout, and write a report.

    The exit code is 3 unless every quantity is within its tolerance.

    Example: mfpde verify --quick --only theorems

    Parameters
    ----------
    quick
        At reduced size, in a few minutes.
    only
        Sections or scripts, as in: theorems exact_facts/growth_rates.
    out
        Folder of the results, by default a temporary one; what is there is not run again.
    update
        Make the report of the checkout again, validation/report.
    fresh
        Run again what has been run before.
    jobs
        How many processes.
    """
    try:
        runner: Any = importlib.import_module("validation.runner")
    except ModuleNotFoundError as error:
        if error.name not in ("validation", "validation.runner"):
            raise
        raise ValueError(
            "the scripts of validation/ are not installed with the package; run "
            "`python -m mfpde verify` in the root of a checkout (git clone), or of the "
            f"unpacked mfpde-{__version__}.tar.gz, which holds them too"
        ) from error
    if jobs < 1:
        raise ValueError(f"--jobs {jobs} must be 1 or more")
    scripts = runner.selected_scripts(only)
    if update and (quick or out is not None):
        raise ValueError(
            "--update makes the report of the checkout anew, at full size: it goes with neither "
            "--quick nor --out"
        )
    folder = _folder()
    place = Path(out or tempfile.mkdtemp(prefix="mfpde-verify-"))
    place = folder / "report" if update else place
    say(f"the scripts of {folder}, with mfpde {__version__}")
    say(f"results go to {place}")
    bar: Any = importlib.import_module("validation.progress_bar")
    with bar.progress_bar(len(scripts)) as report:
        results = runner.run_scripts(
            scripts, place, quick=quick, fresh=fresh, jobs=jobs, on_done=report
        )
    is_whole = update and not only
    if is_whole:
        kept: Any = importlib.import_module("validation.results")
        kept.remove_stale_figures(results, place)
    reports: Any = importlib.import_module("validation.report")
    written = reports.write_report(
        results,
        place,
        name="selected" if only else "report",
        readme=folder / "README.md" if is_whole else None,
    )
    say(reports.summary(results))
    say(f"written: {', '.join(str(path) for path in written)}")
    return DONE if all(result.holds for result in results) else NUMERICAL_FAILURE


def _folder() -> Path:
    """Return ``validation/`` of the checkout."""
    claim: Any = importlib.import_module("validation.claim")
    return Path(claim.__file__).parent
