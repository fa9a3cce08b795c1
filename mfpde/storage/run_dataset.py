"""A run as one Dataset, and back: what ``run.to_xarray()`` gives is what a store holds.

Its saves are rows along ``time``, and so is its end if that was not saved, without diagnostics;
all else is in attributes.  A row has arrays by name, of which ``VARIABLES`` says what they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, read_only
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.measures.measure import AnyMeasure, Atoms, Density, Measure, as_measure
from mfpde.positions.rows import PositionedDensity, RunState
from mfpde.positions.tokens import PositionedAtoms
from mfpde.runs.layers import Layers
from mfpde.runs.run import (
    DENSITY,
    EDGES,
    POSITION,
    TIME,
    UNKNOWN_UNIT,
    Run,
    check_free_name,
)
from mfpde.runs.stopping import StopReason
from mfpde.solver.diagnostics import DIAGNOSTICS
from mfpde.storage import records
from mfpde.storage.files import Contents, StoredArray, StoreError
from mfpde.storage.journal import Row
from mfpde.storage.records import Description
from mfpde.tracking import Track

if TYPE_CHECKING:
    import xarray as xr

Arrays = dict[str, FloatArray]


class Variable(NamedTuple):
    """The dimensions of an array in a row, what it means, and its unit."""

    dimensions: tuple[str, ...]
    meaning: str
    unit: str = "1"

    @property
    def words(self) -> dict[str, str]:
        """The attributes of the variable in a Dataset."""
        return {"long_name": self.meaning, "units": self.unit}


VARIABLES = {
    TIME: Variable((), "time"),
    "atom_points": Variable(("atom", "axis"), "unit vectors of the atoms"),
    "atom_masses": Variable(("atom",), "masses of the atoms"),
    "atom_covariances": Variable(
        ("atom", "axis", "axis2"), "tangent covariances of the atoms", "rad^2"
    ),
    "atom_positions": Variable(("atom",), "positions of tokens in the context"),
    EDGES: Variable(("edge",), "edges of the cells of positions in the context"),
    "angle": Variable(("angle",), "angle of the cell centre", "rad"),
    "colatitude": Variable(("colatitude",), "angle from the north pole", "rad"),
    "longitude": Variable(("longitude",), "angle to the east", "rad"),
    "polar_angle": Variable(("polar_angle",), "angle from the axis", "rad"),
}
"""All arrays of a store but the density, which depends on its grid, and the diagnostics."""
_GRIDS: dict[type, tuple[dict[str, str], str]] = {
    Circle: ({"angle": "angles"}, "1/rad"),
    Sphere: ({"colatitude": "colatitudes", "longitude": "longitudes"}, "1/sr"),
    Zonal: ({"polar_angle": "angles"}, "1/area"),
}
"""The axes of each grid, with the attribute that has their angles; the unit of densities."""


def describe_grid(geometry: Geometry) -> tuple[Arrays, Variable]:
    """Return the axes of a grid and what a density on it is; ``ValueError`` for one unknown."""
    known = [about for kind, about in _GRIDS.items() if isinstance(geometry, kind)]
    if not known:
        raise ValueError(f"densities on {geometry!r} cannot be stored")
    ((names, unit),) = known
    axes = {axis: getattr(geometry, name) for axis, name in names.items()}
    meaning = "density per surface area"
    if isinstance(geometry, Zonal) and geometry.areas_are_shares:
        # In high dimension the area of the sphere is too small to divide by.
        meaning, unit = "density relative to the uniform one", "1"
    return axes, Variable(tuple(axes), meaning, unit)


def build_dataset(run: Run) -> xr.Dataset:
    """Return a run as a Dataset; raise ``ValueError`` if its geometry cannot be stored."""
    import xarray as xr

    contents = stack_run(run)
    return xr.Dataset(contents.variables, attrs=contents.attributes)


def stack_run(run: Run) -> Contents:
    """Return what a store of a run holds."""
    final, track, count = run.final, run.track, len(run.times)
    geometry = None if isinstance(final, Atoms) else final.geometry
    attributes = records.describe_beginning(
        run.dynamics, geometry
    ) | records.describe_end(run)
    attributes |= records.make_attributes(quantities=dict(run.quantities), saves=count)
    sightings = [""] * count
    if track is not None:
        attributes |= records.make_attributes(junctions=track.junctions)
        sightings = [
            *map(records.to_json, zip(track.verdicts, track.seen, strict=True))
        ]
    rows = []
    for index, time in enumerate(run.times.tolist()):
        numbers = {name: values[index] for name, values in run.diagnostics.items()}
        save = encode_save(time, run.states[index], numbers)
        rows.append(Row(sightings[index], save))
    if not rows or run.final_time > run.times[-1]:
        rows.append(Row("", encode_save(run.final_time, final, {})))
    return stack_rows(rows, attributes)


def stack_rows(rows: Sequence[Row], attributes: Mapping[str, Any]) -> Contents:
    """Return the rows of saves, and of an end that was not saved, as one array a name.

    Dimensions may grow from row to row, as the number of atoms does: beyond is NaN.
    """
    description = records.parse_attributes(attributes)
    about: dict[str, Variable] = {}
    sizes = {TIME: len(rows)}
    for row in rows:
        for name, values in row.arrays.items():
            if name not in about:
                about[name] = _describe_variable(name, values.ndim, description)
            for axis, size in zip(about[name].dimensions, values.shape, strict=True):
                sizes[axis] = max(size, sizes.get(axis, 0))
    variables = {}
    for name, meant in about.items():
        dimensions = (TIME, *meant.dimensions)
        values = _stack_values(rows, name, [sizes[axis] for axis in dimensions])
        variables[name] = StoredArray(dimensions, values, meant.words)
    if description.geometry is not None:
        for axis, angles in describe_grid(description.geometry)[0].items():
            variables[axis] = StoredArray((axis,), angles, VARIABLES[axis].words)
    sightings = ", ".join(row.text for row in rows if row.text)
    seen = {"sightings": f"[{sightings}]"} if sightings else {}
    return Contents(variables, {**attributes, **seen})


def _stack_values(rows: Sequence[Row], name: str, shape: list[int]) -> FloatArray:
    """Return an array of the rows as one of this shape."""
    stacked: Any = np.full(shape, np.nan)
    for index, row in enumerate(rows):
        if name in row.arrays:
            values = row.arrays[name]
            stacked[(index, *map(slice, values.shape))] = values
    return stacked  # type: ignore[no-any-return]


def _describe_variable(name: str, ndim: int, description: Description) -> Variable:
    """Return what the array ``name`` of a row is; a diagnostic as far as it is known."""
    if name in VARIABLES:
        return VARIABLES[name]
    if name == DENSITY and description.geometry is not None:
        about = describe_grid(description.geometry)[1]
        rows = [POSITION] * (ndim - len(about.dimensions))
        return about._replace(dimensions=(*rows, *about.dimensions))
    known = description.quantities.get(name) or DIAGNOSTICS.get(name)
    words = (name, UNKNOWN_UNIT) if known is None else (known.meaning, known.unit)
    return Variable(tuple(f"{name}_{axis}" for axis in range(ndim)), *words)


def build_run(contents: Contents, path: object) -> Run:
    """Return the run in a store at ``path``; raise ``StoreError`` if nothing was saved."""
    description = records.parse_attributes(contents.attributes)
    arrays = {
        name: array.values
        for name, array in contents.variables.items()
        if array.dimensions[0] == TIME
    }
    if TIME not in arrays:
        raise StoreError(f"{path} holds no saved state: the run ended before its first")
    rows = [
        {name: arrays[name][i] for name in arrays} for i in range(len(arrays[TIME]))
    ]
    states = [decode_state(row, description.geometry) for row in rows]
    saves, final = description.saves, states[-1]
    times = arrays[TIME][:saves]
    final_time = description.final_time
    if final_time is None:
        final_time = float(times[-1])
    events, track = description.events, None
    if description.sightings:
        verdicts, seen = zip(*description.sightings, strict=True)
        # Of no points JSON does not say the dimension.
        shape = -1, final.dimension
        seen = tuple(replace(s, points=s.points.reshape(shape)) for s in seen)
        track = Track(times, seen, verdicts, description.junctions, final.total_mass)
        if not events and description.stop is None:
            events = track.events
    names = arrays.keys() - {DENSITY, *VARIABLES}
    known = DIAGNOSTICS | description.quantities
    ordered = [*filter(names.__contains__, known), *sorted(names - known.keys())]
    equation, layers = description.equation, None
    if isinstance(equation, Layers):
        layers = equation
        equation = layers.equation_before(final_time)
    return Run(
        equation=equation,
        times=times,
        states=states[:saves],
        diagnostics={name: arrays[name][:saves] for name in ordered},
        stop=description.stop or StopReason.of("interrupted", time=final_time),
        final=final,
        final_time=final_time,
        statistics=description.statistics,
        events=tuple(events),
        track=track,
        quantities=description.quantities,
        layers=layers,
    )


# Rows


def encode_save(
    time: float, measure: AnyMeasure | RunState, diagnostics: Mapping[str, Any]
) -> Arrays:
    """Return the arrays of a save; raise ``ValueError`` for a diagnostic with a store's name."""
    found: Arrays = {TIME: np.array(time, dtype=np.float64)}
    if (edges := getattr(measure, "edges", None)) is not None:
        found[EDGES] = edges
    whole = as_measure(measure) if isinstance(measure, Density) else measure
    if not isinstance(whole, Atoms):
        found[DENSITY] = whole.density.values
    atoms = whole if isinstance(whole, Atoms) else whole.atoms
    if len(atoms):
        found |= {"atom_points": atoms.points, "atom_masses": atoms.masses}
        if isinstance(atoms, PositionedAtoms):
            found["atom_positions"] = atoms.positions
        if atoms.covariances is not None:
            found["atom_covariances"] = atoms.covariances
    for name, value in diagnostics.items():
        check_free_name(name)
        found[name] = np.asarray(value, dtype=np.float64)
    return found


def decode_state(arrays: Mapping[str, Any], geometry: Geometry | None) -> Any:
    """Return the state of a save, to the bit: atoms if there is no grid, rows if it has edges."""
    if geometry is not None and EDGES in arrays:
        return PositionedDensity(geometry, arrays[DENSITY], arrays[EDGES])
    atoms = Atoms.none(2)
    if "atom_masses" in arrays:
        is_there = ~np.isnan(arrays["atom_masses"])
        points, covariances = arrays["atom_points"][is_there], None
        if "atom_covariances" in arrays and is_there.any():
            given = arrays["atom_covariances"][is_there]
            covariances = None if np.isnan(given).any() else given
        atoms = Atoms(points, arrays["atom_masses"][is_there], covariances)
        if "atom_positions" in arrays:
            positions, edges = arrays["atom_positions"], arrays.get(EDGES)
            masses = arrays["atom_masses"]
            atoms = PositionedAtoms(points, masses, positions=positions, edges=edges)
        # The constructor scales points to unit length again, which may change the last bit.
        object.__setattr__(atoms, "points", read_only(points))
    if geometry is None:
        return atoms
    return Measure(Density(geometry, arrays[DENSITY]), atoms if len(atoms) else None)
