"""Writing runs to disk: an observer that stores a run as it goes, and whole runs."""

from __future__ import annotations

import json
import shutil
import weakref
from collections.abc import Mapping, Sequence
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
from mfpde.runs.stored_names import CHECKPOINT, PARTICLES
from mfpde.storage.attributes import (
    CLOSING,
    EVENTS,
    GROWING,
    JUNCTIONS,
    first_attributes,
)
from mfpde.storage.checkpoint_record import StoredCheckpoint, bytes_of_checkpoint
from mfpde.storage.converter import json_of
from mfpde.storage.journal import (
    LAST,
    Journal,
    Save,
    bytes_of_save,
    remove_journal,
)
from mfpde.storage.lock import StoreLock, lock_store, locked_store
from mfpde.storage.places import (
    check_free,
    check_is_store,
    empty_folder,
    make_folder,
)
from mfpde.storage.provenance import added_provenance
from mfpde.storage.stored_run import (
    ending_attributes,
    journaled_run,
    stored_run_of,
    write_stored_run,
)
from mfpde.storage.track_variables import track_variables
from mfpde.storage.variables import (
    Record,
    save_variables,
    state_variables,
)
from mfpde.tracking import Tracker

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
        attributes = first_attributes(equation, geometry, settings)
        check_free(path, overwrite=overwrite)
        make_folder(path)
        # Not what another process is writing.
        lock = lock_store(path)
        try:
            # What another process was writing may have ended just now.
            check_free(path, overwrite=overwrite)
        except BaseException:
            lock.release()
            raise
        empty_folder(path)
        begun = {**attributes, **added_provenance({})}
        journal = Journal.create(path, _as_notes(begun))
        self._begin(path, journal, begun, lock=lock)

    def _begin(
        self,
        path: str | Path,
        journal: Journal,
        attributes: Mapping[str, Any],
        *,
        lock: StoreLock,
    ) -> None:
        self._path, self._journal = Path(path), journal
        self._saves, self._last_time = len(journal), journal.last_time()
        self._attributes: dict[str, Any] = dict(attributes)
        self._quantities: Mapping[str, Quantity] = {}
        self._tracked: Record = {}
        # Also if the run ends by an error, and this writer is forgotten.
        self._unlock = weakref.finalize(self, lock.release)

    @classmethod
    def resumed(cls, path: str | Path, stored: StoredCheckpoint | None) -> RunWriter:
        """Open the journal of an interrupted run to go on from its ``stored`` checkpoint.

        Saves after the checkpoint are removed, and the reason of the end is taken back; without
        a checkpoint the run is begun anew.

        Raises
        ------
        StoreError
            If another process or thread writes to it.
        """
        lock = lock_store(path)
        writer = cls.__new__(cls)
        journal = Journal(path)
        attributes = journal.attributes()
        noted = {} if stored is None else dict(stored.noted)
        forgotten = {*CLOSING, *GROWING, LAST} - set(noted)
        # First what fails on a full or closed disk, before anything is removed.
        journal.note(_as_notes({**noted, **added_provenance(attributes)}))
        if stored is None:
            forgotten.add(CHECKPOINT)
        journal.drop_notes(*forgotten)
        journal.cut(0 if stored is None else stored.checkpoint.saves)
        kept = {n: v for n, v in attributes.items() if n not in forgotten}
        writer._begin(path, journal, {**kept, **noted}, lock=lock)
        return writer

    def begin(self, quantities: Mapping[str, Quantity]) -> None:
        """Keep the meanings and units of the diagnostics for the saves to come."""
        self._quantities = quantities

    def save(
        self, time: float, measure: AnyMeasure, diagnostics: Mapping[str, Any]
    ) -> None:
        """Write a state and its diagnostics.

        Raises
        ------
        ValueError
            If ``time`` is not after that of the last save.
        """
        if not time > self._last_time:
            raise ValueError(
                f"time = {time} must be after that of the last save, {self._last_time}"
            )
        record = save_variables(measure, diagnostics, self._quantities)
        self._journal.append(self._saves, time, record | self._tracked)
        self._saves, self._last_time, self._tracked = self._saves + 1, time, {}

    def keep(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint from which the run can go on to the bit, if it is finite."""
        if checkpoint.is_finite:
            noted = {n: v for n, v in self._attributes.items() if n in GROWING}
            self._journal.note({CHECKPOINT: bytes_of_checkpoint(checkpoint, noted)})

    def follow(self, track: Tracker) -> None:
        """Add the tracked atoms of a save to that save, which follows."""
        self._note({JUNCTIONS: json_of(track.junctions)})
        self._tracked = track_variables(track.seen[-1], track.verdicts[-1])

    def tell(self, events: Sequence[Event]) -> None:
        """Note the ``events`` so far; a track that is written contains them already."""
        if JUNCTIONS not in self._attributes:
            self._note({EVENTS: json_of(events)})

    def finish(self, run: Run) -> None:
        """Note the end; a run that has ended becomes one Dataset, and its journal goes."""
        last = None
        if run.final_time > self._last_time:
            last = Save(run.final_time, state_variables(run.final))
        if run.stop.kind in ENDED:
            # Until the Dataset is there the journal tells of a run that goes on.
            stored = journaled_run(self._journal)
            ended = stored.with_end(ending_attributes(run), last)
            write_stored_run(self._path, ended)
            self._journal.close()
            remove_journal(self._path)
        else:
            if last is not None:
                self._journal.note({LAST: bytes_of_save(last)})
            self._note(ending_attributes(run))
            self._journal.close()
        self._unlock()

    def _note(self, changes: Mapping[str, Any]) -> None:
        """Write the attributes that have changed."""
        changed = {n: v for n, v in changes.items() if self._attributes.get(n) != v}
        if changed:
            self._journal.note(_as_notes(changed))
        self._attributes |= changed


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
    stored = stored_run_of(run)
    if group is None:
        check_free(path, overwrite=overwrite)
        make_folder(path)
        with locked_store(path):
            check_free(path, overwrite=overwrite)
            empty_folder(path)
            write_stored_run(path, stored)
        return
    place = Path(path) / choice("group", group, (PARTICLES,))
    check_is_store(path)
    if place.exists() and not overwrite:
        raise FileExistsError(
            f"{path} has a group {group!r}: replace it with overwrite=True"
        )
    with locked_store(path):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        write_stored_run(place, stored)


def _as_notes(attributes: Mapping[str, Any]) -> dict[str, bytes]:
    return {name: json.dumps(value).encode() for name, value in attributes.items()}
