"""Writing runs to disk: an observer that stores a run as it goes, and whole runs."""

from __future__ import annotations

import math
import shutil
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mfpde.arrays import check_kind, choice
from mfpde.geometry import Geometry
from mfpde.measures.events import Event
from mfpde.measures.measure import AnyMeasure
from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.layers import Dynamics
from mfpde.runs.observer import Observer
from mfpde.runs.run import Quantity, Run
from mfpde.runs.stopping import ENDED
from mfpde.runs.stored_names import PARTICLES, TIME
from mfpde.storage.description import describe_beginning, describe_end
from mfpde.storage.journal import BEGINNING, CHECKPOINT, LAST, PROGRESS, Journal
from mfpde.storage.lock import lock_store
from mfpde.storage.places import clear_place, stored_attributes
from mfpde.storage.provenance import add_process
from mfpde.storage.records import encode_checkpoint, to_json
from mfpde.storage.rows import Row
from mfpde.storage.run_dataset import build_dataset
from mfpde.storage.run_reader import read_journal
from mfpde.storage.zarr_files import write_zarr
from mfpde.tracking import Tracker
from mfpde.tracking.paths import in_order

if TYPE_CHECKING:
    from mfpde.settings.settings import Settings


class RunWriter(Observer):
    """Writes a run as it goes: ``solve(..., observer=RunWriter(path, equation, geometry))``.

    Each save is in the journal of the store once it is made, so that what a killed process has
    saved can be loaded, and the run continued.  A run that has ended becomes one Dataset.

    Parameters
    ----------
    path
        Path of the store; missing directories are made.
    equation
        The equation, or layers; one with a user's functions is stored without its terms.
    geometry
        The grid of the densities; None for particles.
    settings
        The settings that the run comes from; needed to resume it.
    overwrite
        Replace a store that is there.

    Raises
    ------
    FileExistsError
        If there is something at ``path`` and ``overwrite`` is not set, or it is not the
        store of a run.
    StoreError
        If another process or thread writes to it.
    """

    keeps_checkpoints = True

    def __init__(
        self,
        path: str | Path,
        equation: Dynamics | None,
        geometry: Geometry | None,
        *,
        settings: Settings | None = None,
        overwrite: bool = False,
    ) -> None:
        attributes = describe_beginning(equation, geometry, settings)
        with clear_place(path, overwrite=overwrite) as lock:
            self._go_on(Journal(path, attributes), lock)

    @classmethod
    def resume(cls, path: str | Path, checkpoint: Checkpoint | None) -> RunWriter:
        """Open the journal of an interrupted run to go on from its ``checkpoint``.

        Saves after the checkpoint are removed, and the reason of the end is taken back; without
        a checkpoint the run is begun anew.  If another process or thread writes to the store
        that is a ``StoreError``.
        """
        writer, row = cls.__new__(cls), None
        progress: dict[str, Any] = {"saves": 0}
        if checkpoint is not None:
            row, memory = encode_checkpoint(checkpoint), checkpoint.tracker
            progress["saves"] = checkpoint.saves
            progress["events"] = to_json(checkpoint.events)
            if memory is not None:
                progress["junctions"] = to_json(in_order(memory.tree.junctions))
        with lock_store(path) as lock:
            journal = Journal(path)
            beginning = journal.read(BEGINNING).attributes()
            rows = {
                BEGINNING: Row.of_attributes(add_process(beginning)),
                PROGRESS: Row.of_attributes(progress),
                CHECKPOINT: row,
                LAST: None,
            }
            journal.write(rows, keep=progress["saves"])
            writer._go_on(journal, lock)
        return writer

    def _go_on(self, journal: Journal, lock: ExitStack) -> None:
        """Write to ``journal`` from now on, and hold the lock."""
        self._journal, self._progress = journal, journal.read(PROGRESS).attributes()
        self._last_time = -math.inf
        if saves := self._progress["saves"]:
            self._last_time = float(journal.read(saves - 1)[TIME])
        self._tracked = Row()
        # Also if the run ends by an error, and this writer is forgotten.
        self._unlock = weakref.finalize(self, lock.pop_all().close)

    def begin(self, quantities: Mapping[str, Quantity]) -> None:
        """Keep the meanings and units of the diagnostics."""
        attributes = self._journal.read(BEGINNING).attributes()
        attributes["quantities"] = to_json(dict(quantities))
        self._journal.write({BEGINNING: Row.of_attributes(attributes)})

    def save(
        self, time: float, measure: AnyMeasure, diagnostics: Mapping[str, Any]
    ) -> None:
        """Write a state, its diagnostics, and what was told of it.

        A ``time`` that is not after that of the last save is a ``ValueError``.
        """
        if not time > self._last_time:
            raise ValueError(
                f"time = {time} must be after that of the last save, {self._last_time}"
            )
        row = Row(Row.of_save(time, measure, diagnostics), **self._tracked)
        number = self._progress["saves"]
        progress = self._progress | {"saves": number + 1}
        self._journal.write({number: row, PROGRESS: Row.of_attributes(progress)})
        self._progress, self._last_time = progress, time

    def keep(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint from which the run can go on to the bit, if it is finite."""
        if checkpoint.is_finite:
            self._journal.write({CHECKPOINT: encode_checkpoint(checkpoint)})

    def follow(self, track: Tracker) -> None:
        """Add the tracked atoms of a save to that save, which follows."""
        self._progress["junctions"] = to_json(track.junctions)
        self._tracked = Row.of_track(track.seen[-1], track.verdicts[-1])

    def tell(self, events: Sequence[Event]) -> None:
        """Add the ``events`` so far to the save that follows."""
        self._progress["events"] = to_json(tuple(events))

    def finish(self, run: Run) -> None:
        """Note the end; a run that has ended becomes one Dataset, and its journal goes."""
        progress = self._progress | describe_end(run)
        last = Row.of_state(run.final) if run.final_time > self._last_time else None
        if run.stop.kind in ENDED:
            # Until the Dataset is there the journal tells of a run that goes on.
            dataset = read_journal(self._journal, progress, last)
            write_zarr(self._journal.file.parent, dataset)
            self._journal.remove()
        else:
            self._journal.write({PROGRESS: Row.of_attributes(progress), LAST: last})
            self._journal.close()
        self._unlock()


def save(
    run: Run, path: str | Path, *, overwrite: bool = False, group: str | None = None
) -> None:
    """Write a run of the density solver or of particles to a new store.

    Parameters
    ----------
    run
        The run; states are all densities (perhaps with atoms), or all atoms.
    path
        Path of the store; missing directories are made.
    overwrite
        Replace a store that is there.
    group
        ``"particles"`` for a particle run beside the run of the store at ``path``.

    Raises
    ------
    FileExistsError
        If there is something at ``path``, and ``overwrite`` is not set, or it is not the
        store of a run.
    StoreError
        If another process or thread writes to it.
    """
    check_kind("run", run, Run, source="what solve returns or load reads")
    dataset = build_dataset(run)
    if group is None:
        with clear_place(path, overwrite=overwrite):
            write_zarr(Path(path), dataset)
        return
    place = Path(path) / choice("group", group, (PARTICLES,))
    stored_attributes(path)
    if place.exists() and not overwrite:
        raise FileExistsError(
            f"{path} has a group {group!r}: replace it with overwrite=True"
        )
    with lock_store(path):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        write_zarr(place, dataset)
