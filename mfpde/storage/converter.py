"""Events and paths of atoms as plain records of JSON's types, and back, to the bit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, get_args, get_origin

import numpy as np
from cattrs import Converter

from mfpde.arrays import read_only
from mfpde.geometry import Geometry
from mfpde.measures.events import Event
from mfpde.storage.equation_record import geometry_from_dict, geometry_to_dict
from mfpde.tracking import Junction, OpenPath, TreeMemory

CONVERTER = Converter()
"""What turns dataclasses with arrays and grids into dicts and lists, and back."""


def _is_array(kind: Any) -> bool:
    return get_origin(kind) is np.ndarray


def _array_of(values: Any, kind: Any) -> Any:
    return read_only(np.asarray(values, dtype=get_args(get_args(kind)[1])[0]))


CONVERTER.register_unstructure_hook_func(
    _is_array, lambda array: np.asarray(array).tolist()
)
CONVERTER.register_structure_hook_func(_is_array, _array_of)
CONVERTER.register_unstructure_hook(np.generic, lambda number: number.item())
CONVERTER.register_unstructure_hook(Geometry, geometry_to_dict)
CONVERTER.register_structure_hook(
    Geometry, lambda record, _: geometry_from_dict(record)
)


def json_of(values: Sequence[Event] | Sequence[Junction]) -> str:
    """Return events, or junctions of a track, as JSON."""
    return json.dumps(CONVERTER.unstructure(list(values)), default=float)


def events_of(text: str) -> tuple[Event, ...]:
    """Return the events of :func:`json_of`."""
    return CONVERTER.structure(json.loads(text), tuple[Event, ...])


def junctions_of(text: str) -> tuple[Junction, ...]:
    """Return the junctions of :func:`json_of`."""
    return CONVERTER.structure(json.loads(text), tuple[Junction, ...])


def record_of_tree(tree: TreeMemory) -> dict[str, Any]:
    """Return what a tree of atoms remembers between two saves."""
    return {
        "junctions": CONVERTER.unstructure(tree.junctions),
        "paths": CONVERTER.unstructure(tree.paths),
        "next_identity": tree.next_identity,
    }


def tree_of(record: dict[str, Any]) -> TreeMemory:
    """Return the memory of :func:`record_of_tree`."""
    return TreeMemory(
        CONVERTER.structure(record["junctions"], tuple[Junction, ...]),
        CONVERTER.structure(record["paths"], tuple[OpenPath, ...]),
        int(record["next_identity"]),
    )
