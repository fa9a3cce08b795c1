"""Saves as one xarray Dataset: dimension ``time``, numbers that a save does not give are NaN.

Each row of each variable along time has a CRC-32 in the variable ``checksum(time, checked)``.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.runs.stored_names import CHECKED, CHECKSUM, TIME
from mfpde.storage.variables import Record, Variable

if TYPE_CHECKING:
    import xarray as xr

_TIME = {"long_name": "time", "units": "1"}
_WORDS = {"long_name": "CRC-32 of the entries of each variable", "units": "1"}
SUMMED = "variables"
"""Attribute of the checksums: the variables in the order of their columns, as JSON."""


def dataset_of_saves(
    times: Sequence[float], records: Sequence[Record], coordinates: Record
) -> xr.Dataset:
    """Return the saves at ``times`` as a Dataset with the ``coordinates`` of the grids.

    Dimensions may grow from save to save, as the number of atoms does.
    """
    import xarray as xr

    columns: dict[str, dict[int, Variable]] = {}
    sizes: dict[str, int] = {}
    for index, record in enumerate(records):
        for name, variable in record.items():
            columns.setdefault(name, {})[index] = variable
            for axis, size in zip(
                variable.dimensions, np.shape(variable.values), strict=True
            ):
                sizes[axis] = max(size, sizes.get(axis, 0))
    variables = {
        name: xr.Variable(
            (TIME, *first.dimensions),
            _stacked(column, len(times), [sizes[axis] for axis in first.dimensions]),
            first.attributes,
        )
        for name, column in columns.items()
        for first in [next(iter(column.values()))]
    }
    variables[TIME] = xr.Variable((TIME,), np.asarray(times, dtype=np.float64), _TIME)
    for name, grid in coordinates.items():
        variables[name] = xr.Variable(grid.dimensions, grid.values, grid.attributes)
    return xr.Dataset(variables)


def _stacked(column: Mapping[int, Variable], count: int, shape: list[int]) -> Any:
    """Return the rows of one variable as one array; what a save lacks is NaN, or zero bytes."""
    kind = np.asarray(next(iter(column.values())).values).dtype
    fill = np.nan if kind.kind == "f" else 0
    rows = np.full((count, *shape), fill, dtype=kind)
    for index, variable in column.items():
        values = np.asarray(variable.values)
        place: Any = (index, *(slice(size) for size in values.shape))
        rows[place] = values
    return rows


def with_checksums(dataset: xr.Dataset) -> xr.Dataset:
    """Return the Dataset with the checksums of the rows of its variables along time."""
    names = _names_along_time(dataset)
    sums = np.array([row_checksums(dataset[name].values) for name in names])
    attributes = {**_WORDS, SUMMED: json.dumps(names)}
    return dataset.assign({CHECKSUM: ((TIME, CHECKED), sums.T, attributes)})


def row_checksums(values: Any) -> IntArray:
    """Return the CRC-32 of each row of an array, shape (rows,)."""
    rows = np.ascontiguousarray(values)
    return np.array([zlib.crc32(row.tobytes()) for row in rows], dtype=np.int64)


def damaged_rows(dataset: xr.Dataset) -> dict[str, set[int]]:
    """Return which rows of which variables do not match their checksums."""
    sums: FloatArray = np.asarray(dataset[CHECKSUM].values)
    names = json.loads(str(dataset[CHECKSUM].attrs[SUMMED]))
    found = {}
    for column, name in enumerate(names):
        wrong = row_checksums(dataset[name].values) != sums[:, column]
        if wrong.any():
            found[name] = set(np.flatnonzero(wrong).tolist())
    return found


def _names_along_time(dataset: xr.Dataset) -> list[str]:
    names = [str(name) for name in dataset.variables if name != CHECKSUM]
    return [name for name in names if dataset[name].dims[:1] == (TIME,)]
