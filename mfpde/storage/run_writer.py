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
from mfpde.storage.files import remove_journal
from mfpde.storage.journal import (
    ATTRIBUTES,
    CHECKPOINT,
    LAST,
    Journal,
    attributes_row,
)
from mfpde.storage.lock import lock_store
from mfpde.storage.places import check_is_store, clear_place
from mfpde.storage.provenance import add_provenance
from mfpde.storage.records import checkpoint_row, to_json
from mfpde.storage.rows import Row
from mfpde.storage.run_dataset import (
    EVENTS,
    JUNCTIONS,
    OF_A_MOMENT,
    build_dataset,
    describe_beginning,
    describe_end,
)
from mfpde.storage.run_reader import QUANTITIES, read_journal
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
        with ExitStack() as stack:
            stack.enter_context(clear_place(path, overwrite=overwrite))
            self._go_on(Journal.create(path, attributes), attributes, stack)

    @classmethod
    def resume(cls, path: str | Path, checkpoint: Checkpoint | None) -> RunWriter:
        """Open the journal of an interrupted run to go on from its ``checkpoint``.

        Saves after the checkpoint are removed, and the reason of the end is taken back; without
        a checkpoint the run is begun anew.

        Raises
        ------
        StoreError
            If another process or thread writes to it.
        """
        writer = cls.__new__(cls)
        with ExitStack() as stack:
            stack.enter_context(lock_store(path))
            journal = Journal(path)
            attributes = add_provenance(journal.read_attributes())
            attributes = {n: v for n, v in attributes.items() if n not in OF_A_MOMENT}
            row, saves = None, 0
            if checkpoint is not None:
                row, saves = checkpoint_row(checkpoint), checkpoint.saves
                attributes[EVENTS] = to_json(checkpoint.events)
                if (memory := checkpoint.tracker) is not None:
                    attributes[JUNCTIONS] = to_json(in_order(memory.tree.junctions))
            rows = {ATTRIBUTES: attributes_row(attributes), CHECKPOINT: row, LAST: None}
            journal.write(rows, keep=saves)
            writer._go_on(journal, attributes, stack)
        return writer

    def _go_on(
        self, journal: Journal, attributes: dict[str, Any], stack: ExitStack
    ) -> None:
        """Write to ``journal`` from now on; ``stack`` holds the lock, which passes over."""
        self._journal, self._saves = journal, len(journal)
        last = journal.read(self._saves - 1) if self._saves else None
        self._last_time = -math.inf if last is None else float(last[TIME])
        self._attributes, self._is_told = attributes, True
        self._tracked: Row | None = None
        # Also if the run ends by an error, and this writer is forgotten.
        self._unlock = weakref.finalize(self, stack.pop_all().close)

    def begin(self, quantities: Mapping[str, Quantity]) -> None:
        """Keep the meanings and units of the diagnostics for the saves to come."""
        self._tell(QUANTITIES, dict(quantities))

    def save(
        self, time: float, measure: AnyMeasure, diagnostics: Mapping[str, Any]
    ) -> None:
        """Write a state, its diagnostics, and what was told of it.

        Raises
        ------
        ValueError
            If ``time`` is not after that of the last save.
        """
        if not time > self._last_time:
            raise ValueError(
                f"time = {time} must be after that of the last save, {self._last_time}"
            )
        row = Row.of_save(time, measure, diagnostics, self._tracked)
        rows = {self._saves: row}
        if not self._is_told:
            rows[ATTRIBUTES] = attributes_row(self._attributes)
        self._journal.write(rows)
        self._saves, self._last_time = self._saves + 1, time
        self._tracked, self._is_told = None, True

    def keep(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint from which the run can go on to the bit, if it is finite."""
        if checkpoint.is_finite:
            self._journal.write({CHECKPOINT: checkpoint_row(checkpoint)})

    def follow(self, track: Tracker) -> None:
        """Add the tracked atoms of a save to that save, which follows."""
        self._tell(JUNCTIONS, track.junctions)
        self._tracked = Row.of_track(track.seen[-1], track.verdicts[-1])

    def tell(self, events: Sequence[Event]) -> None:
        """Add the ``events`` so far to the save that follows."""
        self._tell(EVENTS, tuple(events))

    def finish(self, run: Run) -> None:
        """Note the end; a run that has ended becomes one Dataset, and its journal goes."""
        attributes = self._attributes | describe_end(run)
        last = Row.of_state(run.final) if run.final_time > self._last_time else None
        if run.stop.kind in ENDED:
            # Until the Dataset is there the journal tells of a run that goes on.
            folder = self._journal.file.parent
            write_zarr(folder, read_journal(self._journal, attributes, last))
            self._journal.close()
            remove_journal(folder)
        else:
            rows = {ATTRIBUTES: attributes_row(attributes), LAST: last}
            self._journal.write(rows)
            self._journal.close()
        self._unlock()

    def _tell(self, name: str, value: object) -> None:
        """Change an attribute, which is written with the save that follows."""
        text = to_json(value)
        if self._attributes.get(name) != text:
            self._attributes[name], self._is_told = text, False


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
    check_is_store(path)
    if place.exists() and not overwrite:
        raise FileExistsError(
            f"{path} has a group {group!r}: replace it with overwrite=True"
        )
    with lock_store(path):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        write_zarr(place, dataset)
