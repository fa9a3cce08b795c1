"""Neurons in pictures: the landscape V against one angle, circles and zones on the sphere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator
from scipy.linalg import null_space

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.circle import points_at
from mfpde.plotting import palette
from mfpde.plotting.angle_view import AngleView
from mfpde.plotting.marks import Look, write_beside
from mfpde.plotting.projections import Projection, clip_to_outline, outlined

LINE_POINTS = 1441
SHARED_LABEL_ANGLE = 0.3
DEAD_ZONE_PIXELS = 240
HATCH = "////"
HATCH_COLOUR = (0.65, 0.65, 0.65, 0.8)
MEANINGS = {
    "^": "$a_j$, $w_j > 0$",
    "v": "$a_j$, $w_j < 0$",
    "D": "$a_j$, vector weight",
}


class Neuron(NamedTuple):
    """A neuron, active where a.x + b > 0, and how it is drawn.

    Of up to six each has a colour of its own and a ``name``; more are grey and have none.
    """

    direction: FloatArray
    bias: float
    number: int
    marker: str
    colour: str
    name: str


def neurons_of(equation: MeanFieldEquation | None, dimension: int) -> list[Neuron]:
    """Return every neuron of an equation, none without one; d must be ``dimension``."""
    found: list[Any] = []
    for layer in [] if equation is None else equation.perceptrons:
        layer.check_dimension(dimension)
        found += zip(layer.directions, layer.biases, layer.weights, strict=True)
    few = len(found) <= len(palette.NEURONS)
    return [
        Neuron(
            direction,
            float(bias),
            number,
            "D" if np.ndim(weight) else "^" if weight > 0 else "v",
            palette.NEURONS[number - 1] if few else palette.MUTED,
            str(number) if few else "",
        )
        for number, (direction, bias, weight) in enumerate(found, 1)
    ]


def sphere_neurons(equation: MeanFieldEquation | None) -> list[Neuron]:
    """Return the neurons of an equation on the sphere."""
    return neurons_of(equation, 3)


def direction_handles(neurons: Sequence[Neuron]) -> list[Artist]:
    """Explain the marks of the neurons' directions, those alone that are used."""
    used = {neuron.marker for neuron in neurons}
    look: Look = {"linestyle": "", "mfc": "white", "mec": palette.LANDSCAPE, "mew": 0.6}
    marks = [marker for marker in MEANINGS if marker in used]
    return [Line2D([], [], marker=m, label=MEANINGS[m], **look) for m in marks]


def curve_handles(neurons: Sequence[Neuron]) -> list[Artist]:
    """Explain what stands beside curves of the density: where neurons are active, and a_j."""
    tint = Patch(facecolor=palette.MUTED, alpha=0.3, label="neuron active")
    return [tint, *direction_handles(neurons)] if neurons else []


def has_landscape(equation: MeanFieldEquation | None) -> bool:
    """Whether there is an external term to draw."""
    return equation is not None and len(equation.externals) > 0


def external_field(
    equation: MeanFieldEquation, angles: FloatArray, view: AngleView
) -> tuple[FloatArray, str]:
    """V at ``angles``, or the drift along the angle if there is no potential; and its name."""
    points = view.points_at(angles)
    for term in equation.externals:
        term.check_dimension(view.dimension)
    if equation.has_energy:
        return sum((t.value(points) for t in equation.externals), 0 * angles), "V"
    drift = sum((t.drift(points) for t in equation.externals), 0 * points)
    return np.sum(drift * view.tangents_at(angles), axis=-1), "drift"


def draw_active_regions(ax: Axes, equation: MeanFieldEquation, view: AngleView) -> None:
    """Tint where each neuron is active; tints add up, so that the darkness of greys counts."""
    neurons = neurons_of(equation, view.dimension)
    opacity = 0.16 if len(neurons) <= 4 else min(0.16, 0.4 / len(neurons))
    for neuron in neurons:
        look: Look = {"facecolor": neuron.colour, "alpha": opacity, "linewidth": 0}
        for low, high in view.active_spans(neuron.direction, neuron.bias):
            gid = f"active region {neuron.number}"
            ax.axvspan(low, high, zorder=0, gid=gid, **look)


def draw_landscape(ax: Axes, equation: MeanFieldEquation, view: AngleView) -> None:
    """Draw V (or the drift, if there is no potential), regions and directions."""
    angles = np.linspace(0.0, view.span, LINE_POINTS)
    values, name = external_field(equation, angles, view)
    draw_active_regions(ax, equation, view)
    if values.min() < 0 < values.max():
        ax.axhline(0.0, color=palette.MUTED, linewidth=0.5, linestyle=":")
    ax.plot(angles, values, color=palette.LANDSCAPE, linewidth=1.0, gid="landscape")
    ax.set_ylabel(name)
    ax.margins(y=0.15)
    ax.yaxis.set_major_locator(MaxNLocator(3))
    edge = ax.get_xaxis_transform()
    labels: dict[float, list[str]] = {}
    for neuron in neurons_of(equation, view.dimension):
        angle = float(view.angles_of(neuron.direction))
        _mark_direction(ax, neuron, angle, 1.0, transform=edge)
        near = [at for at in labels if abs(at - angle) < SHARED_LABEL_ANGLE]
        labels.setdefault(near[0] if near else angle, []).append(neuron.name)
    for angle, names in labels.items():
        _name_direction(ax, ",".join(names).strip(","), angle, 1.0, xycoords=edge)


def draw_directions(
    ax: Axes, projection: Projection, neurons: Sequence[Neuron]
) -> None:
    """Mark each a_j in sight."""
    for neuron in neurons:
        unit = neuron.direction / np.linalg.norm(neuron.direction)
        x, y = map(float, projection.project(unit))
        if not np.isnan(x):
            _mark_direction(ax, neuron, x, y)
            _name_direction(ax, neuron.name, x, y, path_effects=outlined("white"))


def _mark_direction(ax: Axes, neuron: Neuron, x: float, y: float, **look: Any) -> None:
    edge: Look = {"markeredgecolor": palette.LANDSCAPE, "markeredgewidth": 0.6, **look}
    (mark,) = ax.plot(
        [x], [y], neuron.marker, color=neuron.colour, markersize=6.5, **edge
    )
    mark.set(clip_on=False, zorder=7, gid=f"direction {neuron.number}")


def _name_direction(ax: Axes, name: str, x: float, y: float, **look: Any) -> None:
    if name:
        write_beside(ax, f"$a_{{{name}}}$", (x, y), (5, 2), zorder=8, **look)


def circle_points(direction: FloatArray, bias: float) -> FloatArray:
    """Points (n, 3) of the circle direction.x + bias = 0; none if it misses the sphere."""
    length = float(np.linalg.norm(direction))
    height = -bias / length
    if abs(height) >= 1:
        return np.empty((0, 3))
    turn = np.linspace(0.0, 2 * np.pi, LINE_POINTS)
    around = points_at(turn) @ null_space(direction[np.newaxis]).T
    return np.asarray(height * direction / length + np.sqrt(1 - height**2) * around)


def largest_preactivation(neurons: Sequence[Neuron], points: FloatArray) -> FloatArray:
    """max_j a_j.x + b_j (...) at points (..., 3): no neuron is active where it is negative."""
    directions = np.stack([neuron.direction for neuron in neurons])
    biases = np.array([neuron.bias for neuron in neurons])
    return np.asarray((points @ directions.T + biases).max(axis=-1))


def has_dead_zone(neurons: Sequence[Neuron], points: FloatArray) -> bool:
    """Whether no neuron is active at some of the points (..., 3)."""
    return len(neurons) > 0 and bool((largest_preactivation(neurons, points) < 0).any())


def draw_neurons(
    ax: Axes, projection: Projection, neurons: Sequence[Neuron], *, width: float = 1.2
) -> None:
    """Hatch where no neuron is active, and draw the circles a_j.x + b_j = 0."""
    # The hatching reaches beyond the border, where it is cut off.
    places = 1.01 * projection.pixels(DEAD_ZONE_PIXELS)
    points = projection.points_of(places)
    if has_dead_zone(neurons, points):
        largest = largest_preactivation(neurons, points)
        flat, plane = projection.flatten(ax, places)
        x, y = np.moveaxis(flat, -1, 0)
        zone: Look = {"levels": [largest.min() - 1, 0.0], "hatches": [HATCH]}
        zone |= {"colors": "none", "zorder": 1.5, "transform": plane}
        hatching = ax.contourf(x, y, largest, **zone)
        hatching.set(edgecolor=HATCH_COLOUR, linewidth=0.0, gid="dead zone")
        clip_to_outline(hatching, ax, projection)
    halo = [withStroke(linewidth=2 * width, foreground="white")]
    for neuron in neurons:
        x, y = projection.line(circle_points(neuron.direction, neuron.bias)).T
        (line,) = ax.plot(x, y, color=neuron.colour, linewidth=width, zorder=2)
        line.set(path_effects=halo, gid=f"circle {neuron.number}")
        clip_to_outline(line, ax, projection)
