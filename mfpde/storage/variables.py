"""Variables of a save by name: values with the names of their dimensions, meaning and unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
    ATOM_VARIABLES,
    CHECKSUM,
    DENSITY,
    TIME,
)
from mfpde.solver.diagnostics import DIAGNOSTICS, UNKNOWN_UNIT

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class Variable:
    """Values of one save with the names of their dimensions, and words about them.

    The values are real numbers, or bytes (uint8) of a text.
    """

    values: FloatArray | NDArray[np.uint8]
    dimensions: tuple[str, ...] = ()
    attributes: dict[str, str] = field(default_factory=dict)


Record = dict[str, Variable]
"""The variables of one save, by name."""


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


def coordinates_of(geometry: Geometry | None) -> Record:
    """Return the coordinates of the cells of a grid, by dimension; none without a grid."""
    axes = () if geometry is None else stored_grid(geometry).axes
    words = {"units": "rad"}
    return {
        axis.name: Variable(
            axis.values, (axis.name,), {"long_name": axis.meaning, **words}
        )
        for axis in axes
    }


def geometry_of(measure: AnyMeasure) -> Geometry | None:
    """Return the grid of a measure; None for atoms alone."""
    return None if isinstance(measure, Atoms) else as_measure(measure).geometry


def state_variables(measure: AnyMeasure) -> Record:
    """Return one state as variables: ``density``, and atoms where there are any."""
    variables: Record = {}
    if not isinstance(measure, Atoms):
        density = as_measure(measure).density
        described = stored_grid(density.geometry)
        variables[DENSITY] = Variable(
            density.values,
            tuple(axis.name for axis in described.axes),
            {"long_name": described.meaning, "units": described.units},
        )
    atoms = atoms_of(measure)
    if len(atoms):
        words = {"long_name": "unit vectors of the atoms", "units": "1"}
        variables["atom_points"] = Variable(atoms.points, ("atom", "axis"), words)
        words = {"long_name": "masses of the atoms", "units": "1"}
        variables["atom_masses"] = Variable(atoms.masses, ("atom",), words)
    if len(atoms) and atoms.covariances is not None:
        words = {"long_name": "tangent covariances of the atoms", "units": "rad^2"}
        dimensions = ("atom", "axis", "axis2")
        covariances = Variable(atoms.covariances, dimensions, words)
        variables["atom_covariances"] = covariances
    return variables


def save_variables(
    measure: AnyMeasure,
    diagnostics: Mapping[str, Any],
    quantities: Mapping[str, Quantity],
) -> Record:
    """Return a save as variables: state and diagnostics."""
    record = state_variables(measure)
    for name, value in diagnostics.items():
        record[name] = diagnostic_variable(name, value, quantities)
    return record


def diagnostic_variable(
    name: str, value: Any, quantities: Mapping[str, Quantity]
) -> Variable:
    """Return one diagnostic with its meaning and unit, as far as ``quantities`` has them."""
    values = np.asarray(value, dtype=np.float64)
    dimensions = tuple(f"{name}_{axis}" for axis in range(values.ndim))
    usual = DIAGNOSTICS.get(name, Quantity(name, name, UNKNOWN_UNIT))
    known = quantities.get(name, usual)
    return Variable(
        values, dimensions, {"long_name": known.meaning, "units": known.unit}
    )


def states_of(dataset: xr.Dataset, geometry: Geometry | None) -> list[AnyMeasure]:
    """Return the measures of all saves, to the bit (atoms if there is no grid)."""
    arrays = {n: np.asarray(dataset[n].values) for n in ATOM_VARIABLES if n in dataset}
    densities = dataset[DENSITY].values if DENSITY in dataset else None
    states: list[AnyMeasure] = []
    for index in range(dataset.sizes[TIME]):
        atoms = _atoms_of({name: values[index] for name, values in arrays.items()})
        if geometry is None or densities is None:
            states.append(Atoms.none(2) if atoms is None else atoms)
        else:
            states.append(Measure(Density(geometry, densities[index]), atoms))
    return states


def _atoms_of(row: Mapping[str, FloatArray]) -> Atoms | None:
    if "atom_masses" not in row:
        return None
    there = ~np.isnan(row["atom_masses"])
    points = row["atom_points"][there]
    covariances = None
    if "atom_covariances" in row:
        given = row["atom_covariances"][there]
        covariances = None if np.isnan(given).any() or not len(given) else given
    atoms = Atoms(points, row["atom_masses"][there], covariances)
    # The constructor scales points to unit length again, which may change the last bit.
    object.__setattr__(atoms, "points", read_only(points))
    return atoms


def diagnostics_of(
    dataset: xr.Dataset, others: Iterable[str]
) -> tuple[dict[str, FloatArray], dict[str, Quantity]]:
    """Return the diagnostics by name, the usual ones first, and their meanings and units.

    ``others`` are the names of variables that are no diagnostics.
    """
    left = set(others) | {TIME, CHECKSUM, DENSITY, *ATOM_VARIABLES}
    names = [str(name) for name in dataset.data_vars if name not in left]
    usual = [name for name in DIAGNOSTICS if name in names]
    ordered = usual + sorted(name for name in names if name not in DIAGNOSTICS)
    quantities = {
        name: Quantity(
            name,
            str(dataset[name].attrs.get("long_name", name)),
            str(dataset[name].attrs.get("units", UNKNOWN_UNIT)),
        )
        for name in ordered
    }
    return {name: np.asarray(dataset[name].values) for name in ordered}, quantities
