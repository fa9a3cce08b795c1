"""The landscape of the external terms: V where there is one, and the neurons' half-spaces.

Of a run of layers each layer has its own.  On the circle and on zonal grids V stands against
the angle, and where the drift has no potential its component along the angle does; on the
sphere V is kept on rings, and so is where neurons are active.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Zonal, circle, sphere
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
    layers: list[tuple[MeanFieldEquation | None, float, float | None]]
    layers = [(run.equation, run.equation_since, None)]
    if run.layers is not None:
        times = [float(time) for time in run.layers.breakpoints]
        layers = list(zip(run.layers.equations, times, times[1:], strict=False))
    if len(layers) > MOST_LAYERS:
        return []
    rings = RINGS // 2 if len(layers) > MANY_LAYERS else RINGS
    return [
        {
            "from": start,
            "to": end,
            "neurons": _neurons(equation, frames.axis),
            **(
                _on_rings(equation, rings, pack)
                if frames.domain == "sphere"
                else _on_angles(equation, frames, pack)
            ),
        }
        for equation, start, end in layers
        if equation is not None and equation.externals
    ]


def _neurons(
    equation: MeanFieldEquation, axis: FloatArray | None
) -> list[dict[str, Any]]:
    """Direction a, weight w and bias b of each neuron; along the axis of a zonal grid."""
    return [
        {
            "a": direction.tolist() if axis is None else [float(direction @ axis)],
            "w": float(weight) if np.ndim(weight) == 0 else None,
            "b": float(bias),
        }
        for layer in equation.perceptrons
        for direction, weight, bias in zip(
            layer.directions, layer.weights, layer.biases, strict=True
        )
    ]


def _on_rings(equation: MeanFieldEquation, rings: int, pack: Pack) -> dict[str, Any]:
    """V on rings of the sphere, and the largest a.x + b of the neurons."""
    colatitudes = (np.arange(rings) + 0.5) * np.pi / rings
    longitudes = np.arange(2 * rings) * np.pi / rings
    points = sphere.points_at(colatitudes[:, np.newaxis], longitudes)
    found: dict[str, Any] = {"field": None, "zone": None}
    grid = {"rows": rings, "columns": 2 * rings}
    if (potential := _potential(equation, points)) is not None:
        found["field"] = {"name": "V", **grid, **_put(potential, pack)}
    sums = [
        points @ direction + bias
        for layer in equation.perceptrons
        for direction, bias in zip(layer.directions, layer.biases, strict=True)
    ]
    largest = np.max(sums, axis=0) if sums else np.zeros(1)
    if (largest < 0).any():
        found["zone"] = {**grid, **_put(largest, pack)}
    return found


def _on_angles(
    equation: MeanFieldEquation, frames: Frames, pack: Pack
) -> dict[str, Any]:
    """V, or the drift along the angle, from one end of the axis of angles to the other."""
    zonal = cast(Zonal, next(iter(frames.views)))
    where: Any = circle if frames.domain == "circle" else zonal
    span = 2 * np.pi if frames.domain == "circle" else np.pi
    angles = np.linspace(0.0, span, ANGLES)
    points = where.points_at(angles)
    if (potential := _potential(equation, points)) is not None:
        return {"field": {"name": "V", **_put(potential, pack)}}
    drift = sum(term.drift(points) for term in equation.externals)
    along = np.asarray((drift * where.tangents_at(angles)).sum(axis=-1))
    return {"field": {"name": "drift", **_put(along, pack)}}


def _potential(equation: MeanFieldEquation, points: FloatArray) -> FloatArray | None:
    """V at points; None where the drift has no potential."""
    if not all(term.is_gradient for term in equation.externals):
        return None
    return np.asarray(sum(term.value(points) for term in equation.externals))


def _put(values: FloatArray, pack: Pack) -> dict[str, Any]:
    shown = np.clip(values, -LARGEST, LARGEST)
    ends = {"low": float(shown.min()), "high": float(shown.max())}
    return {**ends, **pack.add_halves(shown)}
