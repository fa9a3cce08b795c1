"""The landscape of the external terms: V where there is one, and the neurons' half-spaces.

Of a run of layers each layer has its own.  On the circle and on zonal grids V stands against
the angle, and where the drift has no potential its component along the angle does; on the
sphere V is kept on rings, and so is where neurons are active.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import sphere
from mfpde.plotting.landscape import external_field, largest_sum, neurons_of
from mfpde.runs.run import Run
from mfpde.viewer.frames import Frames
from mfpde.viewer.packed import Pack

ANGLES = 721
RINGS = 128
MANY_LAYERS = 8
MOST_LAYERS = 64
LARGEST = 3e37


def landscapes_of(run: Run, frames: Frames, pack: Pack) -> list[dict[str, Any]]:
    """Describe the landscape of each layer, with the times between which it acts.

    A run without equation has none, and one of more than 64 layers neither.
    """
    layers: list[Any] = [(run.equation, 0.0, None)]
    if run.layers is not None:
        times = run.layers.breakpoints.tolist()
        layers = list(zip(run.layers.equations, times, times[1:], strict=False))
    if len(layers) > MOST_LAYERS:
        return []
    rings = RINGS // 2 if len(layers) > MANY_LAYERS else RINGS
    return [
        {"from": start, "to": end, **_describe_landscape(equation, frames, rings, pack)}
        for equation, start, end in layers
        if equation is not None and equation.externals
    ]


def _describe_landscape(
    equation: MeanFieldEquation, frames: Frames, rings: int, pack: Pack
) -> dict[str, Any]:
    """Neurons, V (else the drift along an angle), and the largest a.x + b on the sphere."""
    view = frames.view
    neurons = neurons_of(equation, 3 if view is None else view.dimension)
    axis = None if frames.grid is None else frames.grid.geometry.axis
    told = [
        {
            # Along the axis of a zonal grid.
            "a": n.direction.tolist() if axis is None else [float(n.direction @ axis)],
            "w": float(n.weight) if np.ndim(n.weight) == 0 else None,
            "b": n.bias,
        }
        for n in neurons
    ]
    found: dict[str, Any] = {"neurons": told, "field": None, "zone": None}
    if view is not None:
        angles = np.linspace(0.0, view.span, ANGLES)
        along, name = external_field(equation, angles, view)
        return {**found, "field": {"name": name, **_put(along, pack)}}
    grid = {"rows": rings, "columns": 2 * rings}
    angles = np.arange(2 * rings) * np.pi / rings
    points = sphere.points_at((angles[:rings, np.newaxis] + angles[1] / 2), angles)
    if all(term.is_gradient for term in equation.externals):
        values = np.asarray(sum(term.value(points) for term in equation.externals))
        found["field"] = {"name": "V", **grid, **_put(values, pack)}
    largest = largest_sum(neurons, points) if neurons else np.zeros(1)
    if (largest < 0).any():
        found["zone"] = {**grid, **_put(largest, pack)}
    return found


def _put(values: FloatArray, pack: Pack) -> dict[str, Any]:
    shown = np.clip(values, -LARGEST, LARGEST)
    ends = {"low": float(shown.min()), "high": float(shown.max())}
    return {**ends, **pack.add_halves(shown)}
