"""Records along time in a zarr group, appended one at a time.

Every array has ``time`` as its first dimension and ``time`` itself is written last: a
record exists once its time does.  A process that is killed in the middle of a record
leaves arrays longer than ``time``, or a time that is NaN; readers cut that off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray

from mfpde.arrays import FloatArray

TIME = "time"
TIME_ATTRIBUTES = {"long_name": "time", "units": "1"}
_CHUNK_ENTRIES = 2**15
_MOST_RECORDS_IN_CHUNK = 1024


@dataclass(frozen=True, eq=False)
class Variable:
    """One record's values of a variable, with the names of their dimensions.

    Real numbers, or bytes (uint8) of a text.
    """

    values: FloatArray | NDArray[np.uint8]
    dimensions: tuple[str, ...] = ()
    attributes: dict[str, str] = field(default_factory=dict)


class GrowingStore:
    """Appends records to a zarr group.

    Dimensions other than time may grow from record to record (as the number of atoms
    does), in all arrays that have them; what is not given in a record is NaN (of bytes:
    zero).
    """

    def __init__(self, group: zarr.Group) -> None:
        self.group = group
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

        One that is there, from a process that was killed, is replaced.
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


def complete_records(group: zarr.Group) -> int:
    """Return the number of records whose time is written."""
    times = np.asarray(group[TIME][:])  # type: ignore[index]
    return int(np.isfinite(times).sum())


def read_dataset(group: zarr.Group) -> xr.Dataset:
    """Return the complete records of ``group`` as a Dataset, read into memory.

    Where arrays disagree about the length of a dimension the smallest holds: all that
    is complete fits into it.
    """
    arrays = dict(group.arrays())
    sizes: dict[str, int] = {}
    for array in arrays.values():
        for name, size in zip(_dimensions(array), array.shape, strict=True):
            sizes[name] = min(size, sizes.get(name, size))
    sizes[TIME] = complete_records(group)
    variables = {
        name: xr.Variable(
            _dimensions(array),
            np.asarray(array[tuple(slice(sizes[d]) for d in _dimensions(array))]),
            dict(array.attrs),
        )
        for name, array in arrays.items()
    }
    return xr.Dataset(variables, attrs=dict(group.attrs))


def _dimensions(array: zarr.Array[Any]) -> tuple[str, ...]:
    names = array.metadata.dimension_names  # type: ignore[union-attr]
    return tuple(str(name) for name in names or ())
