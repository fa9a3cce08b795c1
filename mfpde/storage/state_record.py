"""Measures and diagnostics as named variables with units, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
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
from mfpde.runs.stored_names import (
    ATOM,
    ATOM_VARIABLES,
    AXIS,
    AXIS2,
    DENSITY,
    TIME,
    check_free_name,
    is_reserved,
    on_grid,
)
from mfpde.solver.diagnostics import DIAGNOSTICS, UNKNOWN_UNIT
from mfpde.storage.growing_store import Variable

if TYPE_CHECKING:
    import xarray as xr


class Axis(NamedTuple):
    """A coordinate of a grid's cells: its name, its values in radians, and their meaning."""

    name: str
    values: FloatArray
    meaning: str


class StoredGrid(NamedTuple):
    """A grid as a store describes it: its axes, and the unit and meaning of densities."""

    axes: tuple[Axis, ...]
    units: str
    meaning: str = "density per surface area"


@singledispatch
def stored_grid(geometry: Geometry) -> StoredGrid:
    """Return how a store describes a grid, registered by the class of the geometry.

    Raises
    ------
    ValueError
        If densities on ``geometry`` cannot be stored.
    """
    raise ValueError(f"densities on {geometry!r} cannot be stored")


@stored_grid.register
def _(geometry: Circle) -> StoredGrid:
    angle = Axis("angle", geometry.angles, "angle of the cell centre")
    return StoredGrid((angle,), "1/rad")


@stored_grid.register
def _(geometry: Sphere) -> StoredGrid:
    colatitude = Axis("colatitude", geometry.colatitudes, "angle from the north pole")
    longitude = Axis("longitude", geometry.longitudes, "angle to the east")
    return StoredGrid((colatitude, longitude), "1/sr")


@stored_grid.register
def _(geometry: Zonal) -> StoredGrid:
    axes = (Axis("polar_angle", geometry.angles, "angle from the axis"),)
    if geometry.areas_are_shares:
        # In high dimension the area of the sphere is too small to divide by.
        return StoredGrid(axes, "1", "density relative to the uniform one")
    return StoredGrid(axes, "1/area")


def coordinates(geometry: Geometry, grid: int = 1) -> dict[str, Variable]:
    """Return the coordinates of the cells of a run's ``grid``, by dimension."""
    named = {on_grid(axis.name, grid): axis for axis in stored_grid(geometry).axes}
    return {
        name: Variable(
            axis.values, (name,), {"long_name": axis.meaning, "units": "rad"}
        )
        for name, axis in named.items()
    }


def state_variables(measure: AnyMeasure, grid: int = 1) -> dict[str, Variable]:
    """Return one state as variables: ``density``, and atoms where there are any.

    On a run's second grid the density is ``density_2``, and so on.
    """
    variables: dict[str, Variable] = {}
    if not isinstance(measure, Atoms):
        density = as_measure(measure).density
        described = stored_grid(density.geometry)
        variables[on_grid(DENSITY, grid)] = Variable(
            density.values,
            tuple(on_grid(axis.name, grid) for axis in described.axes),
            {"long_name": described.meaning, "units": described.units},
        )
    atoms = atoms_of(measure)
    if len(atoms):
        variables["atom_points"] = Variable(
            atoms.points,
            (ATOM, AXIS),
            {"long_name": "unit vectors of the atoms", "units": "1"},
        )
        variables["atom_masses"] = Variable(
            atoms.masses, (ATOM,), {"long_name": "masses of the atoms", "units": "1"}
        )
    if len(atoms) and atoms.covariances is not None:
        variables["atom_covariances"] = Variable(
            atoms.covariances,
            (ATOM, AXIS, AXIS2),
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
        If no store can have it beside what else is in one.
    """
    check_free_name(name)
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
    names = [on_grid(DENSITY, k + 1) for k in range(len(geometries))]
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
