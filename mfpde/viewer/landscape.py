"""The landscape of the external terms: V where there is one, and the neurons' half-spaces.

Of a run of layers each layer has its own.  On the circle and on zonal grids V stands against
the angle, and where the drift has no potential its component along the angle does; on the
sphere V is kept on rings.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.geometry.circle import points_at as circle_points
from mfpde.geometry.circle import tangents_at as circle_tangents
from mfpde.geometry.sphere import points_at as sphere_points
from mfpde.runs.run import Run
from mfpde.viewer.packed import Stream

ANGLES = 721
RINGS, COLUMNS = 128, 256
MANY_LAYERS = 8
MOST_LAYERS = 64
LARGEST_FLOAT = 3e38


def landscapes_of(
    run: Run, domain: str, geometry: Geometry | None, stream: Stream
) -> list[dict[str, Any]]:
    """Describe the landscape of each layer, with the times between which it acts.

    Parameters
    ----------
    run
        The run.
    domain
        Circle, sphere or zonal.
    geometry
        A grid of the run; a zonal one says in which direction its axis is.
    stream
        Where values go.

    Returns
    -------
    None at all for a run without equation, or one of too many layers.
    """
    layers: list[tuple[MeanFieldEquation | None, float, float | None]]
    layers = [(run.equation, run.equation_since, None)]
    if run.layers is not None:
        times = [float(time) for time in run.layers.breakpoints]
        layers = list(zip(run.layers.equations, times, times[1:], strict=False))
    if len(layers) > MOST_LAYERS:
        return []
    coarse = 2 if len(layers) > MANY_LAYERS else 1
    return [
        {
            "from": start,
            "to": end,
            "neurons": _neurons(equation, geometry if domain == "zonal" else None),
            "field": _field(equation, domain, geometry, stream, coarse=coarse),
        }
        for equation, start, end in layers
        if equation is not None and equation.externals
    ]


def _neurons(
    equation: MeanFieldEquation, zonal: Geometry | None
) -> list[dict[str, Any]]:
    """Direction a, weight w and bias b of each neuron; along the axis of a zonal grid."""
    neurons = []
    for layer in equation.perceptrons:
        for direction, weight, bias in zip(
            layer.directions, layer.weights, layer.biases, strict=True
        ):
            axis = None if zonal is None else zonal.axis
            a = direction if axis is None else np.array([direction @ axis])
            neurons.append(
                {
                    "a": a.tolist(),
                    "w": float(weight) if np.ndim(weight) == 0 else None,
                    "b": float(bias),
                    "activation": layer.activation_name,
                }
            )
    return neurons


def _field(
    equation: MeanFieldEquation,
    domain: str,
    geometry: Geometry | None,
    stream: Stream,
    *,
    coarse: int,
) -> dict[str, Any] | None:
    is_gradient = all(term.is_gradient for term in equation.externals)
    if domain == "sphere":
        if not is_gradient:
            return None
        rows, columns = RINGS // coarse, COLUMNS // coarse
        colatitudes = np.linspace(0.0, np.pi, 2 * rows + 1)[1::2]
        longitudes = np.linspace(0.0, 2 * np.pi, columns, endpoint=False)
        values = _potential(
            equation, sphere_points(colatitudes[:, np.newaxis], longitudes)
        )
        return {"name": "V", "rows": rows, "columns": columns, **_kept(values, stream)}
    points, tangents = _line(domain, geometry)
    if is_gradient:
        return {"name": "V", "n": ANGLES, **_kept(_potential(equation, points), stream)}
    drift = np.zeros(points.shape)
    for term in equation.externals:
        drift = drift + term.drift(points)
    along = np.asarray((drift * tangents).sum(axis=-1))
    return {"name": "drift", "n": ANGLES, **_kept(along, stream)}


def _line(domain: str, geometry: Geometry | None) -> tuple[FloatArray, FloatArray]:
    """Points and tangents (n, d) at angles from 0 to the end of the axis."""
    if domain == "circle":
        angles = np.linspace(0.0, 2 * np.pi, ANGLES)
        return circle_points(angles), circle_tangents(angles)
    angles = np.linspace(0.0, np.pi, ANGLES)
    zonal: Any = geometry
    return zonal.points_at(angles), zonal.tangents_at(angles)


def _potential(equation: MeanFieldEquation, points: FloatArray) -> FloatArray:
    values = np.zeros(points.shape[:-1])
    for term in equation.externals:
        values = values + term.value(points)
    return values


def _kept(values: FloatArray, stream: Stream) -> dict[str, Any]:
    shown = np.clip(values, -LARGEST_FLOAT, LARGEST_FLOAT)
    return {
        "low": float(shown.min()),
        "high": float(shown.max()),
        "values": stream.add_floats(shown),
    }
