"""A run as one Dataset, and back: what ``run.to_xarray()`` gives is what a store holds.

Its saves are rows along ``time``; the last state, if it was not saved, is in variables named
``final_...``; all else is in attributes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.events import Event, Events
from mfpde.measures.measure import Atoms, as_measure
from mfpde.runs.layers import Dynamics, Layers, breakpoints_of, layer_before
from mfpde.runs.run import Quantity, Run
from mfpde.runs.stopping import StopReason, interrupted
from mfpde.runs.stored_names import DENSITY, FINAL, TIME, VERDICT
from mfpde.solver.diagnostics import DIAGNOSTICS, UNKNOWN_UNIT
from mfpde.storage.files import StoreError
from mfpde.storage.provenance import add_provenance
from mfpde.storage.records import from_json, to_json
from mfpde.storage.rows import VARIABLES, Row, Variable, describe_grid
from mfpde.storage.zarr_files import VERSION
from mfpde.tracking import Junction, Track
from mfpde.version import __version__

if TYPE_CHECKING:
    import xarray as xr

    from mfpde.settings.settings import Settings

SETTINGS = "settings"
EQUATION = "equation"
LAYERS = "layers"
"""Attribute of a store of several layers; ``equation`` is then that of the last one."""
GEOMETRY = "geometry"
EVENTS = "events"
JUNCTIONS = "junctions"
STOP_KIND, STOP_MESSAGE = "stop_kind", "stop_message"
FINAL_TIME = "final_time"
STATISTICS = "statistics"
OF_A_MOMENT = (STOP_KIND, STOP_MESSAGE, FINAL_TIME, STATISTICS, EVENTS, JUNCTIONS)
"""Attributes that are no longer true when a run goes on from an earlier moment."""


def build_dataset(run: Run) -> xr.Dataset:
    """Return a run as a Dataset; raise ``ValueError`` if its geometry cannot be stored."""
    times, track, final = run.times.tolist(), run.track, run.final
    geometry = None if isinstance(final, Atoms) else as_measure(final).geometry
    attributes = describe_beginning(run.dynamics, geometry) | describe_end(run)
    tracked: dict[float, Row] = {}
    if track is not None:
        attributes[JUNCTIONS] = to_json(track.junctions)
        seen = map(Row.of_track, track.seen, track.verdicts)
        tracked = dict(zip(track.times.tolist(), seen, strict=True))
    rows = []
    for index, (time, state) in enumerate(zip(times, run.states, strict=True)):
        numbers = {name: values[index] for name, values in run.diagnostics.items()}
        rows.append(Row.of_save(time, state, numbers, tracked.get(time)))
    is_saved = bool(times) and run.final_time <= times[-1]
    last = None if is_saved else Row.of_state(final)
    return stack_rows(rows, last, geometry, run.quantities).assign_attrs(attributes)


def describe_beginning(
    dynamics: Dynamics | None,
    geometry: Geometry | None,
    settings: Settings | None = None,
) -> dict[str, Any]:
    """Return the attributes with which a store begins: equation, grid, settings, versions."""
    last = dynamics.equations[-1] if isinstance(dynamics, Layers) else dynamics
    attributes: dict[str, Any] = {
        VERSION: __version__,
        "convention": "unknown" if dynamics is None else dynamics.convention,
        EQUATION: to_json(last),
        GEOMETRY: to_json(geometry),
    }
    if isinstance(dynamics, Layers):
        attributes[LAYERS] = layers_to_json(dynamics)
        attributes["breakpoints"] = dynamics.breakpoints.tolist()
    if settings is not None:
        attributes[SETTINGS] = settings.to_json()
    return add_provenance(attributes)


def describe_end(run: Run) -> dict[str, Any]:
    """Return the attributes that tell how a run ended."""
    return {
        STOP_KIND: run.stop.kind,
        STOP_MESSAGE: run.stop.message,
        FINAL_TIME: float(run.final_time),
        STATISTICS: to_json(dict(run.statistics)),
        EVENTS: to_json(tuple(run.events)),
    }


def stack_rows(
    rows: Sequence[Row],
    last: Row | None,
    geometry: Geometry | None,
    quantities: Mapping[str, Quantity],
) -> xr.Dataset:
    """Return the rows of saves, and a last state that was not saved, as a Dataset.

    Dimensions may grow from row to row, as the number of atoms does.
    """
    import xarray as xr

    arrays = Row({TIME: np.empty(())})
    arrays |= {name: values for row in rows for name, values in row.items()}
    about = {
        n: _describe_variable(n, a.ndim, geometry, quantities)
        for n, a in arrays.items()
    }
    sizes = _find_sizes(rows, about)
    variables = {}
    for name, (dimensions, meaning, unit) in about.items():
        shape = (len(rows), *(sizes[axis] for axis in dimensions))
        # Where a row has nothing there is NaN, and no byte of a text.
        fill = np.nan if arrays[name].dtype.kind == "f" else 0
        stacked = np.full(shape, fill, dtype=arrays[name].dtype)
        for index, row in enumerate(rows):
            if name in row:
                place: Any = (index, *map(slice, row[name].shape))
                stacked[place] = row[name]
        words = {"long_name": meaning, "units": unit}
        variables[name] = xr.Variable((TIME, *dimensions), stacked, words)
    for axis, angles, meaning in (
        () if geometry is None else describe_grid(geometry).axes
    ):
        words = {"long_name": meaning, "units": "rad"}
        variables[axis] = xr.Variable((axis,), angles, words)
    dataset = xr.Dataset(variables)
    if last is None:
        return dataset
    end = stack_rows([last], None, geometry, {}).isel({TIME: 0}, drop=True)
    # There may be more atoms, or less, than at any save.
    names = [*end.data_vars, *(axis for axis in end.dims if axis == "atom")]
    return dataset.merge(end.rename({name: f"{FINAL}{name}" for name in names}))


def _find_sizes(rows: Sequence[Row], about: Mapping[str, Variable]) -> dict[str, int]:
    """Return the largest size of each dimension."""
    sizes: dict[str, int] = {}
    for row in rows:
        for name, values in row.items():
            for axis, size in zip(about[name].dimensions, values.shape, strict=True):
                sizes[axis] = max(size, sizes.get(axis, 0))
    return sizes


def _describe_variable(
    name: str, ndim: int, geometry: Geometry | None, quantities: Mapping[str, Quantity]
) -> Variable:
    """Return what the array ``name`` of a row is; a diagnostic as far as it is known."""
    if name in VARIABLES:
        return VARIABLES[name]
    if name == DENSITY and geometry is not None:
        grid = describe_grid(geometry)
        return Variable(tuple(axis[0] for axis in grid.axes), grid.meaning, grid.unit)
    known = quantities.get(name) or DIAGNOSTICS.get(name)
    words = (name, UNKNOWN_UNIT) if known is None else (known.meaning, known.unit)
    return Variable(tuple(f"{name}_{axis}" for axis in range(ndim)), *words)


def build_run(dataset: xr.Dataset, path: object) -> Run:
    """Return the run of a Dataset from ``path``; raise ``StoreError`` if there is none."""
    try:
        return _build_run(dataset, path)
    except StoreError:
        raise
    # Attributes or variables that are no longer what they were, in spite of checksums.
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise StoreError(f"{path} is damaged: {what}") from error


def _build_run(dataset: xr.Dataset, path: object) -> Run:
    attributes, geometry = dataset.attrs, read_geometry(dataset.attrs)
    arrays = {
        str(name): variable.values for name, variable in dataset.variables.items()
    }
    along = [name for name in arrays if dataset[name].dims[:1] == (TIME,)]
    times = arrays[TIME]
    rows = [Row({name: arrays[name][i] for name in along}) for i in range(len(times))]
    states = [row.state(geometry) for row in rows]
    last = Row(
        {n.removeprefix(FINAL): arrays[n] for n in arrays if n.startswith(FINAL)}
    )
    if not rows and not last:
        raise StoreError(f"{path} holds no saved state: the run ended before its first")
    final = last.state(geometry) if last else states[-1]
    reached = float(attributes.get(FINAL_TIME, times[-1] if rows else np.nan))
    names = set(along) - {DENSITY, *VARIABLES}
    usual = [name for name in DIAGNOSTICS if name in names]
    ordered = usual + sorted(names.difference(DIAGNOSTICS))
    words = {name: dataset[name].attrs for name in ordered}
    track = None
    if VERDICT in dataset:
        track = Track(
            times=times,
            seen=tuple(row.seen_atoms(final.dimension) for row in rows),
            verdicts=tuple(row.verdict for row in rows),
            # Without those that came after saves that were left out.
            junctions=tuple(
                junction
                for junction in from_json(attributes[JUNCTIONS], tuple[Junction, ...])
                if rows and junction.latest <= times[-1]
            ),
            total_mass=final.total_mass,
        )
    events = from_json(attributes.get(EVENTS, "[]"), tuple[Event, ...])
    if not events and track is not None and STOP_KIND not in attributes:
        events = track.events
    return Run(
        times=times,
        states=states,
        diagnostics={name: arrays[name] for name in ordered},
        stop=read_stop(attributes) or interrupted(reached),
        final=final,
        final_time=reached,
        statistics=json.loads(attributes.get(STATISTICS, "{}")),
        events=Events(event for event in events if event.time <= reached),
        track=track,
        quantities={
            name: Quantity(name, w["long_name"], w["units"])
            for name, w in words.items()
        },
        **_read_dynamics(attributes, reached),
    )


def read_geometry(attributes: Mapping[str, Any]) -> Geometry | None:
    """Return the grid of a store; None for particles."""
    geometry: Geometry | None = from_json(attributes[GEOMETRY], Geometry | None)
    return geometry


def read_stop(attributes: Mapping[str, Any]) -> StopReason | None:
    """Return the reason of a run's end; None if it was killed before it."""
    if STOP_KIND not in attributes:
        return None
    return StopReason(str(attributes[STOP_KIND]), str(attributes[STOP_MESSAGE]))


def layers_to_json(layers: Layers) -> str:
    """Return layers as JSON; an equation with a user's functions is null in it."""
    return to_json({"seed": layers.seed, "layers": [list(pair) for pair in layers]})


def _read_dynamics(attributes: Mapping[str, Any], final_time: float) -> dict[str, Any]:
    """Return the equation of a run at its end, and its layers if all of them are known."""
    if LAYERS not in attributes:
        return {"equation": from_json(attributes[EQUATION], MeanFieldEquation)}
    record = json.loads(attributes[LAYERS])
    pairs = from_json(
        json.dumps(record["layers"]), list[tuple[MeanFieldEquation | None, float]]
    )
    breakpoints = breakpoints_of(duration for _, duration in pairs)
    last = layer_before(breakpoints, final_time)
    known = [(one, duration) for one, duration in pairs if one is not None]
    if len(known) == len(pairs):
        layers = Layers(known, seed=record["seed"])
        return {"equation": pairs[last][0], "layers": layers}
    return {"equation": pairs[last][0], "equation_since": float(breakpoints[last])}
