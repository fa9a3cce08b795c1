"""Which faults in the source of the package its tests notice.

    python tests/mutants.py                       # the table, then 60 cuts at random
    python tests/mutants.py --only softmax pole   # faults whose names or files have these words
    python tests/mutants.py --cuts 30 --seed 4    # cuts at random alone

A mutant is a copy of the package with one place changed, by ``mutants.toml`` or at random (a sign,
a comparison, a factor, minimum for maximum).  The tests that name it or its module are run on it,
likely and short ones first, and it dies if one fails; they must pass on the copy without a change.
The exit code is 0 only if at least 95 % have died and ``mutants.toml`` has a sentence for each
survivor.  A whole run, under an hour on two cores, writes ``mutants.md``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from cuts import ROOT, TESTS, Mutant, draw_mutants, read_table

REPORT = TESTS / "mutants.md"
SECONDS = 600.0
"""After these a test, or a file of tests, goes on for ever."""
SLOW = 2.0
"""Seconds; longer tests of a file are run when the others have not noticed a fault."""
LEAST_SHARE = 0.95
WITH_KERNELS = re.compile(r"mfpde\.compiled|^\w+/__init__\.py")
"""Name and text of a module that may hold kernels, its own or what it hands on."""
FORKS = multiprocessing.get_context("forkserver")
LIBRARIES = (
    "pytest hypothesis numba scipy.stats scipy.integrate matplotlib.figure xarray"
)
IMPORTED = "-Wignore::pytest.PytestAssertRewriteWarning"
DIGESTS = (
    "tests/test_validation.py::test_the_committed_report_is_that_of_the_present_sources"
)
"""Any change of the package makes the report stale: that test would notice every fault."""
FORKS.set_forkserver_preload(LIBRARIES.split())


def files_built_with(file: str) -> set[str]:
    """Return the modules whose compiled kernels may hold what stands in one of them.

    numba compiles a kernel anew when its own file has changed, not when what it calls has.
    """
    sources = read_sources()
    built, new = set[str](), {file}
    while new:
        built |= new
        users = set[str]().union(*map(users_of, new)) - built
        new = {one for one in users if WITH_KERNELS.search(one + sources[one])}
    return built


@cache
def users_of(file: str) -> set[str]:
    """Return the modules that import one."""
    name = "mfpde." + file.removesuffix(".py").removesuffix("/__init__").replace(
        "/", "."
    )
    package, _, last = name.rpartition(".")
    imported = re.compile(rf"from ({name} |{package} import (\([^)]*|.*)\b{last}\b)")
    return {user for user, text in read_sources().items() if imported.search(text)}


@cache
def read_sources() -> dict[str, str]:
    """Return the text of each module of the package."""
    package = ROOT / "mfpde"
    return {
        path.relative_to(package).as_posix(): path.read_text("utf-8")
        for path in package.rglob("*.py")
    }


def copy_package(folder: Path) -> Path:
    """Copy the package, its tests and what they read, with the compiled kernels."""
    for part in ("mfpde", "tests", "validation", "examples", "benchmarks", "docs"):
        left = shutil.ignore_patterns("report", "_build")
        shutil.copytree(ROOT / part, folder / part, ignore=left)
    for pattern in ("pyproject.toml", "*.md", "Makefile"):
        for path in ROOT.glob(pattern):
            shutil.copy2(path, folder)
    return folder


@contextmanager
def changed(mutant: Mutant, root: Path) -> Iterator[None]:
    """Within, the copy in ``root`` has this change, and no kernel of before it."""
    place = root / "mfpde" / mutant.file
    sound, date = place.read_bytes(), place.stat().st_mtime
    modules = [root / "mfpde" / file for file in files_built_with(mutant.file)]

    def kernels(suffix: str = "") -> list[Path]:
        patterns = [
            (one, f"__pycache__/{one.stem}.*.nb[ic]{suffix}") for one in modules
        ]
        return [path for one, pattern in patterns for path in one.parent.glob(pattern)]

    for kernel in kernels():
        kernel.rename(f"{kernel}.sound")
    place.write_text(mutant.source(root), encoding="utf-8")
    # Older than all kernels, that conftest.py drop none; no other change has this date.
    os.utime(place, (date, date - 1e6 - time.monotonic()))
    try:
        yield
    finally:
        place.write_bytes(sound)
        os.utime(place, (date, date))
        for kernel in kernels():
            kernel.unlink()
        for kernel in kernels(".sound"):
            kernel.rename(kernel.with_suffix(""))


def find_failing(tests: Sequence[str], root: Path, *options: str) -> list[str]:
    """Return what pytest says of tests that fail; some may go on for ever."""
    said = root / "said.txt"
    arguments = ["-q", "-pno:cacheprovider", *options, IMPORTED]
    arguments += [f"--deselect={DIGESTS}"]
    arguments += [f"tests/{test}" for test in tests]
    process = FORKS.Process(target=run_pytest, args=(arguments, root, said))
    process.start()
    process.join(SECONDS * len(tests))
    if process.is_alive():
        process.kill()
        return ["one goes on for ever"]
    if process.exitcode in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
        return []
    told = said.read_text("utf-8", errors="replace")
    named = re.findall(r"^(?:FAILED|ERROR) (?:tests/)?(.+?)(?: - |$)", told, re.M)
    return named or [f"exit code {process.exitcode}: {told[-900:]}"]


def run_pytest(arguments: list[str], root: Path, said: Path) -> None:
    """Run pytest in ``root`` and end this process, a fork that has imported the libraries."""
    os.chdir(root)
    os.environ["PYTHONPATH"] = str(root)
    sys.path.insert(0, str(root))
    with said.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    code = 99
    try:
        code = int(pytest.main(arguments))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def find_noticing(mutant: Mutant, root: Path, slow: Iterable[str] = ()) -> str:
    """Return the first test that fails on the copy in ``root`` with this change, or "".

    Of files of tests those that are ``slow`` come last.
    """
    late = [test for test in slow if test.partition("::")[0] in mutant.tests]
    early = [f"--deselect=tests/{test}" for test in late]
    with changed(mutant, root):
        found = find_failing(mutant.tests, root, "-x", "-n0", *early)
        if late and not found:
            found = find_failing(late, root, "-x", "-n0")
    return "".join(found[:1])


def find_slow(root: Path) -> list[str]:
    """Return the tests of the last round in ``root`` that took longer than ``SLOW``."""
    told = (root / "said.txt").read_text("utf-8", errors="replace")
    return re.findall(r"^ *[\d.]+s (?:setup|call) +tests/(.+)$", told, re.M)


def try_mutants(mutants: Sequence[Mutant], jobs: int) -> list[str]:
    """Return which test notices each mutant, each worker with a copy of its own.

    Raises
    ------
    RuntimeError
        If a test fails on the package as it is.
    """
    worker = threading.local()
    with tempfile.TemporaryDirectory() as folder:
        sound = copy_package(Path(folder) / "sound")
        tests = dict.fromkeys(test for one in mutants for test in one.tests)
        timed = (f"-n{jobs}", "--durations=0", f"--durations-min={SLOW}")
        if failing := find_failing([*tests], sound, *timed):
            raise RuntimeError(f"these fail on the package as it is: {failing}")
        slow = find_slow(sound)

        def make_copy() -> None:
            worker.root = Path(folder) / str(threading.get_ident())
            shutil.copytree(sound, worker.root)

        def try_one(mutant: Mutant) -> str:
            noticed = find_noticing(mutant, worker.root, slow)
            sys.stderr.write(
                f"{mutant.file}, {mutant.name}\n  {noticed or 'SURVIVES'}\n"
            )
            return noticed

        with ThreadPoolExecutor(jobs, initializer=make_copy) as pool:
            return list(pool.map(try_one, mutants))


def write_report(mutants: Sequence[Mutant], died: Sequence[bool]) -> str:
    """Return a table by folders, and the survivors with their reasons."""
    fates = [*zip(mutants, died, strict=True)]
    lines = [
        "| folder | faults | die | cuts at random | die |",
        "|---|---|---|---|---|",
    ]
    for name in [*sorted({one.folder for one in mutants}), "all"]:
        here = [(m, dies) for m, dies in fates if name == "all" or m.folder == name]
        counts = [
            f"{len(some)} | {sum(some)}"
            for is_drawn in (False, True)
            for some in [[dies for m, dies in here if m.is_drawn == is_drawn]]
        ]
        lines.append(f"| {name or 'mfpde'} | {' | '.join(counts)} |")
    lines += ["", f"{sum(died)} of {len(died)} die; these survive:", ""]
    lines += [
        f"- `{one.file}`, {one.name}: {one.reason or 'no reason is known'}"
        for one, dies in fates
        if not dies
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the survivors; return 0 if enough mutants die and each survivor has its reason."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="WORD", help="in names or files")
    parser.add_argument("--cuts", type=int, help="cuts at random, without the table")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(arguments)
    mutants = [] if given.cuts else read_table()
    if given.only:
        words = given.only
        mutants = [
            one for one in mutants if any(w in one.name + one.file for w in words)
        ]
    else:
        mutants += draw_mutants(given.cuts or 60, given.seed)
    # Threads of several processes wait for each other.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    died = [bool(test) for test in try_mutants(mutants, given.jobs)]
    told = write_report(mutants, died)
    sys.stdout.write(told)
    if not (given.only or given.cuts):
        REPORT.write_text(f"# What `make mutants` found, seed {given.seed}\n\n{told}")
    is_explained = all(
        one.reason for one, dies in zip(mutants, died, strict=True) if not dies
    )
    return 0 if is_explained and sum(died) >= LEAST_SHARE * len(died) else 3


if __name__ == "__main__":
    raise SystemExit(main())
