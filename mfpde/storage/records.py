"""What a store says of its run in JSON, and back, to the bit: the run itself, and checkpoints.

One converter does all: a dataclass becomes a table of its fields, an array a list; a grid, a term
or a kernel says its ``kind`` besides.  A user's functions have no JSON: an equation with them is
null, and a grid of a class that is no dataclass is refused.  Nothing that is read is executed.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, get_args, get_origin

import numpy as np
from cattrs import Converter

from mfpde.arrays import nearest, read_only
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.events import Event
from mfpde.positions.blocks import Block, LayerEquation
from mfpde.positions.weights import POSITIONS
from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.layers import DiscreteLayers, Dynamics, Layers, checked_dynamics
from mfpde.runs.run import Quantity, Run
from mfpde.runs.stopping import StopReason
from mfpde.storage.journal import Row
from mfpde.terms import KERNELS, Attention, Interaction, Perceptron, Positions
from mfpde.terms.activations import ACTIVATIONS, Activation
from mfpde.terms.external import ExternalTerm
from mfpde.terms.interaction import InteractionTerm
from mfpde.terms.kernels import Kernel
from mfpde.terms.normalization import Normalization
from mfpde.tracking import Junction, OpenPath, SeenAtoms, Track, TrackerMemory
from mfpde.transport import State
from mfpde.version import __version__

if TYPE_CHECKING:
    from mfpde.settings.settings import Settings

PLAIN = ("mfpde_version", "convention", "final_time", "saves")
"""Attributes that are what they say; all others are JSON."""
LIBRARIES = ("numpy", "scipy", "numba", "llvmlite", "shtns", "pyfftw")
TERMS: dict[str, Any] = {
    "attention": Attention,
    "perceptron": Perceptron,
    "interaction": Interaction,
}
KINDS: dict[type, Mapping[str, Any]] = {
    InteractionTerm: TERMS,
    ExternalTerm: TERMS,
    Kernel: KERNELS,
    Positions: POSITIONS,
    Geometry: Geometry.by_name,
}
"""Classes by the kinds that records name, for each class of which one may be written."""


@dataclass(frozen=True, eq=False)
class Description:
    """A run without its numbers, each field an attribute of its store.

    ``equation`` may be layers.  One with a user's functions is None, layers of which one has
    any too, and so is the grid of particles.
    ``settings`` are those that the run was made from, ``provenance`` has the versions
    of the process that began it, ``quantities`` the meanings and units of the diagnostics.
    ``saves`` are the times that were saved, without the end where that was not; a tracker has
    a sighting at each of them: the verdict, and the atoms that it saw.  ``stop`` and what follows
    are as by default until the run has ended.
    """

    mfpde_version: str
    convention: str
    equation: MeanFieldEquation | Layers | None
    geometry: Geometry | None
    provenance: dict[str, str]
    settings: dict[str, Any] | None = None
    quantities: dict[str, Quantity] = field(default_factory=dict)
    saves: int = 0
    sightings: tuple[tuple[str, SeenAtoms], ...] = ()
    events: tuple[Event, ...] = ()
    junctions: tuple[Junction, ...] = ()
    stop: StopReason | None = None
    final_time: float | None = None
    statistics: dict[str, Any] = field(default_factory=dict)


def parse_attributes(attributes: Mapping[str, Any]) -> Description:
    """Return the description that attributes hold."""
    known = {one.name for one in fields(Description)} & attributes.keys()
    record = {n: attributes[n] for n in known}
    record |= {n: json.loads(record[n]) for n in known.difference(PLAIN)}
    description: Description = CONVERTER.structure(record, Description)
    return description


def make_attributes(**values: Any) -> dict[str, Any]:
    """Return fields of a description as attributes; ``ValueError`` for an unknown grid."""
    return {n: v if n in PLAIN else to_json(v) for n, v in values.items()}


def describe_beginning(
    dynamics: Dynamics | None,
    geometry: Geometry | None,
    settings: Settings | None = None,
) -> dict[str, Any]:
    """Return the attributes with which a store begins; ``ValueError`` for an unknown grid."""
    dynamics = None if dynamics is None else checked_dynamics(dynamics)
    attributes = make_attributes(
        mfpde_version=__version__,
        convention="unknown" if dynamics is None else dynamics.convention,
        equation=dynamics,
        geometry=geometry,
        provenance=describe_process(),
    )
    if settings is not None:
        attributes["settings"] = settings.to_json()
    return attributes


def describe_end(run: Run) -> dict[str, Any]:
    """Return the attributes that tell how a run ended."""
    return make_attributes(
        stop=run.stop,
        final_time=float(run.final_time),
        statistics=dict(run.statistics),
        events=tuple(run.events),
    )


@cache
def describe_process() -> dict[str, str]:
    """Return the versions and the platform that this process computes with."""
    versions = {name: metadata.version(name) for name in LIBRARIES}
    python, system = platform.python_version(), platform.platform()
    return {"mfpde": __version__, "python": python, **versions, "platform": system}


class NoRecordError(ValueError):
    """A function or a class of the user's own, which only a program can hold."""


def to_json(value: object) -> str:
    """Return ``value`` as JSON; raise ``ValueError`` for a grid that has no record."""
    return json.dumps(CONVERTER.unstructure(value))


def encode_checkpoint(checkpoint: Checkpoint) -> Row:
    """Return the arrays of a checkpoint, and beside them as JSON all that is no array."""
    parts = checkpoint.state._asdict().items()
    return Row(to_json(checkpoint), {name: np.asarray(part) for name, part in parts})


def decode_checkpoint(row: Row) -> Checkpoint:
    """Return the checkpoint of a row, without what its tracker has seen.

    Arrays that do not fit its grid are a ``ValueError``.
    """
    parts: dict[str, Any] = {
        name: np.array(part) if part.ndim else part.item()
        for name, part in row.arrays.items()
    }
    state = State(**parts)
    record = {**json.loads(row.text), "state": state}
    checkpoint: Checkpoint = CONVERTER.structure(record, Checkpoint)
    geometry, count = checkpoint.geometry, len(state.atom_masses)
    shapes = state.masses.shape, state.points.shape
    cells = shapes[0][-len(geometry.shape) :]
    if (cells, shapes[1]) != (geometry.shape, (count, geometry.dimension)):
        raise ValueError(f"arrays of the shapes {shapes} do not fit {geometry!r}")
    return checkpoint


def _write_kind(instance: Any) -> dict[str, Any]:
    known = type(instance)
    names = [n for kinds in KINDS.values() for n in kinds if kinds[n] is known]
    # A subclass of a dataclass that is none itself would lose what it adds.
    if not names or "__dataclass_fields__" not in vars(known):
        what = "geometry" if isinstance(instance, Geometry) else "term"
        raise NoRecordError(f"{what} = {instance!r} has no record and cannot be stored")
    found = {field.name: getattr(instance, field.name) for field in fields(instance)}
    given = {name: value for name, value in found.items() if value is not None}
    return {"kind": names[0], **CONVERTER.unstructure(given)}


def _read_kind(record: dict[str, Any], base: type) -> Any:
    given, kinds = dict(record), KINDS[base]
    kind = given.pop("kind")
    if kind not in kinds:
        raise ValueError(
            f"{base.__name__.lower()} of kind {kind!r}{nearest(kind, kinds)} is unknown; "
            f"known are {', '.join(map(repr, kinds))}: a newer version may have written it"
        )
    for name, part in (("kernel", Kernel), ("positions", Positions)):
        if isinstance(given.get(name), dict):
            given[name] = _read_kind(given[name], part)
    return kinds[kind](**given)


def _write_equation(equation: MeanFieldEquation) -> dict[str, Any] | None:
    if isinstance(equation, LayerEquation):
        blocks = CONVERTER.unstructure(list(equation.blocks))
        return {"blocks": blocks} if all(one["equation"] for one in blocks) else None
    try:
        terms = CONVERTER.unstructure(list(equation.terms))
    except NoRecordError:
        return None
    scaled = equation.normalization
    if scaled is not None and callable(scaled.radius):
        return None
    found = {"direction": equation.direction, "diffusion": equation.diffusion}
    return {**found, "normalization": CONVERTER.unstructure(scaled), "terms": terms}


def _write_layers(layers: Layers) -> dict[str, Any]:
    pairs = [[_write_equation(one), duration] for one, duration in layers]
    return {"layers": pairs, "seed": layers.seed}


def _read_equation(record: dict[str, Any] | None, _: object) -> Any:
    if record is None:
        return None
    if "layers" in record:
        pairs = [(_read_equation(one, None), time) for one, time in record["layers"]]
        if any(equation is None for equation, _ in pairs):
            return None
        if isinstance(pairs[0][0], LayerEquation):
            return DiscreteLayers(equation for equation, _ in pairs)
        return Layers(pairs, seed=record["seed"])
    if "blocks" in record:
        return LayerEquation(CONVERTER.structure(record["blocks"], list[Block]))
    given = dict(record)
    terms = [_read_kind(term, InteractionTerm) for term in given.pop("terms")]
    if (scaled := given.get("normalization")) is not None:
        given["normalization"] = Normalization(**scaled)
    return MeanFieldEquation(*terms, **given)


def _write_activation(activation: Activation) -> str:
    if ACTIVATIONS.get(activation.name) is not activation:
        raise NoRecordError(f"activation {activation.name!r} is the user's own")
    return activation.name


def _write_memory(memory: TrackerMemory) -> Any:
    # What it has seen is in the saves.
    return CONVERTER.unstructure([memory.track.junctions, dict(memory.paths)])


def _read_memory(record: list[Any], _: object) -> TrackerMemory:
    kinds: Any = tuple[tuple[Junction, ...], dict[int, OpenPath]]
    junctions, paths = CONVERTER.structure(record, kinds)
    unseen = Track(np.empty(0), (), (), junctions)
    return TrackerMemory(unseen, None, paths)


def _is_array(kind: Any) -> bool:
    return kind is np.ndarray or get_origin(kind) is np.ndarray


def _read_array(values: Any, kind: Any) -> Any:
    return read_only(np.asarray(values, dtype=get_args(get_args(kind)[1])[0]))


def _make_converter() -> Converter:
    made = Converter()
    made.register_unstructure_hook_func(_is_array, lambda array: array.tolist())
    made.register_structure_hook_func(_is_array, _read_array)
    made.register_unstructure_hook(np.generic, lambda number: number.item())
    made.register_unstructure_hook(Activation, _write_activation)
    made.register_unstructure_hook(MeanFieldEquation, _write_equation)
    made.register_unstructure_hook(Layers, _write_layers)
    made.register_structure_hook(MeanFieldEquation, _read_equation)
    made.register_structure_hook(MeanFieldEquation | Layers | None, _read_equation)
    made.register_unstructure_hook(TrackerMemory, _write_memory)
    made.register_structure_hook(TrackerMemory, _read_memory)
    # Its arrays stand beside the JSON, as they are.
    made.register_unstructure_hook(State, lambda _: None)
    made.register_structure_hook(State, lambda state, _: state)
    for base in KINDS:
        made.register_unstructure_hook(base, _write_kind)
        made.register_structure_hook(base, _read_kind)
    return made


CONVERTER = _make_converter()
