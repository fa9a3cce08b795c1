"""A save as a row of arrays by name, and back: a state, its diagnostics, the atoms followed.

``VARIABLES`` says what each array is.  The journal keeps a row of each save; the Dataset has them
along ``time``, with NaN beyond the atoms of a time and zero bytes beyond a text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
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
    unit: str = "1"

    @property
    def words(self) -> dict[str, str]:
        """The attributes of the variable in a Dataset."""
        return {"long_name": self.meaning, "units": self.unit}


_ATOM, _SEEN = ("atom",), ("tracked_atom",)
VARIABLES = {
    TIME: Variable((), "time"),
    "atom_points": Variable((*_ATOM, "axis"), "unit vectors of the atoms"),
    "atom_masses": Variable(_ATOM, "masses of the atoms"),
    "atom_covariances": Variable(
        (*_ATOM, "axis", "axis2"), "tangent covariances of the atoms", "rad^2"
    ),
    "tracked_points": Variable((*_SEEN, "axis"), "unit vectors of the atoms seen"),
    "tracked_masses": Variable(_SEEN, "masses of the atoms seen"),
    "tracked_identities": Variable(_SEEN, "the same atom has the same number"),
    "tracked_forming": Variable(_SEEN, "1 for atoms that are forming still"),
    "tracked_arrived_masses": Variable(
        _SEEN, "what of the masses is in the atoms seen"
    ),
    VERDICT: Variable(("character",), "verdict in UTF-8"),
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
_SEEN_FIELDS: dict[str, tuple[str, type]] = {
    "tracked_points": ("points", np.float64),
    "tracked_masses": ("masses", np.float64),
    "tracked_identities": ("identities", np.int64),
    "tracked_forming": ("is_forming", np.bool_),
    "tracked_arrived_masses": ("arrived_masses", np.float64),
}
"""Fields of seen atoms and their types, by the names of their arrays."""


def describe_grid(geometry: Geometry) -> tuple[dict[str, FloatArray], Variable]:
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
        cls, time: float, measure: AnyMeasure, diagnostics: Mapping[str, Any]
    ) -> Row:
        """Return the row of a save; raise ``ValueError`` for a diagnostic with a store's name."""
        row = cls({TIME: np.array(time, dtype=np.float64)}, **cls.of_state(measure))
        for name, value in diagnostics.items():
            check_free_name(name)
            row[name] = np.asarray(value, dtype=np.float64)
        return row

    @classmethod
    def of_track(cls, seen: SeenAtoms, verdict: str) -> Row:
        """Return what a track adds to the row of a save: the atoms seen, and the verdict."""
        row = cls.of_text(verdict, VERDICT)
        for name, (field, _) in _SEEN_FIELDS.items():
            values = getattr(seen, field)
            if values is not None:
                # NaN stands for what is not there.
                row[name] = np.asarray(values, dtype=np.float64)
        return row

    @classmethod
    def of_text(cls, text: str, name: str = "text") -> Row:
        """Return the row of a text, in UTF-8."""
        return cls({name: np.frombuffer(text.encode("utf-8"), np.uint8)})

    def text(self, name: str = "text") -> str:
        """Return the text of a name, which may have zeros behind it."""
        data = np.asarray(self[name], np.uint8)
        return str(data.tobytes().rstrip(b"\0"), "utf-8")

    @classmethod
    def of_attributes(cls, attributes: Mapping[str, Any]) -> Row:
        """Return the row of what is said of a run, as JSON."""
        return cls.of_text(json.dumps(dict(attributes)))

    def attributes(self) -> dict[str, Any]:
        """Return what :meth:`of_attributes` was given."""
        return dict(json.loads(self.text()))

    def state(self, geometry: Geometry | None) -> AnyMeasure:
        """Return the state of the save, to the bit: atoms if there is no grid."""
        atoms = Atoms.none(2)
        if "atom_masses" in self:
            is_there = ~np.isnan(self["atom_masses"])
            points, covariances = self["atom_points"][is_there], None
            if "atom_covariances" in self and is_there.any():
                given = self["atom_covariances"][is_there]
                covariances = None if np.isnan(given).any() else given
            atoms = Atoms(points, self["atom_masses"][is_there], covariances)
            # The constructor scales points to unit length again, which may change the last bit.
            object.__setattr__(atoms, "points", read_only(points))
        if geometry is None:
            return atoms
        return Measure(Density(geometry, self[DENSITY]), atoms if len(atoms) else None)

    def seen_atoms(self) -> SeenAtoms:
        """Return the atoms that were seen at the save."""
        is_there = ~np.isnan(self["tracked_masses"])
        fields: dict[str, Any] = {
            field: self[name][is_there].astype(kind)
            for name, (field, kind) in _SEEN_FIELDS.items()
            if name in self
        }
        return SeenAtoms(**fields)
