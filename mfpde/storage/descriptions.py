"""What the root of a store says of its arrays, and how much of them the files can hold.

An array's name, type, unit and grid of chunks stand in a ``zarr.json`` that anything may have
changed.  The root therefore keeps a digest of each; of a store that is closed the shapes are in
the digests too.  While a run is written the shapes grow: then no array is read further than the
chunks on disk reach.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import zarr
from zarr.storage import LocalStore

from mfpde.runs.stored_names import TIME
from mfpde.storage.errors import StoreError

SUMMED = "variables"
"""Attribute of the checksums: the variables in the order of their columns, as JSON.

It grows with the records, and the checksums themselves tell whether it is right.
"""
DESCRIPTIONS = "descriptions"
"""Attribute of a group: the digest of the description of each of its arrays, by name."""
CLOSED = "closed"
"""Attribute of a group whose digests cover the shapes: nothing is being appended."""
NOTHING_YET: dict[str, Any] = {DESCRIPTIONS: {}, CLOSED: False}
"""The attributes of a group that has no arrays yet."""
_LARGEST_RATIO = 2**15
"""Bytes that one byte of a compressed chunk can stand for: a block of one value takes four."""
_SMALL = 1024
_SMALL_ARRAY = 2**24
_SPARSEST = 64
"""Entries, and chunks, of an array for each that is on disk; rows of NaN are not written."""


def dimensions_of(array: zarr.Array[Any]) -> tuple[str, ...]:
    """Return the names of an array's dimensions."""
    names = array.metadata.dimension_names  # type: ignore[union-attr]
    return tuple(str(name) for name in names or ())


def place_of(group: zarr.Group) -> Path:
    """Return the folder of a group."""
    store = group.store
    root = store.root if isinstance(store, LocalStore) else Path(str(store))
    return root / group.path


def describe_arrays(
    group: zarr.Group, arrays: Mapping[str, zarr.Array[Any]], *, closed: bool
) -> None:
    """Write the digests of the ``arrays`` of a group, with their shapes if it is ``closed``."""
    digests = {n: _digest(n, a, closed=closed) for n, a in arrays.items()}
    group.attrs.update({DESCRIPTIONS: digests, CLOSED: closed})


def _digest(name: str, array: zarr.Array[Any], *, closed: bool) -> int:
    described = dict(array.metadata.to_dict())
    attributes = dict(array.attrs)
    attributes.pop(SUMMED, None)
    described |= {"name": name, "attributes": attributes}
    if not closed:
        del described["shape"]
    return zlib.crc32(json.dumps(described, sort_keys=True, default=str).encode())


def described_arrays(group: zarr.Group) -> Iterator[tuple[str, zarr.Array[Any]]]:
    """Yield the arrays of a group by name; one that the group does not describe is no part of it.

    Raises
    ------
    StoreError
        If the description of one cannot be read, or is not what the group says of it.
    """
    digests, closed = group.attrs.get(DESCRIPTIONS), bool(group.attrs.get(CLOSED))
    if not isinstance(digests, Mapping):
        raise StoreError(
            f"{place_of(group)}/zarr.json does not say what the arrays are: it is damaged, or "
            "was written before there were checksums of it"
        )
    for name in sorted(digests):
        file = place_of(group) / name / "zarr.json"
        if not file.is_file():
            # The checksums of the records tell whether it must be there.
            continue
        try:
            array = zarr.open_array(str(file.parent), mode="r", zarr_format=3)
            is_described = _digest(name, array, closed=closed) == digests[name]
        # Whatever zarr makes of a description that is none.
        except Exception as error:
            raise StoreError(
                f"{file} is cut short or garbled, so that {name!r} cannot be read: {error}"
            ) from error
        if not is_described:
            raise StoreError(
                f"{file} is damaged: name, shape, type or unit of {name!r} are not those that "
                "were written"
            )
        yield name, array


def held_shape(array: zarr.Array[Any]) -> tuple[int, ...]:
    """Return how far the chunks of an array on disk reach along each of its axes."""
    reached = [0] * array.ndim
    for index in _chunks_on_disk(array):
        for axis, (at, size) in enumerate(zip(index, array.chunks, strict=True)):
            reached[axis] = max(reached[axis], (at + 1) * size)
    return tuple(map(min, reached, array.shape))


def _chunks_on_disk(array: zarr.Array[Any]) -> Iterator[tuple[int, ...]]:
    """Yield the indices of the chunks that have a file as large as they can be packed into."""
    store = array.store
    root = store.root if isinstance(store, LocalStore) else Path(str(store))
    place = root / array.path / "c"
    most = math.prod(array.chunks) * array.dtype.itemsize
    for file in place.rglob("*"):
        parts = file.relative_to(place).parts
        is_chunk = len(parts) == array.ndim and all(map(str.isdecimal, parts))
        if is_chunk and most <= _LARGEST_RATIO * file.stat().st_size:
            yield tuple(map(int, parts))


def readable_sizes(
    group: zarr.Group, arrays: Mapping[str, zarr.Array[Any]], records: int
) -> dict[str, int]:
    """Return the size of each dimension, as far as all ``arrays`` have it and chunks reach.

    Where arrays disagree the smallest holds: all that is complete fits into it.

    Raises
    ------
    StoreError
        If an array has far more entries than its files can hold.
    """
    sizes: dict[str, int] = {}
    held: dict[str, int] = {}
    for array in arrays.values():
        reached = held_shape(array)
        for name, size, reach in zip(
            dimensions_of(array), array.shape, reached, strict=True
        ):
            sizes[name] = min(size, sizes.get(name, size))
            held[name] = max(reach, held.get(name, _SMALL))
    sizes = {name: min(size, held[name]) for name, size in sizes.items()}
    sizes[TIME] = records
    for name, array in arrays.items():
        shape = [sizes[dimension] for dimension in dimensions_of(array)]
        there = sum(1 for _ in _chunks_on_disk(array))
        entries = math.prod(shape)
        chunks = math.prod(map(math.ceil, map(_ratio, shape, array.chunks)))
        most = max(_SMALL_ARRAY, _SPARSEST * there * math.prod(array.chunks))
        if entries > most or chunks > _SMALL_ARRAY // _SMALL + _SPARSEST * there:
            raise StoreError(
                f"{place_of(group) / name}/zarr.json is damaged: {entries} entries do not fit "
                f"into {there} chunks"
            )
    return sizes


def _ratio(size: int, chunk: int) -> float:
    return size / chunk
