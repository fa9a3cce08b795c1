"""Reading runs from disk: whole runs, their settings and ends, and the xarray Dataset.

What a store holds is told in :mod:`mfpde.storage`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr

from mfpde.arrays import shown
from mfpde.geometry import Geometry
from mfpde.measures.events import Events
from mfpde.measures.measure import AnyMeasure
from mfpde.runs.layers import Dynamics, Layers
from mfpde.runs.run import Run
from mfpde.runs.stopping import StopReason, interrupted
from mfpde.runs.stored_names import CHECKPOINT, FINAL, PARTICLES, TIME
from mfpde.storage.attributes import (
    EQUATION,
    EVENTS,
    JUNCTIONS,
    LAYERS,
    VERSION,
    check_attributes,
)
from mfpde.storage.checkpoint_record import (
    StoredCheckpoint,
    checkpoint_file,
    read_checkpoint,
)
from mfpde.storage.claim import read_beside_writer
from mfpde.storage.descriptions import (
    described_arrays,
    dimensions_of,
    place_of,
    readable_sizes,
)
from mfpde.storage.equation_record import (
    equation_to_dict,
    layers_to_dict,
    stored_dynamics,
    stored_geometries,
    stored_refinements,
)
from mfpde.storage.errors import StoreError
from mfpde.storage.growing_store import complete_records
from mfpde.storage.provenance import stored_records
from mfpde.storage.record_reader import read_dataset
from mfpde.storage.state_record import (
    coordinates,
    stored_diagnostics,
    stored_quantities,
    stored_states,
)
from mfpde.storage.track_record import stored_events, stored_track

if TYPE_CHECKING:
    import xarray as xr


def load(
    path: str | Path, *, group: str | None = None, skip_damaged: bool = False
) -> Run:
    """Read a run back, to the bit; also one that was killed between two saves.

    Parameters
    ----------
    path, group
        A store written by :func:`save` or :class:`RunWriter`; ``"particles"`` for the
        particle run beside the density run.
    skip_damaged
        Leave out saves that do not match their checksums or cannot be read, in place of an
        error.

    Returns
    -------
    Run
        Its ``equation`` is None where terms were the user's own functions; its ``stop``
        is of kind ``"interrupted"`` where the run never finished.

    Raises
    ------
    FileNotFoundError
        If there is no store (or no such group in it).
    StoreError
        If the store is not that of a run, holds no saved state, or is damaged: the message
        says what can still be read.
    """
    check_path(path)
    return read_beside_writer(
        path,
        lambda: _read_run(path, opened_group(path, group), skip_damaged=skip_damaged),
    )


def _saves_of(path: str | Path) -> Run:
    """Read back what a run has saved, without the last state if that was not saved."""
    return _read_run(path, opened_group(path, None), has_final=False)


def _read_run(
    path: str | Path,
    stored: zarr.Group,
    *,
    skip_damaged: bool = False,
    has_final: bool = True,
) -> Run:
    try:
        return _loaded(path, stored, skip_damaged=skip_damaged, has_final=has_final)
    except StoreError:
        raise
    # Attributes or variables that are gone, or are no longer what they were.
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise StoreError(f"{path} is damaged: {what}") from error


def _loaded(
    path: str | Path,
    stored: zarr.Group,
    *,
    skip_damaged: bool,
    has_final: bool,
) -> Run:
    attributes: dict[str, Any] = dict(stored.attrs)
    geometries = stored_geometries(attributes)
    dataset = read_dataset(stored, skip_damaged=skip_damaged)
    times = np.asarray(dataset[TIME].values, dtype=np.float64)
    states = stored_states(dataset, geometries)
    lasts = [(float(t), s) for t, s in zip(times[-1:], states[-1:], strict=True)]
    if lasts:
        check_coordinates(path, dataset, geometries)
    if has_final:
        lasts += _final(stored, geometries, skip_damaged=skip_damaged)
    if not lasts:
        raise StoreError(f"{path} holds no saved state: the run ended before its first")
    final_time, final = lasts[-1]
    junctions = str(attributes.get(JUNCTIONS, "[]"))
    track = stored_track(dataset, junctions, final)
    diagnostics = stored_diagnostics(dataset)
    reached = float(attributes.get("final_time", final_time))
    dynamics = stored_dynamics(attributes, reached)
    return Run(
        equation=dynamics.equation,
        layers=dynamics.layers,
        equation_since=dynamics.since,
        times=times,
        states=states,
        diagnostics=diagnostics,
        stop=stop_of(attributes, final_time),
        final=final,
        final_time=reached,
        statistics=json.loads(attributes.get("statistics", "{}")),
        # A process may have been killed between events and the save after them.
        events=Events(
            event
            for event in stored_events(attributes.get(EVENTS), track)
            if event.time <= final_time
        ),
        track=track,
        refinements=stored_refinements(attributes, final_time),
        quantities=stored_quantities(dataset, diagnostics),
    )


def _final(
    stored: zarr.Group, geometries: list[Geometry], *, skip_damaged: bool
) -> list[tuple[float, AnyMeasure]]:
    """Return time and state of a last state that was not saved, if there is one."""
    place = place_of(stored) / FINAL
    if not place.is_dir():
        return []
    try:
        last = read_dataset(zarr.open_group(str(place), mode="r"))
    # Whatever zarr makes of a description that is none.
    except Exception as error:
        if skip_damaged:
            return []
        file = "" if isinstance(error, StoreError) else f"{place}/zarr.json: "
        raise StoreError(
            "the last state cannot be read; load(path, skip_damaged=True) reads those that "
            f"were saved: {file}{error}"
        ) from error
    times = np.asarray(last[TIME].values, dtype=np.float64).tolist()
    return list(zip(times, stored_states(last, geometries), strict=True))


def check_coordinates(
    path: str | Path, dataset: xr.Dataset, geometries: Sequence[Geometry]
) -> None:
    """Raise :class:`StoreError` unless the coordinates are those of the grids."""
    for number, geometry in enumerate(geometries, start=1):
        for name, expected in coordinates(geometry, number).items():
            if name not in dataset:
                raise StoreError(
                    f"{path}/{name}/zarr.json is missing or garbled; it holds a coordinate "
                    f"of {geometry!r}"
                )
            if not np.array_equal(dataset[name].values, expected.values):
                raise StoreError(
                    f"{path}/{name}/c/0 is damaged: it does not hold the coordinate of "
                    f"{geometry!r}"
                )


def open_dataset(path: str | Path, *, group: str | None = None) -> xr.Dataset:
    """Open the store of a run as an xarray Dataset, lazily.

    A store that was left in the middle of a save is cut to its complete records (and
    read into memory); plain ``xarray.open_zarr`` refuses it.
    """
    import xarray as xr

    stored = opened_group(path, group)
    arrays = dict(described_arrays(stored))
    sizes = readable_sizes(stored, arrays, complete_records(stored))
    for array in arrays.values():
        if array.shape != tuple(sizes[name] for name in dimensions_of(array)):
            return read_dataset(stored)
    return xr.open_dataset(
        str(path), engine="zarr", group=group, consolidated=False, chunks=None
    )


def stored_stop(path: str | Path) -> StopReason | None:
    """Return the reason of a stored run's end, or None if the run was killed before it."""
    attributes: dict[str, Any] = dict(opened_group(path, None).attrs)
    return stop_of(attributes, 0.0) if "stop_kind" in attributes else None


def stored_checkpoint(path: str | Path) -> StoredCheckpoint | None:
    """Return the checkpoint from which a stored run goes on to the bit, or None without one.

    ``solve(..., resume_from=stored.checkpoint, observer=RunWriter.resumed(path,
    stored=stored))`` goes on, with all other arguments those of the run that stopped.

    Raises
    ------
    StoreError
        If the checkpoint or the records before it are damaged.
    """
    opened_group(path, None)
    found = read_checkpoint(path)
    if found is None or found.checkpoint.saves == 0:
        return found
    run, saves = _saves_of(path), found.checkpoint.saves
    if len(run.times) < saves:
        raise StoreError(
            f"{checkpoint_file(path)} was written after {saves} saves, of which there are "
            f"{len(run.times)}"
        )
    return found.with_records(run.track, run.states)


def was_just_begun(path: str | Path) -> bool:
    """Whether the run at ``path`` was killed before its first checkpoint.

    By then it has one save at most, which the same run makes again.
    """
    whole = opened_group(path, None)
    if (Path(path) / FINAL).is_dir() or checkpoint_file(path).is_file():
        return False
    if TIME not in dict(described_arrays(whole)):
        return True
    return complete_records(whole) <= (1 if CHECKPOINT in whole else 0)


def matches_stored(path: str | Path, dynamics: Dynamics) -> bool:
    """Whether ``dynamics`` is what the run at ``path`` was begun with."""
    attributes = opened_group(path, None).attrs
    there, record = attributes.get(EQUATION), None
    if isinstance(dynamics, Layers):
        there, record = attributes.get(LAYERS), layers_to_dict(dynamics)
    else:
        record = equation_to_dict(dynamics)
    return there is None or json.loads(str(there)) == json.loads(json.dumps(record))


def stored_settings(path: str | Path) -> dict[str, Any] | None:
    """Return the settings from which a stored run was made, or None without settings."""
    attributes = dict(opened_group(path, None).attrs)
    text = attributes.get("settings")
    return None if text is None else dict(json.loads(str(text)))


def stored_provenance(path: str | Path) -> list[dict[str, Any]]:
    """Return versions, platform and commit of each process that wrote a store."""
    return stored_records(dict(opened_group(path, None).attrs))


def has_particles(path: str | Path) -> bool:
    """Whether the store at ``path`` holds a particle run beside the density run."""
    return PARTICLES in opened_group(path, None)


def check_path(path: object) -> None:
    """Raise ``ValueError`` unless ``path`` can be that of a store."""
    if not isinstance(path, str | os.PathLike):
        raise ValueError(
            f"path = {shown(path)} must be the path of a store, as 'run.zarr'"
        )


def existing_store(path: str | Path) -> str:
    """Return ``path``, or raise ``FileNotFoundError`` if there is no store at it."""
    if not (Path(path) / "zarr.json").is_file():
        missing = f": {path}/zarr.json is missing" if Path(path).is_dir() else ""
        raise FileNotFoundError(f"there is no store of a run at {path}{missing}")
    return str(path)


def opened_group(path: str | Path, group: str | None) -> zarr.Group:
    """Return the store of a run, or a ``group`` of it, to be read."""
    try:
        whole = zarr.open_group(existing_store(path), mode="r")
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path}/zarr.json cannot be read, it is cut short or garbled: {error}"
        ) from error
    if VERSION not in whole.attrs:
        raise StoreError(f"{path} is a zarr store, but not of a run of mfpde")
    check_attributes(path, dict(whole.attrs))
    if group is None:
        return whole
    if group not in whole:
        raise FileNotFoundError(f"{path} has no group {group!r}")
    part = zarr.open_group(str(path), path=group, mode="r")
    check_attributes(Path(path) / group, dict(part.attrs))
    return part


def stop_of(attributes: Mapping[str, Any], reached: float) -> StopReason:
    """Return the reason of a run's end; without one the run was interrupted at ``reached``."""
    if "stop_kind" not in attributes:
        return interrupted(reached)
    return StopReason(str(attributes["stop_kind"]), str(attributes["stop_message"]))
