"""Matrices in a settings file: inline rows, or an array in a .npy, .npz or .safetensors file.

A file with several arrays is given as ``"weights.npz:name"``.  Files are read as numbers only
and never run code.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from mfpde.arrays import nearest
from mfpde.terms.array_files import SUFFIXES, array_names, read_array

Found = TypeVar("Found")
_LISTED = 20


def matrix_rows(given: Any) -> Any:
    """Rows of the matrix that a setting gives, inline or by the name of a file.

    Anything but a text is returned as it is, for the constructor that takes it to judge.

    Raises
    ------
    ValueError
        If the file is missing, of another kind, no array, or has no array of that name.
    """
    if not isinstance(given, str):
        return given
    path, name = _parted(given)
    if not path.name.endswith(SUFFIXES):
        raise ValueError(
            f"= {given!r} must be rows of numbers or a file that ends in {', '.join(SUFFIXES)}"
        )
    if not path.is_file():
        raise ValueError(f"= {given!r}: there is no file {str(path)!r}")
    names = _read(path, lambda: array_names(path))
    chosen = name or (names[0] if len(names) == 1 else None)
    if chosen not in names:
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        listed = ", ".join(map(repr, names[:_LISTED])) or "nothing"
        what = f"has no array {name!r}" if name else "needs the name of an array"
        raise ValueError(
            f"= {given!r}: {str(path)!r} {what}{nearest(name, names)}; it holds {listed}{more}, "
            f"as in '{path}:{next(iter(names), 'name')}'"
        )
    found = _read(path, lambda: read_array(path, chosen))
    if found.dtype.kind not in "fiu":
        raise ValueError(
            f"= {given!r} holds {found.dtype}, which is not an array of real numbers"
        )
    with np.errstate(over="ignore"):
        # What is too large is infinite then, which is refused.
        return found.astype(np.float64).tolist()


def _parted(given: str) -> tuple[Path, str | None]:
    """The path, and the name of an array after its suffix and a colon."""
    for suffix in SUFFIXES:
        start, found, name = given.partition(f"{suffix}:")
        if found:
            return Path(start + suffix), name
    return Path(given), None


def _read(path: Path, read: Callable[[], Found]) -> Found:
    try:
        return read()
    # Whatever readers make of bytes that are none of theirs; nothing in a file is executed.
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"= {str(path)!r} cannot be read: {reason}") from error
