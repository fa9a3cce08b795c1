"""Arrays of a settings file that are in files: .npy, .npz or .safetensors.

A file with several arrays is given as ``"weights.npz:name"``.  Files are read as numbers only
and never run code.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.arrays import nearest
from mfpde.terms.array_files import SUFFIXES, open_arrays

_NAMED = re.compile(rf"(.*?(?:{'|'.join(map(re.escape, SUFFIXES))})):(.*)", re.DOTALL)
_LISTED = 20


def read_rows(given: str) -> Any:
    """Return the rows of the array that a text names: ``"file"``, or ``"file:name"``.

    Raises
    ------
    ValueError
        If the file is missing, of another kind, no array, or has no array of that name.
    """
    file, name = found.groups() if (found := _NAMED.match(given)) else (given, None)
    path = Path(file)
    if not path.name.endswith(SUFFIXES):
        kinds = ", ".join(SUFFIXES)
        raise ValueError(
            f"= {given!r} must be rows of numbers or a file that ends in {kinds}"
        )
    if not path.is_file():
        raise ValueError(f"= {given!r}: there is no file {file!r}")
    try:
        with open_arrays(path) as arrays:
            names = list(arrays)
            chosen = name or (names[0] if len(names) == 1 else None)
            array = np.asarray(arrays[chosen]) if chosen in names else None
    except Exception as error:
        # Whatever a reader makes of bytes that are none of its own.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"= {file!r} cannot be read: {reason}") from error
    if array is None:
        what = f"has no array {name!r}" if name else "needs the name of an array"
        listed = ", ".join(map(repr, names[:_LISTED])) or "nothing"
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        raise ValueError(
            f"= {given!r}: {file!r} {what}{nearest(name, names)}; it holds {listed}{more}, "
            f"as in '{file}:{next(iter(names), 'name')}'"
        )
    if array.dtype.kind not in "fiu":
        raise ValueError(
            f"= {given!r} holds {array.dtype}, which is not an array of real numbers"
        )
    with np.errstate(over="ignore"):
        # What is too large is infinite then, which is refused.
        return array.astype(np.float64).tolist()
