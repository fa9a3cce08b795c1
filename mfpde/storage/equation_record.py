"""Equations and geometries as plain records (of JSON's types), and back, to the bit.

A record names the class and lists its fields; a user's functions, which only a program can
hold, have no record.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from mfpde.arrays import nearest
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.terms import Attention, ExternalTerm, Perceptron
from mfpde.terms.activations import ACTIVATIONS, Activation

Record = dict[str, Any]

GEOMETRIES: dict[str, type[Circle | Sphere | Zonal]] = {
    "circle": Circle,
    "sphere": Sphere,
    "zonal": Zonal,
}
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
    terms = [_made(TERMS, "term", term) for term in record["terms"]]
    return MeanFieldEquation(
        *terms, direction=record["direction"], diffusion=record["diffusion"]
    )


def geometry_to_dict(geometry: Geometry) -> Record:
    """Return the record of ``geometry``.

    Raises
    ------
    ValueError
        If the geometry is of a class that has no record.
    """
    for kind, known in GEOMETRIES.items():
        if type(geometry) is known:
            return _fields_of(kind, geometry)
    raise ValueError(f"geometry = {geometry!r} has no record and cannot be stored")


def geometry_from_dict(record: Record) -> Geometry:
    """Rebuild a geometry from the record of :func:`geometry_to_dict`."""
    geometry: Geometry = _made(GEOMETRIES, "geometry", record)
    return geometry


def _term_to_dict(term: Attention | ExternalTerm) -> Record | None:
    for kind, known in TERMS.items():
        if type(term) is known:
            record = _fields_of(kind, term)
            return None if None in record.values() else record
    return None


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
