"""A run as one Dataset, and back: what ``run.to_xarray()`` gives is what a store holds.

Its saves are rows along ``time``; the last state, if it was not saved, is in variables named
``final_...``; all else is in attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.measures.events import Events
from mfpde.measures.measure import Atoms, as_measure
from mfpde.runs.layers import Layers, breakpoints_of, layer_before
from mfpde.runs.run import Run
from mfpde.runs.stopping import interrupted
from mfpde.runs.stored_names import DENSITY, FINAL, TIME, VERDICT
from mfpde.solver.diagnostics import DIAGNOSTICS, UNKNOWN_UNIT
from mfpde.storage.description import (
    Description,
    describe_beginning,
    describe_end,
    parse_attributes,
)
from mfpde.storage.files import StoreError
from mfpde.storage.records import to_json
from mfpde.storage.rows import VARIABLES, Row, Variable, describe_grid
from mfpde.tracking import Track

if TYPE_CHECKING:
    import xarray as xr


def build_dataset(run: Run) -> xr.Dataset:
    """Return a run as a Dataset; raise ``ValueError`` if its geometry cannot be stored."""
    final, track, tracked = run.final, run.track, {}
    geometry = None if isinstance(final, Atoms) else as_measure(final).geometry
    attributes = describe_beginning(run.dynamics, geometry) | describe_end(run)
    attributes["quantities"] = to_json(dict(run.quantities))
    if track is not None:
        attributes["junctions"] = to_json(track.junctions)
        seen = map(Row.of_track, track.seen, track.verdicts)
        tracked = dict(zip(track.times.tolist(), seen, strict=True))
    rows = []
    for index, time in enumerate(run.times.tolist()):
        numbers = {name: values[index] for name, values in run.diagnostics.items()}
        row = Row.of_save(time, run.states[index], numbers)
        rows.append(Row(row | tracked.get(time, {})))
    is_saved = bool(rows) and run.final_time <= run.times[-1]
    return stack_rows(rows, None if is_saved else Row.of_state(final), attributes)


def stack_rows(
    rows: Sequence[Row], last: Row | None, attributes: Mapping[str, Any]
) -> xr.Dataset:
    """Return the rows of saves, and a last state that was not saved, as a Dataset.

    Dimensions may grow from row to row, as the number of atoms does.
    """
    import xarray as xr

    description = parse_attributes(attributes)
    examples = Row({TIME: np.empty(())})
    for row in rows:
        examples |= row
    about = {
        name: _describe_variable(name, values.ndim, description)
        for name, values in examples.items()
    }
    sizes = _find_sizes(rows, about)
    variables = {}
    for name, meant in about.items():
        shape = (len(rows), *(sizes[axis] for axis in meant.dimensions))
        # Where a row has nothing there is NaN, and no byte of a text.
        fill, kind = (0, np.uint8) if name == VERDICT else (np.nan, np.float64)
        stacked: Any = np.full(shape, fill, kind)
        for index, row in enumerate(rows):
            if name in row:
                stacked[(index, *map(slice, row[name].shape))] = row[name]
        variables[name] = xr.Variable((TIME, *meant.dimensions), stacked, meant.words)
    for name, values in (last or {}).items():
        meant = _describe_variable(name, values.ndim, description)
        # There may be more atoms, or less, than at any save.
        axes = [FINAL + axis if axis == "atom" else axis for axis in meant.dimensions]
        variables[FINAL + name] = xr.Variable(axes, values, meant.words)
    if description.geometry is not None:
        for axis, angles in describe_grid(description.geometry)[0].items():
            variables[axis] = xr.Variable(axis, angles, VARIABLES[axis].words)
    return xr.Dataset(variables, attrs=attributes)


def _find_sizes(rows: Sequence[Row], about: Mapping[str, Variable]) -> dict[str, int]:
    """Return the largest size of each dimension."""
    sizes: dict[str, int] = {}
    for row in rows:
        for name, values in row.items():
            for axis, size in zip(about[name].dimensions, values.shape, strict=True):
                sizes[axis] = max(size, sizes.get(axis, 0))
    return sizes


def _describe_variable(name: str, ndim: int, description: Description) -> Variable:
    """Return what the array ``name`` of a row is; a diagnostic as far as it is known."""
    if name in VARIABLES:
        return VARIABLES[name]
    if name == DENSITY and description.geometry is not None:
        return describe_grid(description.geometry)[1]
    known = description.quantities.get(name) or DIAGNOSTICS.get(name)
    words = (name, UNKNOWN_UNIT) if known is None else (known.meaning, known.unit)
    return Variable(tuple(f"{name}_{axis}" for axis in range(ndim)), *words)


def build_run(dataset: xr.Dataset, path: object) -> Run:
    """Return the run of a Dataset from ``path``; raise ``StoreError`` if nothing was saved."""
    description = parse_attributes(dataset.attrs)
    arrays = {str(name): array.values for name, array in dataset.variables.items()}
    along = [name for name in arrays if dataset[name].dims[:1] == (TIME,)]
    times = arrays[TIME]
    rows = [Row({name: arrays[name][i] for name in along}) for i in range(len(times))]
    final_names = [name for name in arrays if name.startswith(FINAL)]
    last = Row({name.removeprefix(FINAL): arrays[name] for name in final_names})
    if not rows and not last:
        raise StoreError(f"{path} holds no saved state: the run ended before its first")
    states = [row.state(description.geometry) for row in rows]
    final = last.state(description.geometry) if last else states[-1]
    final_time = description.final_time
    if final_time is None:
        final_time = float(times[-1])
    events, track = description.events, None
    if VERDICT in arrays:
        track = Track(
            times=times,
            seen=tuple(row.seen_atoms() for row in rows),
            verdicts=tuple(row.text(VERDICT) for row in rows),
            junctions=description.junctions,
            total_mass=final.total_mass,
        )
        if not events and description.stop is None:
            events = track.events
    names = set(along) - {DENSITY, *VARIABLES}
    known = DIAGNOSTICS | description.quantities
    ordered = [*filter(names.__contains__, known), *sorted(names - known.keys())]
    return Run(
        times=times,
        states=states,
        diagnostics={name: arrays[name] for name in ordered},
        stop=description.stop or interrupted(final_time),
        final=final,
        final_time=final_time,
        statistics=description.statistics,
        events=Events(events),
        track=track,
        quantities=description.quantities,
        **_find_dynamics(description, final_time),
    )


def _find_dynamics(description: Description, final_time: float) -> dict[str, Any]:
    """Return the equation of a run at its end, and its layers if all of them are known."""
    layers = description.layers
    if layers is None:
        return {"equation": description.equation}
    breakpoints = breakpoints_of(duration for _, duration in layers)
    last = layer_before(breakpoints, final_time)
    known = [(one, duration) for one, duration in layers if one is not None]
    if len(known) == len(layers):
        whole = Layers(known, seed=description.seed)
        return {"equation": layers[last][0], "layers": whole}
    return {"equation": layers[last][0], "equation_since": float(breakpoints[last])}
