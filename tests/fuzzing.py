"""What tests with random examples share: limits of time, starts, settings files."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import numpy as np

import mfpde
from mfpde.geometry import Geometry
from validation.verdict_shapes import unit

SCHEMES = {
    "circle": ("donor_blended", "semi_lagrangian"),
    "sphere": ("donor_blended", "spectral_donor_blended", "labels", "spectral_labels"),
    "zonal": ("semi_lagrangian",),
}


class HangError(BaseException):
    """A call that goes on for ever; nothing catches it by accident."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    def ended(*_: Any) -> None:
        raise HangError

    # Of work, not on the clock: what else the machine does is no hang.
    before = signal.signal(signal.SIGPROF, ended)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def unit_vector(draw: Random, dimension: int) -> np.ndarray:
    return unit([draw.gauss() for _ in range(dimension)])


def start(draw: Random, geometry: Geometry) -> mfpde.Density:
    """Return a smooth density, a rough one, or one of a single cell."""
    kind = draw.choice(["uniform", "perturbed", "rough", "mixture", "cell"])
    if kind == "uniform":
        return mfpde.uniform(geometry)
    if kind == "perturbed":
        return mfpde.perturbed_uniform(geometry, draw.uniform(0.0, 0.99), seed=1)
    if kind == "mixture" and geometry.axis is None:
        wide, narrow = (unit_vector(draw, geometry.dimension) for _ in range(2))
        return mfpde.Density.from_function(
            geometry, lambda x: np.exp(0.5 * (x @ wide)) + np.exp(6.0 * (x @ narrow))
        )
    generator = np.random.default_rng(draw.randrange(2**32))
    rough = generator.exponential(size=geometry.shape)
    rough *= generator.random(geometry.shape) > 0.5
    if kind == "cell":
        rough[:] = 0.0
    rough.ravel()[generator.integers(rough.size)] = 1.0
    return mfpde.Density(geometry, rough / geometry.areas).normalized()


# Settings files -------------------------------------------------------------------------------


def toml(data: Mapping[str, Any]) -> str:
    """Write tables, lists of tables, lists and plain values as TOML, a line each."""
    lines = (f"{written(name)} = {written(value)}\n" for name, value in data.items())
    return "".join(lines)


def written(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = (f"{written(name)} = {written(part)}" for name, part in value.items())
        return f"{{{', '.join(inside)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    return json.dumps(value) if isinstance(value, bool | str) else repr(value)
