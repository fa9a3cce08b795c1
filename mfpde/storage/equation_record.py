"""Equations, geometries and refinements as plain records (of JSON's types), and back, to the bit.

A record names the class and lists its fields; a user's functions, which only a program can
hold, have no record.  The first grid of a run is the attribute ``geometry`` of its store; the
grids that refinement led to are the list ``refined_geometries``, whose densities are variables
of their own (``density_2``, ...), NaN where a record lies on another grid.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
import zarr

from mfpde.arrays import nearest
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.runs.layers import Layers, breakpoints_of, layer_before
from mfpde.runs.run import Refinement
from mfpde.storage.attributes import (
    EQUATION,
    GEOMETRY,
    LAYERS,
    REFINED,
    REFINEMENTS,
    note,
)
from mfpde.storage.growing_store import GrowingStore
from mfpde.storage.state_record import coordinates
from mfpde.terms import (
    Attention,
    ExternalTerm,
    Head,
    Interaction,
    InteractionTerm,
    Perceptron,
)
from mfpde.terms.activation import Activation
from mfpde.terms.activations import ACTIVATIONS
from mfpde.terms.named_kernels import KERNELS

Record = dict[str, Any]

TERMS: dict[str, type[Attention | Perceptron]] = {
    "attention": Attention,
    "perceptron": Perceptron,
}


def equation_to_dict(equation: MeanFieldEquation) -> Record | None:
    """Return the record of ``equation``, or None if a term is a user's function.

    Terms with functions of the user are a :class:`Potential` and a perceptron with an
    activation of the user's own.
    """
    terms = [_term_to_dict(term) for term in equation.terms]
    if any(term is None for term in terms):
        return None
    return {
        "direction": equation.direction,
        "diffusion": equation.diffusion,
        "terms": terms,
    }


def equation_from_dict(record: Record | None) -> MeanFieldEquation | None:
    """Rebuild an equation from the record of :func:`equation_to_dict`.

    Raises
    ------
    ValueError
        If a term is of an unknown kind (a newer version wrote it).
    """
    if record is None:
        return None
    terms = [_term_of(term) for term in record["terms"]]
    return MeanFieldEquation(
        *terms, direction=record["direction"], diffusion=record["diffusion"]
    )


def layers_to_dict(layers: Layers) -> Record:
    """Return the record of ``layers``; an equation with a user's functions is None in it."""
    listed = [
        {"duration": duration, "equation": equation_to_dict(equation)}
        for equation, duration in layers
    ]
    return {"seed": layers.seed, "layers": listed}


class StoredDynamics(NamedTuple):
    """The equation under which a stored run ended, and its layers, where they are known.

    The equation acted from the time ``since`` on.
    """

    equation: MeanFieldEquation | None
    layers: Layers | None
    since: float = 0.0


def stored_dynamics(attributes: Mapping[str, Any], final_time: float) -> StoredDynamics:
    """Return what a stored run solved up to ``final_time``.

    Of layers of which one has a user's functions the equation at the end is still known.
    """
    if LAYERS not in attributes:
        record = json.loads(str(attributes[EQUATION]))
        return StoredDynamics(equation_from_dict(record), None)
    record = json.loads(str(attributes[LAYERS]))
    equations = [equation_from_dict(one["equation"]) for one in record["layers"]]
    durations = [float(one["duration"]) for one in record["layers"]]
    breakpoints = breakpoints_of(durations)
    last = layer_before(breakpoints, final_time)
    at_end = equations[last]
    known = [equation for equation in equations if equation is not None]
    if len(known) < len(equations):
        return StoredDynamics(at_end, None, float(breakpoints[last]))
    pairs = zip(known, durations, strict=True)
    return StoredDynamics(at_end, Layers(pairs, seed=record["seed"]))


def geometry_to_dict(geometry: Geometry) -> Record:
    """Return the record of ``geometry``.

    Raises
    ------
    ValueError
        If the geometry is of a class that has no record.
    """
    kind = type(geometry).__name__.lower()
    is_known = Geometry.by_name.get(kind) is type(geometry)
    # A subclass of a dataclass that is none itself would lose what it adds.
    if is_known and "__dataclass_fields__" in vars(type(geometry)):
        return _fields_of(kind, geometry)
    raise ValueError(f"geometry = {geometry!r} has no record and cannot be stored")


def geometry_from_dict(record: Record) -> Geometry:
    """Rebuild a geometry from the record of :func:`geometry_to_dict`."""
    geometry: Geometry = _made(Geometry.by_name, "geometry", record)
    return geometry


def _term_to_dict(term: InteractionTerm | ExternalTerm) -> Record | None:
    if isinstance(term, Head):
        fields_of_head = _fields_of("attention", term)
        return {name: v for name, v in fields_of_head.items() if v is not None}
    if isinstance(term, Interaction):
        return _interaction_to_dict(term)
    for kind, known in TERMS.items():
        if type(term) is known:
            record = _fields_of(kind, term)
            return None if None in record.values() else record
    return None


def _interaction_to_dict(term: Interaction) -> Record | None:
    for kind, known in KERNELS.items():
        if type(term.kernel) is known:
            return {"kind": "interaction", "kernel": _fields_of(kind, term.kernel)}
    return None


def _term_of(record: Record) -> Any:
    if record["kind"] == "interaction":
        return Interaction(_made(KERNELS, "kernel", record["kernel"]))
    return _made(TERMS, "term", record)


def _fields_of(kind: str, instance: Any) -> Record:
    names = [field.name for field in fields(instance)]
    return {"kind": kind} | {name: _plain(getattr(instance, name)) for name in names}


def _plain(value: Any) -> Any:
    """Return ``value`` in JSON's types; None for an activation of the user's own."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Activation):
        return value.name if ACTIVATIONS.get(value.name) is value else None
    return value


def _made(classes: Any, what: str, record: Record) -> Any:
    kind = record["kind"]
    if kind not in classes:
        listed = ", ".join(map(repr, classes))
        raise ValueError(
            f"{what} of kind {kind!r}{nearest(kind, classes)} is unknown; known are "
            f"{listed}: a newer version may have written it"
        )
    return classes[kind](**{n: v for n, v in record.items() if n != "kind"})


class StoredGrids:
    """The grids of a store, numbered from 1, whose coordinates it writes."""

    def __init__(self, group: zarr.Group, records: GrowingStore) -> None:
        self._group = group
        self._records = records
        self._known = stored_geometries(dict(group.attrs))

    def begin(self, geometry: Geometry | None) -> None:
        """Write the first grid, which the attributes name; None for particles."""
        self._known = []
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
            note(self._group, {REFINED: json.dumps(later)})
        return self._known.index(geometry) + 1

    def add(self, refinement: Refinement) -> None:
        """Add a refinement to the attributes of the store."""
        noted = json.loads(str(self._group.attrs.get(REFINEMENTS, "[]")))
        record = {
            "time": float(refinement.time),
            "before": geometry_to_dict(refinement.before),
            "after": geometry_to_dict(refinement.after),
            "reason": refinement.reason,
        }
        note(self._group, {REFINEMENTS: json.dumps([*noted, record])})

    def forget_after(self, time: float) -> None:
        """Drop refinements that a run to be continued from ``time`` will make again."""
        noted = json.loads(str(self._group.attrs.get(REFINEMENTS, "[]")))
        if noted:
            kept = [record for record in noted if record["time"] <= time]
            note(self._group, {REFINEMENTS: json.dumps(kept)})

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
