"""Whether each protection has a test that fails without it.

    python tests/protections.py                  # all; a quarter of an hour on one core
    python tests/protections.py --only checkpoint claim

A protection is taken out of a copy of the package, by a change of its source, and the test that
is named for it must then fail; on the sound copy it must pass.  The table is printed; the exit
code is 0 only if every protection is noticed.  ``tests/test_protections.py`` runs it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SECONDS = 300
FAILED = 1
"""Exit code of pytest after a test that failed; 2 to 5 say that none could be run."""


class Protection(NamedTuple):
    """A protection, how to take it out, and the test that fails without it."""

    name: str
    file: str
    sound: str
    faulty: str
    test: str
    is_quick: bool = False


_FILES = "storage/files.py"
_JOURNAL = "storage/journal.py"
_ZARR = "storage/zarr_files.py"
_PLACES = "storage/places.py"
_LOCK = _PLACES
_RECORDS = "storage/records.py"
_STORED = "storage/stored_runs.py"
_ARRAYS = "terms/array_files.py"
_MATRICES = "settings/matrices.py"
_COMMANDS = "commands/command_line.py"
_OPTIONS = "commands/options.py"
_DAMAGED = "test_damaged_stores.py::"
_EVERY = _DAMAGED + "test_every_damage_is_a_line_that_names_the_file"
_CHANGED = _DAMAGED + "test_an_attribute_that_was_changed_on_disk_is_refused"
_MATRIX = _DAMAGED + "test_a_matrix_file_that_holds_none_is_a_line"
_REFUSED = _DAMAGED + "test_settings_of_any_kind_are_refused_in_a_line"
_INSIDE = "test_sweeps.py::test_a_sweep_file_writes_nothing_outside_of_its_folder"
_RESUMED = "test_resume_exactly.py::"
_SIGNALS = "test_signals.py::"
_STORAGE = "test_storage.py::"
_SWEEPS = "test_sweeps.py::"

PROTECTIONS = (
    # Records of a store -----------------------------------------------------------------------
    Protection(
        "checksums of the rows of the journal",
        _JOURNAL,
        "            if checksum != _checksum(number, text, kind, data):",
        "            if False:",
        _RESUMED + "test_a_damaged_checkpoint_is_named_and_the_run_begins_anew",
    ),
    Protection(
        "the journal knows how many saves it has",
        _STORED,
        '    rows = [journal.read(number) for number in range(attributes.pop("rows"))]',
        """    rows = []
    for number in range(attributes.pop("rows")):
        with suppress(ValueError):
            rows.append(journal.read(number))""",
        _DAMAGED + "test_every_damage_of_a_journal_is_a_line_or_harmless",
    ),
    Protection(
        "a save goes on after the last one",
        _STORED,
        "        if not time > self._last_time:",
        "        if False:",
        _STORAGE + "test_time_must_go_forward",
    ),
    Protection(
        "a checkpoint is finite",
        _STORED,
        "        if checkpoint.is_finite:",
        "        if True:",
        _RESUMED + "test_a_checkpoint_that_is_not_finite_replaces_none",
    ),
    Protection(
        "a checkpoint fits its grid",
        _RECORDS,
        "    if shapes != (geometry.shape, (count, geometry.dimension)):",
        "    if False:",
        _RESUMED + "test_a_checkpoint_of_another_grid_is_refused",
    ),
    Protection(
        "a checkpoint has its saves",
        _STORED,
        "    if len(run.times) < count:",
        "    if False:",
        _RESUMED + "test_a_checkpoint_without_its_saves_is_refused",
    ),
    Protection(
        "digests of files",
        _ZARR,
        "        if data is None or _digest(data) != digest:",
        "        if data is None:",
        _DAMAGED + "test_a_number_that_was_changed_is_named",
    ),
    Protection(
        "digest of the attributes",
        _ZARR,
        "    if digest != _digest_attributes(attributes):",
        "    if False:",
        _CHANGED + "[settings]",
    ),
    Protection(
        "files that are gone",
        _ZARR,
        "        if data is None or _digest(data) != digest:",
        "        data = data or b''\n        if data and _digest(data) != digest:",
        _EVERY + "[energy/c/0-gone]",
    ),
    Protection(
        "stores of other versions",
        _FILES,
        "    if version != FORMAT:",
        "    if False:",
        _DAMAGED + "test_a_store_of_another_version_is_left_alone",
    ),
    Protection(
        "files that are not the store's",
        _PLACES,
        "    remove_parts(folder, own | {NEW, DESCRIPTION, *JOURNAL_FILES})",
        "    remove_parts(folder, {p.name for p in folder.iterdir()} - {LOCK})",
        _STORAGE + "test_overwrite_deletes_no_file_that_is_not_the_stores",
    ),
    Protection(
        "a store is ours before it is replaced",
        _PLACES,
        "        stored_attributes(folder)\n    except",
        "        pass\n    except",
        _STORAGE + "test_overwrite_never_replaces_anything_else",
    ),
    Protection(
        "a lock is exclusive",
        _LOCK,
        'execute("BEGIN EXCLUSIVE")',
        'execute("BEGIN")',
        _SIGNALS + "test_a_store_that_was_released_can_be_claimed_by_others",
    ),
    Protection(
        "a lock is counted",
        _LOCK,
        "    if count == 1 and",
        "    if",
        _SIGNALS + "test_a_store_that_was_released_can_be_claimed_by_others",
    ),
    Protection(
        "locks belong to a thread",
        _LOCK,
        "os.getpid(), threading.get_ident(), ",
        "os.getpid(), 0, ",
        _SIGNALS + "test_a_store_that_was_released_can_be_claimed_by_others",
    ),
    Protection(
        "errors of one line",
        _FILES,
        'return " ".join(super().__str__().split())',
        "return super().__str__()",
        _DAMAGED + "test_errors_of_stores_are_of_one_line",
    ),
    # Attributes -------------------------------------------------------------------------------
    # Places of stores -------------------------------------------------------------------------
    Protection(
        "claims of the runs of a sweep",
        "sweeps/execution.py",
        "    except StoreLockedError:\n        return",
        "    except ZeroDivisionError:\n        return",
        _SWEEPS + "test_a_run_that_another_process_computes_is_left_to_it",
    ),
    Protection(
        "a failing run of a sweep does not end the others",
        "sweeps/execution.py",
        "        except Exception as error:",
        "        except ZeroDivisionError as error:",
        _SWEEPS + "test_a_run_that_fails_is_told_and_computed_again",
    ),
    Protection(
        "a sweep file writes nothing outside of its folder",
        "commands/studies.py",
        "made.folder.resolve().is_relative_to(Path.cwd().resolve()):",
        "True:",
        _INSIDE + "[../there]",
    ),
    Protection(
        "a sweep file: links are followed",
        "commands/studies.py",
        "made.folder.resolve().is_relative_to(Path.cwd().resolve()):",
        "made.folder.is_relative_to(Path.cwd()):",
        _INSIDE + "[link/there]",
    ),
    # Checkpoints ------------------------------------------------------------------------------
    Protection(
        "checkpoint: other arguments are refused",
        "solver/arguments.py",
        "    if not is_moment:",
        "    if False:",
        _RESUMED + "test_other_arguments_are_refused",
    ),
    Protection(
        "resume: the equation is that of the store",
        "commands/run.py",
        "    if not mfpde.storage.matches_stored(store, settings.dynamics):",
        "    if False:",
        _RESUMED + "test_a_run_whose_settings_give_another_equation_is_not_resumed",
    ),
    # Matrix files and settings ----------------------------------------------------------------
    Protection(
        "matrix files: no pickle",
        _ARRAYS,
        "allow_pickle=False",
        "allow_pickle=True",
        _MATRIX + "[objects.npy]",
        is_quick=True,
    ),
    Protection(
        "matrix files: any error of a reader is a line",
        _MATRICES,
        "    except Exception as error:\n        # What",
        "    except ZeroDivisionError as error:\n        # What",
        _MATRIX + "[brackets.npy]",
    ),
    Protection(
        "matrix files: real numbers only",
        _MATRICES,
        'if array.dtype.kind not in "fiu":',
        "if False:",
        _MATRIX + "[complex.npy]",
    ),
    Protection(
        "settings: tables too deep in each other",
        "settings/files.py",
        "    except RecursionError:",
        "    except ZeroDivisionError:",
        _REFUSED + "[too deep in each other]",
    ),
    Protection(
        "settings: paths are paths",
        "settings/base.py",
        'if "\\0" in value or not value.strip():',
        "if False:",
        _REFUSED + "[must be a path]",
    ),
    # Commands ---------------------------------------------------------------------------------
    Protection(
        "a place that cannot be written is told before the work",
        _OPTIONS,
        "        with tempfile.TemporaryFile(dir=folder):\n            pass\n",
        "        pass\n",
        _SIGNALS + "test_a_folder_closed_for_writing_is_a_line",
    ),
    Protection(
        "a full disk is a line",
        _COMMANDS,
        "    except (OSError, MemoryError, ValueError, ImportError) as error:",
        "    except ZeroDivisionError as error:",
        _DAMAGED + "test_a_full_disk_is_a_line_and_keeps_what_was_saved",
    ),
    Protection(
        "an error that nobody has foreseen is a line",
        _COMMANDS,
        "        if argv is not None or TRACEBACK in os.environ:\n",
        "        if True:\n",
        _DAMAGED + "test_an_error_that_nobody_has_foreseen_is_a_line",
    ),
    Protection(
        "signals: SIGTERM outside of a run",
        _COMMANDS,
        "        with ended_by_signals():\n",
        "        if True:\n",
        _SIGNALS + "test_sigterm_outside_of_a_run_ends_the_command",
    ),
    Protection(
        "signals: one whose error Python drops is noted",
        "commands/signals.py",
        "    received.append(number)\n    raise T",
        "    raise T",
        _SIGNALS + "test_a_signal_whose_error_python_drops_is_not_lost[2]",
    ),
    Protection(
        "signals: a run stops after its step",
        "commands/interruption.py",
        "        if not received:",
        "        if True:",
        _SIGNALS + "test_a_signal_saves_and_the_run_goes_on_to_the_bit[2]",
    ),
    Protection(
        "signals: the second one does not wait",
        "commands/signals.py",
        "    if received:\n        raise_for(number)\n",
        "",
        _SIGNALS + "test_a_second_signal_does_not_wait",
    ),
    Protection(
        "signals: exit codes",
        "commands/run.py",
        "TERMINATED if signal.SIGTERM in received else INTERRUPTED",
        "INTERRUPTED",
        _SIGNALS + "test_a_signal_saves_and_the_run_goes_on_to_the_bit[15]",
    ),
)


@contextmanager
def copied() -> Iterator[Path]:
    """Give the block a copy of the package and its tests, with their compiled kernels."""
    with tempfile.TemporaryDirectory() as folder:
        for part in ("mfpde", "tests", "validation", "examples"):
            left = shutil.ignore_patterns("*.pyc", "report")
            shutil.copytree(ROOT / part, Path(folder, part), ignore=left)
        for part in ("pyproject.toml", "README.md"):
            shutil.copy2(ROOT / part, folder)
        yield Path(folder)


def without(protection: Protection, root: Path) -> str:
    """Return the source of the protection's file in ``root`` without it.

    Raises
    ------
    ValueError
        If the source to change is not there exactly once.
    """
    text = (root / "mfpde" / protection.file).read_text("utf-8")
    if text.count(protection.sound) != 1:
        raise ValueError(
            f"{protection.name!r}: {protection.file} has {text.count(protection.sound)} of "
            f"{protection.sound!r}"
        )
    faulty = text.replace(protection.sound, protection.faulty)
    compile(faulty, protection.file, "exec")
    return faulty


def is_noticed(protection: Protection, root: Path) -> bool:
    """Whether the protection's test fails when the copy in ``root`` is without it."""
    place = root / "mfpde" / protection.file
    sound, dates = place.read_bytes(), place.stat()
    place.write_text(without(protection, root), encoding="utf-8")
    try:
        code = _tested([protection.test], root)
        # What ends the process itself fails too.
        return code == FAILED or code < 0
    finally:
        place.write_bytes(sound)
        # Compiled kernels are dropped for newer sources.
        os.utime(place, ns=(dates.st_atime_ns, dates.st_mtime_ns))


def sound_tests_pass(protections: Sequence[Protection], root: Path) -> bool:
    """Whether the tests of all protections pass on the copy in ``root``."""
    return _tested(list(dict.fromkeys(p.test for p in protections)), root) == 0


def _tested(tests: Sequence[str], root: Path) -> int:
    """Exit code of pytest; a test that hangs has failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    environment = os.environ | {
        "PYTHONPATH": str(root),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        done = subprocess.run(
            [*command, *(f"tests/{test}" for test in tests)],
            cwd=root,
            env=environment,
            timeout=SECONDS * (1 if len(tests) == 1 else 3),
            capture_output=True,
            text=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return FAILED
    if done.returncode not in (0, FAILED) or (done.returncode and len(tests) > 1):
        sys.stderr.write(done.stdout[-3000:] + done.stderr[-2000:])
    return done.returncode


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 0 if each protection is noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="WORD", help="of their names")
    given = parser.parse_args(arguments)
    chosen = [
        p
        for p in PROTECTIONS
        if given.only is None or any(word in p.name for word in given.only)
    ]
    with copied() as root:
        if not sound_tests_pass(chosen, root):
            _tell("tests fail on the sound package")
            return 3
        found = []
        _tell("| protection | test | fails without it |\n|---|---|---|")
        for protection in chosen:
            found.append(is_noticed(protection, root))
            said = "yes" if found[-1] else "**no**"
            _tell(f"| {protection.name} | `{protection.test}` | {said} |")
    _tell(f"{sum(found)} of {len(found)} protections are noticed by their tests")
    return 0 if all(found) else 3


if __name__ == "__main__":
    raise SystemExit(main())
