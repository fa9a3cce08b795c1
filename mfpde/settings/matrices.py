"""Matrices in a settings file: inline rows, or an array in a .npy, .npz or .safetensors file.

A file with several arrays is given as ``"weights.npz:name"``.  Files are read as numbers only
and never run code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mfpde.arrays import nearest

SUFFIXES = (".npy", ".npz", ".safetensors")


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
    if path.suffix not in SUFFIXES:
        raise ValueError(
            f"= {given!r} must be rows of numbers or a file that ends in {', '.join(SUFFIXES)}"
        )
    if not path.is_file():
        raise ValueError(f"= {given!r}: there is no file {str(path)!r}")
    arrays = _arrays(path)
    if name is None and len(arrays) == 1:
        (name,) = arrays
    if name not in arrays:
        listed = ", ".join(map(repr, arrays)) or "nothing"
        what = (
            "needs the name of an array" if name is None else f"has no array {name!r}"
        )
        raise ValueError(
            f"= {given!r}: {str(path)!r} {what}{nearest(name, arrays)}; it holds {listed}, "
            f"as in '{path}:{next(iter(arrays), 'name')}'"
        )
    found = np.asarray(arrays[name])
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


def _arrays(path: Path) -> dict[str, Any]:
    try:
        if path.suffix == ".safetensors":
            return _tensors(path)
        with path.open("rb") as file:
            found = np.load(file, allow_pickle=False)
            if isinstance(found, np.ndarray):
                return {path.stem: found}
            return {name: found[name] for name in found.files}
    # Whatever readers make of bytes that are none of theirs; nothing in a file is executed.
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"= {str(path)!r} cannot be read: {reason}") from error


def _tensors(path: Path) -> dict[str, Any]:
    try:
        from safetensors.numpy import load_file
    except ImportError as error:
        raise ValueError(
            f"= {str(path)!r} needs the package safetensors: pip install safetensors"
        ) from error
    return dict(load_file(path))
