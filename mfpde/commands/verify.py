"""``mfpde verify``: run the scripts of ``validation/`` and write what they found.

They stand beside the package in a checkout and are not installed with it.  The report of the
checkout is replaced only with ``--update``.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
from pathlib import Path
from typing import Any

from mfpde.commands import BAD_SETTINGS, DONE, NUMERICAL_FAILURE
from mfpde.commands.answers import complain, say
from mfpde.settings.base import SettingsError
from mfpde.version import __version__

MISSING = (
    "mfpde verify: the scripts of validation/ are not installed with the package; run "
    "`python -m mfpde verify` in the root of a checkout (git clone), or of the unpacked "
    f"mfpde-{__version__}.tar.gz, which holds them too"
)


def verify(arguments: argparse.Namespace) -> int:
    """Run the chosen scripts, write the report, and say how many quantities hold.

    The exit code is 3 unless every quantity is within its tolerance.
    """
    try:
        runner: Any = importlib.import_module("validation.runner")
    except ModuleNotFoundError as error:
        if error.name not in ("validation", "validation.runner"):
            raise
        complain(MISSING)
        return BAD_SETTINGS
    if arguments.jobs < 1:
        raise SettingsError(f"--jobs {arguments.jobs} must be 1 or more")
    try:
        scripts = runner.selected_scripts(arguments.only)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    if arguments.update and (arguments.quick or arguments.out is not None):
        raise SettingsError(
            "--update makes the report of the checkout anew, at full size: it goes with neither "
            "--quick nor --out"
        )
    out = _out(arguments)
    say(f"the scripts of {_folder()}, with mfpde {__version__}")
    say(f"results go to {out}")
    results = _results(runner, scripts, out, arguments)
    _write(results, out, arguments)
    return DONE if all(result.holds for result in results) else NUMERICAL_FAILURE


def _results(
    runner: Any, scripts: list[Any], out: Path, arguments: argparse.Namespace
) -> Any:
    shown: Any = importlib.import_module("validation.progress_bar")
    with shown.progress_bar(len(scripts)) as report:
        return runner.run_scripts(
            scripts,
            out,
            quick=arguments.quick,
            fresh=arguments.fresh,
            jobs=arguments.jobs,
            on_done=report,
        )


def _write(results: Any, out: Path, arguments: argparse.Namespace) -> None:
    report: Any = importlib.import_module("validation.report")
    is_whole = arguments.update and not arguments.only
    if is_whole:
        kept: Any = importlib.import_module("validation.results")
        kept.remove_stale_figures(results, out)
    written = report.write_report(
        results,
        out,
        name="selected" if arguments.only else "report",
        readme=_folder() / "README.md" if is_whole else None,
    )
    say(report.summary(results))
    say(f"written: {', '.join(str(path) for path in written)}")


def _out(arguments: argparse.Namespace) -> Path:
    if arguments.update:
        return _folder() / "report"
    if arguments.out is not None:
        return Path(arguments.out)
    return Path(tempfile.mkdtemp(prefix="mfpde-verify-"))


def _folder() -> Path:
    """Return ``validation/`` of the checkout."""
    claim: Any = importlib.import_module("validation.claim")
    return Path(claim.__file__).parent
