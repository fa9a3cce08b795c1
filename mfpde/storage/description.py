"""What a store says of its run beside the numbers: the attributes of its Dataset."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.events import Event
from mfpde.runs.layers import Dynamics, Layers
from mfpde.runs.run import Quantity, Run
from mfpde.runs.stopping import StopReason
from mfpde.storage.records import CONVERTER, to_json
from mfpde.tracking import Junction
from mfpde.version import __version__

if TYPE_CHECKING:
    from mfpde.settings.settings import Settings

PLAIN = ("mfpde_version", "convention", "final_time", "saves")
"""Attributes that are what they say; all others are JSON."""
LIBRARIES = ("numpy", "scipy", "numba", "llvmlite", "shtns", "pyfftw")


@dataclass(frozen=True, eq=False)
class Description:
    """A run without its numbers, each field an attribute of its store.

    An equation with a user's functions is None, and so is the grid of particles.  Of several
    ``layers``, pairs of an equation and its duration, ``equation`` is the last one.
    ``settings`` are those that the run was made from, ``provenance`` has the versions
    of the process that began it, ``quantities`` the meanings and units of the diagnostics.
    ``saves`` are the times that were saved, without the end where that was not;
    ``verdicts`` belong to tracked atoms.  ``stop`` and what follows are as by default until the
    run has ended.
    """

    mfpde_version: str
    convention: str
    equation: MeanFieldEquation | None
    geometry: Geometry | None
    provenance: dict[str, str]
    layers: list[tuple[MeanFieldEquation | None, float]] | None = None
    seed: int | None = None
    settings: dict[str, Any] | None = None
    quantities: dict[str, Quantity] = field(default_factory=dict)
    saves: int = 0
    verdicts: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    junctions: tuple[Junction, ...] = ()
    stop: StopReason | None = None
    final_time: float | None = None
    statistics: dict[str, Any] = field(default_factory=dict)


def parse_attributes(attributes: Mapping[str, Any]) -> Description:
    """Return the description that attributes hold."""
    names = [one.name for one in fields(Description) if one.name in attributes]
    record = {
        name: attributes[name] if name in PLAIN else json.loads(attributes[name])
        for name in names
    }
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
    attributes = make_attributes(
        mfpde_version=__version__,
        convention="unknown" if dynamics is None else dynamics.convention,
        equation=None if isinstance(dynamics, Layers) else dynamics,
        geometry=geometry,
        provenance=describe_process(),
    )
    if isinstance(dynamics, Layers):
        attributes |= make_attributes(
            equation=dynamics.equations[-1],
            layers=[tuple(layer) for layer in dynamics],
            seed=dynamics.seed,
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
