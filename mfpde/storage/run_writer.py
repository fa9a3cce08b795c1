"""Writing runs to disk: an observer that stores a run as it goes, and whole runs."""

from __future__ import annotations

import json
import math
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mfpde.arrays import check_kind
from mfpde.geometry import Geometry
from mfpde.measures.events import Event
from mfpde.measures.measure import AnyMeasure
from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.layers import Dynamics
from mfpde.runs.observer import Observer
from mfpde.runs.run import Quantity, Run
from mfpde.runs.stopping import ENDED
from mfpde.runs.stored_names import TIME
from mfpde.storage.journal import (
    BEGINNING,
    CHECKPOINT,
    NO_CHECKPOINT,
    PROGRESS,
    Journal,
    Row,
)
from mfpde.storage.places import clear_place, lock_store
from mfpde.storage.records import (
    describe_beginning,
    describe_end,
    encode_checkpoint,
    make_attributes,
    to_json,
)
from mfpde.storage.run_dataset import encode_save, stack_run
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

    def __init__(
        self,
        path: str | Path,
        equation: Dynamics | None,
        geometry: Geometry | None,
        *,
        settings: Settings | None = None,
        overwrite: bool = False,
    ) -> None:
        beginning = describe_beginning(equation, geometry, settings)
        rows = {
            BEGINNING: Row(json.dumps(beginning)),
            PROGRESS: Row(json.dumps({"rows": 0, "saves": 0})),
            CHECKPOINT: Row(NO_CHECKPOINT),
        }
        with clear_place(path, overwrite=overwrite) as lock:
            self._go_on(Journal(path, rows), lock)

    @classmethod
    def resume(cls, path: str | Path, checkpoint: Checkpoint | None) -> RunWriter:
        """Open the journal of an interrupted run to go on from its ``checkpoint``.

        Saves after the checkpoint are forgotten, and the reason of the end is taken back; without
        a checkpoint the run is begun anew.  If another process or thread writes to the store
        that is a ``StoreError``.
        """
        writer, saves = cls.__new__(cls), 0
        row, progress = Row(NO_CHECKPOINT), dict[str, Any]()
        if checkpoint is not None:
            saves, memory = checkpoint.saves, checkpoint.tracker
            row = encode_checkpoint(checkpoint)
            progress = make_attributes(events=checkpoint.events)
            if memory is not None:
                junctions = in_order(memory.tree.junctions)
                progress |= make_attributes(junctions=junctions)
        progress |= {"rows": saves, "saves": saves}
        with lock_store(path) as lock:
            journal = Journal(path)
            journal.write({PROGRESS: Row(json.dumps(progress)), CHECKPOINT: row})
            writer._go_on(journal, lock)
        return writer

    def _go_on(self, journal: Journal, lock: ExitStack) -> None:
        """Write to ``journal`` from now on, and hold the lock."""
        self._journal, self._progress = journal, json.loads(journal.read(PROGRESS).text)
        self._last_time = -math.inf
        if saves := self._progress["saves"]:
            self._last_time = float(journal.read(saves - 1).arrays[TIME])
        self._sighting = ""
        # Also if the run ends by an error, and this writer is forgotten.
        self._unlock = weakref.finalize(self, lock.pop_all().close)

    def begin(self, quantities: Mapping[str, Quantity]) -> None:
        """Keep the meanings and units of the diagnostics."""
        beginning = json.loads(self._journal.read(BEGINNING).text)
        beginning |= make_attributes(quantities=dict(quantities))
        self._journal.write({BEGINNING: Row(json.dumps(beginning))})

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
        row = Row(self._sighting, encode_save(time, measure, diagnostics))
        number = self._progress["saves"]
        progress = self._progress | {"rows": number + 1, "saves": number + 1}
        self._journal.write({number: row, PROGRESS: Row(json.dumps(progress))})
        self._progress, self._last_time = progress, time

    def keep(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint from which the run can go on to the bit, if it is finite."""
        if checkpoint.is_finite:
            self._journal.write({CHECKPOINT: encode_checkpoint(checkpoint)})

    def follow(self, track: Tracker) -> None:
        """Add the tracked atoms of a save to that save, which follows."""
        self._progress |= make_attributes(junctions=track.junctions)
        self._sighting = to_json((track.verdicts[-1], track.seen[-1]))

    def tell(self, events: Sequence[Event]) -> None:
        """Add the ``events`` so far to the save that follows."""
        self._progress |= make_attributes(events=tuple(events))

    def finish(self, run: Run) -> None:
        """Note the end; a run that has ended becomes one Dataset, and its journal goes."""
        end, more = describe_end(run), []
        if run.final_time > self._last_time:
            more = [Row("", encode_save(run.final_time, run.final, {}))]
        if run.stop.kind in ENDED:
            # Until the Dataset is there the journal tells of a run that goes on.
            contents = read_journal(self._journal, self._progress | end, more)
            write_zarr(self._journal.file.parent, contents)
            self._journal.remove()
        else:
            saves = self._progress["saves"]
            progress = self._progress | end | {"rows": saves + len(more)}
            rows = {PROGRESS: Row(json.dumps(progress)), **dict(enumerate(more, saves))}
            self._journal.write(rows)
            self._journal.close()
        self._unlock()


def save(run: Run, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a run of the density solver or of particles to a new store.

    Parameters
    ----------
    run
        The run; states are all densities (perhaps with atoms), or all atoms.
    path
        Path of the store; missing directories are made.  A particle run beside the density run
        of a store belongs into ``"run.zarr/particles"``.
    overwrite
        Replace a store that is there.

    Raises
    ------
    FileExistsError
        If there is something at ``path``, and ``overwrite`` is not set, or it is not the
        store of a run.
    StoreError
        If another process or thread writes to it.
    """
    check_kind("run", run, Run, source="what solve returns or load reads")
    contents = stack_run(run)
    with clear_place(path, overwrite=overwrite):
        write_zarr(Path(path), contents)
