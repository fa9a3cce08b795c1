"""Writing runs to disk: an observer that stores a run as it goes, and whole runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr

from mfpde.geometry import Geometry
from mfpde.measures.events import Event
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.runs.layers import Dynamics, Layers
from mfpde.runs.observer import Observer
from mfpde.runs.run import Quantity, Refinement, Run
from mfpde.storage.equation_record import (
    BREAKPOINTS,
    EQUATION,
    LAYERS,
    StoredGrids,
    equation_to_dict,
    layers_to_dict,
)
from mfpde.storage.growing_store import GrowingStore
from mfpde.storage.run_reader import (
    EVENTS,
    FINAL,
    JUNCTIONS,
    existing_store,
    opened_group,
    with_checksum,
)
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

_CLOSING = ("stop_kind", "stop_message", "final_time", "statistics", EVENTS)
# What adds up over the parts of a run that was resumed.
_COUNTED = ("steps", "rejected", "evaluations", "wall_seconds")


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
            "mfpde_version": __version__,
            "convention": equation.convention if equation is not None else "unknown",
            EQUATION: json.dumps(equation_to_dict(last) if last else None),
        }
        if isinstance(equation, Layers):
            attributes[LAYERS] = json.dumps(layers_to_dict(equation))
            attributes[BREAKPOINTS] = equation.breakpoints.tolist()
        if settings is not None:
            attributes["settings"] = settings.to_json()
        self._open(created_group(path, group, overwrite))
        self._group.attrs.update(attributes)
        self._grids.begin(geometry)
        self._group.attrs.update(with_checksum(dict(self._group.attrs)))

    def _open(self, group: zarr.Group) -> None:
        self._group = group
        self._records = GrowingStore(group)
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
    ) -> RunWriter:
        """Open the store of an interrupted run to append to it, with its ``events``.

        Its record is cut to the complete saves; the reason of the end is taken back.  What
        was ``counted`` in its first part is added to the statistics of the second.
        """
        writer = cls.__new__(cls)
        writer._open(zarr.open_group(existing_store(path), mode="r+"))
        writer._earlier = tuple(events)
        writer._counted = counted or {}
        reached = writer._group.attrs.get("final_time", writer._records.last_time)
        writer._grids.forget_after(float(str(reached)))
        kept = {n: v for n, v in writer._group.attrs.items() if n not in _CLOSING}
        writer._group.attrs.put(kept)
        if events:
            writer.tell(())
        if FINAL in writer._group:
            del writer._group[FINAL]
        return writer

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
        record = state_variables(measure, self._grids.number_of(measure))
        for name, value in diagnostics.items():
            record[name] = diagnostic_variable(name, value, self._quantities)
        self._records.append(time, record | self._tracked)
        self._tracked = track_variables(None, "")

    def follow(self, track: Tracker | Track, index: int = -1) -> None:
        """Add the tracked atoms of a save, by default the last one, to the next record."""
        text = junctions_json(track.junctions)
        if self._group.attrs.get(JUNCTIONS) != text:
            self._group.attrs[JUNCTIONS] = text
        self._tracked = track_variables(track.seen[index], track.verdicts[index])

    def tell(self, events: Sequence[Event]) -> None:
        """Note the ``events`` so far of a run, or of its present part if it was resumed.

        A track that is written contains these events already.
        """
        if JUNCTIONS in self._group.attrs:
            return
        text = events_json((*self._earlier, *events))
        if self._group.attrs.get(EVENTS) != text:
            self._group.attrs[EVENTS] = text

    def refined(self, refinement: Refinement) -> None:
        """Note a refinement in the attributes of the store."""
        self._grids.add(refinement)

    def finish(self, run: Run) -> None:
        """Write the reason of the end, the statistics, and the last state if not saved."""
        if run.final_time > self._records.last_time:
            final = GrowingStore(self._group.create_group(FINAL, overwrite=True))
            grid = self._grids.number_of(run.final)
            final.append(run.final_time, state_variables(run.final, grid))
        self._group.attrs.update(
            {
                "stop_kind": run.stop.kind,
                "stop_message": run.stop.message,
                "final_time": float(run.final_time),
                "statistics": json.dumps(self._statistics(run), default=_plain),
                EVENTS: events_json(all_events(self._earlier, run.events, run.track)),
            }
        )

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
    first = run.states[0] if run.states else run.final
    geometry = None if isinstance(first, Atoms) else as_measure(first).geometry
    writer = RunWriter(path, run.dynamics, geometry, overwrite=overwrite, group=group)
    writer.begin(run.quantities)
    track = run.track
    places = {} if track is None else {t: i for i, t in enumerate(track.times.tolist())}
    for index, (time, state) in enumerate(zip(run.times, run.states, strict=True)):
        row = {name: values[index] for name, values in run.diagnostics.items()}
        if track is not None and float(time) in places:
            writer.follow(track, places[float(time)])
        writer.save(float(time), state, row)
    for refinement in run.refinements:
        writer.refined(refinement)
    writer.finish(run)


def check_free(path: str | Path, *, overwrite: bool = False) -> None:
    """Raise ``FileExistsError`` unless a run may be written at ``path``."""
    path = Path(path)
    if not path.exists():
        return
    if not overwrite:
        raise FileExistsError(
            f"{path} exists: choose another path, or replace it with overwrite=True "
            "(--overwrite)"
        )
    # Nothing but a store of our own is ever deleted.
    try:
        opened_group(path, None)
    except (FileNotFoundError, ValueError) as error:
        raise FileExistsError(
            f"{path} exists and is no store of a run: it will not be replaced; choose "
            "another path"
        ) from error


def created_group(path: str | Path, group: str | None, overwrite: bool) -> zarr.Group:
    """Return a new, empty store at ``path``, or a new ``group`` of the one there."""
    if group is None:
        check_free(path, overwrite=overwrite)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return zarr.open_group(str(path), mode="w", zarr_format=3)
    whole = zarr.open_group(existing_store(path), mode="r+")
    if group in whole and not overwrite:
        raise FileExistsError(
            f"{path} has a group {group!r}: replace it with overwrite=True"
        )
    return whole.create_group(group, overwrite=overwrite)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)
