"""Arrays in .npy, .npz and .safetensors files, by their names: each is read when it is asked for.

No file can run code.  A .safetensors file is eight bytes of length, a header in JSON that holds
the type, the shape and the place of each tensor, and raw numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.arrays import FloatArray, shown

SUFFIXES = (".npy", ".npz", ".safetensors")
_REAL = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
"""Types of real numbers; BF16 is the upper half of F32."""


@contextmanager
def open_arrays(path: Path) -> Iterator[Mapping[str, Any]]:
    """Arrays of a file by their names (that of a .npy file has the file's), read by ``[...]``.

    What is damaged raises an error here or when it is read, of whatever kind its reader has.
    """
    if path.suffix == ".safetensors":
        yield read_tensors(path)
        return
    with path.open("rb") as file:
        found = np.load(file, allow_pickle=False)
        yield {path.stem: found} if isinstance(found, np.ndarray) else found


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in a file; an index, ``[...]`` or that of rows, reads it as float64."""

    path: Path
    kind: str
    shape: tuple[int, ...]
    begin: int

    def __getitem__(self, rows: Any) -> FloatArray:
        if self.kind not in _REAL:
            raise ValueError(
                f"a tensor of the type {self.kind}, which holds no real numbers: it must be one "
                f"of {', '.join(_REAL)}"
            )
        part = np.memmap(self.path, _REAL[self.kind], "r", self.begin, self.shape)[rows]
        if self.kind == "BF16":
            part = (part.astype("<u4") << 16).view("<f4")
        return np.array(part, dtype=np.float64)


def read_tensors(path: Path) -> dict[str, StoredTensor]:
    """The tensors of a .safetensors file by their names.

    ``ValueError`` if the header is no table, or of tensors that are not as large as their shapes
    or go beyond the file.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(min(length, size)))
    if not isinstance(header, dict):
        raise ValueError(f"its header is {shown(header)}, no table of tensors")
    header.pop("__metadata__", None)
    found = {}
    for name, about in header.items():
        kind, shape = about["dtype"], tuple(about["shape"])
        begin, end = (8 + length + offset for offset in about["data_offsets"])
        needed = math.prod(shape) * np.dtype(_REAL.get(kind, "V")).itemsize
        if end > size or (kind in _REAL and needed != end - begin):
            raise ValueError(
                f"{name!r} of shape {shape} has {end - begin} bytes where {kind} takes {needed}"
            )
        found[name] = StoredTensor(path, kind, shape, begin)
    return found
