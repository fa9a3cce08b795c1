"""What a result depends on: a digest of the sources, and where a report comes from.

The digest is that of the syntax trees without docstrings, so that a word in a comment or a
docstring makes no result stale, and the same under every version of Python.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import mfpde

HERE = Path(__file__).parent
PACKAGE = Path(mfpde.__file__).parent


@cache
def source_digest(module: str) -> str:
    """Return the SHA-256 of ``mfpde`` and of what a script imports from here.

    A result with the same digest need not be computed again.

    Parameters
    ----------
    module
        The script, as in ``"validation.theorems.inverse"``.
    """
    spec, imported = importlib.util.find_spec(module), set[Path]()
    if spec is not None and spec.origin:
        _add_imported_files(Path(spec.origin), imported)
    return _digest_of([*PACKAGE.rglob("*.py"), *imported])


@cache
def whole_digest() -> str:
    """Return the SHA-256 of all sources that the report depends on."""
    return _digest_of([*PACKAGE.rglob("*.py"), *HERE.rglob("*.py")])


def _digest_of(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        root = PACKAGE if path.is_relative_to(PACKAGE) else HERE
        digest.update(os.path.relpath(path, root.parent).encode())
        digest.update(_file_digest(path))
    return digest.hexdigest()


@cache
def _file_digest(path: Path) -> bytes:
    return hashlib.sha256("".join(_written_out(_tree_of(path))).encode()).digest()


@cache
def _tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _written_out(value: object) -> Iterator[str]:
    """Yield a syntax tree as text: without places, empty fields and docstrings."""
    if isinstance(value, list):
        for one in value:
            yield from _written_out(one)
    elif isinstance(value, ast.AST):
        yield f"({type(value).__name__}"
        for name, inner in ast.iter_fields(value):
            kept = inner[1:] if name == "body" and _is_explained(value) else inner
            if kept is not None and kept != []:
                yield f" {name}="
                yield from _written_out(kept)
        yield ")"
    else:
        yield repr(value)


def _is_explained(node: ast.AST) -> bool:
    """Whether a module, class or function has a docstring."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None


def _add_imported_files(path: Path, found: set[Path]) -> None:
    """Add ``path`` and all files of ``validation`` that it imports, directly or not."""
    if path in found or not path.exists():
        return
    found.add(path)
    for node in ast.walk(_tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            package, *names = node.module.split(".")
            if package == HERE.name:
                place = HERE.joinpath(*names)
                modules = [place, place / "__init__"]
                modules += [place / alias.name for alias in node.names]
                for module in modules:
                    _add_imported_files(module.with_suffix(".py"), found)


def provenance_line(*, quick: bool = False) -> str:
    """Return one sentence: version, commit, day and digest of the sources."""
    size = ", quick forms" if quick else ""
    return (
        f"Made by mfpde {mfpde.__version__} at commit {commit()} on "
        f"{datetime.now(UTC):%Y-%m-%d}{size}; sources {whole_digest()[:16]}."
    )


def digest_in(report: str) -> str:
    """Return the digest that the text of a report states, or an empty string."""
    found = re.search(r"sources ([0-9a-f]{16})", report)
    return found[1] if found else ""


def commit() -> str:
    """Return the short name of the commit, with a word if files differ from it."""
    try:
        name = _git("rev-parse", "--short=12", "HEAD")
        changed = _git(
            "status", "--porcelain", "--untracked-files=no", "mfpde", "validation/*.py"
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name} (with changes)" if changed else name


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=HERE.parent, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
