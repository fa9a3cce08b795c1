"""The summaries of all runs of a sweep as one xarray Dataset."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.settings.base import SettingsError
from mfpde.settings.overrides import ABSENT
from mfpde.storage.files import StoreLockedError
from mfpde.storage.lock import lock_store
from mfpde.sweeps.plan import Plan
from mfpde.sweeps.record import SUMMARY, RunRecord, SweepFolder
from mfpde.version import __version__

if TYPE_CHECKING:
    import xarray as xr

RUN = "run"
PENDING = "pending"
_PADDED = {
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
_TAKEN = {RUN, "state", "error", "attempts", "cells", "steps", *MEANINGS, *_PADDED}
_TAKEN |= {"atom", "axis", "merge", "event", "saves"}
"""Names that a setting gives way to."""


def rows_of(plan: Plan, records: Sequence[RunRecord | None]) -> xr.Dataset:
    """Return the summaries of a sweep along one dimension ``run``, in the order of the plan.

    Parameters
    ----------
    plan
        The plan.
    records
        The record of each of its runs, None where there is none yet.

    Returns
    -------
    xarray.Dataset
        Coordinates are the hashes and each swept setting, by the last part of its name where
        that is clear; its attribute ``setting`` is the whole.  Variables are ``state``
        (``"finished"``, ``"stopped"``, ``"failed"``, ``"pending"``), ``error``, and all numbers
        of the runs, NaN where a run has not finished.
    """
    import xarray as xr

    summaries = [_known(record) for record in records]
    variables: dict[str, Any] = {
        "state": (RUN, [PENDING if one is None else one.state for one in records]),
        "error": (RUN, ["" if one is None else one.error for one in records]),
        "attempts": (RUN, _floats([_attempts(one) for one in records])),
    }
    names = sorted({name for summary in summaries for name in summary})
    for name in names:
        values = [summary.get(name) for summary in summaries]
        if name in _PADDED:
            variables[name] = ((RUN, *_PADDED[name]), _padded(values, _PADDED[name]))
        else:
            variables[name] = (RUN, _column(values))
    coordinates: dict[str, Any] = {RUN: [run.name for run in plan.runs]}
    names_of_settings = short_names(plan)
    for setting in plan.parameters:
        values = [_plain(run.parameters[setting]) for run in plan.runs]
        about = {"setting": setting}
        coordinates[names_of_settings[setting]] = (RUN, _column(values), about)
    dataset = xr.Dataset(variables, coords=coordinates)
    for name, meaning in MEANINGS.items():
        if name in dataset:
            dataset[name].attrs["long_name"] = meaning
    dataset.attrs = {
        "mfpde_version": __version__,
        "parameters": ", ".join(plan.parameters),
    }
    return dataset


def dataset_of(plan: Plan, records: Sequence[RunRecord | None]) -> xr.Dataset:
    """Return the summaries of a sweep with one dimension for each setting that varies.

    Those are the settings of the product, the first one of each zip, and ``case``, named as in
    :func:`rows_of`; other settings and the hashes are coordinates along those that they vary
    with.  A sweep that varies nothing keeps the dimension ``run``.
    """
    import xarray as xr

    rows = rows_of(plan, records)
    if not plan.axes:
        return rows
    names = short_names(plan)
    shape = {names[axis]: len(values) for axis, values in plan.axes.items()}

    def on_axes(variable: xr.Variable) -> xr.Variable:
        values = variable.values.reshape(*shape.values(), *variable.shape[1:])
        return xr.Variable((*shape, *variable.dims[1:]), values, variable.attrs)

    variables = {name: on_axes(rows[name].variable) for name in rows.data_vars}
    coordinates = {RUN: on_axes(rows[RUN].variable.to_base_variable())}
    for setting in plan.parameters:
        coordinates[names[setting]] = _where_it_varies(
            on_axes(rows[names[setting]].variable)
        )
    for axis, values in plan.axes.items():
        plain = _column([None if v == ABSENT else _plain(v) for v in values])
        about = {"setting": axis}
        coordinates[names[axis]] = xr.Variable((names[axis],), plain, about)
    return xr.Dataset(variables, coords=coordinates, attrs=rows.attrs)


def short_names(plan: Plan) -> dict[str, str]:
    """Return a name for each setting that varies: the last part of its own where it is clear."""
    settings = dict.fromkeys((*plan.axes, *plan.parameters))
    last = {setting: setting.rpartition(".")[2] for setting in settings}
    counts = Counter(last.values())
    return {
        setting: name if counts[name] == 1 and name not in _TAKEN else setting
        for setting, name in last.items()
    }


def _known(record: RunRecord | None) -> Mapping[str, Any]:
    """The numbers of a run, of one that has not finished those about its end."""
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


def write_table(plan: Plan) -> xr.Dataset:
    """Write the summaries of the records that are there to the sweep's folder.

    Of several processes that end together the last one sees the records of all.
    """
    folder = SweepFolder(plan.folder)
    with _alone(plan.folder):
        dataset = dataset_of(plan, [folder.record(run.name) for run in plan.runs])
        path = plan.folder / SUMMARY
        new = path.with_suffix(f".{os.getpid()}.partial")
        try:
            dataset.to_netcdf(new, engine="scipy", format="NETCDF3_64BIT")
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)
    return dataset


def column_named(dataset: xr.Dataset, name: str, *, varied: bool = False) -> str:
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
        str(one): str(dataset[one].attrs["setting"])
        for one in dataset.coords
        if "setting" in dataset[one].attrs
    }
    known = [str(one) for one in dataset.variables if not varied or one in settings]
    if name in known:
        return name
    ending = [n for n, whole in settings.items() if f".{whole}".endswith(f".{name}")]
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise SettingsError(f"{name!r} may be {' or '.join(ending)}")
    raise SettingsError(f"there is no {name!r}; there are: {', '.join(sorted(known))}")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Wait until no other process writes the table of the sweep."""
    path.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 30.0
    while True:
        try:
            lock = lock_store(path)
            break
        except StoreLockedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
    try:
        yield
    finally:
        lock.release()


def _attempts(record: RunRecord | None) -> float:
    return 0.0 if record is None else float(len(record.attempts))


def _plain(value: Any) -> Any:
    """Return a number or a word as it is, and what is longer as a text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return value if isinstance(value, str) else json.dumps(value)


def _column(values: Sequence[Any]) -> Any:
    """Return numbers as floats (whole ones as integers), and words with what is mixed as words."""
    given = [value for value in values if value is not None]
    if given and all(_is_whole(value) for value in given) and len(given) == len(values):
        return np.array(values, dtype=np.int32)
    if all(_is_number(value) for value in given):
        return _floats(values)
    return np.array([ABSENT if v is None else _word(v) for v in values], dtype=str)


def _floats(values: Sequence[Any]) -> Any:
    return np.array([np.nan if v is None else float(v) for v in values])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    # The file's format has no longer integers.
    return _is_number(value) and isinstance(value, int) and abs(value) < 2**31


def _word(value: Any) -> str:
    return value if isinstance(value, str) else str(value).lower()


def _padded(values: Sequence[Any], dimensions: tuple[str, ...]) -> Any:
    """Return lists of different lengths as one array, filled up with NaN or ""."""
    lists = [[] if value is None else value for value in values]
    # A dimension of length 0 would be one without bounds in the file.
    most = max(1, *map(len, lists))
    if any(isinstance(part, str) for one in lists for part in one):
        return np.array([[*one, *[""] * (most - len(one))] for one in lists], dtype=str)
    shape: tuple[int, ...] = (len(lists), most)
    if len(dimensions) == 2:
        widths = [len(part) for one in lists for part in one]
        shape = (*shape, max(widths, default=1))
    array = np.full(shape, np.nan)
    for index, one in enumerate(lists):
        for place, part in enumerate(one):
            if len(shape) == 3:
                array[index, place, : len(part)] = part
            else:
                array[index, place] = part
    return array


def finished_only(rows: xr.Dataset) -> xr.Dataset:
    """Return the runs that have finished, of summaries along ``run``."""
    return rows.isel({RUN: np.flatnonzero(rows["state"].values == "finished")})
