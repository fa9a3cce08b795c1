"""Measures and diagnostics as named variables with units, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from mfpde.arrays import FloatArray, read_only
from mfpde.diagnostics import DIAGNOSTICS
from mfpde.geometry import Circle, Geometry
from mfpde.growing_store import TIME, Variable
from mfpde.measure import AnyMeasure, Atoms, Density, Measure, as_measure, atoms_of

STATE_VARIABLES = ("density", "atom_points", "atom_masses")
RESERVED = (*STATE_VARIABLES, TIME, "angle")


def coordinates(geometry: Geometry) -> dict[str, Variable]:
    """Return the coordinates of the cells, by dimension.

    Raises
    ------
    ValueError
        If densities on ``geometry`` cannot be stored.
    """
    if isinstance(geometry, Circle):
        attributes = {"long_name": "angle of the cell centre", "units": "rad"}
        return {"angle": Variable(geometry.angles, ("angle",), attributes)}
    raise ValueError(f"densities on {geometry!r} cannot be stored")


def state_variables(measure: AnyMeasure) -> dict[str, Variable]:
    """Return one state as variables: ``density``, and atoms where there are any."""
    variables: dict[str, Variable] = {}
    if not isinstance(measure, Atoms):
        density = as_measure(measure).density
        variables["density"] = Variable(
            density.values,
            tuple(coordinates(density.geometry)),
            {"long_name": "density per surface area", "units": "1/rad"},
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
    return variables


def diagnostic_variable(name: str, value: Any) -> Variable:
    """Return one diagnostic with its meaning and unit.

    Raises
    ------
    ValueError
        If its name is that of a state's variable or a coordinate.
    """
    if name in RESERVED:
        raise ValueError(f"a diagnostic named {name!r} cannot be stored: rename it")
    values = np.asarray(value, dtype=np.float64)
    dimensions = tuple(f"{name}_{axis}" for axis in range(values.ndim))
    known = DIAGNOSTICS.get(name)
    meaning, unit = (name, "unknown") if known is None else (known.meaning, known.unit)
    return Variable(values, dimensions, {"long_name": meaning, "units": unit})


def stored_states(dataset: xr.Dataset, geometry: Geometry | None) -> list[AnyMeasure]:
    """Return the measures of all records, to the bit (atoms if there is no grid)."""
    arrays = {n: np.asarray(dataset[n].values) for n in STATE_VARIABLES if n in dataset}
    states: list[AnyMeasure] = []
    for index in range(dataset.sizes[TIME]):
        row = {name: values[index] for name, values in arrays.items()}
        atoms = _stored_atoms(row)
        if geometry is None:
            states.append(atoms or Atoms.none(2))
        else:
            states.append(Measure(Density(geometry, row["density"]), atoms))
    return states


def stored_diagnostics(dataset: xr.Dataset) -> dict[str, FloatArray]:
    """Return the diagnostics by name, the known ones in their usual order."""
    names = sorted(str(n) for n in dataset.data_vars if n not in STATE_VARIABLES)
    usual = [name for name in DIAGNOSTICS if name in names]
    others = [name for name in names if name not in DIAGNOSTICS]
    return {name: np.asarray(dataset[name].values) for name in usual + others}


def _stored_atoms(row: Mapping[str, FloatArray]) -> Atoms | None:
    if "atom_masses" not in row:
        return None
    there = ~np.isnan(row["atom_masses"])
    points = row["atom_points"][there]
    atoms = Atoms(points, row["atom_masses"][there])
    # The constructor scales points to unit length again, which may change the last bit.
    object.__setattr__(atoms, "points", read_only(points))
    return atoms
