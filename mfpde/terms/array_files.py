"""Arrays in .npy, .npz and .safetensors files, by their names: each is read when it is asked for.

No file can run code.  A .safetensors file is eight bytes of length, a header in JSON that holds
the type, the shape and the place of each tensor, and raw numbers.
"""

from __future__ import annotations

import json
from collections import UserDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import shown

SUFFIXES = (".npy", ".npz", ".safetensors")
_REAL = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
"""Types of real numbers; BF16 is the upper half of F32."""


@contextmanager
def open_arrays(path: Path) -> Iterator[Mapping[str, NDArray[Any]]]:
    """The arrays of a file by their names; that of a .npy file has the file's.

    What is damaged raises an error here or when it is read, of whatever kind its reader has.
    """
    if path.suffix == ".safetensors":
        yield Tensors(path)
        return
    with path.open("rb") as file:
        found = np.load(file, allow_pickle=False)
        yield {path.stem: found} if isinstance(found, np.ndarray) else found


class Tensors(UserDict[str, Any]):
    """The tensors of a .safetensors file by their names.

    ``ValueError`` if the header is longer than the file, or no table; of a tensor, if its numbers
    are not real, or go beyond the file.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 0 < length <= path.stat().st_size - 8:
                raise ValueError(f"its header claims {length} bytes: there are fewer")
            header = json.loads(file.read(length))
        if not isinstance(header, dict):
            raise ValueError(f"its header is {shown(header)}, no table of tensors")
        header.pop("__metadata__", None)
        super().__init__(header)
        self._path, self._start = path, 8 + length

    def __getitem__(self, name: str) -> NDArray[Any]:
        about = self.data[name]
        kind, shape = about["dtype"], tuple(about["shape"])
        begin, end = about["data_offsets"]
        if kind not in _REAL:
            raise ValueError(
                f"{name!r} is of the type {kind}, which holds no real numbers: it must "
                f"be one of {', '.join(_REAL)}"
            )
        place = self._start + begin
        found = np.memmap(self._path, _REAL[kind], "r", place, shape)
        if found.nbytes != end - begin:
            raise ValueError(
                f"{name!r} of shape {shape} has {end - begin} bytes where {kind} takes "
                f"{found.nbytes}"
            )
        if kind == "BF16":
            return (found.astype("<u4") << 16).view("<f4")
        return found
