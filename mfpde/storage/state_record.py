"""Measures and diagnostics as named variables with units, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from mfpde.arrays import FloatArray, read_only
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.measures.measure import (
    AnyMeasure,
    Atoms,
    Density,
    Measure,
    as_measure,
    atoms_of,
)
from mfpde.runs.run import Quantity
from mfpde.solver.diagnostics import DIAGNOSTICS, UNKNOWN_UNIT
from mfpde.storage.growing_store import CHECKSUM, TIME, Variable
from mfpde.storage.track_record import TRACK_VARIABLES

ATOM_VARIABLES = ("atom_points", "atom_masses", "atom_covariances")
STATE_VARIABLES = ("density", *ATOM_VARIABLES)
COORDINATES = ("angle", "colatitude", "longitude", "polar_angle")
RESERVED = (*STATE_VARIABLES, *TRACK_VARIABLES, TIME, CHECKSUM, *COORDINATES)


def on_grid(name: str, grid: int) -> str:
    """Return the name of a variable or dimension on the run's ``grid``, counted from 1."""
    return name if grid == 1 else f"{name}_{grid}"


def is_reserved(name: str) -> bool:
    """Whether a state's variable or a coordinate, on any grid, has this name."""
    stem, _, number = name.rpartition("_")
    return name in RESERVED or (stem in ("density", *COORDINATES) and number.isdigit())


def coordinates(geometry: Geometry, grid: int = 1) -> dict[str, Variable]:
    """Return the coordinates of the cells of a run's ``grid``, by dimension.

    Raises
    ------
    ValueError
        If densities on ``geometry`` cannot be stored.
    """
    match geometry:
        case Circle():
            axes = {"angle": (geometry.angles, "angle of the cell centre")}
        case Sphere():
            axes = {
                "colatitude": (geometry.colatitudes, "angle from the north pole"),
                "longitude": (geometry.longitudes, "angle to the east"),
            }
        case Zonal():
            axes = {"polar_angle": (geometry.angles, "angle from the axis")}
        case _:
            raise ValueError(f"densities on {geometry!r} cannot be stored")
    named = {on_grid(name, grid): axis for name, axis in axes.items()}
    return {
        name: Variable(values, (name,), {"long_name": meaning, "units": "rad"})
        for name, (values, meaning) in named.items()
    }


def density_attributes(geometry: Geometry) -> dict[str, str]:
    """Return meaning and unit of a density's values on ``geometry``."""
    if isinstance(geometry, Zonal) and geometry.areas_are_shares:
        # In high dimension the area of the sphere is too small to divide by.
        return {"long_name": "density relative to the uniform one", "units": "1"}
    units = {Circle: "1/rad", Sphere: "1/sr"}.get(type(geometry), "1/area")
    return {"long_name": "density per surface area", "units": units}


def state_variables(measure: AnyMeasure, grid: int = 1) -> dict[str, Variable]:
    """Return one state as variables: ``density``, and atoms where there are any.

    On a run's second grid the density is ``density_2``, and so on.
    """
    variables: dict[str, Variable] = {}
    if not isinstance(measure, Atoms):
        density = as_measure(measure).density
        variables[on_grid("density", grid)] = Variable(
            density.values,
            tuple(coordinates(density.geometry, grid)),
            density_attributes(density.geometry),
        )
    atoms = atoms_of(measure)
    if len(atoms):
        variables["atom_points"] = Variable(
            atoms.points,
            ("atom", "axis"),
            {"long_name": "unit vectors of the atoms", "units": "1"},
        )
        variables["atom_masses"] = Variable(
            atoms.masses, ("atom",), {"long_name": "masses of the atoms", "units": "1"}
        )
    if len(atoms) and atoms.covariances is not None:
        variables["atom_covariances"] = Variable(
            atoms.covariances,
            ("atom", "axis", "axis2"),
            {"long_name": "tangent covariances of the atoms", "units": "rad^2"},
        )
    return variables


def diagnostic_variable(
    name: str, value: Any, quantities: Mapping[str, Quantity]
) -> Variable:
    """Return one diagnostic with its meaning and unit, as far as ``quantities`` has them.

    Raises
    ------
    ValueError
        If its name is that of a state's variable or a coordinate.
    """
    if is_reserved(name):
        raise ValueError(f"a diagnostic named {name!r} cannot be stored: rename it")
    values = np.asarray(value, dtype=np.float64)
    dimensions = tuple(f"{name}_{axis}" for axis in range(values.ndim))
    usual = DIAGNOSTICS.get(name, Quantity(name, name, UNKNOWN_UNIT))
    known = quantities.get(name, usual)
    attributes = {"long_name": known.meaning, "units": known.unit}
    return Variable(values, dimensions, attributes)


def stored_states(
    dataset: xr.Dataset, geometries: Sequence[Geometry]
) -> list[AnyMeasure]:
    """Return the measures of all records, to the bit (atoms if there is no grid)."""
    arrays = {n: np.asarray(dataset[n].values) for n in ATOM_VARIABLES if n in dataset}
    names = [on_grid("density", k + 1) for k in range(len(geometries))]
    # A grid may have been noted just before the process was killed.
    grids = {n: g for n, g in zip(names, geometries, strict=True) if n in dataset}
    densities = {n: np.asarray(dataset[n].values) for n in grids}
    states: list[AnyMeasure] = []
    for index in range(dataset.sizes[TIME]):
        atoms = _stored_atoms({name: values[index] for name, values in arrays.items()})
        row = {n: v[index] for n, v in densities.items() if _is_there(v[index])}
        if not row:
            states.append(Atoms.none(2) if atoms is None else atoms)
        for name, values in row.items():
            states.append(Measure(Density(grids[name], values), atoms))
    return states


def _is_there(values: FloatArray) -> bool:
    return not bool(np.isnan(values.flat[0]))


def stored_diagnostics(dataset: xr.Dataset) -> dict[str, FloatArray]:
    """Return the diagnostics by name, the known ones in their usual order."""
    names = sorted(str(n) for n in dataset.data_vars if not is_reserved(str(n)))
    usual = [name for name in DIAGNOSTICS if name in names]
    others = [name for name in names if name not in DIAGNOSTICS]
    return {name: np.asarray(dataset[name].values) for name in usual + others}


def stored_quantities(
    dataset: xr.Dataset, diagnostics: Iterable[str]
) -> dict[str, Quantity]:
    """Return meanings and units of the ``diagnostics`` of a store, by name."""
    attributes = {name: dataset[name].attrs for name in diagnostics}
    return {
        name: Quantity(
            name,
            str(found.get("long_name", name)),
            str(found.get("units", UNKNOWN_UNIT)),
        )
        for name, found in attributes.items()
    }


def _stored_covariances(
    row: Mapping[str, FloatArray], there: NDArray[np.bool_]
) -> FloatArray | None:
    """Return the covariances (n, d, d) of the atoms, None where they have no width."""
    if "atom_covariances" not in row:
        return None
    covariances = row["atom_covariances"][there]
    return None if np.isnan(covariances).any() or not len(covariances) else covariances


def _stored_atoms(row: Mapping[str, FloatArray]) -> Atoms | None:
    if "atom_masses" not in row:
        return None
    there = ~np.isnan(row["atom_masses"])
    points = row["atom_points"][there]
    atoms = Atoms(points, row["atom_masses"][there], _stored_covariances(row, there))
    # The constructor scales points to unit length again, which may change the last bit.
    object.__setattr__(atoms, "points", read_only(points))
    return atoms
