"""A run as a store holds it: attributes, the saves as a Dataset, a last state not saved."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mfpde.runs.run import Run
from mfpde.runs.stored_names import FINAL, TIME
from mfpde.storage.attributes import (
    EVENTS,
    FINAL_TIME,
    JUNCTIONS,
    STATISTICS,
    STOP_KIND,
    STOP_MESSAGE,
    VERSION,
    first_attributes,
    stored_geometry,
)
from mfpde.storage.converter import json_of
from mfpde.storage.datasets import dataset_of_saves
from mfpde.storage.errors import StoreError
from mfpde.storage.journal import LAST, Journal, Save, has_journal, save_of
from mfpde.storage.provenance import added_provenance
from mfpde.storage.track_variables import track_variables
from mfpde.storage.variables import (
    Record,
    coordinates_of,
    geometry_of,
    save_variables,
    state_variables,
)
from mfpde.storage.zarr_store import read_attributes, read_dataset, write_dataset

if TYPE_CHECKING:
    import xarray as xr


class StoredRun(NamedTuple):
    """What a store holds of a run, however it is written."""

    attributes: dict[str, Any]
    saves: xr.Dataset
    last: xr.Dataset | None

    def with_end(self, ending: dict[str, Any], last: Save | None) -> StoredRun:
        """Return it with the attributes of its end, and a last state that was not saved."""
        state = None
        if last is not None:
            state = dataset_of_saves([last.time], [last.record], {})
        return StoredRun({**self.attributes, **ending}, self.saves, state)


def stored_run(
    attributes: dict[str, Any],
    times: Sequence[float],
    records: Sequence[Record],
    *,
    last: Save | None,
) -> StoredRun:
    """Return a run as stores hold it, from its saves and its last state."""
    coordinates = coordinates_of(stored_geometry(attributes))
    saves = dataset_of_saves(times, records, coordinates)
    return StoredRun(attributes, saves, None).with_end({}, last)


def journaled_run(journal: Journal, *, skip_damaged: bool = False) -> StoredRun:
    """Return what a journal holds of a run.

    Raises
    ------
    StoreError
        If a save does not match its checksum; with ``skip_damaged`` it is left out.
    """
    found = list(journal.saves())
    saves = [save for save in found if save is not None]
    lost = len(found) - len(saves)
    if lost and not skip_damaged:
        raise StoreError(
            f"{journal.file} is damaged: {lost} of {len(found)} saves do not match their "
            "checksums or cannot be read; load(path, skip_damaged=True) reads the others"
        )
    noted = journal.note_of(LAST)
    last = None if noted is None else save_of(noted)
    times, records = [s.time for s in saves], [s.record for s in saves]
    return stored_run(journal.attributes(), times, records, last=last)


def read_stored_run(
    path: str | Path, group: str | None = None, *, skip_damaged: bool = False
) -> StoredRun:
    """Read what the store at ``path``, or a ``group`` of it, holds of a run.

    Raises
    ------
    FileNotFoundError
        If there is no store, or no such group.
    StoreError
        If it is damaged; the message names the file, and what can be read.
    """
    if group is None and has_journal(path):
        try:
            journal = Journal(path)
        except FileNotFoundError:
            # The run has just ended.
            return _zarr_run(Path(path), skip_damaged=skip_damaged)
        try:
            return journaled_run(journal, skip_damaged=skip_damaged)
        finally:
            journal.close()
    if group is None:
        return _zarr_run(Path(path), skip_damaged=skip_damaged)
    if not (Path(path) / group).is_dir():
        raise FileNotFoundError(f"{path} has no group {group!r}")
    return _zarr_run(Path(path) / group, skip_damaged=skip_damaged)


def _zarr_run(folder: Path, *, skip_damaged: bool) -> StoredRun:
    attributes = read_attributes(folder)
    saves = read_dataset(folder, attributes, skip_damaged=skip_damaged)
    if not attributes.get(FINAL):
        return StoredRun(attributes, saves, None)
    place = folder / FINAL
    try:
        last = read_dataset(place, read_attributes(place))
    except (StoreError, FileNotFoundError) as error:
        if skip_damaged:
            return StoredRun(attributes, saves, None)
        raise StoreError(
            "the last state cannot be read; load(path, skip_damaged=True) reads those that "
            f"were saved: {error}"
        ) from error
    return StoredRun(attributes, saves, last)


def write_stored_run(folder: str | Path, stored: StoredRun) -> None:
    """Write a run that has ended as one zarr store in ``folder``, its description last."""
    place = Path(folder) / FINAL
    shutil.rmtree(place, ignore_errors=True)
    attributes = {**stored.attributes, FINAL: stored.last is not None}
    if stored.last is not None:
        place.mkdir()
        write_dataset(place, stored.last, {VERSION: attributes[VERSION]})
    write_dataset(folder, stored.saves, attributes)


def times_of(dataset: xr.Dataset) -> np.ndarray:
    """Return the times of the saves."""
    return np.asarray(dataset[TIME].values, dtype=np.float64)


def stored_run_of(run: Run) -> StoredRun:
    """Return a run in memory as a store would hold it.

    Raises
    ------
    ValueError
        If the geometry cannot be stored.
    """
    tracked = _tracked_variables(run)
    records = []
    for index, state in enumerate(run.states):
        row = {name: values[index] for name, values in run.diagnostics.items()}
        record = save_variables(state, row, run.quantities)
        records.append(record | tracked.get(float(run.times[index]), {}))
    is_saved = bool(len(run.times)) and run.final_time <= run.times[-1]
    final = state_variables(run.final)
    attributes = first_attributes(run.dynamics, geometry_of(run.final))
    attributes |= added_provenance({}) | ending_attributes(run)
    if run.track is not None:
        attributes[JUNCTIONS] = json_of(run.track.junctions)
    last = None if is_saved else Save(run.final_time, final)
    return stored_run(attributes, run.times.tolist(), records, last=last)


def _tracked_variables(run: Run) -> dict[float, Record]:
    """Return the variables of the atoms that were followed, by the time of the save."""
    track = run.track
    if track is None:
        return {}
    rows = zip(track.times.tolist(), track.seen, track.verdicts, strict=True)
    return {time: track_variables(seen, verdict) for time, seen, verdict in rows}


def ending_attributes(run: Run) -> dict[str, Any]:
    """Return the attributes that tell how a run ended."""
    return {
        STOP_KIND: run.stop.kind,
        STOP_MESSAGE: run.stop.message,
        FINAL_TIME: float(run.final_time),
        STATISTICS: json.dumps(dict(run.statistics), default=_plain),
        EVENTS: json_of(run.events),
    }


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)
