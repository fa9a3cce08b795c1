"""Records along time in a zarr group, appended one at a time.

Every array has ``time`` as its first dimension and ``time`` itself is written last: a
record exists once its time does.  A process that is killed in the middle of a record
leaves arrays longer than ``time``, or a time that is NaN; readers cut off this record.

Each record has a checksum of its entries (``checksum``, the CRC-32 of their bytes), so that
a chunk that is gone, cut short or changed is not read as if it were a state.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray

from mfpde.arrays import FloatArray

TIME = "time"
CHECKSUM = "checksum"
CHECKSUM_ATTRIBUTES = {"long_name": "CRC-32 of the record's entries", "units": "1"}
CHECKED = "checked_records"
"""Attribute of a store all of whose records have a checksum."""
TIME_ATTRIBUTES = {"long_name": "time", "units": "1"}
_CHUNK_ENTRIES = 2**15
_MOST_RECORDS_IN_CHUNK = 1024


class StoreError(ValueError):
    """The store at a path is not that of a run, holds no record yet, or is damaged."""


@dataclass(frozen=True, eq=False)
class Variable:
    """One record's values of a variable, with the names of their dimensions.

    The values are real numbers, or bytes (uint8) of a text.
    """

    values: FloatArray | NDArray[np.uint8]
    dimensions: tuple[str, ...] = ()
    attributes: dict[str, str] = field(default_factory=dict)


class GrowingStore:
    """A zarr group to which records are appended.

    Dimensions other than time may grow from record to record (as the number of atoms
    does), in all arrays that have them; numbers that a record does not give are NaN, and
    bytes zero.
    """

    def __init__(self, group: zarr.Group) -> None:
        self.group = group
        if TIME not in group:
            group.attrs[CHECKED] = True
        self._arrays: dict[str, zarr.Array[Any]] = {
            name: array
            for name, array in group.arrays()
            if array.metadata.dimension_names[0] == TIME  # type: ignore[union-attr,index]
        }
        if TIME not in self._arrays:
            self._create(TIME, Variable(np.array(0.0), (), TIME_ATTRIBUTES))
        self._times: zarr.Array[Any] = self._arrays.pop(TIME)
        complete = complete_records(group)
        for array in (self._times, *self._arrays.values()):
            if array.shape[0] != complete:
                array.resize((complete, *array.shape[1:]))

    def __len__(self) -> int:
        return int(self._times.shape[0])

    @property
    def last_time(self) -> float:
        """Time of the last record; -inf if there is none."""
        return float(np.asarray(self._times[-1])) if len(self) else -np.inf

    def coordinate(self, name: str, variable: Variable) -> None:
        """Write a coordinate: an array without time, named like its dimension.

        A coordinate that a killed process has left is replaced.
        """
        self.group.create_array(
            name,
            data=variable.values,
            dimension_names=variable.dimensions,
            attributes=dict(variable.attributes),
            overwrite=True,
        )

    def append(self, time: float, record: Mapping[str, Variable]) -> None:
        """Append a record: it is there once its time is written, and not before.

        Raises
        ------
        ValueError
            If ``time`` is not after the last record's.
        """
        if not time > self.last_time:
            raise ValueError(
                f"time = {time} must be after that of the last record, {self.last_time}"
            )
        at = len(self)
        checksum = np.array(float(record_checksum(time, record)))
        record = {**record, CHECKSUM: Variable(checksum, (), CHECKSUM_ATTRIBUTES)}
        for name, variable in record.items():
            if name not in self._arrays:
                self._create(name, variable)
        sizes = self._sizes(record)
        for name, array in self._arrays.items():
            given = record.get(name)
            grown = tuple(sizes[dimension] for dimension in _dimensions(array)[1:])
            array.resize((at + 1, *grown))
            # All of the row: a record that was cut away may have left numbers there.
            row = np.full(grown, array.fill_value, dtype=array.dtype)
            if given is not None:
                row[tuple(map(slice, given.values.shape))] = given.values
            array[at] = row
        self._times.resize((at + 1,))
        self._times[at] = time

    def _sizes(self, record: Mapping[str, Variable]) -> dict[str, int]:
        """Sizes of all dimensions but time once ``record`` is written."""
        held = [(_dimensions(a)[1:], a.shape[1:]) for a in self._arrays.values()]
        held += [(v.dimensions, v.values.shape) for v in record.values()]
        sizes: dict[str, int] = {}
        for dimensions, shape in held:
            for dimension, size in zip(dimensions, shape, strict=True):
                sizes[dimension] = max(size, sizes.get(dimension, 0))
        return sizes

    def _create(self, name: str, variable: Variable) -> None:
        shape = variable.values.shape
        entries = max(int(np.prod(shape)), 1)
        records = min(max(_CHUNK_ENTRIES // entries, 1), _MOST_RECORDS_IN_CHUNK)
        self._arrays[name] = self.group.create_array(
            name,
            shape=(0, *shape),
            chunks=(records, *(max(size, 1) for size in shape)),
            dtype=variable.values.dtype,
            fill_value=0 if variable.values.dtype == np.uint8 else np.nan,
            dimension_names=(TIME, *variable.dimensions),
            attributes=dict(variable.attributes),
        )


def record_checksum(time: float, record: Mapping[str, Variable]) -> int:
    """Return the CRC-32 of a record's time and entries, by the names of its variables.

    Entries that only fill an array up (NaN, zero bytes) do not count, so that a record has
    the same checksum when others have made its arrays longer.
    """
    found = zlib.crc32(np.float64(time).tobytes())
    for name in sorted(record):
        values = np.asarray(record[name].values)
        kept = values[values != 0 if values.dtype == np.uint8 else ~np.isnan(values)]
        if kept.size:
            found = zlib.crc32(name.encode(), found)
            found = zlib.crc32(np.ascontiguousarray(kept).tobytes(), found)
    return found


def complete_records(group: zarr.Group) -> int:
    """Return the number of records whose time is written.

    Raises
    ------
    StoreError
        If times are missing that must have been there.
    """
    if TIME not in group:
        raise StoreError(f"{group.store_path} has no times: its records cannot be read")
    try:
        times = np.asarray(group[TIME][:])  # type: ignore[index]
    except Exception as error:
        raise StoreError(
            f"{group.store_path}/{TIME} cannot be read: {error}"
        ) from error
    written = np.isfinite(times)
    complete = int(written.sum())
    # A process that is killed leaves one time unwritten, the last.
    if len(times) - complete > 1 or not written[:complete].all():
        raise StoreError(
            f"{group.store_path}/{TIME} is damaged: {len(times) - complete} of "
            f"{len(times)} times are missing, so that its records cannot be read"
        )
    return complete


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
        If a record does not match its checksum or cannot be read.
    """
    with warnings.catch_warnings():
        # An array whose description is gone: its record does not match its checksum.
        warnings.filterwarnings("ignore", message="Object at .* is not recognized")
        arrays = dict(group.arrays())
    sizes: dict[str, int] = {}
    for array in arrays.values():
        for name, size in zip(_dimensions(array), array.shape, strict=True):
            sizes[name] = min(size, sizes.get(name, size))
    sizes[TIME] = complete_records(group)
    records = {
        name: _records(array, tuple(sizes[d] for d in _dimensions(array)))
        for name, array in arrays.items()
    }
    variables = {
        name: xr.Variable(_dimensions(array), records[name].values, dict(array.attrs))
        for name, array in arrays.items()
    }
    dataset = xr.Dataset(variables, attrs=dict(group.attrs))
    # Stores of older versions have no checksums; what cannot be read is damaged there too.
    damaged = sorted(
        {index for found in records.values() for index in found.unreadable}
        | set(_damaged(dataset, must_be_checked=CHECKED in group.attrs))
    )
    if not damaged:
        return dataset.drop_vars(CHECKSUM, errors="ignore")
    if not skip_damaged:
        raise StoreError(_told(group, dataset, damaged))
    sound = np.setdiff1d(np.arange(sizes[TIME]), damaged)
    return dataset.isel({TIME: sound}).drop_vars(CHECKSUM, errors="ignore")


def _damaged(dataset: xr.Dataset, *, must_be_checked: bool) -> list[int]:
    """Records that do not match their checksum; stores of older versions have none."""
    if CHECKSUM not in dataset:
        return list(range(dataset.sizes[TIME])) if must_be_checked else []
    checksums = np.asarray(dataset[CHECKSUM].values)
    moving = {
        str(name): np.asarray(variable.values)
        for name, variable in dataset.variables.items()
        if name not in (TIME, CHECKSUM) and variable.dims[:1] == (TIME,)
    }
    found = []
    for index, time in enumerate(np.asarray(dataset[TIME].values)):
        if np.isnan(checksums[index]) and not must_be_checked:
            continue
        record = {name: Variable(values[index]) for name, values in moving.items()}
        if checksums[index] != record_checksum(float(time), record):
            found.append(index)
    return found


def _told(group: zarr.Group, dataset: xr.Dataset, damaged: Iterable[int]) -> str:
    times = np.asarray(dataset[TIME].values)
    bad = [float(times[index]) for index in damaged]
    named = ", ".join(f"{time:g}" for time in bad[:5]) + (", ..." if bad[5:] else "")
    return (
        f"{group.store_path} is damaged: {len(bad)} of {len(times)} saves do not match "
        f"their checksums or cannot be read (t = {named}); load(path, skip_damaged=True) "
        "reads the others"
    )


class _Records(NamedTuple):
    """The beginning of an array, and the records of it that could not be read."""

    values: NDArray[Any]
    unreadable: tuple[int, ...] = ()


def _records(array: zarr.Array[Any], shape: tuple[int, ...]) -> _Records:
    """Return the beginning of an array, filled up where a chunk cannot be read."""
    extent = tuple(slice(0, size) for size in shape)
    try:
        return _Records(np.asarray(array[extent]))
    # Whatever a codec makes of bytes that are not its own.
    except Exception as error:
        if _dimensions(array)[:1] != (TIME,):
            raise StoreError(f"{array.store_path} cannot be read: {error}") from error
    found = np.full(shape, array.fill_value, dtype=array.dtype)
    unreadable = []
    for index in range(shape[0]):
        try:
            row = np.asarray(array[index : index + 1])
        except Exception:  # the same, told with the other damaged records
            unreadable.append(index)
        else:
            found[index] = row[0][extent[1:]]
    return _Records(found, tuple(unreadable))


def _dimensions(array: zarr.Array[Any]) -> tuple[str, ...]:
    names = array.metadata.dimension_names  # type: ignore[union-attr]
    return tuple(str(name) for name in names or ())
