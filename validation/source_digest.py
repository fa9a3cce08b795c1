"""What a result depends on: a digest of the sources, whatever the commit.

It is that of the syntax trees without docstrings, so that a word in a comment or a
docstring makes no result stale, and the same under every version of Python.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import mfpde

PACKAGE = "validation"


@cache
def source_digest(module: str) -> str:
    """Return the SHA-256 of ``mfpde`` and of what ``module`` imports from here.

    A result with the same digest need not be computed again.

    Parameters
    ----------
    module
        The script, as in ``"validation.theorems.inverse"``.
    """
    digest = hashlib.sha256(_package_digest())
    for path in sorted(_imported_files(module)):
        digest.update(_file_digest(path))
    return digest.hexdigest()


@cache
def whole_digest() -> str:
    """Return the SHA-256 of all sources that the report depends on."""
    here = Path(__file__).parent
    digest = hashlib.sha256(_package_digest())
    digest.update(_digest_of(here.rglob("*.py"), here))
    return digest.hexdigest()


@cache
def _package_digest() -> bytes:
    package = Path(mfpde.__file__).parent
    return _digest_of(package.rglob("*.py"), package)


def _digest_of(paths: Iterable[Path], root: Path) -> bytes:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(_file_digest(path))
    return digest.digest()


@cache
def _file_digest(path: Path) -> bytes:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return hashlib.sha256("".join(_plain(tree)).encode()).digest()


def _plain(value: object) -> Iterator[str]:
    """Yield a syntax tree as text: without places, empty fields and docstrings."""
    if isinstance(value, list):
        for one in value:
            yield from _plain(one)
    elif isinstance(value, ast.AST):
        yield f"({type(value).__name__}"
        for name, inner in ast.iter_fields(value):
            kept = inner[1:] if name == "body" and _is_explained(value) else inner
            if kept is not None and kept != []:
                yield f" {name}="
                yield from _plain(kept)
        yield ")"
    else:
        yield repr(value)


def _is_explained(node: ast.AST) -> bool:
    """Whether a module, class or function has a docstring."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None


def _imported_files(module: str) -> set[Path]:
    """Files of ``module`` and of all of ``validation`` that it imports, directly or not."""
    found: set[Path] = set()
    pending = [module]
    while pending:
        path = _file_of(pending.pop())
        if path is not None and path not in found:
            found.add(path)
            pending.extend(_imports(path))
    return found


def _file_of(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:  # a function of a module, not a module
        return None
    return None if spec is None or not spec.has_location else Path(spec.origin or "")


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [node.module, *inner]
        else:
            continue
        yield from (name for name in names if name.startswith(f"{PACKAGE}."))
