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
from mfpde.geometry import Geometry
from mfpde.runs.layers import Layers
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

TERMS: dict[str, type[Attention | Perceptron]] = {
    "attention": Attention,
    "perceptron": Perceptron,
}


def equation_to_dict(equation: MeanFieldEquation) -> dict[str, Any] | None:
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


def equation_from_dict(record: dict[str, Any] | None) -> MeanFieldEquation | None:
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


def layers_to_dict(layers: Layers) -> dict[str, Any]:
    """Return the record of ``layers``; an equation with a user's functions is None in it."""
    listed = [
        {"duration": duration, "equation": equation_to_dict(equation)}
        for equation, duration in layers
    ]
    return {"seed": layers.seed, "layers": listed}


def geometry_to_dict(geometry: Geometry) -> dict[str, Any]:
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


def geometry_from_dict(record: dict[str, Any]) -> Geometry:
    """Rebuild a geometry from the record of :func:`geometry_to_dict`."""
    geometry: Geometry = _made(Geometry.by_name, "geometry", record)
    return geometry


def _term_to_dict(term: InteractionTerm | ExternalTerm) -> dict[str, Any] | None:
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


def _interaction_to_dict(term: Interaction) -> dict[str, Any] | None:
    for kind, known in KERNELS.items():
        if type(term.kernel) is known:
            return {"kind": "interaction", "kernel": _fields_of(kind, term.kernel)}
    return None


def _term_of(record: dict[str, Any]) -> Any:
    if record["kind"] == "interaction":
        return Interaction(_made(KERNELS, "kernel", record["kernel"]))
    return _made(TERMS, "term", record)


def _fields_of(kind: str, instance: Any) -> dict[str, Any]:
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


def _made(classes: Any, what: str, record: dict[str, Any]) -> Any:
    kind = record["kind"]
    if kind not in classes:
        listed = ", ".join(map(repr, classes))
        raise ValueError(
            f"{what} of kind {kind!r}{nearest(kind, classes)} is unknown; known are "
            f"{listed}: a newer version may have written it"
        )
    return classes[kind](**{n: v for n, v in record.items() if n != "kind"})
