"""Reading the records of a store: every variable is checked, and what is damaged is named.

What can be read of a damaged store is told in the same line; it is read if that is wanted.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import zarr
from numpy.typing import NDArray

from mfpde.runs.stored_names import CHECKSUM, TIME
from mfpde.storage.descriptions import (
    described_arrays,
    dimensions_of,
    place_of,
    readable_sizes,
)
from mfpde.storage.errors import StoreError
from mfpde.storage.growing_store import (
    checksum_of,
    complete_records,
    summed_variables,
)

if TYPE_CHECKING:
    import xarray as xr

_NAMED = 3


class _Damage(NamedTuple):
    """The files that are damaged, and the records that cannot be read without them."""

    files: list[Path]
    records: set[int]


def read_dataset(group: zarr.Group, *, skip_damaged: bool = False) -> xr.Dataset:
    """Return the complete records of ``group`` as a Dataset, read into memory.

    Where arrays disagree about the length of a dimension the smallest holds: all that
    is complete fits into it.

    Parameters
    ----------
    skip_damaged
        Leave out records that do not match their checksum or cannot be read, in place of
        an error.

    Raises
    ------
    StoreError
        If a record does not match its checksum or cannot be read; the message names the
        file.
    """
    import xarray as xr

    arrays = dict(described_arrays(group))
    complete = complete_records(group)
    _check_lengths(group, arrays, complete)
    sizes = readable_sizes(group, arrays, complete)
    read = {
        name: _read(
            place_of(group) / name,
            array,
            tuple(sizes[dimension] for dimension in dimensions_of(array)),
        )
        for name, array in arrays.items()
    }
    variables = {
        name: xr.Variable(dimensions_of(array), read[name], dict(array.attrs))
        for name, array in arrays.items()
    }
    dataset = xr.Dataset(variables, attrs=dict(group.attrs))
    damage = _damage(group, arrays, dataset)
    if not damage.files:
        return dataset.drop_vars(CHECKSUM, errors="ignore")
    if not skip_damaged:
        raise StoreError(_told(dataset, damage))
    sound = np.setdiff1d(np.arange(sizes[TIME]), sorted(damage.records))
    return dataset.isel({TIME: sound}).drop_vars(CHECKSUM, errors="ignore")


def _check_lengths(
    group: zarr.Group, arrays: Mapping[str, zarr.Array[Any]], complete: int
) -> None:
    """Raise :class:`StoreError` if more records were begun than a killed process leaves."""
    for name, array in arrays.items():
        if dimensions_of(array)[:1] == (TIME,) and array.shape[0] > complete + 1:
            raise StoreError(
                f"{place_of(group) / TIME}/zarr.json is damaged: there are {complete} times "
                f"for {array.shape[0]} records of {name!r}"
            )


def _damage(
    group: zarr.Group,
    arrays: Mapping[str, zarr.Array[Any]],
    dataset: xr.Dataset,
) -> _Damage:
    """Find what does not match its checksum, and its files."""
    place = place_of(group)
    damage = _Damage([], set())
    for name, records in _mismatched(group, arrays, dataset).items():
        if not records:
            continue
        damage.records.update(records)
        array = arrays.get(name)
        if array is None:
            damage.files.append(place / name / "zarr.json")
        else:
            damage.files.extend(_files(place / name, array, records))
    return damage


def _mismatched(
    group: zarr.Group, arrays: Mapping[str, zarr.Array[Any]], dataset: xr.Dataset
) -> dict[str, set[int]]:
    """Records that do not match their checksums, by variable."""
    times = np.asarray(dataset[TIME].values, dtype=np.float64)
    if CHECKSUM not in arrays:
        return {CHECKSUM: set(range(len(times)))}
    moving = {
        str(name): np.asarray(variable.values)
        for name, variable in dataset.variables.items()
        if name not in (TIME, CHECKSUM) and variable.dims[:1] == (TIME,)
    }
    checksums = np.asarray(dataset[CHECKSUM].values)
    try:
        names = summed_variables(arrays[CHECKSUM])
    except (KeyError, ValueError, TypeError) as error:
        raise StoreError(
            f"{place_of(group) / CHECKSUM}/zarr.json is damaged: {error}"
        ) from error
    wrong: dict[str, set[int]] = {name: set() for name in {*names, *moving}}
    for index, time in enumerate(times.tolist()):
        row = dict(zip(names, checksums[index].tolist(), strict=False))
        for name in _wrong_in(row, moving, index, time):
            wrong[name].add(index)
    return wrong


def _wrong_in(
    row: Mapping[str, float],
    moving: Mapping[str, NDArray[Any]],
    index: int,
    time: float,
) -> list[str]:
    """Variables of a record that do not match the checksums in its ``row``."""
    others = np.array([value for name, value in row.items() if name != CHECKSUM])
    if row.get(CHECKSUM) != checksum_of(0.0, CHECKSUM, others):
        return [CHECKSUM]
    if row.get(TIME) != checksum_of(time, TIME, np.array(time)):
        return [TIME]
    return [
        name
        for name in {*row, *moving} - {CHECKSUM, TIME}
        if not _same(row.get(name, np.nan), _present(moving, name, index, time))
    ]


def _present(
    moving: Mapping[str, NDArray[Any]], name: str, index: int, time: float
) -> float:
    return checksum_of(time, name, moving[name][index]) if name in moving else np.nan


def _same(a: float, b: float) -> bool:
    return a == b or bool(np.isnan(a) and np.isnan(b))


def _files(place: Path, array: zarr.Array[Any], records: set[int]) -> list[Path]:
    """The chunks of ``records``: those that are gone or unreadable, else all of them."""
    if dimensions_of(array)[:1] != (TIME,):
        return [place]
    along = sorted({index // array.chunks[0] for index in records})
    others = [
        range(math.ceil(size / chunk))
        for size, chunk in zip(array.shape[1:], array.chunks[1:], strict=True)
    ]
    chunks = [
        place / array.metadata.encode_chunk_key(key) for key in product(along, *others)
    ]
    missing = [chunk for chunk in chunks if not chunk.is_file()]
    return missing or chunks or [place]


def _told(dataset: xr.Dataset, damage: _Damage) -> str:
    times = np.asarray(dataset[TIME].values)
    bad = [float(times[index]) for index in sorted(damage.records)]
    named = ", ".join(f"{time:g}" for time in bad[:5]) + (", ..." if bad[5:] else "")
    files = ", ".join(map(str, damage.files[:_NAMED]))
    more = len(damage.files) - _NAMED
    others = f" and {more} other files" if more > 0 else ""
    verb = "is" if len(damage.files) == 1 else "are"
    return (
        f"{files}{others} {verb} damaged: {len(bad)} of {len(times)} saves do not match "
        f"their checksums or cannot be read (t = {named}); load(path, skip_damaged=True) "
        "reads the others"
    )


def _read(place: Path, array: zarr.Array[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the beginning of an array, filled up where a chunk cannot be read.

    Records that are filled up do not match their checksums.
    """
    extent = tuple(slice(0, size) for size in shape)
    found = np.full(shape, array.fill_value, dtype=array.dtype)
    try:
        there = np.asarray(array[extent])
    # Whatever a codec makes of bytes that are not its own.
    except Exception as error:
        if dimensions_of(array)[:1] != (TIME,):
            raise StoreError(f"{place}/c/0 cannot be read: {error}") from error
    else:
        # A process that was killed leaves arrays that it had just made without any record.
        found[tuple(map(slice, there.shape))] = there
        return found
    for index in range(min(shape[0], array.shape[0])):
        with contextlib.suppress(Exception):
            found[index] = np.asarray(array[index : index + 1])[0][extent[1:]]
    return found
