"""Runs on disk: one zarr store that xarray reads, written as the run goes.

    density(time, angle)                        on a circle, per radian
    density(time, colatitude, longitude)        on a sphere, per steradian
    density(time, polar_angle)                  on a zonal grid, per surface area
    density_2(time, angle_2)                    on a refined run's second grid, else NaN
    atom_points(time, atom, axis),
    atom_masses(time, atom)                     NaN beyond the atoms of that time
    atom_covariances(time, atom, axis, axis2)   where atoms have a width
    mass(time), energy(time), ...               the diagnostics, by name
    tracked_masses(time, tracked_atom), ...     atoms followed in time (mfpde.track_record)

with equation, geometry, settings, kernel convention and the reason of the end as
attributes; so are events and the tree of the atoms.  A group ``particles`` holds a
particle run beside the density run; a group ``final`` holds the last state if it was not saved.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
import zarr

from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.events import Event
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.runs.run import Refinement, Run
from mfpde.storage.equation_record import (
    StoredGrids,
    equation_from_dict,
    equation_to_dict,
    stored_geometries,
    stored_refinements,
)
from mfpde.storage.growing_store import (
    TIME,
    GrowingStore,
    StoreError,
    complete_records,
    read_dataset,
)
from mfpde.storage.state_record import (
    diagnostic_variable,
    state_variables,
    stored_diagnostics,
    stored_states,
)
from mfpde.storage.store_places import (
    PARTICLES,
    check_attributes,
    created_group,
    existing_store,
    opened_group,
    stop_of,
    with_checksum,
)
from mfpde.storage.track_record import (
    all_events,
    events_json,
    junctions_json,
    stored_events,
    stored_track,
    track_variables,
)
from mfpde.tracking import Track, Tracker
from mfpde.version import __version__

if TYPE_CHECKING:
    from mfpde.settings.settings import Settings

__all__ = ["PARTICLES", "RunWriter", "StoreError", "load", "open_dataset", "save"]

FINAL = "final"
_EVENTS = "events"
_CLOSING = ("stop_kind", "stop_message", "final_time", "statistics", _EVENTS)
_JUNCTIONS = "junctions"


class RunWriter:
    """Writes a run as it goes: ``solve(..., on_save=writer.save)``, then ``finish``.

    States that were saved before a process was killed can be loaded, and the run continued.
    The track of a run's atoms is written too with ``solve(..., on_track=writer.follow)``, and
    the events of exact atoms with ``on_events=writer.tell``.

    Parameters
    ----------
    path
        Path of the store; missing directories are made.
    equation
        The equation; one with a user's functions is stored without its terms.
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
        equation: MeanFieldEquation | None,
        geometry: Geometry | None,
        *,
        settings: Settings | None = None,
        overwrite: bool = False,
        group: str | None = None,
    ) -> None:
        attributes = {
            "mfpde_version": __version__,
            "convention": equation.convention if equation is not None else "unknown",
            "equation": json.dumps(equation_to_dict(equation) if equation else None),
        }
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

    @classmethod
    def resumed(cls, path: str | Path, events: Sequence[Event] = ()) -> RunWriter:
        """Open the store of an interrupted run to append to it, with its ``events``.

        Its record is cut to the complete saves; the reason of the end is taken back.
        """
        writer = cls.__new__(cls)
        writer._open(zarr.open_group(existing_store(path), mode="r+"))
        writer._earlier = tuple(events)
        reached = writer._group.attrs.get("final_time", writer._records.last_time)
        writer._grids.forget_after(float(str(reached)))
        kept = {n: v for n, v in writer._group.attrs.items() if n not in _CLOSING}
        writer._group.attrs.put(kept)
        if events:
            writer.tell(())
        if FINAL in writer._group:
            del writer._group[FINAL]
        return writer

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
            record[name] = diagnostic_variable(name, value)
        self._records.append(time, record | self._tracked)
        self._tracked = track_variables(None, "")

    def follow(self, track: Tracker | Track, index: int = -1) -> None:
        """Add the tracked atoms of a save, by default the last one, to the next record."""
        text = junctions_json(track.junctions)
        if self._group.attrs.get(_JUNCTIONS) != text:
            self._group.attrs[_JUNCTIONS] = text
        self._tracked = track_variables(track.seen[index], track.verdicts[index])

    def tell(self, events: Sequence[Event]) -> None:
        """Note the ``events`` so far of a run, or of its present part if it was resumed.

        A track that is written contains these events already.
        """
        if _JUNCTIONS in self._group.attrs:
            return
        text = events_json((*self._earlier, *events))
        if self._group.attrs.get(_EVENTS) != text:
            self._group.attrs[_EVENTS] = text

    def refined(self, refinement: Refinement) -> None:
        """Note a refinement: ``solve(..., on_refine=writer.refined)``."""
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
                "statistics": json.dumps(run.statistics, default=_plain),
                _EVENTS: events_json(all_events(self._earlier, run.events, run.track)),
            }
        )


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
    writer = RunWriter(path, run.equation, geometry, overwrite=overwrite, group=group)
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
    stored = opened_group(path, group)
    attributes: dict[str, Any] = dict(stored.attrs)
    check_attributes(path, attributes)
    try:
        return _loaded(path, stored, attributes, skip_damaged=skip_damaged)
    except StoreError:
        raise
    # Attributes or variables that are gone, or are no longer what they were.
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise StoreError(f"{path} is damaged: {error}") from error


def _loaded(
    path: str | Path,
    stored: zarr.Group,
    attributes: dict[str, Any],
    *,
    skip_damaged: bool,
) -> Run:
    geometries = stored_geometries(attributes)
    dataset = read_dataset(stored, skip_damaged=skip_damaged)
    times = np.asarray(dataset[TIME].values, dtype=np.float64)
    states = stored_states(dataset, geometries)
    lasts = [(float(t), s) for t, s in zip(times[-1:], states[-1:], strict=True)]
    if FINAL in stored:
        last = read_dataset(zarr.open_group(stored.store_path / FINAL, mode="r"))
        lasts += [(float(last[TIME][0]), s) for s in stored_states(last, geometries)]
    if not lasts:
        raise StoreError(f"{path} holds no saved state: the run ended before its first")
    final_time, final = lasts[-1]
    track = stored_track(
        dataset, str(attributes.get(_JUNCTIONS, "[]")), dimension=final.dimension
    )
    return Run(
        equation=equation_from_dict(json.loads(attributes["equation"])),
        times=times,
        states=states,
        diagnostics=stored_diagnostics(dataset),
        stop=stop_of(attributes, final_time),
        final=final,
        final_time=float(attributes.get("final_time", final_time)),
        statistics=json.loads(attributes.get("statistics", "{}")),
        # A process may have been killed between events and the save after them.
        events=tuple(
            event
            for event in stored_events(attributes.get(_EVENTS), track)
            if event.time <= final_time
        ),
        track=track,
        refinements=stored_refinements(attributes, final_time),
    )


def open_dataset(path: str | Path, *, group: str | None = None) -> xr.Dataset:
    """Open the store of a run as an xarray Dataset, lazily.

    A store that was left in the middle of a save is cut to its complete records (and
    read into memory); plain ``xarray.open_zarr`` refuses it.
    """
    stored = opened_group(path, group)
    lengths = {
        (dimension, size)
        for _, array in stored.arrays()
        for dimension, size in zip(
            array.metadata.dimension_names or (),  # type: ignore[union-attr]
            array.shape,
            strict=True,
        )
    }
    sizes = dict(lengths)
    if len(lengths) > len(sizes) or complete_records(stored) < sizes[TIME]:
        return read_dataset(stored)
    return xr.open_dataset(
        str(path), engine="zarr", group=group, consolidated=False, chunks=None
    )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)
