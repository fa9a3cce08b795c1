"""Writing runs to disk: an observer that stores a run as it goes, and whole runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr

from mfpde.arrays import check_kind
from mfpde.geometry import Geometry
from mfpde.measures.events import Event
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.layers import Dynamics, Layers
from mfpde.runs.observer import Observer
from mfpde.runs.run import Quantity, Refinement, Run
from mfpde.runs.stopping import ENDED
from mfpde.runs.stored_names import CHECKPOINT, FINAL
from mfpde.runs.wall_times import PARTS
from mfpde.storage.attributes import (
    BREAKPOINTS,
    CLOSING,
    EQUATION,
    EVENTS,
    FORMAT,
    FORMAT_VERSION,
    GEOMETRY,
    GROWING,
    JUNCTIONS,
    LAYERS,
    VERSION,
    note,
    with_checksum,
)
from mfpde.storage.checkpoint_record import StoredCheckpoint, write_checkpoint
from mfpde.storage.claim import claim
from mfpde.storage.equation_record import (
    StoredGrids,
    equation_to_dict,
    geometry_to_dict,
    layers_to_dict,
    stored_geometries,
)
from mfpde.storage.growing_store import GrowingStore, Variable
from mfpde.storage.new_store import created_group
from mfpde.storage.provenance import added_provenance
from mfpde.storage.run_reader import existing_store
from mfpde.storage.state_record import diagnostic_variable, state_variables
from mfpde.storage.track_record import (
    all_events,
    events_json,
    junctions_json,
    track_variables,
)
from mfpde.tracking import Track, Tracker
from mfpde.version import __version__

if TYPE_CHECKING:
    from mfpde.settings.settings import Settings

# What adds up over the parts of a run that was resumed.
_SECONDS = tuple(f"{part}_seconds" for part in PARTS)
_COUNTED = ("steps", "rejected", "evaluations", "wall_seconds", *_SECONDS)


class RunWriter(Observer):
    """Writes a run as it goes: ``solve(..., observer=RunWriter(path, equation, geometry))``.

    States that were saved before a process was killed can be loaded, and the run continued.

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
    group
        Write into this group of the store at ``path``, which must exist (for a particle run
        beside the density run).

    Raises
    ------
    FileExistsError
        If there is something at ``path`` and ``overwrite`` is not set, or it is not the
        store of a run.
    """

    def __init__(
        self,
        path: str | Path,
        equation: Dynamics | None,
        geometry: Geometry | None,
        *,
        settings: Settings | None = None,
        overwrite: bool = False,
        group: str | None = None,
    ) -> None:
        last = equation.equations[-1] if isinstance(equation, Layers) else equation
        attributes: dict[str, Any] = {
            VERSION: __version__,
            FORMAT_VERSION: FORMAT,
            "convention": equation.convention if equation is not None else "unknown",
            EQUATION: json.dumps(equation_to_dict(last) if last else None),
        }
        if isinstance(equation, Layers):
            attributes[LAYERS] = json.dumps(layers_to_dict(equation))
            attributes[BREAKPOINTS] = equation.breakpoints.tolist()
        if settings is not None:
            attributes["settings"] = settings.to_json()
        record = None if geometry is None else geometry_to_dict(geometry)
        attributes[GEOMETRY] = json.dumps(record)
        attributes |= added_provenance({})
        # A run beside another one is made anew, not continued.
        self.keeps_checkpoints = group is None
        made = created_group(path, group, overwrite, with_checksum(attributes))
        self._path, self._claim = Path(path), made.claim
        self._open(made.group)
        if self.keeps_checkpoints:
            self._group.create_group(CHECKPOINT)
        self._grids.begin(geometry)

    def _open(self, group: zarr.Group, saves: int | None = None) -> None:
        self._group = group
        self._records = GrowingStore(group, saves)
        self._grids = StoredGrids(group, self._records)
        self._tracked = track_variables(None, "")
        self._earlier: tuple[Event, ...] = ()
        self._counted: Mapping[str, Any] = {}
        self._quantities: Mapping[str, Quantity] = {}

    @classmethod
    def resumed(
        cls,
        path: str | Path,
        events: Sequence[Event] = (),
        *,
        counted: Mapping[str, Any] | None = None,
        stored: StoredCheckpoint | None = None,
    ) -> RunWriter:
        """Open the store of an interrupted run to append to it, with its ``events``.

        Its record is cut to the complete saves, or to those before the ``stored`` checkpoint
        from which the run goes on; the reason of the end is taken back.  What was ``counted``
        in its first part is added to the statistics of the second; a checkpoint has counted
        it already.

        Raises
        ------
        StoreError
            If another process writes to it.
        """
        writer = cls.__new__(cls)
        writer._path = Path(path)
        group = zarr.open_group(existing_store(path), mode="r+")
        writer._claim = claim(path)
        for left in Path(path).rglob("*.partial"):
            left.unlink(missing_ok=True)
        # Before anything is removed: a store closed for writing, a full disk.
        note(group, added_provenance(dict(group.attrs)))
        # It may be damaged, and is not needed any more.
        if (Path(path) / FINAL).is_dir():
            shutil.rmtree(Path(path) / FINAL)
        writer.keeps_checkpoints = stored is not None
        if stored is None:
            writer._open(group)
            writer._go_on_from_last_save(events, counted or {})
        else:
            growing = set(GROWING) - set(stored.noted)
            note(group, stored.noted, dropped={*CLOSING, *growing})
            writer._open(group, stored.checkpoint.saves)
        return writer

    @classmethod
    def begun_anew(cls, path: str | Path) -> RunWriter:
        """Open the store of a run that was killed before its first checkpoint, to begin anew.

        Raises
        ------
        StoreError
            If another process writes to it.
        """
        writer = cls.resumed(path)
        writer.keeps_checkpoints = True
        note(writer._group, {}, dropped={*CLOSING, *GROWING})
        writer._open(writer._group, saves=0)
        writer._group.create_group(CHECKPOINT, overwrite=True)
        geometries = stored_geometries(dict(writer._group.attrs))
        writer._grids.begin(geometries[0])
        return writer

    def _go_on_from_last_save(
        self, events: Sequence[Event], counted: Mapping[str, Any]
    ) -> None:
        self._earlier, self._counted = tuple(events), counted
        reached = self._group.attrs.get("final_time", self._records.last_time)
        self._grids.forget_after(float(str(reached)))
        note(self._group, {}, dropped=CLOSING)
        if events:
            self.tell(())
        # It was taken before what is written now.
        if CHECKPOINT in self._group:
            del self._group[CHECKPOINT]

    def keep(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint from which the run can go on to the bit."""
        attributes = self._group.attrs
        noted = {name: attributes[name] for name in GROWING if name in attributes}
        write_checkpoint(self._path, checkpoint, noted)

    def begin(self, quantities: Mapping[str, Quantity]) -> None:
        """Keep the meanings and units of the diagnostics for the records to come."""
        self._quantities = quantities

    def save(
        self, time: float, measure: AnyMeasure, diagnostics: Mapping[str, Any]
    ) -> None:
        """Append a state and its diagnostics.

        Raises
        ------
        ValueError
            If ``time`` is not after that of the last save.
        """
        self._records.append(time, self._record(measure, diagnostics))

    def _record(
        self, measure: AnyMeasure, diagnostics: Mapping[str, Any]
    ) -> dict[str, Variable]:
        """Return a state, its diagnostics, and what was followed up to it, as variables."""
        record = state_variables(measure, self._grids.number_of(measure))
        for name, value in diagnostics.items():
            record[name] = diagnostic_variable(name, value, self._quantities)
        record |= self._tracked
        self._tracked = track_variables(None, "")
        return record

    def save_all(self, run: Run) -> None:
        """Write all that was saved of a run, and its end, into a store without records."""
        self.save_states(run)
        self.finish(run)

    def save_states(self, run: Run) -> None:
        """Write all that was saved of a run into a store without records."""
        self.begin(run.quantities)
        track = run.track
        at = {} if track is None else {t: i for i, t in enumerate(track.times.tolist())}
        records = []
        for index, (time, state) in enumerate(zip(run.times, run.states, strict=True)):
            row = {name: values[index] for name, values in run.diagnostics.items()}
            if track is not None and float(time) in at:
                self.follow(track, at[float(time)])
            records.append(self._record(state, row))
        if records:
            self._records.append_all(run.times.tolist(), records)
        for refinement in run.refinements:
            self.refined(refinement)

    def follow(self, track: Tracker | Track, index: int = -1) -> None:
        """Add the tracked atoms of a save, by default the last one, to the next record."""
        text = junctions_json(track.junctions)
        if self._group.attrs.get(JUNCTIONS) != text:
            note(self._group, {JUNCTIONS: text})
        self._tracked = track_variables(track.seen[index], track.verdicts[index])

    def tell(self, events: Sequence[Event]) -> None:
        """Note the ``events`` so far of a run, or of its present part if it was resumed.

        A track that is written contains these events already.
        """
        if JUNCTIONS in self._group.attrs:
            return
        text = events_json((*self._earlier, *events))
        if self._group.attrs.get(EVENTS) != text:
            note(self._group, {EVENTS: text})

    def refined(self, refinement: Refinement) -> None:
        """Note a refinement in the attributes of the store."""
        self._grids.add(refinement)

    def finish(self, run: Run) -> None:
        """Write the reason of the end, the statistics, and the last state if not saved."""
        if run.final_time > self._records.last_time:
            final = GrowingStore(self._group.create_group(FINAL, overwrite=True))
            grid = self._grids.number_of(run.final)
            final.append(run.final_time, state_variables(run.final, grid))
            final.close()
        self._records.close()
        note(
            self._group,
            {
                "stop_kind": run.stop.kind,
                "stop_message": run.stop.message,
                "final_time": float(run.final_time),
                "statistics": json.dumps(self._statistics(run), default=_plain),
                EVENTS: events_json(all_events(self._earlier, run.events, run.track)),
            },
        )
        if run.stop.kind in ENDED and CHECKPOINT in self._group:
            del self._group[CHECKPOINT]
        self._claim.release()

    def _statistics(self, run: Run) -> dict[str, Any]:
        """Return what was counted in both parts of a run that was resumed, together."""
        later, earlier = run.statistics, self._counted
        both = [name for name in _COUNTED if name in earlier and name in later]
        sums = {name: earlier[name] + later[name] for name in both}
        kept = {n: v for n, v in earlier.items() if n == "counted_from"}
        return {**later, **sums, **kept}


def save(
    run: Run, path: str | Path, *, overwrite: bool = False, group: str | None = None
) -> None:
    """Write a run of the density solver or of particles to a new store.

    Parameters
    ----------
    run
        The run; states are all densities (perhaps with atoms), or all atoms.
    path, overwrite, group
        As for :class:`RunWriter`.

    Raises
    ------
    FileExistsError
        If there is something at ``path``, and ``overwrite`` is not set.
    """
    check_kind("run", run, Run, source="what solve returns or load reads")
    first = run.states[0] if run.states else run.final
    geometry = None if isinstance(first, Atoms) else as_measure(first).geometry
    writer = RunWriter(path, run.dynamics, geometry, overwrite=overwrite, group=group)
    writer.save_all(run)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)
