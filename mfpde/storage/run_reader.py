"""Reading runs from disk: whole runs, their settings and ends, and the xarray Dataset."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.geometry import Geometry
from mfpde.measures.events import Events
from mfpde.runs.layers import Dynamics, Layers
from mfpde.runs.run import Run
from mfpde.runs.stopping import StopReason, interrupted
from mfpde.runs.stored_names import CHECKPOINT, PARTICLES
from mfpde.storage.attributes import (
    EQUATION,
    EVENTS,
    FINAL_TIME,
    JUNCTIONS,
    LAYERS,
    SETTINGS,
    STATISTICS,
    STOP_KIND,
    STOP_MESSAGE,
    stored_dynamics,
    stored_geometry,
)
from mfpde.storage.checkpoint_record import StoredCheckpoint, checkpoint_of
from mfpde.storage.converter import events_of
from mfpde.storage.equation_record import equation_to_dict, layers_to_dict
from mfpde.storage.errors import StoreError, check_path
from mfpde.storage.journal import Journal, has_journal
from mfpde.storage.provenance import stored_records
from mfpde.storage.stored_run import (
    StoredRun,
    journaled_run,
    read_stored_run,
    times_of,
)
from mfpde.storage.track_variables import TRACK_VARIABLES, track_of
from mfpde.storage.variables import coordinates_of, diagnostics_of, states_of
from mfpde.storage.zarr_store import check_descriptions, read_attributes

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
    stored = read_stored_run(path, group, skip_damaged=skip_damaged)
    return _run_of(path, stored)


def _run_of(path: str | Path, stored: StoredRun) -> Run:
    """Return the run that a store holds; raise ``StoreError`` for one that cannot be."""
    try:
        return _built(path, stored)
    except StoreError:
        raise
    # Attributes or variables that are no longer what they were, in spite of checksums.
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise StoreError(f"{path} is damaged: {what}") from error


def _built(path: str | Path, stored: StoredRun) -> Run:
    attributes, saves = stored.attributes, stored.saves
    geometry = stored_geometry(attributes)
    _check_coordinates(path, saves, geometry)
    times, states = times_of(saves), states_of(saves, geometry)
    ends = list(zip(times[-1:].tolist(), states[-1:], strict=True))
    if stored.last is not None:
        last = states_of(stored.last, geometry)
        ends += zip(times_of(stored.last).tolist(), last, strict=True)
    if not ends:
        raise StoreError(f"{path} holds no saved state: the run ended before its first")
    final_time, final = ends[-1]
    junctions = attributes.get(JUNCTIONS, "[]")
    track = track_of(saves, junctions, final)
    diagnostics, quantities = diagnostics_of(saves, TRACK_VARIABLES)
    reached = float(attributes.get(FINAL_TIME, final_time))
    dynamics = stored_dynamics(attributes, reached)
    events = () if track is None else track.events
    if EVENTS in attributes:
        events = events_of(attributes[EVENTS])
    return Run(
        equation=dynamics.equation,
        layers=dynamics.layers,
        equation_since=dynamics.since,
        times=times,
        states=states,
        diagnostics=diagnostics,
        stop=_stop_of(attributes, final_time),
        final=final,
        final_time=reached,
        statistics=json.loads(attributes.get(STATISTICS, "{}")),
        # A process may have been killed between events and the save after them.
        events=Events(event for event in events if event.time <= final_time),
        track=track,
        quantities=quantities,
    )


def _check_coordinates(
    path: str | Path, saves: xr.Dataset, geometry: Geometry | None
) -> None:
    """Raise :class:`StoreError` unless the coordinates are those of the grid."""
    for name, expected in coordinates_of(geometry).items():
        if not np.array_equal(saves[name].values, expected.values):
            raise StoreError(
                f"{path}/{name} is damaged: it is no coordinate of the grid"
            )


def open_dataset(path: str | Path, *, group: str | None = None) -> xr.Dataset:
    """Open the store of a run as an xarray Dataset, lazily if the run has ended."""
    import xarray as xr

    if group is None and has_journal(path):
        stored = read_stored_run(path)
        return stored.saves.assign_attrs(stored.attributes)
    place = Path(path) / (group or "")
    if group is not None and not place.is_dir():
        raise FileNotFoundError(f"{path} has no group {group!r}")
    check_descriptions(place, read_attributes(place))
    return xr.open_dataset(str(place), engine="zarr", consolidated=False, chunks=None)


def stored_attributes(path: str | Path) -> dict[str, Any]:
    """Return the attributes of the store at ``path``.

    Raises
    ------
    FileNotFoundError
        If there is no store.
    StoreError
        If they are damaged, or those of a newer version.
    """
    if not has_journal(path):
        return read_attributes(path)
    with closing(Journal(path)) as journal:
        return journal.attributes()


def stored_stop(path: str | Path) -> StopReason | None:
    """Return the reason of a stored run's end, or None if the run was killed before it."""
    attributes = stored_attributes(path)
    return _stop_of(attributes, 0.0) if STOP_KIND in attributes else None


def stored_checkpoint(path: str | Path) -> StoredCheckpoint | None:
    """Return the checkpoint from which a stored run goes on to the bit, or None without one.

    ``solve(..., resume_from=stored.checkpoint, observer=RunWriter.resumed(path, stored))``
    goes on, with all other arguments those of the run that stopped.

    Raises
    ------
    StoreError
        If the checkpoint or the saves before it are damaged.
    """
    if not has_journal(path):
        read_attributes(path)
        return None
    with closing(Journal(path)) as journal:
        noted = journal.note_of(CHECKPOINT)
        if noted is None:
            return None
        stored = journaled_run(journal)
    try:
        found = checkpoint_of(noted)
    # Whatever a file may hold that someone else has made.
    except Exception as error:
        raise StoreError(f"{journal.file} is damaged: checkpoint: {error}") from error
    saves = found.checkpoint.saves
    if saves == 0:
        return found
    run = _run_of(path, stored)
    if len(run.times) < saves:
        raise StoreError(
            f"the checkpoint of {path} was written after {saves} saves, of which there are "
            f"{len(run.times)}"
        )
    return found.with_saves(run.track, run.states)


def was_just_begun(path: str | Path) -> bool:
    """Whether the run at ``path`` was killed before its first checkpoint, or its end."""
    if not has_journal(path):
        return False
    with closing(Journal(path)) as journal:
        has_checkpoint = journal.note_of(CHECKPOINT) is not None
        return not has_checkpoint and STOP_KIND not in journal.attributes()


def matches_stored(path: str | Path, dynamics: Dynamics) -> bool:
    """Whether ``dynamics`` is what the run at ``path`` was begun with."""
    attributes = stored_attributes(path)
    if isinstance(dynamics, Layers):
        there, record = attributes.get(LAYERS), layers_to_dict(dynamics)
    else:
        there, record = attributes.get(EQUATION), equation_to_dict(dynamics) or {}
    return there is None or json.loads(str(there)) == json.loads(json.dumps(record))


def stored_settings(path: str | Path) -> dict[str, Any] | None:
    """Return the settings from which a stored run was made, or None without settings."""
    text = stored_attributes(path).get(SETTINGS)
    return None if text is None else dict(json.loads(str(text)))


def stored_provenance(path: str | Path) -> list[dict[str, Any]]:
    """Return versions, platform and commit of each process that wrote a store."""
    return stored_records(stored_attributes(path))


def has_particles(path: str | Path) -> bool:
    """Whether the store at ``path`` holds a particle run beside the density run."""
    stored_attributes(path)
    return (Path(path) / PARTICLES).is_dir()


def _stop_of(attributes: Mapping[str, Any], reached: float) -> StopReason:
    """Return the reason of a run's end; without one the run was interrupted at ``reached``."""
    if STOP_KIND not in attributes:
        return interrupted(reached)
    return StopReason(str(attributes[STOP_KIND]), str(attributes[STOP_MESSAGE]))
