"""The summaries of all runs of a sweep as one xarray Dataset."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.settings.overrides import ABSENT
from mfpde.sweeps.plan import PlannedRun
from mfpde.sweeps.records import RunRecord
from mfpde.sweeps.summary import ATOM, EVENT, LISTS, MEANINGS
from mfpde.sweeps.variations import Change, list_parameters

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

RUN = "run"
TAKEN = {RUN, "state", "error", "attempts", "cells", "steps", "saves", ATOM, EVENT}
TAKEN |= {*MEANINGS, *LISTS}
"""Names that a setting gives way to."""


def name_settings(settings: Iterable[str]) -> dict[str, str]:
    """Return a column for each setting: the last part of its name where that is clear."""
    last = {setting: setting.rpartition(".")[2] for setting in settings}
    counts = Counter(last.values())
    return {
        setting: name if counts[name] == 1 and name not in TAKEN else setting
        for setting, name in last.items()
    }


def tabulate_runs(
    runs: Sequence[PlannedRun],
    records: Sequence[RunRecord],
    columns: Mapping[str, str],
) -> xr.Dataset:
    """Return the summaries of runs along one dimension ``run``.

    Its variables are ``state`` (``"finished"``, ``"stopped"``, ``"failed"``, ``"pending"``),
    ``error``, and all numbers of the runs, NaN where a run has not finished.  Its coordinates
    are the hashes of the runs, and the settings that vary by their ``columns``, each with the
    whole of its name as attribute ``setting``.
    """
    import pandas as pd
    import xarray as xr

    numbers = pd.DataFrame([record.summary for record in records])
    data: dict[str, Any] = {
        "state": (RUN, [record.state for record in records]),
        "error": (RUN, [record.error for record in records]),
        "attempts": (RUN, [len(record.attempts) for record in records]),
        **{name: _make_variable(name, numbers[name]) for name in sorted(numbers)},
        RUN: [run.name for run in runs],
    }
    for setting, column in columns.items():
        values = pd.Series([run.parameters[setting] for run in runs])
        data[column] = (RUN, _as_array(values), {"setting": setting})
    return xr.Dataset(data).set_coords([*columns.values()])


def spread_runs(
    rows: xr.Dataset, axes: Mapping[str, Sequence[Change]], columns: Mapping[str, str]
) -> xr.Dataset:
    """Return the rows of runs with a dimension for each axis, of which the last varies fastest.

    A setting is a coordinate along the axis that changes it.
    """
    import xarray as xr

    shape = {columns[axis]: len(changes) for axis, changes in axes.items()}
    if not shape:
        return rows

    def spread(variable: xr.Variable) -> xr.Variable:
        own = variable.dims[1:]
        values = variable.values.reshape(*shape.values(), *variable.shape[1:])
        return xr.Variable((*shape, *own), values, variable.attrs)

    spreads = {name: spread(one) for name, one in rows.variables.items()}
    for axis, changes in axes.items():
        others = dict.fromkeys(shape.keys() - {columns[axis]}, 0)
        for setting in list_parameters([changes]):
            spreads[columns[setting]] = spreads[columns[setting]].isel(others)
    return xr.Dataset(spreads).set_coords([*rows.coords])


def _make_variable(name: str, values: pd.Series[Any]) -> tuple[Any, ...]:
    """Return dimensions, values and meaning of a number of the runs, or a list of each."""
    about = {"long_name": MEANINGS[name]} if name in MEANINGS else {}
    if name not in LISTS:
        return RUN, _as_array(values), about
    lists = [one if isinstance(one, list) else [] for one in values]
    words = any(isinstance(value, str) for one in lists for value in one)
    rows = [*zip_longest(*lists, fillvalue="" if words else np.nan)]
    return (RUN, LISTS[name]), np.array(rows).reshape(-1, len(lists)).T, about


def _as_array(values: pd.Series[Any]) -> np.ndarray:
    """Return numbers, or words: of what is neither its JSON."""
    if values.dtype.kind in "iuf":
        return np.asarray(values)
    words = [ABSENT if value is None or value != value else value for value in values]
    return np.array([v if isinstance(v, str) else json.dumps(v) for v in words])
