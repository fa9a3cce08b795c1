"""Names of the attributes of a store, and the attributes with which a run begins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.runs.layers import Dynamics, Layers, breakpoints_of, layer_before
from mfpde.storage.equation_record import (
    equation_from_dict,
    equation_to_dict,
    geometry_from_dict,
    geometry_to_dict,
    layers_to_dict,
)
from mfpde.version import __version__

if TYPE_CHECKING:
    from mfpde.settings.settings import Settings

VERSION = "mfpde_version"
CONVENTION = "convention"
SETTINGS = "settings"
EQUATION = "equation"
LAYERS = "layers"
"""Attribute of a store of several layers; ``equation`` is then that of the last one."""
BREAKPOINTS = "breakpoints"
GEOMETRY = "geometry"
EVENTS = "events"
JUNCTIONS = "junctions"
STOP_KIND, STOP_MESSAGE = "stop_kind", "stop_message"
FINAL_TIME = "final_time"
STATISTICS = "statistics"
CLOSING = (STOP_KIND, STOP_MESSAGE, FINAL_TIME, STATISTICS, EVENTS)
"""What is known when a run has ended, and forgotten when it goes on."""
GROWING = (EVENTS, JUNCTIONS)
"""What grows as the run goes."""


def first_attributes(
    dynamics: Dynamics | None,
    geometry: Geometry | None,
    settings: Settings | None = None,
) -> dict[str, Any]:
    """Return the attributes with which a store begins: equation, grid, settings."""
    last = dynamics.equations[-1] if isinstance(dynamics, Layers) else dynamics
    attributes: dict[str, Any] = {
        VERSION: __version__,
        CONVENTION: "unknown" if dynamics is None else dynamics.convention,
        EQUATION: json.dumps(None if last is None else equation_to_dict(last)),
        GEOMETRY: json.dumps(None if geometry is None else geometry_to_dict(geometry)),
    }
    if isinstance(dynamics, Layers):
        attributes[LAYERS] = json.dumps(layers_to_dict(dynamics))
        attributes[BREAKPOINTS] = dynamics.breakpoints.tolist()
    if settings is not None:
        attributes[SETTINGS] = settings.to_json()
    return attributes


def stored_geometry(attributes: Mapping[str, Any]) -> Geometry | None:
    """Return the grid of a store; None for particles."""
    record = json.loads(str(attributes.get(GEOMETRY, "null")))
    return None if record is None else geometry_from_dict(record)


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
