"""Faults of the package: those of ``mutants.toml``, and cuts at random."""

from __future__ import annotations

import ast
import copy
import random
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
TABLE = TESTS / "mutants.toml"
MOST_FILES = 6
"""Files of tests for a cut at random."""

EXCHANGED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div,
    ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
AT_EQUALITY = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
"""Comparisons that differ where both sides are equal, which they are if they are whole numbers."""
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
    is_drawn: bool = False

    @property
    def folder(self) -> str:
        """The folder of the package that it is in."""
        return self.file.split("/")[0] if "/" in self.file else ""

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


def read_table() -> list[Mutant]:
    entries = tomllib.loads(TABLE.read_text("utf-8"))["mutant"]
    return [Mutant(**entry | {"tests": tuple(entry["tests"])}) for entry in entries]


def draw_mutants(count: int, seed: int) -> list[Mutant]:
    """Return ``count`` cuts at random, equally many of each folder of the package."""
    generator = random.Random(seed)
    reasons = tomllib.loads(TABLE.read_text("utf-8"))["survivors"]
    folders: dict[Path, list[Mutant]] = {}
    for path in sorted((ROOT / "mfpde").rglob("*.py")):
        file = path.relative_to(ROOT / "mfpde").as_posix()
        folders.setdefault(path.parent, []).extend(cuts_of(file))
    cuts = [folders[name] for name in sorted(folders) if folders[name]]
    drawn: list[Mutant] = []
    while len(drawn) < count:
        one = generator.choice(cuts[len(drawn) % len(cuts)])
        one = one._replace(reason=reasons.get(f"{one.file}, {one.name}", ""))
        if one not in drawn:
            drawn.append(one)
    return drawn


def cuts_of(file: str) -> Iterator[Mutant]:
    """Yield all cuts of a file of the package."""
    text = (ROOT / "mfpde" / file).read_text("utf-8")
    lines = text.encode().splitlines(keepends=True)

    def characters_before(line: int, column: int) -> int:
        return len(b"".join([*lines[: line - 1], lines[line - 1][:column]]).decode())

    for node, owner in _code_below(ast.parse(text)):
        if file.startswith("plotting") and _has_number(node):
            # Sizes on the paper.
            continue
        for sound, faulty in _changes_of(node):
            start = characters_before(sound.lineno, sound.col_offset)
            stop = characters_before(sound.end_lineno, sound.end_col_offset)
            new = ast.unparse(faulty)
            name = f"{owner or 'module'}: {ast.unparse(sound)} to {new}"
            yield Mutant(
                name,
                file,
                text,
                f"{text[:start]}({new}){text[stop:]}",
                tests_of(file),
                is_drawn=True,
            )


def _code_below(tree: ast.AST, owner: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Yield all code of a tree that has a result, with the function that it stands in."""
    for node in ast.iter_child_nodes(tree):
        if not _has_no_result(node):
            yield node, owner
            is_named = isinstance(node, ast.FunctionDef | ast.ClassDef)
            yield from _code_below(node, node.name if is_named else owner)


def _changes_of(node: Any) -> Iterator[tuple[Any, ast.AST]]:
    """Yield a node, or the part of it that changes, with what may stand in its place."""
    match node:
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator, values=[_, _]) if (
            type(operator) in EXCHANGED
        ):
            yield node, _copy_with(node, op=EXCHANGED[type(operator)]())
        case ast.Compare(ops=[operator], comparators=[other]) if (
            type(operator) in EXCHANGED
        ):
            yield node, _copy_with(node, ops=[EXCHANGED[type(operator)]()])
            is_whole = isinstance(getattr(other, "value", None), int)
            if is_whole and type(operator) in AT_EQUALITY:
                yield node, _copy_with(node, ops=[AT_EQUALITY[type(operator)]()])
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield node, operand
        case ast.Constant(value=float(value)) if abs(value) > NEGLIGIBLE:
            yield node, ast.Constant(2 * value)
        case ast.Call(func=ast.Name(id=name) as called) if name in NAMES:
            yield called, ast.Name(NAMES[name])
        case ast.Call(func=ast.Attribute(attr=name) as called) if name in NAMES:
            yield called, _copy_with(called, attr=NAMES[name])


def _has_number(node: ast.AST) -> bool:
    """Whether a number is written in an expression."""
    parts = [node, *ast.iter_child_nodes(node)]
    return any(isinstance(getattr(part, "value", None), float) for part in parts)


def _copy_with(node: ast.AST, **fields: Any) -> ast.AST:
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
    """Return the files of tests that name a module, or most of what it and its folder define."""
    stem = file.removesuffix(".py").removesuffix("/__init__")
    folder, *_, last = stem.split("/") if "/" in stem else (stem, stem)
    path = ROOT / "mfpde" / file
    public = public_names(path)
    beside = set[str]().union(*map(public_names, path.parent.glob("*.py")))
    scores = {}
    for path in TESTS.glob("test_*.py"):
        text = path.read_text("utf-8")
        named = len(public & words_of(text)) + 0.1 * len(beside & words_of(text))
        named += 3 * ("mfpde." + stem.replace("/", ".") in text)
        named += 2 * any(word in path.name for word in (folder, last))
        scores[path.name] = named / len(text) ** 0.5
    best = sorted(filter(scores.get, scores), key=lambda name: -scores[name])
    more = () if AT_THE_EDGE.match(folder) else ("test_laws.py", "test_oracles.py")
    return tuple(dict.fromkeys([*best[:MOST_FILES], *more]))


@cache
def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


@cache
def public_names(path: Path) -> set[str]:
    """Return the names of functions and classes that a module defines for others."""
    kinds = ast.FunctionDef | ast.ClassDef
    body = ast.parse(path.read_text("utf-8")).body
    return {one.name for one in body if isinstance(one, kinds) and one.name[0] != "_"}
