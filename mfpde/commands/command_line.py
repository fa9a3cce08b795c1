"""The command line: ``mfpde run``, ``resume``, ``study``, ``show``, ``minimize``, ...

Exit codes: 0 done, 2 bad settings (one message on stderr), 3 numerical failure, 130
interrupted and 143 terminated (saved states are kept).
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import TypeAlias

from mfpde.commands import BAD_SETTINGS, DONE, INTERRUPTED, TERMINATED
from mfpde.commands.signals import TerminatedError, ended_by_signals, raise_if_dropped
from mfpde.commands.stored_arguments import add_quiet, add_stored
from mfpde.commands.sweep_arguments import add_import, add_sweep
from mfpde.version import __version__

# Imported when called: all of them together with their libraries (xarray, zarr)
# would make `mfpde --help` take half as long again.
_PLACES = {
    "run": "run",
    "settings": "run",
    "study": "study",
    "resume": "resume",
    "show": "report",
    "plot": "report",
    "view": "view",
    "compare": "report",
    "animate": "animate",
    "cite": "report",
    "theory": "theory",
    "minimize": "stationary",
    "verify": "verify",
    "continuation": "stationary",
    "phase-diagram": "stationary",
    "warm-up": "warm_up",
    "sweep": "sweep",
    "import": "sweep",
}
_FUNCTIONS = {"import": "import_configuration"}
"""Names of functions that are not those of their commands."""
TRACEBACK = "MFPDE_TRACEBACK"
"""Variable of the environment with which an unforeseen error shows its traceback."""
_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    argv
        The arguments after ``mfpde``; by default those of the process, which then shows
        what no check has foreseen in a line too.
    """
    arguments = argparse.Namespace(command="")
    try:
        with ended_by_signals():
            _parser().parse_args(argv, arguments)
            code = _called(arguments)
        sys.stdout.flush()
        return code
    except TerminatedError:
        print("terminated", file=sys.stderr)
        return TERMINATED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # A reader such as `head` has had enough; keep the exit from complaining too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        is_process = argv is None and TRACEBACK not in os.environ
        if not is_process:
            raise
        what = f"{type(error).__name__}: {_one_line(error)} ({TRACEBACK}=1 shows where)"
        _complain(arguments, what)
        return BAD_SETTINGS


def _called(arguments: argparse.Namespace) -> int:
    place = importlib.import_module(f"mfpde.commands.{_PLACES[arguments.command]}")
    name = arguments.command.replace("-", "_")
    command = getattr(place, _FUNCTIONS.get(name, name))
    from mfpde.commands.compiling import compilation_shown
    from mfpde.settings.base import SettingsError
    from mfpde.storage.errors import StoreError

    raise_if_dropped()
    try:
        with compilation_shown(wanted=not getattr(arguments, "quiet", False)):
            return int(command(arguments))
    except (SettingsError, StoreError, FileExistsError, FileNotFoundError) as error:
        _complain(arguments, str(error))
        return BAD_SETTINGS
    except BrokenPipeError:
        raise
    except OSError as error:
        # A full disk, a folder that is closed for writing: what was saved stays.
        where = f": {error.filename}" if error.filename else ""
        reason = error.strerror or str(error)
        _complain(arguments, f"{reason}{where}")
        return BAD_SETTINGS
    except MemoryError as error:
        reason = str(error) or "there is not enough of it"
        _complain(arguments, f"memory: {reason}")
        return BAD_SETTINGS
    except (ValueError, ImportError) as error:
        if TRACEBACK in os.environ:
            raise
        _complain(arguments, _one_line(error))
        return BAD_SETTINGS


def _complain(arguments: argparse.Namespace, text: str) -> None:
    from mfpde.arrays import printable

    print(f"mfpde {arguments.command}: {printable(text)}", file=sys.stderr)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mfpde",
        description="Mean-field PDEs of transformer attention, solved as densities.",
        epilog="exit codes: 0 done, 2 bad settings, 3 not finite, 130 interrupted, "
        "143 terminated",
    )
    parser.add_argument("--version", action="version", version=f"mfpde {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_run(commands)
    _add_resume(commands)
    commands.add_parser(
        "settings", help="list every key of a settings file, with its default"
    )
    add_sweep(commands)
    add_import(commands)
    _add_study(commands)
    add_stored(commands)
    _add_theory(commands)
    _add_phase_diagram(commands)
    _add_minimize(commands)
    _add_verify(commands)
    _add_continuation(commands)
    warm_up = commands.add_parser(
        "warm-up", help="compile what first runs need, which they would wait for"
    )
    add_quiet(warm_up)
    return parser


def _add_run(commands: _Commands) -> None:
    run = commands.add_parser("run", help="solve what a settings file describes")
    _add_settings(run)
    run.add_argument("--out", dest="store", metavar="X.zarr", help="where to store it")
    run.add_argument("--figure", metavar="F.pdf", help="where to draw it (PDF and PNG)")
    run.add_argument(
        "--overwrite", action="store_true", help="replace a store that is there"
    )
    add_quiet(run)


def _add_settings(command: argparse.ArgumentParser) -> None:
    command.add_argument("config", metavar="CONFIG.toml", help="the settings")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="change one setting; may be given several times",
    )


def _add_study(commands: _Commands) -> None:
    study = commands.add_parser(
        "study", help="run on several grids, and say which digits of the atoms hold"
    )
    _add_settings(study)
    study.add_argument(
        "--cells",
        metavar="N,N,N",
        help="cells of circles or rings of spheres; by default the settings' grid, half "
        "and a quarter of it",
    )
    study.add_argument("--atoms", choices=("exact", "grid"), default="exact")
    study.add_argument(
        "--particles", type=int, metavar="N", help="to compare with; 0 for none"
    )
    study.add_argument("--rtol", type=float, help="error in time; by default 1e-5")
    study.add_argument("--csv", metavar="T.csv", help="where to write the table")
    study.add_argument("--figure", metavar="F.pdf", help="where to draw (PDF and PNG)")
    add_quiet(study)


def _add_resume(commands: _Commands) -> None:
    resume = commands.add_parser("resume", help="continue an interrupted run")
    resume.add_argument("store", metavar="X.zarr")
    add_quiet(resume)


def _add_minimize(commands: _Commands) -> None:
    minimize = commands.add_parser(
        "minimize", help="find the measure of least energy, with a certified gap"
    )
    _add_settings(minimize)
    minimize.add_argument(
        "--tolerance",
        type=float,
        default=1e-12,
        help="wanted gap, relative to the size of the energy (default 1e-12)",
    )
    minimize.add_argument(
        "--figure", metavar="F.pdf", help="where to draw it (PDF and PNG)"
    )


def _add_continuation(commands: _Commands) -> None:
    continuation = commands.add_parser(
        "continuation",
        help="follow a stationary state in a parameter, atoms with frozen masses",
    )
    _add_settings(continuation)
    continuation.add_argument(
        "--parameter", choices=("beta", "weight_scale", "diffusion"), required=True
    )
    continuation.add_argument(
        "--values",
        required=True,
        metavar="V,V,V",
        help="where states are wanted: numbers with commas, or first:last:count",
    )
    continuation.add_argument(
        "--switch",
        action="store_true",
        help="at a loss of stability follow the branch that begins there",
    )
    continuation.add_argument(
        "--figure", metavar="F.pdf", help="where to draw it (PDF and PNG)"
    )


def _add_theory(commands: _Commands) -> None:
    theory = commands.add_parser(
        "theory", help="print what is known in closed form, as in: theory beta=5"
    )
    theory.add_argument(
        "settings",
        nargs="+",
        metavar="KEY=VALUE",
        help="beta (needed), dimension, normalized, kernel, diffusion, degrees, "
        "directions, weights, biases, activation, mass, start_angle, end_angle, atoms, "
        "least_mass",
    )


def _add_phase_diagram(commands: _Commands) -> None:
    diagram = commands.add_parser(
        "phase-diagram",
        help="where order begins and wins under attention with diffusion",
    )
    diagram.add_argument(
        "--dimension", type=int, required=True, metavar="D", help="of S^(D-1), 2 to 64"
    )
    diagram.add_argument(
        "--betas",
        required=True,
        metavar="B,B,B",
        help="numbers with commas, or first:last:count",
    )
    diagram.add_argument(
        "--kernel", choices=("shifted", "unshifted"), default="shifted"
    )
    diagram.add_argument(
        "--degree", type=int, default=1, metavar="L", help="of the mode, above 1: D = 2"
    )
    diagram.add_argument(
        "--figure", metavar="F.pdf", help="where to draw it (PDF and PNG)"
    )


def _add_verify(commands: _Commands) -> None:
    verify = commands.add_parser(
        "verify", help="check the claims of validation/ and write a report"
    )
    verify.add_argument(
        "--quick", action="store_true", help="at reduced size, in a few minutes"
    )
    verify.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="NAME",
        help="sections or scripts, as in: theorems exact_facts/growth_rates",
    )
    verify.add_argument(
        "--out",
        metavar="DIR",
        help="where results, figures and report go, by default a temporary folder; what is "
        "there already of the present sources is not run again",
    )
    verify.add_argument(
        "--update",
        action="store_true",
        help="make the report of the checkout anew (validation/report and README.md)",
    )
    verify.add_argument(
        "--fresh", action="store_true", help="run again what has been run before"
    )
    verify.add_argument(
        "--jobs", type=int, default=2, metavar="N", help="processes (default 2)"
    )


if __name__ == "__main__":
    raise SystemExit(main())
