"""Reading runs from disk: whole runs, their settings, ends and checkpoints, and the Dataset."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.layers import Dynamics, Layers
from mfpde.runs.run import Quantity, Run
from mfpde.runs.stopping import StopReason
from mfpde.runs.stored_names import PARTICLES
from mfpde.storage.files import StoreError, check_path, has_journal
from mfpde.storage.journal import CHECKPOINT, LAST, Journal
from mfpde.storage.provenance import read_provenance
from mfpde.storage.records import add_track, checkpoint_of, from_json, to_json
from mfpde.storage.rows import Row
from mfpde.storage.run_dataset import (
    EQUATION,
    LAYERS,
    SETTINGS,
    build_run,
    layers_to_json,
    read_geometry,
    read_stop,
    stack_rows,
)
from mfpde.storage.zarr_files import open_zarr, read_attributes, read_zarr

if TYPE_CHECKING:
    import xarray as xr

QUANTITIES = "quantities"
"""Attribute of a journal: meanings and units of the diagnostics."""


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
    return build_run(_read_store(path, group, skip_damaged=skip_damaged), path)


def open_dataset(path: str | Path, *, group: str | None = None) -> xr.Dataset:
    """Open the store of a run as an xarray Dataset, lazily if the run has ended."""
    if group is None and has_journal(path):
        return _read_store(path, None)
    return open_zarr(_find_group(path, group))


def read_journal(
    journal: Journal,
    attributes: Mapping[str, Any],
    last: Row | None,
    *,
    skip_damaged: bool = False,
) -> xr.Dataset:
    """Return the saves of a journal with the ``attributes`` of a run and its last state.

    A save that was changed is a ``StoreError``; with ``skip_damaged`` it is left out.
    """
    found = journal.read_saves()
    rows = [row for row in found if row is not None]
    lost = len(found) - len(rows)
    if lost and not skip_damaged:
        raise StoreError(
            f"{journal.file} is damaged: {lost} of {len(found)} saves do not match their "
            "checksums or cannot be read; load(path, skip_damaged=True) reads the others"
        )
    held = dict(attributes)
    quantities = from_json(held.pop(QUANTITIES, "{}"), dict[str, Quantity])
    dataset = stack_rows(rows, last, read_geometry(held), quantities)
    return dataset.assign_attrs(held)


def _read_store(
    path: str | Path, group: str | None, *, skip_damaged: bool = False
) -> xr.Dataset:
    if group is None and has_journal(path):
        try:
            with closing(Journal(path)) as journal:
                attributes, last = journal.read_attributes(), journal.read(LAST)
                return read_journal(
                    journal, attributes, last, skip_damaged=skip_damaged
                )
        except FileNotFoundError:
            # The run has just ended: it is a Dataset now.
            pass
    return read_zarr(_find_group(path, group), skip_damaged=skip_damaged)


def _find_group(path: str | Path, group: str | None) -> Path:
    folder = Path(path) / (group or "")
    if group is not None and not folder.is_dir():
        raise FileNotFoundError(f"{path} has no group {group!r}")
    return folder


def stored_attributes(path: str | Path) -> dict[str, Any]:
    """Return the attributes of the store at ``path``; they may be damaged, or not there."""
    if not has_journal(path):
        return read_attributes(path)
    with closing(Journal(path)) as journal:
        return journal.read_attributes()


def stored_stop(path: str | Path) -> StopReason | None:
    """Return the reason of a stored run's end, or None if the run was killed before it."""
    return read_stop(stored_attributes(path))


def stored_settings(path: str | Path) -> dict[str, Any] | None:
    """Return the settings from which a stored run was made, or None without settings."""
    text = stored_attributes(path).get(SETTINGS)
    return None if text is None else dict(json.loads(str(text)))


def stored_provenance(path: str | Path) -> list[dict[str, Any]]:
    """Return versions, platform and commit of each process that wrote a store."""
    return read_provenance(stored_attributes(path))


def stored_checkpoint(path: str | Path) -> Checkpoint | None:
    """Return the checkpoint from which a stored run goes on to the bit, or None without one.

    ``solve(..., resume_from=checkpoint, observer=RunWriter.resume(path, checkpoint))``
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
        row = journal.read(CHECKPOINT)
        if row is None:
            return None
        dataset = read_journal(journal, journal.read_attributes(), None)
    try:
        checkpoint = checkpoint_of(row)
    # Whatever a file may hold that someone else has made.
    except Exception as error:
        raise StoreError(f"{journal.file} is damaged: checkpoint: {error}") from error
    if checkpoint.saves == 0:
        return checkpoint
    run = build_run(dataset, path)
    if len(run.times) < checkpoint.saves:
        raise StoreError(
            f"the checkpoint of {path} was written after {checkpoint.saves} saves, of which "
            f"there are {len(run.times)}"
        )
    return add_track(checkpoint, run.track, run.states)


def matches_stored(path: str | Path, dynamics: Dynamics) -> bool:
    """Whether ``dynamics`` is what the run at ``path`` was begun with."""
    attributes = stored_attributes(path)
    if isinstance(dynamics, Layers):
        return attributes.get(LAYERS) in (None, layers_to_json(dynamics))
    return bool(attributes[EQUATION] == to_json(dynamics))


def has_particles(path: str | Path) -> bool:
    """Whether the store at ``path`` holds a particle run beside the density run."""
    stored_attributes(path)
    return (Path(path) / PARTICLES).is_dir()
