"""Which faults in the source of the package its tests notice.

    python tests/mutants.py                       # the table, then 60 cuts at random; hours
    python tests/mutants.py --only softmax pole   # faults whose names or files have these words
    python tests/mutants.py --cuts 30 --seed 4    # cuts at random alone

A mutant is a copy of the package with one line changed, by ``mutants.toml`` or at random (a sign,
a comparison, a factor, minimum for maximum); the tests that name its module are run on it, and it
dies if one fails.  They must pass on the copy without a change.  The table is printed and written
to ``mutants.md``; the exit code is 0 only if at least 95 % have died and the file has a sentence
for each of its survivors.
"""

from __future__ import annotations

import argparse
import ast
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
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

EXCHANGED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.And: "or", ast.Or: "and",
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
AT_THE_EDGE = (
    "commands",
    "settings",
    "storage",
    "sweeps",
    "plotting",
    "viewer",
    "networks",
)
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
    offset: int | None = None

    def source(self, root: Path) -> str:
        """Return the changed source of the file in ``root``.

        Raises
        ------
        ValueError
            If what is to be changed is not there exactly once.
        """
        text = (root / "mfpde" / self.file).read_text("utf-8")
        start = text.find(self.old) if self.offset is None else self.offset
        if self.offset is None and text.count(self.old) != 1:
            raise ValueError(
                f"{self.name!r}: {self.file} has {text.count(self.old)} of {self.old!r}"
            )
        changed = text[:start] + self.new + text[start + len(self.old) :]
        compile(changed, self.file, "exec")
        return changed


def read_table(path: Path = TESTS / "mutants.toml") -> list[Mutant]:
    """Return the mutants of the table, with the tests of their files where they name none."""
    entries = tomllib.loads(path.read_text("utf-8"))["mutant"]
    return [
        Mutant(
            **{**entry, "tests": tuple(entry.get("tests") or tests_of(entry["file"]))}
        )
        for entry in entries
    ]


# Cuts at random --------------------------------------------------------------------------------


def draw_mutants(count: int, seed: int) -> list[Mutant]:
    """Return ``count`` cuts at random, equally many of each folder of the package."""
    generator = random.Random(seed)
    folders: dict[str, list[Mutant]] = {}
    for path in sorted((ROOT / "mfpde").rglob("*.py")):
        file = path.relative_to(ROOT / "mfpde").as_posix()
        folders.setdefault(file.rpartition("/")[0], []).extend(cuts_of(file))
    drawn: list[Mutant] = []
    names = sorted(name for name, cuts in folders.items() if cuts)
    while len(drawn) < count:
        one = generator.choice(folders[names[len(drawn) % len(names)]])
        if one not in drawn:
            drawn.append(one)
    return drawn


def cuts_of(file: str) -> Iterator[Mutant]:
    """Yield all cuts of a file of the package."""
    text = (ROOT / "mfpde" / file).read_text("utf-8")
    lines = text.encode().splitlines(keepends=True)

    def place(line: int, column: int) -> int:
        return len(b"".join([*lines[: line - 1], lines[line - 1][:column]]).decode())

    for node in _code_below(ast.parse(text)):
        for begin, end, new in _changes_of(node, text):
            start, stop = place(*begin), place(*end)
            old = text[start:stop]
            # Brackets may stand between an operator and its operands.
            if "\n" not in old and not set("#()[]") & set(old.strip() if new else ""):
                number = text.count("\n", 0, start) + 1
                name = f"{file}:{number}: {old.strip()} to {new.strip()}".rstrip()
                yield Mutant(name, file, old, new, tests_of(file), offset=start)


Place = tuple[int, int]
"""A line, from 1 on, and a column in bytes."""


def _code_below(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all code of a tree that has a result."""
    for node in ast.iter_child_nodes(tree):
        if not _has_no_result(node):
            yield node
            yield from _code_below(node)


def _changes_of(node: ast.AST, text: str) -> Iterator[tuple[Place, Place, str]]:
    """Yield begin, end and new text of each change of one node."""
    match node:
        case ast.BinOp(left=left, op=operator, right=right):
            yield from _exchange(operator, left, right)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            yield from _exchange(operator, left, right)
        case ast.BoolOp(op=operator, values=[left, right]):
            yield from _exchange(operator, left, right)
        case ast.UnaryOp(op=ast.USub() | ast.Not() as operator):
            line, column = _begin(node)
            length = 1 if isinstance(operator, ast.USub) else len("not")
            yield (line, column), (line, column + length), ""
        case ast.Constant(value=float(value)) if value:
            yield _begin(node), _end(node), repr(2 * value)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if (
            name in NAMES
        ):
            line, column = _end(node.func)
            yield (line, column - len(name)), (line, column), NAMES[name]


def _exchange(
    operator: ast.AST, left: ast.AST, right: ast.AST
) -> Iterator[tuple[Place, Place, str]]:
    """Yield another operator in the place of one, with the blanks or brackets around it."""
    if type(operator) in EXCHANGED:
        yield _end(left), _begin(right), f" {EXCHANGED[type(operator)]} "


def _begin(node: Any) -> Place:
    return node.lineno, node.col_offset


def _end(node: Any) -> Place:
    return node.end_lineno, node.end_col_offset


def _has_no_result(node: ast.AST) -> bool:
    """Whether code is an annotation, a message, a text, or a limit of a size."""
    match node:
        case (
            ast.Raise()
            | ast.Assert()
            | ast.arguments()
            | ast.JoinedStr()
            | ast.Import()
        ):
            return True
        case ast.FunctionDef(name=name):
            return bool(WORDS_ONLY.match(name))
        case ast.Assign(targets=[ast.Name(id=name)]):
            return bool(SIZE_LIMIT.match(name))
        case (
            ast.AnnAssign(value=None)
            | ast.Subscript(value=ast.Name(id="Literal" | "Annotated"))
        ):
            return True
        case ast.Compare(comparators=[ast.Constant(value=float(value))]):
            return abs(value) < NEGLIGIBLE
    return False


@cache
def tests_of(file: str) -> tuple[str, ...]:
    """Return the files of tests that name a module, or most of what it defines."""
    module = "mfpde." + file.removesuffix(".py").removesuffix("/__init__").replace(
        "/", "."
    )
    tree = ast.parse((ROOT / "mfpde" / file).read_text("utf-8"))
    kinds = ast.FunctionDef | ast.ClassDef
    names = [node.name for node in tree.body if isinstance(node, kinds)]
    public = [name for name in names if not name.startswith("_")]
    folder = file.partition("/")[0]
    scores = {}
    for path in TESTS.glob("test_*.py"):
        text = path.read_text("utf-8")
        named = sum(bool(re.search(rf"\b{name}\b", text)) for name in public)
        words = {folder, file.rpartition("/")[2].removesuffix(".py")}
        score = 3 * (module in text) + named
        score += 2 * any(word in path.name for word in words)
        scores[path.name] = score / len(text) ** 0.2
    best = sorted(scores, key=lambda name: -scores[name])
    found = [name for name in best[:MOST_FILES] if scores[name]]
    more = () if folder in AT_THE_EDGE else ("test_laws.py", "test_oracles.py")
    return tuple(dict.fromkeys([*found, *more]))


# Running them ----------------------------------------------------------------------------------


def copy_package(folder: Path) -> Path:
    """Copy the package, its tests and what they read, with the compiled kernels."""
    for part in ("mfpde", "tests", "validation", "examples", "benchmarks", "docs"):
        left = shutil.ignore_patterns("*.pyc", "report", "_build")
        shutil.copytree(ROOT / part, folder / part, ignore=left)
    for part in (
        "pyproject.toml",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Makefile",
    ):
        shutil.copy2(ROOT / part, folder)
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
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-n0",
    ]
    environment = os.environ | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    if kernels is not None:
        environment["NUMBA_CACHE_DIR"] = kernels
    try:
        done = subprocess.run(
            [*command, *(f"tests/{test}" for test in tests)],
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
    """Return which mutants die, each on a copy of its own.

    Raises
    ------
    RuntimeError
        If a test fails on the package as it is.
    """
    with ExitStack() as stack:
        copies: queue.Queue[Path] = queue.Queue()
        for _ in range(jobs):
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            copies.put(copy_package(Path(folder)))

        def on_a_copy(work, one):
            root = copies.get()
            try:
                return work(one, root)
            finally:
                copies.put(root)

        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        tests = list(dict.fromkeys(test for one in mutants for test in one.tests))
        codes = pool.map(
            lambda test: on_a_copy(lambda t, r: run_tests([t], r), test), tests
        )
        failing = [test for test, code in zip(tests, codes, strict=True) if code]
        if failing:
            raise RuntimeError(
                f"these fail on the package as it is: {', '.join(failing)}"
            )

        def try_one(mutant: Mutant) -> bool:
            died = on_a_copy(is_noticed, mutant)
            tell(f"{'dies' if died else 'SURVIVES':9s} {mutant.name}")
            return died

        return list(pool.map(try_one, mutants))


def tell(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def table_of(mutants: Sequence[Mutant], died: Sequence[bool]) -> str:
    """Return the survivors with their reasons, and all that died, as Markdown."""
    lines = ["# Faults in the source, and whether the tests notice them", ""]
    lines += [f"{sum(died)} of {len(died)} mutants die (`make mutants`).", ""]
    lines += ["| fault | file | |", "|---|---|---|"]
    for mutant, dies in sorted(
        zip(mutants, died, strict=True), key=lambda pair: pair[1]
    ):
        verdict = (
            "dies" if dies else f"survives: {mutant.reason or 'no reason is known'}"
        )
        lines.append(f"| {mutant.name.replace('|', '/')} | {mutant.file} | {verdict} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 0 if enough mutants die and each survivor has its reason."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="WORD", help="in names or files")
    parser.add_argument("--cuts", type=int, help="cuts at random, without the table")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(arguments)
    mutants = draw_mutants(given.cuts, given.seed) if given.cuts else read_table()
    if given.cuts is None and given.only is None:
        mutants += draw_mutants(60, given.seed)
    if given.only:
        mutants = [
            one for one in mutants if any(w in one.name + one.file for w in given.only)
        ]
    died = try_mutants(mutants, given.jobs)
    table = table_of(mutants, died)
    tell(table)
    if given.cuts is None and given.only is None:
        (TESTS / "mutants.md").write_text(table, encoding="utf-8")
    explained = all(dies or one.reason for one, dies in zip(mutants, died, strict=True))
    return 0 if explained and sum(died) >= LEAST_SHARE * len(died) else 3


if __name__ == "__main__":
    raise SystemExit(main())
