"""Arrays in .npy, .npz and .safetensors files: their names, and one at a time.

What a file says of an array is held against the size of the file before any of it is read, and
no file can run code.  A .safetensors file is eight bytes of length, a header in JSON, and raw
numbers; ``model.safetensors.index.json`` says in which of several such files each tensor is.
"""

from __future__ import annotations

import json
import math
import struct
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from mfpde.arrays import nearest, shown

INDEX = ".safetensors.index.json"
SUFFIXES = (".npy", ".npz", ".safetensors", INDEX)
_REAL = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
"""Types of real numbers; BF16 is the upper half of F32."""
_LARGEST_HEADER = 10**8


def array_names(path: Path) -> list[str]:
    """Return the names of the arrays in a file; that of the file alone for .npy.

    Raises
    ------
    ValueError
        If the file is none of its kind, or is damaged.
    """
    if path.name.endswith(INDEX):
        return list(_shards(path))
    if path.suffix == ".safetensors":
        with path.open("rb") as file:
            return list(_header(file)[0])
    if path.suffix == ".npz":
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    return [path.stem]


def read_array(path: Path, name: str) -> NDArray[Any]:
    """Return one array of a file, of which nothing else is read.

    Raises
    ------
    ValueError
        If it is not there, is no array of numbers, or goes beyond its file.
    """
    if path.name.endswith(INDEX):
        return read_array(path.parent / _shards(path)[name], name)
    if path.suffix == ".npz":
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            member = archive.getinfo(f"{name}.npy" if f"{name}.npy" in names else name)
            with archive.open(member) as held:
                return _read_npy(held, member.file_size)
    with path.open("rb") as file:
        if path.suffix == ".safetensors":
            return _tensor(file, name)
        return _read_npy(file, path.stat().st_size)


def _read_npy(file: IO[bytes], size: int) -> NDArray[Any]:
    version = npy.read_magic(file)
    reads = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in reads:
        raise ValueError(f"arrays of version {version} are not read")
    shape, _, dtype = reads[version](file)
    claimed = math.prod(shape) * dtype.itemsize
    if claimed > size:
        raise ValueError(f"shape {shape} claims {claimed} bytes of {size}")
    file.seek(0)
    return np.asarray(npy.read_array(file, allow_pickle=False))


def _shards(path: Path) -> dict[str, str]:
    """Return the name of the file of each tensor, in the folder of the index."""
    record = json.loads(path.read_text("utf-8"))
    files = record["weight_map"] if isinstance(record, dict) else None
    if not isinstance(files, dict):
        raise ValueError("it has no table weight_map")
    for name, file in files.items():
        if not isinstance(file, str) or Path(file).name != file:
            raise ValueError(f"{name!r} is in {file!r}, which is no file beside it")
        if not file.endswith(".safetensors"):
            raise ValueError(f"{name!r} is in {file!r}, which is no .safetensors file")
    return files


def _tensor(file: IO[bytes], name: str) -> NDArray[Any]:
    tensors, start = _header(file)
    if name not in tensors:
        raise ValueError(f"there is no tensor {name!r}{nearest(name, tensors)}")
    kind, shape, (begin, end) = tensors[name]
    if kind not in _REAL:
        raise ValueError(
            f"{name!r} is of the type {kind}, which holds no real numbers: it must "
            f"be one of {', '.join(_REAL)}"
        )
    dtype = np.dtype(_REAL[kind])
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise ValueError(
            f"{name!r} of shape {shape} has {end - begin} bytes where {kind} takes "
            f"{math.prod(shape) * dtype.itemsize}"
        )
    file.seek(start + begin)
    values = np.frombuffer(file.read(end - begin), dtype)
    if kind == "BF16":
        values = (values.astype("<u4") << 16).view("<f4")
    return values.reshape(shape)


_Tensor = tuple[str, tuple[int, ...], tuple[int, int]]


def _header(file: IO[bytes]) -> tuple[dict[str, _Tensor], int]:
    """Return type, shape and place of each tensor, and where the raw numbers begin."""
    size = file.seek(0, 2)
    file.seek(0)
    first = file.read(8)
    length = struct.unpack("<Q", first)[0] if len(first) == 8 else 0
    if not 0 < length <= min(size - 8, _LARGEST_HEADER):
        raise ValueError(f"its header claims {length} bytes, the file has {size}")
    try:
        record = json.loads(file.read(length), object_pairs_hook=_refuse_doubles)
    except RecursionError as error:
        raise ValueError("the tables of its header are too deep") from error
    if not isinstance(record, dict):
        raise ValueError(f"its header is {shown(record)}, which is no table of tensors")
    record.pop("__metadata__", None)
    tensors = {name: _read_description(name, given) for name, given in record.items()}
    last, before = 0, ""
    for name, (_, _, (begin, end)) in sorted(
        tensors.items(), key=lambda one: one[1][2]
    ):
        if end > size - 8 - length:
            raise ValueError(f"{name!r} ends at byte {end} of {size - 8 - length}")
        if begin < last:
            raise ValueError(f"{before!r} and {name!r} overlap at byte {begin}")
        last, before = max(end, last), name
    return tensors, 8 + length


def _read_description(name: str, given: Any) -> _Tensor:
    try:
        kind, shape = str(given["dtype"]), tuple(given["shape"])
        begin, end = given["data_offsets"]
        are_whole = all(type(one) is int and one >= 0 for one in (*shape, begin, end))
    except (KeyError, TypeError, ValueError):
        are_whole = False
    if not are_whole or begin > end:
        raise ValueError(
            f"{name!r} = {shown(given)} must have dtype, shape and data_offsets of whole numbers"
        )
    return kind, shape, (begin, end)


def _refuse_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} is there twice")
    return dict(pairs)
