"""The grids and the refinements of a stored run.

The first grid is the attribute ``geometry``; the grids that refinement led to are the list
``refined_geometries``, whose densities are variables of their own (``density_2``, ...),
NaN where a record lies on another grid.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import zarr

from mfpde.geometry import Geometry
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.runs.refinement_record import Refinement
from mfpde.storage.equation_record import geometry_from_dict, geometry_to_dict
from mfpde.storage.growing_store import GrowingStore
from mfpde.storage.state_record import coordinates

GEOMETRY = "geometry"
REFINED = "refined_geometries"
REFINEMENTS = "refinements"


class StoredGrids:
    """The grids of a store, numbered from 1, whose coordinates it writes."""

    def __init__(self, group: zarr.Group, records: GrowingStore) -> None:
        self._group = group
        self._records = records
        self._known = stored_geometries(dict(group.attrs))

    def begin(self, geometry: Geometry | None) -> None:
        """Write the first grid; None for particles."""
        record = None if geometry is None else geometry_to_dict(geometry)
        self._group.attrs[GEOMETRY] = json.dumps(record)
        if geometry is not None:
            self._write(geometry)

    def number_of(self, measure: AnyMeasure) -> int:
        """Return the number of the measure's grid, which is added if it is new."""
        if isinstance(measure, Atoms):
            return 1
        geometry = as_measure(measure).geometry
        if geometry not in self._known:
            self._write(geometry)
            later = [geometry_to_dict(known) for known in self._known[1:]]
            self._group.attrs[REFINED] = json.dumps(later)
        return self._known.index(geometry) + 1

    def add(self, refinement: Refinement) -> None:
        """Add a refinement to the attributes of the store."""
        noted = json.loads(str(self._group.attrs.get(REFINEMENTS, "[]")))
        self._group.attrs[REFINEMENTS] = json.dumps([*noted, _to_dict(refinement)])

    def forget_after(self, time: float) -> None:
        """Drop refinements that a run to be continued from ``time`` will make again."""
        noted = json.loads(str(self._group.attrs.get(REFINEMENTS, "[]")))
        if noted:
            kept = [record for record in noted if record["time"] <= time]
            self._group.attrs[REFINEMENTS] = json.dumps(kept)

    def _write(self, geometry: Geometry) -> None:
        self._known.append(geometry)
        for name, coordinate in coordinates(geometry, len(self._known)).items():
            self._records.coordinate(name, coordinate)


def stored_geometries(attributes: Mapping[str, Any]) -> list[Geometry]:
    """Return the grids of a store in their order; none for particles."""
    records = [json.loads(str(attributes.get(GEOMETRY, "null")))]
    records += json.loads(str(attributes.get(REFINED, "[]")))
    return [geometry_from_dict(record) for record in records if record is not None]


def stored_refinements(
    attributes: Mapping[str, Any], until: float
) -> tuple[Refinement, ...]:
    """Return the refinements of a store up to the time of its last state."""
    records = json.loads(str(attributes.get(REFINEMENTS, "[]")))
    return tuple(
        Refinement(
            record["time"],
            geometry_from_dict(record["before"]),
            geometry_from_dict(record["after"]),
            record["reason"],
        )
        for record in records
        if record["time"] <= until
    )


def _to_dict(refinement: Refinement) -> dict[str, Any]:
    return {
        "time": float(refinement.time),
        "before": geometry_to_dict(refinement.before),
        "after": geometry_to_dict(refinement.after),
        "reason": refinement.reason,
    }
