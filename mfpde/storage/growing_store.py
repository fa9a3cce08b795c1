"""Records along time in a zarr group, appended one at a time.

Every array has ``time`` as its first dimension and ``time`` itself is written last: a
record exists once its time does.  A process that is killed in the middle of a record
leaves arrays longer than ``time``, or a time that is NaN; readers cut off this record.

Each variable of each record has a checksum (``checksum``, the CRC-32 of its entries), so that
a chunk that is gone, cut short or changed is not read as if it were a state, and is named.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from mfpde.arrays import FloatArray
from mfpde.runs.stored_names import CHECKED, CHECKSUM, TIME
from mfpde.storage.descriptions import (
    DESCRIPTIONS,
    SUMMED,
    describe_arrays,
    described_arrays,
    dimensions_of,
    held_shape,
    place_of,
)
from mfpde.storage.errors import StoreError

CHECKSUM_ATTRIBUTES = {
    "long_name": "CRC-32 of the entries of each variable",
    "units": "1",
}
TIME_ATTRIBUTES = {"long_name": "time", "units": "1"}
_CHUNK_ENTRIES = 2**15
_MOST_RECORDS_IN_CHUNK = 1024


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
    bytes zero.  Of records that are there the first ``saves`` are kept, by default all that
    are complete.

    Attributes
    ----------
    last_time
        Time of the last record; -inf if there is none.
    """

    def __init__(self, group: zarr.Group, saves: int | None = None) -> None:
        self.group = group
        there: dict[str, Any] = {}
        if DESCRIPTIONS in group.attrs:
            there = {name: group[name] for name, _ in described_arrays(group)}
        # What a killed process has left undescribed is made again when it is written.
        records = {n: a for n, a in there.items() if dimensions_of(a)[:1] == (TIME,)}
        self._arrays: dict[str, zarr.Array[Any]] = records
        self._coordinates = {n: a for n, a in there.items() if n not in records}
        if TIME not in self._arrays:
            self._create(TIME, Variable(np.array(0.0), (), TIME_ATTRIBUTES))
        self._times: zarr.Array[Any] = self._arrays.pop(TIME)
        self._describe()
        complete = complete_records(group)
        if saves is not None:
            complete = min(saves, complete)
        for array in (self._times, *self._arrays.values()):
            if array.shape[0] != complete:
                array.resize((complete, *array.shape[1:]))
        self.last_time = float(np.asarray(self._times[-1])) if complete else -np.inf

    def close(self) -> None:
        """Write digests of the arrays as they are now, shapes included: the run has ended."""
        self._describe(closed=True)

    def _describe(self, *, closed: bool = False) -> None:
        arrays = {TIME: self._times, **self._arrays, **self._coordinates}
        describe_arrays(self.group, arrays, closed=closed)

    def __len__(self) -> int:
        return int(self._times.shape[0])

    def coordinate(self, name: str, variable: Variable) -> None:
        """Write a coordinate: an array without time, named like its dimension.

        A coordinate that a killed process has left is replaced.
        """
        self._coordinates[name] = self.group.create_array(
            name,
            data=variable.values,
            dimension_names=variable.dimensions,
            attributes=dict(variable.attributes),
            overwrite=True,
        )
        self._describe()

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
        record = {**record, **self._checksums(time, record)}
        new = [name for name in record if name not in self._arrays]
        for name in new:
            self._create(name, record[name])
        sizes = self._sizes(*record.values())
        for name, array in self._arrays.items():
            given = record.get(name)
            grown = tuple(sizes[dimension] for dimension in dimensions_of(array)[1:])
            array.resize((at + 1, *grown))
            # All of the row: a record that was cut away may have left numbers there.
            row = np.full(grown, array.fill_value, dtype=array.dtype)
            if given is not None:
                row[tuple(map(slice, given.values.shape))] = given.values
            array[at] = row
        if new:
            self._describe()
        self._times.resize((at + 1,))
        self._times[at] = time
        self.last_time = time

    def append_all(
        self, times: Sequence[float], records: Sequence[Mapping[str, Variable]]
    ) -> None:
        """Write all records of a new store at once: what :meth:`append` writes one by one.

        Raises
        ------
        ValueError
            If there are records already, or ``times`` do not grow.
        """
        if len(self) or self._arrays or not np.all(np.diff(times) > 0):
            raise ValueError(f"times = {times} must grow, and be the first of a store")
        names: list[str] = [CHECKSUM, TIME]
        columns: dict[str, dict[int, Variable]] = {}
        for at, (time, record) in enumerate(zip(times, records, strict=True)):
            names += [name for name in record if name not in names]
            row = _row_of_checksums(time, record, names)
            for name, variable in {**record, CHECKSUM: row}.items():
                columns.setdefault(name, {})[at] = variable
        sizes = self._sizes(
            *(v for column in columns.values() for v in column.values())
        )
        for name, column in columns.items():
            first = next(iter(column.values()))
            if name == CHECKSUM:
                attributes = {**first.attributes, SUMMED: json.dumps(names)}
                first = replace(first, attributes=attributes)
            shape = tuple(sizes[dimension] for dimension in first.dimensions)
            array = self._create(name, first, (len(times), *shape))
            rows = np.full(array.shape, array.fill_value, dtype=array.dtype)
            for at, variable in column.items():
                place = (slice(at, at + 1), *map(slice, variable.values.shape))
                rows[place] = variable.values
            array[...] = rows
        self._describe()
        self._times.resize((len(times),))
        self._times[:] = np.array(times)
        self.last_time = float(times[-1])

    def _checksums(
        self, time: float, record: Mapping[str, Variable]
    ) -> dict[str, Variable]:
        """Return the checksums of a record as one of its variables."""
        there = self._arrays.get(CHECKSUM)
        names = [CHECKSUM, TIME] if there is None else summed_variables(there)
        new = [name for name in record if name not in names]
        names += new
        attributes = {**CHECKSUM_ATTRIBUTES, SUMMED: json.dumps(names)}
        if new and there is not None:
            there.attrs[SUMMED] = json.dumps(names)
        row = _row_of_checksums(time, record, names)
        return {CHECKSUM: replace(row, attributes=attributes)}

    def _sizes(self, *written: Variable) -> dict[str, int]:
        """Sizes of all dimensions but time once these variables are written."""
        held = [(dimensions_of(a)[1:], a.shape[1:]) for a in self._arrays.values()]
        held += [(v.dimensions, v.values.shape) for v in written]
        sizes: dict[str, int] = {}
        for dimensions, shape in held:
            for dimension, size in zip(dimensions, shape, strict=True):
                sizes[dimension] = max(size, sizes.get(dimension, 0))
        return sizes

    def _create(
        self, name: str, variable: Variable, whole: tuple[int, ...] | None = None
    ) -> zarr.Array[Any]:
        """Make an array for a variable as it first comes, at first empty."""
        shape = variable.values.shape
        entries = max(int(np.prod(shape)), 1)
        records = min(max(_CHUNK_ENTRIES // entries, 1), _MOST_RECORDS_IN_CHUNK)
        array = self._arrays[name] = self.group.create_array(
            name,
            shape=(0, *shape) if whole is None else whole,
            chunks=(records, *(max(size, 1) for size in shape)),
            dtype=variable.values.dtype,
            fill_value=0 if variable.values.dtype == np.uint8 else np.nan,
            dimension_names=(TIME, *variable.dimensions),
            attributes=dict(variable.attributes),
            overwrite=True,
        )
        return array


def _row_of_checksums(
    time: float, record: Mapping[str, Variable], names: Sequence[str]
) -> Variable:
    """Return the checksums of a record, in the columns of the variables ``names``."""
    found = np.full(len(names), np.nan)
    found[1] = checksum_of(time, TIME, np.array(time))
    for column, name in enumerate(names):
        if name in record:
            found[column] = checksum_of(time, name, np.asarray(record[name].values))
    found[0] = checksum_of(0.0, CHECKSUM, found[1:])
    return Variable(found, (CHECKED,), CHECKSUM_ATTRIBUTES)


def summed_variables(checksums: zarr.Array[Any]) -> list[str]:
    """Return the variables to which the columns of checksums belong."""
    return [str(name) for name in json.loads(str(checksums.attrs[SUMMED]))]


def _entries(values: NDArray[Any]) -> NDArray[Any]:
    """Entries that do not only fill an array up."""
    counted = values != 0 if values.dtype == np.uint8 else ~np.isnan(values)
    return np.asarray(values[counted])


def checksum_of(time: float, name: str, values: NDArray[Any]) -> float:
    """Return the CRC-32 of a variable's entries in the record of a ``time``.

    Entries that only fill an array up (NaN, zero bytes) do not count, so that a record has
    the same checksum when others have made its arrays longer.  Without any others it is NaN.
    """
    kept = _entries(values)
    if not kept.size:
        return np.nan
    found = zlib.crc32(name.encode(), zlib.crc32(np.float64(time).tobytes()))
    return float(zlib.crc32(np.ascontiguousarray(kept).tobytes(), found))


def complete_records(group: zarr.Group) -> int:
    """Return the number of records whose time is written.

    Raises
    ------
    StoreError
        If times are missing that must have been there.
    """
    place = place_of(group) / TIME
    lost = "so that its records cannot be read"
    found = dict(described_arrays(group)).get(TIME)
    if found is None:
        raise StoreError(f"{place}/zarr.json is missing or garbled, {lost}")
    (held,) = held_shape(found)
    # A process that is killed leaves one time unwritten, the last.
    if found.shape[0] > held + 1:
        raise StoreError(
            f"{place}/c/0 is damaged: there are chunks of {held} times at most, where "
            f"{place}/zarr.json claims {found.shape[0]}"
        )
    try:
        times = np.asarray(found[:], dtype=np.float64)
    except Exception as error:
        raise StoreError(f"{place}/c/0 cannot be read, {lost}: {error}") from error
    written = np.isfinite(times)
    complete = int(written.sum())
    if len(times) - complete > 1 or not written[:complete].all():
        raise StoreError(
            f"{place}/c/0 is damaged: {len(times) - complete} of {len(times)} times are "
            f"missing, {lost}"
        )
    return complete
