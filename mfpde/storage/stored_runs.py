"""Runs in stores: written as they go or whole, read back whole or in part."""

from __future__ import annotations

import json
import math
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mfpde.arrays import check_kind
from mfpde.geometry import Geometry
from mfpde.measures.events import Event
from mfpde.positions.rows import RunState
from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.layers import Dynamics
from mfpde.runs.run import TIME, Quantity, Run
from mfpde.runs.stopping import ENDED
from mfpde.solver.recorder import Observer
from mfpde.storage import records
from mfpde.storage.files import Contents, check_path, name_damage, read_zarr, write_zarr
from mfpde.storage.journal import Journal, Row, has_journal
from mfpde.storage.places import clear_place, lock_store, stored_attributes
from mfpde.storage.run_dataset import build_run, encode_save, stack_rows, stack_run
from mfpde.tracking import Tracker

if TYPE_CHECKING:
    from mfpde.settings.settings import Settings


class RunWriter(Observer):
    """Writes a run as it goes: ``solve(..., observer=RunWriter(path, equation, geometry))``.

    Each save is in the journal of the store once it is made, so that what a killed process has
    saved can be loaded, and the run continued.  A run that has ended becomes one Dataset.

    Directories of ``path`` that are missing are made.  An ``equation``, or layers, with a user's
    functions is stored without its terms; particles have the ``geometry`` None; ``mfpde resume``
    needs the ``settings`` that the run comes from.  ``FileExistsError`` if there is something
    at ``path`` and ``overwrite`` is not set, or it is not the store of a run; ``StoreError`` if
    another process or thread writes to it.
    """

    def __init__(
        self,
        path: str | Path,
        equation: Dynamics | None,
        geometry: Geometry | None,
        *,
        settings: Settings | None = None,
        overwrite: bool = False,
    ) -> None:
        beginning = records.describe_beginning(equation, geometry, settings)
        rows = {
            Journal.BEGINNING: Row(json.dumps(beginning)),
            Journal.PROGRESS: Row(json.dumps({"rows": 0, "saves": 0})),
            Journal.CHECKPOINT: Row(),
        }
        with clear_place(path, overwrite=overwrite) as lock:
            self._go_on(Journal(path, rows), lock)

    @classmethod
    def resume(cls, path: str | Path, checkpoint: Checkpoint | None) -> RunWriter:
        """Open the journal of an interrupted run to go on from its ``checkpoint``.

        Saves after the checkpoint are forgotten, and the reason of the end is taken back; without
        a checkpoint the run is begun anew.
        """
        writer, row, progress = cls.__new__(cls), Row(), {"rows": 0, "saves": 0}
        if checkpoint is not None:
            row = records.encode_checkpoint(checkpoint)
            progress = dict.fromkeys(progress, checkpoint.saves)
            progress |= records.make_attributes(events=checkpoint.events)
            if (memory := checkpoint.tracker) is not None:
                progress |= records.make_attributes(junctions=memory.track.junctions)
        told = Row(json.dumps(progress))
        with lock_store(path) as lock:
            journal = Journal(path)
            journal.write({Journal.PROGRESS: told, Journal.CHECKPOINT: row})
            writer._go_on(journal, lock)
        return writer

    def _go_on(self, journal: Journal, lock: ExitStack) -> None:
        """Write to ``journal`` from now on, and hold the lock."""
        self._journal, self._last_time = journal, -math.inf
        self._progress = json.loads(journal.read(Journal.PROGRESS).text)
        if saves := self._progress["saves"]:
            self._last_time = float(journal.read(saves - 1).arrays[TIME])
        self._tracker: Tracker | None = None
        self._events: Sequence[Event] = ()
        # Also if the run ends by an error, and this writer is forgotten.
        self._unlock = weakref.finalize(self, lock.pop_all().close)

    def begin(
        self,
        quantities: Mapping[str, Quantity],
        tracker: Tracker | None,
        events: Sequence[Event],
    ) -> None:
        """Keep the meanings and units of the diagnostics."""
        self._tracker, self._events = tracker, events
        beginning = json.loads(self._journal.read(Journal.BEGINNING).text)
        beginning |= records.make_attributes(quantities=dict(quantities))
        self._journal.write({Journal.BEGINNING: Row(json.dumps(beginning))})

    def save(
        self, time: float, measure: RunState, diagnostics: Mapping[str, Any]
    ) -> None:
        """Write a state, its diagnostics, and what was told of it.

        A ``time`` that is not after that of the last save is a ``ValueError``.
        """
        if not time > self._last_time:
            raise ValueError(
                f"time = {time} must be after that of the last save, {self._last_time}"
            )
        number, sighting = self._progress["saves"], ""
        progress = self._progress | {"rows": number + 1, "saves": number + 1}
        if self._tracker is not None:
            track = self._tracker.track
            progress |= records.make_attributes(junctions=track.junctions)
            sighting = records.to_json((track.verdicts[-1], track.seen[-1]))
        if self._events:
            progress |= records.make_attributes(events=tuple(self._events))
        row = Row(sighting, encode_save(time, measure, diagnostics))
        self._journal.write({number: row, Journal.PROGRESS: Row(json.dumps(progress))})
        self._progress, self._last_time = progress, time

    def keep(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint from which the run can go on to the bit, if it is finite."""
        if checkpoint.is_finite:
            row = records.encode_checkpoint(checkpoint)
            self._journal.write({Journal.CHECKPOINT: row})

    def finish(self, run: Run) -> None:
        """Note the end; a run that has ended becomes one Dataset, and its journal goes."""
        end, more = records.describe_end(run), []
        if run.final_time > self._last_time:
            more = [Row("", encode_save(run.final_time, run.final, {}))]
        if run.stop.kind in ENDED:
            # Until the Dataset is there the journal tells of a run that goes on.
            contents = _read_journal(self._journal, self._progress | end, more)
            write_zarr(self._journal.file.parent, contents)
            self._journal.remove()
        else:
            saves = self._progress["saves"]
            progress = self._progress | end | {"rows": saves + len(more)}
            told = {Journal.PROGRESS: Row(json.dumps(progress))}
            self._journal.write(told | dict(enumerate(more, saves)))
            self._journal.close()
        self._unlock()


def save(run: Run, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a run of the density solver or of particles to a new store.

    Parameters
    ----------
    run
        Its states are all densities (perhaps with atoms), or all atoms.
    path, overwrite
        As for :class:`RunWriter`, with its errors; a particle run beside the density run of a
        store belongs into ``"run.zarr/particles"``.
    """
    check_kind("run", run, Run, source="what solve returns or load reads")
    contents = stack_run(run)
    with clear_place(path, overwrite=overwrite):
        write_zarr(Path(path), contents)


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
        If it is not that of a run, holds no saved state, or is damaged.
    """
    check_path(path)
    with name_damage(path, "it holds no run"):
        if has_journal(path):
            # Its run may have just ended: then it is a Dataset now.
            with suppress(FileNotFoundError), closing(Journal(path)) as journal:
                return build_run(_read_journal(journal), path)
        return build_run(read_zarr(Path(path)), path)


def _read_journal(
    journal: Journal, changes: Mapping[str, Any] | None = None, more: Sequence[Row] = ()
) -> Contents:
    """Return what a store would hold of the rows of a journal, and of changes and more rows."""
    attributes = {**journal.read_attributes(), **(changes or {})}
    rows = [journal.read(number) for number in range(attributes.pop("rows"))]
    return stack_rows([*rows, *more], attributes)


def read_description(path: str | Path) -> records.Description:
    """Return what the store at ``path`` says of its run: settings, end, where it was made."""
    with name_damage(path, "its attributes"):
        return records.parse_attributes(stored_attributes(path))


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
        row = journal.read(Journal.CHECKPOINT)
        if not row.text:
            return None
        checkpoint = records.decode_checkpoint(row)
        if checkpoint.saves == 0:
            return checkpoint
        return _add_saves(checkpoint, build_run(_read_journal(journal), path))


def _add_saves(checkpoint: Checkpoint, run: Run) -> Checkpoint:
    """Return a checkpoint with what its tracker has seen, from the saves of its run."""
    count, memory, track = checkpoint.saves, checkpoint.tracker, run.track
    if len(run.times) < count:
        raise ValueError(
            f"it was written after {count} saves, of which there are {len(run.times)}"
        )
    if memory is None or track is None:
        return checkpoint
    short = replace(
        memory.track,
        times=track.times[:count],
        seen=track.seen[:count],
        verdicts=track.verdicts[:count],
        total_mass=track.total_mass,
    )
    whole = memory._replace(track=short, before=run.states[count - 1])
    return replace(checkpoint, tracker=whole)
