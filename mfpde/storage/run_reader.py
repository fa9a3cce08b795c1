"""Reading runs from disk: whole runs, what is said of them, checkpoints, and the Dataset."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.layers import Dynamics
from mfpde.runs.run import Run
from mfpde.runs.stored_names import PARTICLES
from mfpde.storage.description import (
    Description,
    describe_beginning,
    parse_attributes,
)
from mfpde.storage.files import (
    check_path,
    has_journal,
    name_damage,
)
from mfpde.storage.journal import CHECKPOINT, LAST, Journal
from mfpde.storage.places import stored_attributes
from mfpde.storage.records import decode_checkpoint
from mfpde.storage.rows import Row
from mfpde.storage.run_dataset import build_run, stack_rows
from mfpde.storage.zarr_files import read_attributes, read_zarr

if TYPE_CHECKING:
    import xarray as xr


def load(path: str | Path, *, group: str | None = None) -> Run:
    """Read a run back, to the bit; also one that was killed between two saves.

    Parameters
    ----------
    path, group
        A store written by :func:`save` or :class:`RunWriter`; ``"particles"`` for the
        particle run beside the density run.

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
        If the store is not that of a run, holds no saved state, or is damaged.
    """
    check_path(path)
    with name_damage(path, "it holds no run"):
        return build_run(open_dataset(path, group=group), path)


def open_dataset(path: str | Path, *, group: str | None = None) -> xr.Dataset:
    """Return the store of a run as an xarray Dataset, as :func:`load` reads it.

    What ``xarray.open_zarr(path, consolidated=False)`` opens lazily, once the run has ended, is
    not checked.
    """
    folder = Path(path) / (group or "")
    if group is not None and not folder.is_dir():
        raise FileNotFoundError(f"{path} has no group {group!r}")
    if has_journal(folder):
        # Its run may have just ended: then it is a Dataset now.
        with suppress(FileNotFoundError), closing(Journal(folder)) as journal:
            return read_journal(journal, {}, journal.find(LAST))
    return read_zarr(folder)


def read_journal(
    journal: Journal, changes: Mapping[str, Any], last: Row | None
) -> xr.Dataset:
    """Return the saves of a journal as a Dataset, with changed attributes and the last state."""
    attributes = {**journal.read_attributes(), **changes}
    rows = [journal.read(number) for number in range(attributes.pop("saves"))]
    return stack_rows(rows, last, attributes)


def read_description(path: str | Path) -> Description:
    """Return what the store at ``path`` says of its run: settings, end, where it was made.

    None there is a ``FileNotFoundError``; what is no store of a run, or damaged, a ``StoreError``.
    """
    with name_damage(path, "its attributes"):
        return parse_attributes(stored_attributes(path))


def stored_checkpoint(path: str | Path) -> Checkpoint | None:
    """Return the checkpoint from which a stored run goes on to the bit, or None without one.

    ``solve(..., resume_from=checkpoint, observer=RunWriter.resume(path, checkpoint))``
    goes on, with all other arguments those of the run that stopped.  If the checkpoint or the
    saves before it are damaged that is a ``StoreError``.
    """
    if not has_journal(path):
        read_attributes(path)
        return None
    with closing(Journal(path)) as journal, name_damage(journal.file, "checkpoint"):
        row = journal.find(CHECKPOINT)
        if row is None:
            return None
        checkpoint = decode_checkpoint(row)
        if checkpoint.saves == 0:
            return checkpoint
        return _add_saves(checkpoint, build_run(read_journal(journal, {}, None), path))


def _add_saves(checkpoint: Checkpoint, run: Run) -> Checkpoint:
    """Return a checkpoint with what its tracker has seen, from the saves of its run."""
    count, memory, track = checkpoint.saves, checkpoint.tracker, run.track
    if len(run.times) < count:
        raise ValueError(
            f"it was written after {count} saves, of which there are {len(run.times)}"
        )
    if memory is None or track is None:
        return checkpoint
    seen, verdicts = track.seen[:count], track.verdicts[:count]
    short = replace(track, times=track.times[:count], seen=seen, verdicts=verdicts)
    whole = memory._replace(track=short, before=run.states[count - 1])
    return replace(checkpoint, tracker=whole)


def matches_stored(path: str | Path, dynamics: Dynamics) -> bool:
    """Whether ``dynamics`` is what the run at ``path`` was begun with."""
    stored, given = stored_attributes(path), describe_beginning(dynamics, None)
    return all(stored.get(name) == given.get(name) for name in ("equation", "layers"))


def has_particles(path: str | Path) -> bool:
    """Whether the store at ``path`` holds a particle run beside the density run."""
    stored_attributes(path)
    return (Path(path) / PARTICLES).is_dir()
