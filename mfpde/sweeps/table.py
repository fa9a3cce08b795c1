"""The summaries of all runs of a sweep as one xarray Dataset."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.settings.base import SettingsError
from mfpde.settings.overrides import ABSENT
from mfpde.sweeps.plan import Plan
from mfpde.sweeps.records import RunRecord
from mfpde.version import __version__

if TYPE_CHECKING:
    import xarray as xr

RUN = "run"
PENDING = "pending"
SEVERAL = {
    "atom_masses": ("atom",),
    "atom_arrived_masses": ("atom",),
    "atom_angles": ("atom",),
    "atom_points": ("atom", "axis"),
    "merge_times": ("merge",),
    "event_times": ("event",),
    "event_kinds": ("event",),
    "event_masses": ("event",),
    "event_uncertainties": ("event",),
}
"""What a run has several of: dimensions, along which it is filled up with NaN or ""."""
MEANINGS = {
    "atoms": "number of atoms (formed) at the end",
    "forming": "number of atoms on their way (forming) at the end",
    "clusters": "number of clusters (atoms, forming) at the end",
    "atom_masses": "mass of the basin of each atom and forming one, heaviest first",
    "atom_arrived_masses": "mass in the core of each of them",
    "atom_angles": "angle on the circle, elsewhere the angle from the last axis, radians",
    "merge_times": "times at which atoms became one",
    "merges": "number of merges that were seen",
    "wall_seconds": "time of the computation, seconds",
    "final_time": "time that was reached",
    "verdict": "what the last state is, by mfpde.concentration",
    "convention": "convention of the kernel",
}
OF_ANY_END = ("stop_kind", "stop_message", "final_time", "steps", "wall_seconds")
"""What is known of a run that a limit has stopped, too: its other numbers are not final."""
TAKEN = {RUN, "state", "error", "attempts", "cells", "steps", "saves"}
TAKEN |= {*MEANINGS, *SEVERAL, *(name for names in SEVERAL.values() for name in names)}
"""Names that a setting gives way to."""


def tabulate_runs(
    plan: Plan, records: Sequence[RunRecord | None], *, flat: bool = False
) -> xr.Dataset:
    """Return the summaries of a sweep with one dimension for each setting that varies.

    Parameters
    ----------
    plan
        The plan.
    records
        The record of each of its runs, None where it has not ended.
    flat
        Whether all runs are along one dimension ``run``, as in a sweep that varies nothing.

    Returns
    -------
    xarray.Dataset
        Its dimensions are the settings of the product, the first one of each zip, and
        ``case``; other settings and the hashes are coordinates along those that they vary
        with.  A setting has the last part of its name where that is clear; its attribute
        ``setting`` is the whole.  Variables are ``state`` (``"finished"``, ``"stopped"``,
        ``"failed"``, ``"pending"``), ``error``, and all numbers of the runs, NaN where a run
        has not finished.
    """
    import xarray as xr

    names = name_settings(plan)
    axes = {} if flat else {names[axis]: axis for axis in plan.axes}
    shape = {name: len(plan.axes[axis]) for name, axis in axes.items()}
    shape = shape or {RUN: len(plan.runs)}

    def variable(values: Any, *more: str, **about: str) -> xr.Variable:
        array = as_array(values)
        whole = array.reshape(*shape.values(), *array.shape[1:])
        return xr.Variable((*shape, *more), whole, about)

    summaries = [_known_numbers(record) for record in records]
    sizes = measure_lists(summaries)
    data = {
        "state": variable([PENDING if one is None else one.state for one in records]),
        "error": variable(["" if one is None else one.error for one in records]),
        "attempts": variable([0 if r is None else len(r.attempts) for r in records]),
    }
    for name in sorted({name for summary in summaries for name in summary}):
        values: Any = [summary.get(name) for summary in summaries]
        more = SEVERAL.get(name, ())
        about = {"long_name": MEANINGS[name]} if name in MEANINGS else {}
        if more:
            values = pad_lists(values, [sizes[one] for one in more])
        data[name] = variable(values, *more, **about)
    coordinates = {RUN: variable([run.name for run in plan.runs])}
    for setting in plan.parameters:
        values = [run.parameters[setting] for run in plan.runs]
        found = variable(values, setting=setting)
        coordinates[names[setting]] = found if flat else _where_it_varies(found)
    for name, axis in axes.items():
        values = as_array([None if v == ABSENT else v for v in plan.axes[axis]])
        coordinates[name] = xr.Variable((name,), values, {"setting": axis})
    about = {"mfpde_version": __version__, "parameters": ", ".join(plan.parameters)}
    return xr.Dataset(data, coordinates, about)


def name_settings(plan: Plan) -> dict[str, str]:
    """Return a name for each setting that varies: the last part of its own where it is clear."""
    settings = dict.fromkeys((*plan.axes, *plan.parameters))
    last = {setting: setting.rpartition(".")[2] for setting in settings}
    counts = Counter(last.values())
    return {
        setting: name if counts[name] == 1 and name not in TAKEN else setting
        for setting, name in last.items()
    }


def find_column(dataset: xr.Dataset, name: str, *, varied: bool = False) -> str:
    """Return the name of a quantity, or of a setting, of which the last part is enough.

    Parameters
    ----------
    dataset
        Summaries of runs.
    name
        What is looked for.
    varied
        Whether it must be a setting that varies.

    Raises
    ------
    SettingsError
        If there is none, or several.
    """
    settings = {
        str(one): f".{dataset[one].attrs['setting']}"
        for one in dataset.coords
        if "setting" in dataset[one].attrs
    }
    known = list(settings) if varied else [str(one) for one in dataset.variables]
    if name in known:
        return name
    found = [one for one, whole in settings.items() if whole.endswith(f".{name}")]
    if len(found) == 1:
        return found[0]
    if found:
        raise SettingsError(f"{name!r} may be {' or '.join(found)}")
    raise SettingsError(f"there is no {name!r}; there are: {', '.join(sorted(known))}")


def as_array(values: Any) -> np.ndarray:
    """Return numbers, with NaN for None, or words, where what is neither is JSON."""
    if isinstance(values, np.ndarray):
        return values
    given = [value for value in values if value is not None]
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in given):
        array = np.array([np.nan if value is None else value for value in values])
        # Whole numbers that are too long have no type of their own.
        return array if array.dtype.kind in "if" else array.astype(np.float64)
    words = [ABSENT if value is None else value for value in values]
    return np.array([v if isinstance(v, str) else json.dumps(v) for v in words])


def measure_lists(summaries: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """Return how long each dimension has to be of what runs have several of."""
    sizes = Counter({name: 1 for names in SEVERAL.values() for name in names})
    for summary in summaries:
        for name, dimensions in SEVERAL.items():
            shape = np.shape(summary.get(name) or ())
            sizes |= Counter(dict(zip(dimensions, shape, strict=False)))
    return sizes


def pad_lists(lists: Sequence[Any], sizes: Sequence[int]) -> np.ndarray:
    """Return lists of different lengths as one array, filled up with NaN or ""."""
    arrays = [np.array(one or []) for one in lists]
    words = any(array.dtype.kind == "U" for array in arrays)
    empty, kind = ("", "U32") if words else (np.nan, "f8")
    padded = np.full((len(lists), *sizes), empty, kind)
    for row, array in zip(padded, arrays, strict=True):
        if array.size:
            row[tuple(map(slice, array.shape))] = array
    return padded


def _known_numbers(record: RunRecord | None) -> Mapping[str, Any]:
    """Return the numbers of a run; of one that has not finished, those about its end."""
    if record is None or record.state == "finished":
        return {} if record is None else record.summary
    return {n: v if n in OF_ANY_END else None for n, v in record.summary.items()}


def _where_it_varies(variable: xr.Variable) -> xr.Variable:
    """Leave out the dimensions along which the values are the same."""
    for axis, name in reversed(list(enumerate(variable.dims))):
        values, first = variable.values, variable.values.take([0], axis)
        both_missing = (values != values) & (first != first)
        if bool(((values == first) | both_missing).all()):
            variable = variable.isel({name: 0})
    return variable
