"""Which faults in the source of the package its tests notice.

    python tests/mutants.py                       # the table, then 60 cuts at random; hours
    python tests/mutants.py --only softmax pole   # faults whose names or files have these words
    python tests/mutants.py --cuts 30 --seed 4    # cuts at random alone

A mutant is a copy of the package with one place changed, by ``mutants.toml`` or at random (a sign,
a comparison, a factor, minimum for maximum); the tests that name its module are run on it, and it
dies if one fails.  They must pass on the copy without a change.  The exit code is 0 only if at
least 95 % have died and ``mutants.toml`` has a sentence for each survivor.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
SECONDS = 600
"""A test that lasts longer has noticed a fault: something goes on for ever."""
FAILED = 1
"""Exit code of pytest after a test that failed; 2 to 5 say that none could be run."""
LEAST_SHARE = 0.95
MOST_FILES = 6
"""Files of tests for a cut at random."""

EXCHANGED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div,
    ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
NAMES = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all",
    "all": "any", "sin": "cos", "cos": "sin", "floor": "ceil", "ceil": "floor",
    "argmin": "argmax", "argmax": "argmin", "left": "right", "right": "left",
}  # fmt: skip
SIZE_LIMIT = re.compile(r"^_?(MOST|LARGEST|LEAST|LONGEST|BLOCK|BUDGET|LIMIT)")
"""Names of constants that bound sizes: another bound gives the same results."""
WORDS_ONLY = re.compile(r"^(__repr__|__str__|_repr_html_|__format__|describe|summary)")
NEGLIGIBLE = 1e-200
AT_THE_EDGE = re.compile("commands|settings|storage|sweeps|plotting|viewer|networks")
"""Folders whose faults change no run."""


class Mutant(NamedTuple):
    """A change of one place of the source, and the tests that are to notice it.

    ``reason`` says why none can, if it is known to survive.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    reason: str = ""

    def source(self, root: Path) -> str:
        """Return the changed source of the file in ``root``.

        Raises
        ------
        ValueError
            If what is to be changed is not there exactly once.
        """
        text = (root / "mfpde" / self.file).read_text("utf-8")
        count = text.count(self.old)
        if count != 1:
            raise ValueError(f"{self.name!r}: {self.file} has {count} of {self.old!r}")
        changed = text.replace(self.old, self.new)
        compile(changed, self.file, "exec")
        return changed


def read_table(path: Path = TESTS / "mutants.toml") -> list[Mutant]:
    """Return the mutants of the table, with the tests of their files where they name none."""
    entries = tomllib.loads(path.read_text("utf-8"))["mutant"]
    return [
        Mutant(
            **entry | {"tests": tuple(entry.get("tests") or tests_of(entry["file"]))}
        )
        for entry in entries
    ]


def draw_mutants(count: int, seed: int) -> list[Mutant]:
    """Return ``count`` cuts at random, equally many of each folder of the package."""
    generator = random.Random(seed)
    folders: dict[Path, list[Mutant]] = {}
    for path in sorted((ROOT / "mfpde").rglob("*.py")):
        file = path.relative_to(ROOT / "mfpde").as_posix()
        folders.setdefault(path.parent, []).extend(cuts_of(file))
    cuts = [folders[name] for name in sorted(folders) if folders[name]]
    drawn: list[Mutant] = []
    while len(drawn) < count:
        one = generator.choice(cuts[len(drawn) % len(cuts)])
        if one not in drawn:
            drawn.append(one)
    return drawn


def cuts_of(file: str) -> Iterator[Mutant]:
    """Yield all cuts of a file of the package."""
    text = (ROOT / "mfpde" / file).read_text("utf-8")
    lines = text.encode().splitlines(keepends=True)

    def characters_before(line: int, column: int) -> int:
        return len(b"".join([*lines[: line - 1], lines[line - 1][:column]]).decode())

    for node in _code_below(ast.parse(text)):
        for sound, faulty in _changes_of(node):
            start = characters_before(sound.lineno, sound.col_offset)
            stop = characters_before(sound.end_lineno, sound.end_col_offset)
            new = ast.unparse(faulty)
            name = f"{file}:{sound.lineno}: {ast.unparse(sound)} to {new}"
            changed = f"{text[:start]}({new}){text[stop:]}"
            yield Mutant(name, file, text, changed, tests_of(file))


def _code_below(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all code of a tree that has a result."""
    for node in ast.iter_child_nodes(tree):
        if not _has_no_result(node):
            yield node
            yield from _code_below(node)


def _changes_of(node: Any) -> Iterator[tuple[Any, ast.AST]]:
    """Yield a node, or the part of it that changes, with what may stand in its place."""
    match node:
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator, values=[_, _]) if (
            type(operator) in EXCHANGED
        ):
            yield node, _copy_with(node, op=EXCHANGED[type(operator)]())
        case ast.Compare(ops=[operator]) if type(operator) in EXCHANGED:
            yield node, _copy_with(node, ops=[EXCHANGED[type(operator)]()])
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield node, operand
        case ast.Constant(value=float(value)) if value:
            yield node, ast.Constant(2 * value)
        case ast.Call(func=ast.Name(id=name) as called) if name in NAMES:
            yield called, ast.Name(NAMES[name])
        case ast.Call(func=ast.Attribute(attr=name) as called) if name in NAMES:
            yield called, _copy_with(called, attr=NAMES[name])


def _copy_with(node: ast.AST, **fields: Any) -> ast.AST:
    """Return a copy of a node with other fields."""
    changed = copy.copy(node)
    vars(changed).update(fields)
    return changed


def _has_no_result(node: ast.AST) -> bool:
    """Whether code is an annotation, a message, a text, or a limit of a size."""
    match node:
        case ast.FunctionDef(name=name):
            return bool(WORDS_ONLY.match(name))
        case ast.Assign(targets=[ast.Name(id=name)]):
            return bool(SIZE_LIMIT.match(name))
        case ast.AnnAssign(value=None):
            return True
        case ast.Subscript(value=ast.Name(id="Literal" | "Annotated")):
            return True
        case ast.Compare(comparators=[ast.Constant(value=float(value))]):
            return abs(value) < NEGLIGIBLE
    texts = ast.Raise | ast.Assert | ast.arguments | ast.JoinedStr | ast.Import
    return isinstance(node, texts)


@cache
def tests_of(file: str) -> tuple[str, ...]:
    """Return the files of tests that name a module, or most of what it defines."""
    stem = file.removesuffix(".py").removesuffix("/__init__")
    folder, *_, last = stem.split("/") if "/" in stem else (stem, stem)
    tree = ast.parse((ROOT / "mfpde" / file).read_text("utf-8"))
    kinds = ast.FunctionDef | ast.ClassDef
    names = [node.name for node in tree.body if isinstance(node, kinds)]
    scores = {}
    for path in TESTS.glob("test_*.py"):
        text = path.read_text("utf-8")
        named = sum(bool(re.search(rf"\b(?!_){name}\b", text)) for name in names)
        named += 3 * ("mfpde." + stem.replace("/", ".") in text)
        named += 2 * any(word in path.name for word in (folder, last))
        scores[path.name] = named / len(text) ** 0.2
    best = sorted(filter(scores.get, scores), key=lambda name: -scores[name])
    more = () if AT_THE_EDGE.match(folder) else ("test_laws.py", "test_oracles.py")
    return tuple(dict.fromkeys([*best[:MOST_FILES], *more]))


def copy_package(folder: Path) -> Path:
    """Copy the package, its tests and what they read, with the compiled kernels."""
    for part in ("mfpde", "tests", "validation", "examples", "benchmarks", "docs"):
        left = shutil.ignore_patterns("*.pyc", "report", "_build")
        shutil.copytree(ROOT / part, folder / part, ignore=left)
    for pattern in ("pyproject.toml", "*.md", "Makefile"):
        for path in ROOT.glob(pattern):
            shutil.copy2(path, folder)
    return folder


def is_noticed(mutant: Mutant, root: Path) -> bool:
    """Whether a test fails on the copy in ``root`` with this change; the copy is then restored."""
    place = root / "mfpde" / mutant.file
    sound, dates = place.read_bytes(), place.stat()
    place.write_text(mutant.source(root), encoding="utf-8")
    # numba would find kernels of before the change, and keep those of the change.
    has_kernels = b"mfpde.compiled" in sound
    with tempfile.TemporaryDirectory() as empty:
        try:
            code = run_tests(mutant.tests, root, kernels=empty if has_kernels else None)
        finally:
            place.write_bytes(sound)
            os.utime(place, ns=(dates.st_atime_ns, dates.st_mtime_ns))
    # What ends the process itself fails too.
    return code == FAILED or code < 0


def run_tests(tests: Sequence[str], root: Path, *, kernels: str | None = None) -> int:
    """Return the exit code of pytest; a test that hangs has failed.

    Compiled kernels are in the folder ``kernels``, or beside their modules.
    """
    options = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n0"]
    environment = os.environ | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    if kernels is not None:
        environment["NUMBA_CACHE_DIR"] = kernels
    try:
        done = subprocess.run(
            [sys.executable, *options, *(f"tests/{test}" for test in tests)],
            cwd=root,
            env=environment,
            timeout=SECONDS,
            capture_output=True,
            text=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return FAILED
    if done.returncode not in (0, FAILED):
        sys.stderr.write(done.stdout[-3000:] + done.stderr[-2000:])
    return done.returncode


def try_mutants(mutants: Sequence[Mutant], jobs: int) -> list[bool]:
    """Return which mutants die, each worker with a copy of its own.

    Raises
    ------
    RuntimeError
        If a test fails on the package as it is.
    """
    worker = threading.local()
    with ExitStack() as stack:

        def make_copy() -> None:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            worker.root = copy_package(Path(folder))

        def try_one(mutant: Mutant) -> bool:
            died = is_noticed(mutant, worker.root)
            sys.stderr.write(f"{'dies' if died else 'SURVIVES':9s} {mutant.name}\n")
            return died

        pool = stack.enter_context(ThreadPoolExecutor(jobs, initializer=make_copy))
        tests = list(dict.fromkeys(test for one in mutants for test in one.tests))
        codes = list(pool.map(lambda test: run_tests([test], worker.root), tests))
        failing = [test for test, code in zip(tests, codes, strict=True) if code]
        if failing:
            raise RuntimeError(f"these fail on the package as it is: {failing}")
        return list(pool.map(try_one, mutants))


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
    died = try_mutants(mutants, given.jobs)
    survivors = [one for one, dies in zip(mutants, died, strict=True) if not dies]
    lines = [f"{sum(died)} of {len(died)} mutants die; these survive:"]
    for one in survivors:
        lines.append(f"- {one.name} ({one.file}): {one.reason or 'no reason is known'}")
    sys.stdout.write("\n".join(lines) + "\n")
    is_explained = all(one.reason for one in survivors)
    return 0 if is_explained and sum(died) >= LEAST_SHARE * len(died) else 3


if __name__ == "__main__":
    raise SystemExit(main())
