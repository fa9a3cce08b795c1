"""The command line: ``mfpde run``, ``resume``, ``show``, ``minimize``, ...

Exit codes: 0 done, 2 bad settings (one message on stderr), 3 numerical failure, 130
interrupted and 143 terminated (saved states are kept).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import cyclopts

from mfpde.commands import BAD_SETTINGS, DONE, INTERRUPTED, TERMINATED
from mfpde.commands.run import plot, resume, run, settings, show, view
from mfpde.commands.signals import TerminatedError, ended_by_signals, raise_if_dropped
from mfpde.commands.states import continuation, minimize, phase_diagram, theory
from mfpde.commands.studies import sweep, verify
from mfpde.commands.terminal import complain, show_waiting
from mfpde.version import __version__

GROUPS: dict[str, tuple[Callable[..., int], ...]] = {
    "Run": (run, resume, settings),
    "Look": (show, plot, view),
    "States": (minimize, continuation, phase_diagram, theory),
    "Studies": (sweep, verify),
}
"""All commands; none of their modules imports what takes long before it is called."""
COMMANDS = [command for group in GROUPS.values() for command in group]
FORESEEN = (OSError, MemoryError, ValueError, ImportError)
"""Errors that say in a line what is wrong."""
TRACEBACK = "MFPDE_TRACEBACK"
"""Variable of the environment with which an unforeseen error shows its traceback."""


def _shown_default(value: Any) -> str | None:
    return None if value in (None, False, ()) else str(value)


def _application() -> cyclopts.App:
    app = cyclopts.App(
        "mfpde",
        help="Mean-field PDEs of transformer attention, solved as densities.\n\n"
        "`mfpde COMMAND --help` explains a command, with an example.",
        help_epilogue="Exit codes: 0 done, 2 bad settings, 3 not finite or not reached,\n"
        "130 interrupted, 143 terminated.",
        help_format="plaintext",
        version=f"mfpde {__version__}",
        default_parameter=cyclopts.Parameter(negative=(), show_default=_shown_default),
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
    )
    for order, (name, commands) in enumerate(GROUPS.items()):
        group = cyclopts.Group(name, sort_key=order)
        for place, command in enumerate(commands):
            app.command(command, group=group, sort_key=place)
    for flag in ("--help", "--version"):
        app[flag].group = "Options"
    return app


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    The arguments after ``mfpde`` are ``argv``; by default those of the process, which then shows
    what no check has foreseen in a line too.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        with ended_by_signals():
            code = _call(words)
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
        if argv is not None or TRACEBACK in os.environ:
            raise
        what = f"{type(error).__name__}: {describe_error(error)}"
        return _refuse(words, f"{what} ({TRACEBACK}=1 shows where)")


def _call(words: list[str]) -> int:
    try:
        command, bound, _ = _application().parse_args(words)
    except cyclopts.CycloptsError as error:
        error.verbose = False
        return _refuse(words, describe_error(error))
    if command not in COMMANDS:
        # The help, or the version.
        command(*bound.args, **bound.kwargs)
        return DONE
    try:
        with show_waiting(words[0], shown=not bound.arguments.get("quiet", False)):
            raise_if_dropped()
            return int(command(*bound.args, **bound.kwargs))
    except BrokenPipeError:
        raise
    except Exception as error:
        # An import that a signal cuts short fails by an error of its own.
        raise_if_dropped()
        is_shown = TRACEBACK in os.environ and type(error) in (ValueError, ImportError)
        if is_shown or not isinstance(error, FORESEEN):
            raise
        return _refuse(words, describe_error(error))


def _refuse(words: Sequence[str], text: str) -> int:
    """Say what is wrong, behind the command that it is about."""
    is_command = bool(words) and not words[0].startswith("-")
    complain(f"mfpde {words[0]}: {text}" if is_command else f"mfpde: {text}")
    return BAD_SETTINGS


def describe_error(error: Exception) -> str:
    """Return what an error says: a line, or of settings one for each that is wrong."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        # A full disk, a folder that is closed for writing: what was saved stays.
        return f"{error.strerror}{f': {error.filename}' if error.filename else ''}"
    if isinstance(error, MemoryError):
        return f"memory: {text or 'there is not enough of it'}"
    return text if type(error).__name__ == "SettingsError" else " ".join(text.split())


if __name__ == "__main__":
    raise SystemExit(main())
