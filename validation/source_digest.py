"""What a result depends on: a digest of the sources, whatever the commit."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterator
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
    package = Path(mfpde.__file__).parent
    digest = hashlib.sha256(_package_digest(package))
    for path in sorted(_imported_files(module)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _package_digest(package: Path) -> bytes:
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode())
        digest.update(path.read_bytes())
    return digest.digest()


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
