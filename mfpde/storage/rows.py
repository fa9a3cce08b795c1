"""A save as a row of arrays by name, and back: a state, its diagnostics, the atoms followed.

``VARIABLES`` says what each array is.  The journal keeps a row of each save; the Dataset has them
along ``time``, with NaN beyond the atoms of a time and zero bytes beyond a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any, NamedTuple

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
from mfpde.runs.stored_names import DENSITY, TIME, VERDICT, check_free_name
from mfpde.tracking import SeenAtoms


class Variable(NamedTuple):
    """The dimensions of an array in a row, what it means, and its unit."""

    dimensions: tuple[str, ...]
    meaning: str
    unit: str


_ATOM, _SEEN = ("atom",), ("tracked_atom",)
VARIABLES = {
    TIME: Variable((), "time", "1"),
    "atom_points": Variable((*_ATOM, "axis"), "unit vectors of the atoms", "1"),
    "atom_masses": Variable(_ATOM, "masses of the atoms", "1"),
    "atom_covariances": Variable(
        (*_ATOM, "axis", "axis2"), "tangent covariances of the atoms", "rad^2"
    ),
    "tracked_points": Variable((*_SEEN, "axis"), "unit vectors of the atoms seen", "1"),
    "tracked_masses": Variable(_SEEN, "masses of the atoms seen", "1"),
    "tracked_identities": Variable(_SEEN, "the same atom has the same number", "1"),
    "tracked_forming": Variable(_SEEN, "1 for atoms that are forming still", "1"),
    "tracked_arrived_masses": Variable(
        _SEEN, "what of the masses is in the atoms seen", "1"
    ),
    VERDICT: Variable(("character",), "verdict in UTF-8", "1"),
}
"""All arrays of a row but the density, which depends on its grid, and the diagnostics."""


class StoredGrid(NamedTuple):
    """The axes of a grid: name, angles in radians and their meaning; the unit of densities."""

    axes: tuple[tuple[str, FloatArray, str], ...]
    unit: str
    meaning: str = "density per surface area"


@singledispatch
def describe_grid(geometry: Geometry) -> StoredGrid:
    """Return how stores describe a grid, by its class; raise ``ValueError`` for one unknown."""
    raise ValueError(f"densities on {geometry!r} cannot be stored")


@describe_grid.register
def _(geometry: Circle) -> StoredGrid:
    angle = ("angle", geometry.angles, "angle of the cell centre")
    return StoredGrid((angle,), "1/rad")


@describe_grid.register
def _(geometry: Sphere) -> StoredGrid:
    colatitude = ("colatitude", geometry.colatitudes, "angle from the north pole")
    longitude = ("longitude", geometry.longitudes, "angle to the east")
    return StoredGrid((colatitude, longitude), "1/sr")


@describe_grid.register
def _(geometry: Zonal) -> StoredGrid:
    axes = (("polar_angle", geometry.angles, "angle from the axis"),)
    if geometry.areas_are_shares:
        # In high dimension the area of the sphere is too small to divide by.
        return StoredGrid(axes, "1", "density relative to the uniform one")
    return StoredGrid(axes, "1/area")


class Row(dict[str, NDArray[Any]]):
    """The arrays of one save by name, or of a part of it, or of a checkpoint."""

    @classmethod
    def of_state(cls, measure: AnyMeasure) -> Row:
        """Return the row of a state alone: its density, and atoms if there are any."""
        row, atoms = cls(), atoms_of(measure)
        if not isinstance(measure, Atoms):
            row[DENSITY] = as_measure(measure).density.values
        if len(atoms):
            row |= {"atom_points": atoms.points, "atom_masses": atoms.masses}
            if atoms.covariances is not None:
                row["atom_covariances"] = atoms.covariances
        return row

    @classmethod
    def of_save(
        cls,
        time: float,
        measure: AnyMeasure,
        diagnostics: Mapping[str, Any],
        tracked: Row | None,
    ) -> Row:
        """Return the row of a save; raise ``ValueError`` for a diagnostic with a store's name."""
        row = cls({TIME: np.array(time, dtype=np.float64)}, **cls.of_state(measure))
        for name, value in diagnostics.items():
            check_free_name(name)
            row[name] = np.asarray(value, dtype=np.float64)
        return cls(row, **(tracked or {}))

    @classmethod
    def of_track(cls, seen: SeenAtoms, verdict: str) -> Row:
        """Return what a track adds to the row of a save: the atoms seen, and the verdict."""
        row = cls({VERDICT: np.frombuffer(verdict.encode("utf-8"), dtype=np.uint8)})
        columns = {
            "tracked_points": seen.points,
            "tracked_masses": seen.masses,
            "tracked_identities": seen.identities,
            "tracked_forming": seen.is_forming,
            "tracked_arrived_masses": seen.arrived_masses,
        }
        for name, values in columns.items() if len(seen) else ():
            if values is not None:
                # NaN stands for what is not there.
                row[name] = np.asarray(values, dtype=np.float64)
        return row

    @classmethod
    def of_text(cls, text: str, **arrays: NDArray[Any]) -> Row:
        """Return the row of a text, and of arrays beside it."""
        return cls({"text": np.frombuffer(text.encode("utf-8"), np.uint8)}, **arrays)

    @property
    def text(self) -> str:
        """The text of :meth:`of_text`."""
        return str(self["text"].tobytes(), "utf-8")

    @property
    def verdict(self) -> str:
        """The verdict on the save."""
        text = np.asarray(self[VERDICT], dtype=np.uint8)
        return str(text[text > 0].tobytes(), "utf-8")

    def state(self, geometry: Geometry | None) -> AnyMeasure:
        """Return the state of the save, to the bit: atoms if there is no grid."""
        atoms = None
        if "atom_masses" in self:
            there = ~np.isnan(self["atom_masses"])
            points, covariances = self["atom_points"][there], None
            if "atom_covariances" in self:
                given = self["atom_covariances"][there]
                covariances = None if np.isnan(given).any() or not len(given) else given
            atoms = Atoms(points, self["atom_masses"][there], covariances)
            # The constructor scales points to unit length again, which may change the last bit.
            object.__setattr__(atoms, "points", read_only(points))
        if geometry is None or DENSITY not in self:
            return Atoms.none(2) if atoms is None else atoms
        return Measure(Density(geometry, self[DENSITY]), atoms)

    def seen_atoms(self, dimension: int) -> SeenAtoms:
        """Return the atoms that were seen at the save."""
        if "tracked_masses" not in self:
            none, points = np.empty(0), np.empty((0, dimension))
            return SeenAtoms(points, none, none.astype(bool), none.astype(int))
        there = ~np.isnan(self["tracked_masses"])
        arrived = self.get("tracked_arrived_masses")
        return SeenAtoms(
            self["tracked_points"][there],
            self["tracked_masses"][there],
            self["tracked_forming"][there] > 0,
            self["tracked_identities"][there].astype(np.int64),
            arrived_masses=None if arrived is None else arrived[there],
        )
