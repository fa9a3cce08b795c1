"""Tensors of safetensors files, in memory one at a time.

A file is 8 bytes of length, a header in JSON with kinds, shapes and offsets, and raw data; a large
network is several files and an index (github.com/huggingface/safetensors).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.arrays import FloatArray

KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
"""The numbers that are read, as numpy has them; bf16 is the upper half of a float32."""
NAMES = ("model.safetensors", "model.safetensors.index.json")


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in a file; an index, ``[:]`` or that of rows, reads it as float64."""

    path: Path
    kind: str
    shape: tuple[int, ...]
    begin: int

    def __getitem__(self, rows: Any) -> FloatArray:
        if self.kind not in KINDS:
            raise ValueError(f"{self.path} has numbers of {self.kind}: save it as F32")
        stored = np.memmap(self.path, KINDS[self.kind], "r", self.begin, self.shape)
        part = stored[rows]
        if self.kind == "BF16":
            part = (part.astype("<u4") << 16).view("<f4")
        return np.array(part, dtype=np.float64)


def read_json(path: Path) -> dict[str, Any]:
    """What a file in JSON says; ``ValueError`` if it is none, or has no names."""
    try:
        return {**json.loads(path.read_bytes())}
    except (TypeError, ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def find_tensors(path: Path) -> dict[str, StoredTensor]:
    """The tensors of a file, of the files of an index, or of a folder with either."""
    if path.is_dir():
        path = next((path / name for name in NAMES if (path / name).is_file()), path)
    if not path.is_file():
        raise ValueError(f"path = {str(path)!r} must be, or hold, {' or '.join(NAMES)}")
    files = {path}
    if path.suffix == ".json":
        index = read_json(path).get("weight_map")
        if not isinstance(index, dict):
            raise ValueError(f"path = {str(path)!r} has no weight_map: it is no index")
        files = {path.with_name(str(name)) for name in index.values()}
    return {name: one for file in sorted(files) for name, one in _read_header(file)}


def _read_header(path: Path) -> list[tuple[str, StoredTensor]]:
    try:
        with path.open("rb") as file:
            length, size = int.from_bytes(file.read(8), "little"), path.stat().st_size
            # A damaged length may be beyond all memory.
            header = json.loads(file.read(min(length, size)))
        header.pop("__metadata__", None)
        found = []
        for name, one in header.items():
            kind, shape = one["dtype"], tuple(one["shape"])
            begin, end = (8 + length + offset for offset in one["data_offsets"])
            width = np.dtype(KINDS[kind]).itemsize if kind in KINDS else 0
            if end > size or width * math.prod(shape) not in (0, end - begin):
                raise ValueError(f"{name} is not whole")
            found.append((name, StoredTensor(path, kind, shape, begin)))
    except (KeyError, TypeError, AttributeError, ValueError, OSError) as error:
        raise ValueError(
            f"{path} is damaged, or not in this format: {error}"
        ) from error
    return found
