"""Reading runs from disk: whole runs, what is said of them, checkpoints, and the Dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.layers import Dynamics
from mfpde.runs.run import Run
from mfpde.runs.stored_names import PARTICLES
from mfpde.storage.files import (
    DESCRIPTION,
    check_path,
    has_journal,
    name_damage,
)
from mfpde.storage.journal import CHECKPOINT, NO_CHECKPOINT, Journal, Row
from mfpde.storage.places import stored_attributes
from mfpde.storage.records import (
    Description,
    decode_checkpoint,
    describe_beginning,
    parse_attributes,
)
from mfpde.storage.run_dataset import build_run, stack_rows
from mfpde.storage.zarr_files import Contents, read_zarr


def load(path: str | Path) -> Run:
    """Read a run back, to the bit; also one that was killed between two saves.

    Parameters
    ----------
    path
        A store written by :func:`save` or :class:`RunWriter`; the particle run beside a density
        run is in ``"run.zarr/particles"``.

    Returns
    -------
    Run
        Its ``equation`` is None where terms were the user's own functions; its ``stop``
        is of kind ``"interrupted"`` where the run never finished.

    Raises
    ------
    FileNotFoundError
        If there is no store.
    StoreError
        If the store is not that of a run, holds no saved state, or is damaged.
    """
    check_path(path)
    with name_damage(path, "it holds no run"):
        if has_journal(path):
            # Its run may have just ended: then it is a Dataset now.
            with suppress(FileNotFoundError), closing(Journal(path)) as journal:
                return build_run(read_journal(journal), path)
        return build_run(read_zarr(Path(path)), path)


def read_journal(
    journal: Journal, changes: Mapping[str, Any] | None = None, more: Sequence[Row] = ()
) -> Contents:
    """Return what a store would hold of the rows of a journal, and of changes and more rows."""
    attributes = {**journal.read_attributes(), **(changes or {})}
    rows = [journal.read(number) for number in range(attributes.pop("rows"))]
    return stack_rows([*rows, *more], attributes)


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
        stored_attributes(path)
        return None
    with closing(Journal(path)) as journal, name_damage(journal.file, "checkpoint"):
        row = journal.read(CHECKPOINT)
        if row.text == NO_CHECKPOINT:
            return None
        checkpoint = decode_checkpoint(row)
        if checkpoint.saves == 0:
            return checkpoint
        return _add_saves(checkpoint, build_run(read_journal(journal), path))


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
    """Whether there is a particle run beside the density run in the store at ``path``."""
    return (Path(path) / PARTICLES / DESCRIPTION).is_file()
