"""Neurons in pictures: the landscape V(theta) against one angle, circles and zones on the sphere.

A neuron is active where a.x + b > 0; each has a colour of its own.
"""

from __future__ import annotations

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import MaxNLocator

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.plotting.angle_view import AngleView
from mfpde.plotting.projections import Projection, clip_to_outline, outlined
from mfpde.plotting.style import LANDSCAPE, MUTED, NEURONS

Neuron = tuple[FloatArray, FloatArray, float]


def neurons_of(equation: MeanFieldEquation, dimension: int) -> list[Neuron]:
    """Direction (d,), weight (scalar or vector) and bias of every neuron.

    Raises
    ------
    ValueError
        If the directions do not have ``dimension`` entries.
    """
    neurons = []
    for layer in equation.perceptrons:
        layer.check_dimension(dimension)
        neurons += [
            (direction, np.asarray(weight), float(bias))
            for direction, weight, bias in zip(
                layer.directions, layer.weights, layer.biases, strict=True
            )
        ]
    return neurons


def neuron_color(index: int, count: int) -> str:
    """Return a colour of its own for each of up to six neurons, else a common grey."""
    return NEURONS[index] if count <= len(NEURONS) else MUTED


def neuron_marker(weight: FloatArray) -> str:
    """Return a triangle up for w > 0, down for w < 0, a diamond for a vector."""
    if weight.ndim:
        return "D"
    return "^" if weight > 0 else "v"


def direction_handles(neurons: list[Neuron]) -> list[Artist]:
    """Explain the marks of the neurons' directions, those alone that are used."""
    used = {neuron_marker(weight) for _, weight, _ in neurons}
    return [
        Line2D(
            [],
            [],
            linestyle="",
            marker=marker,
            markerfacecolor="white",
            markeredgecolor=LANDSCAPE,
            markeredgewidth=0.6,
            label=meaning,
        )
        for marker, meaning in _MEANINGS.items()
        if marker in used
    ]


_MEANINGS = {
    "^": "$a_j$, $w_j > 0$",
    "v": "$a_j$, $w_j < 0$",
    "D": "$a_j$, vector weight",
}


CIRCLE_POINTS = 1441
DEAD_ZONE_PIXELS = 480
HATCH = "////"
HATCH_COLOUR = (0.65, 0.65, 0.65, 0.8)


def sphere_neurons(equation: MeanFieldEquation | None) -> list[Neuron]:
    """Neurons of an equation on the sphere (none without one)."""
    return [] if equation is None else neurons_of(equation, 3)


def circle_points(direction: FloatArray, bias: float) -> FloatArray:
    """Points (n, 3) of the circle direction.x + bias = 0; none if it misses the sphere."""
    length = float(np.linalg.norm(direction))
    height = -bias / length
    if abs(height) >= 1:
        return np.empty((0, 3))
    axis = direction / length
    first = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    first /= np.linalg.norm(first)
    second = np.cross(axis, first)
    turn = np.linspace(0.0, 2 * np.pi, CIRCLE_POINTS)[:, np.newaxis]
    around = np.cos(turn) * first + np.sin(turn) * second
    return np.asarray(height * axis + np.sqrt(1 - height**2) * around)


def has_dead_zone(neurons: list[Neuron], points: FloatArray) -> bool:
    """Whether no neuron is active at some of the points (..., 3)."""
    return bool(neurons) and bool((_largest_preactivation(neurons, points) < 0).any())


def draw_neurons(
    ax: Axes, projection: Projection, neurons: list[Neuron], *, width: float = 1.2
) -> None:
    """Draw the dead zone and the circles, of up to six neurons in a colour each."""
    _draw_dead_zone(ax, projection, neurons)
    for index, (direction, _, bias) in enumerate(neurons):
        (line,) = ax.plot(
            *projection.line(circle_points(direction, bias)).T,
            color=neuron_color(index, len(neurons)),
            linewidth=width,
            zorder=2,
            gid=f"circle {index + 1}",
            path_effects=[Stroke(linewidth=2 * width, foreground="white"), Normal()],
        )
        clip_to_outline(line, ax, projection)


def draw_directions(ax: Axes, projection: Projection, neurons: list[Neuron]) -> None:
    """Mark each visible a_j: a triangle up for w_j > 0, down for w_j < 0."""
    for index, (direction, weight, _) in enumerate(neurons):
        x, y = projection.project(direction / np.linalg.norm(direction))
        if np.isnan(x):
            continue
        ax.plot(
            [x],
            [y],
            marker=neuron_marker(weight),
            color=neuron_color(index, len(neurons)),
            markeredgecolor=LANDSCAPE,
            markeredgewidth=0.6,
            markersize=6.5,
            clip_on=False,
            zorder=7,
            gid=f"direction {index + 1}",
        )
        if len(neurons) <= len(NEURONS):
            ax.annotate(
                f"$a_{{{index + 1}}}$",
                (x, y),
                xytext=(5, 3),
                textcoords="offset points",
                fontsize=8.5,
                zorder=8,
                path_effects=outlined("white"),
            )


def _largest_preactivation(neurons: list[Neuron], points: FloatArray) -> FloatArray:
    directions = np.stack([direction for direction, _, _ in neurons])
    biases = np.array([bias for _, _, bias in neurons])
    return np.asarray((points @ directions.T + biases).max(axis=-1))


def _draw_dead_zone(ax: Axes, projection: Projection, neurons: list[Neuron]) -> None:
    # The hatching reaches beyond the border, where it is cut off.
    places = 1.01 * projection.pixels(DEAD_ZONE_PIXELS)
    points = projection.points_of(places)
    if not has_dead_zone(neurons, points):
        return
    largest = _largest_preactivation(neurons, points)
    hatching = ax.contourf(
        places[..., 0],
        places[..., 1],
        largest,
        levels=[largest.min() - 1.0, 0.0],
        colors="none",
        hatches=[HATCH],
        zorder=1.5,
    )
    hatching.set(edgecolor=HATCH_COLOUR, linewidth=0.0, gid="dead zone")
    clip_to_outline(hatching, ax, projection)


def curve_handles(neurons: list[Neuron]) -> list[Artist]:
    """Explain what stands beside curves of the density: where neurons are active, and a_j."""
    if not neurons:
        return []
    tint = Patch(facecolor=MUTED, alpha=0.3, label="neuron active")
    return [tint, *direction_handles(neurons)]


LINE_ANGLES = 1441
SHARED_LABEL_ANGLE = 0.3


def has_landscape(equation: MeanFieldEquation | None) -> bool:
    """Whether there is an external term to draw."""
    return equation is not None and len(equation.externals) > 0


def draw_active_regions(ax: Axes, equation: MeanFieldEquation, view: AngleView) -> None:
    """Tint where each neuron is active; overlapping tints add up.

    Up to six neurons have a colour each; more share a grey, whose darkness then counts
    the active ones.
    """
    neurons = neurons_of(equation, view.dimension)
    opacity = 0.16 if len(neurons) <= 4 else min(0.16, 0.4 / len(neurons))
    for index, (direction, _, bias) in enumerate(neurons):
        for low, high in view.active_spans(direction, bias):
            ax.axvspan(
                low,
                high,
                facecolor=neuron_color(index, len(neurons)),
                alpha=opacity,
                linewidth=0,
                zorder=0,
                gid=f"active region {index + 1}",
            )


def draw_landscape(ax: Axes, equation: MeanFieldEquation, view: AngleView) -> None:
    """Draw V (or the drift, if there is no potential), regions and directions."""
    angles = np.linspace(0.0, view.span, LINE_ANGLES)
    values, name = _external_field(equation, angles, view)
    draw_active_regions(ax, equation, view)
    if values.min() < 0 < values.max():
        ax.axhline(0.0, color=MUTED, linewidth=0.5, linestyle=":")
    ax.plot(angles, values, color=LANDSCAPE, linewidth=1.0, gid="landscape")
    ax.set_ylabel(name)
    ax.margins(y=0.15)
    ax.yaxis.set_major_locator(MaxNLocator(3))
    _draw_directions(ax, equation, view)


def _external_field(
    equation: MeanFieldEquation, angles: FloatArray, view: AngleView
) -> tuple[FloatArray, str]:
    points = view.points_at(angles)
    for term in equation.externals:
        term.check_dimension(view.dimension)
    if equation.has_energy:
        values = np.zeros(len(angles))
        for term in equation.externals:
            values = values + term.value(points)
        return values, "V"
    drift = np.zeros(points.shape)
    for term in equation.externals:
        drift = drift + term.drift(points)
    return np.asarray((drift * view.tangents_at(angles)).sum(axis=-1)), "drift"


def _draw_directions(ax: Axes, equation: MeanFieldEquation, view: AngleView) -> None:
    """Mark each a_j on the upper edge: a triangle up for w_j > 0, down for w_j < 0."""
    neurons = neurons_of(equation, view.dimension)
    edge = ax.get_xaxis_transform()
    labels: list[tuple[float, list[str]]] = []
    for index, (direction, weight, _) in enumerate(neurons):
        angle = float(view.angles_of(direction))
        ax.plot(
            [angle],
            [1.0],
            transform=edge,
            marker=neuron_marker(weight),
            color=neuron_color(index, len(neurons)),
            markeredgecolor=LANDSCAPE,
            markeredgewidth=0.5,
            markersize=6,
            clip_on=False,
            gid=f"direction {index + 1}",
        )
        near = [names for at, names in labels if abs(at - angle) < SHARED_LABEL_ANGLE]
        if near:
            near[0].append(str(index + 1))
        else:
            labels.append((angle, [str(index + 1)]))
    if len(neurons) <= len(NEURONS):
        for angle, names in labels:
            ax.annotate(
                f"$a_{{{','.join(names)}}}$",
                (angle, 1.0),
                xycoords=edge,
                xytext=(5, 1),
                textcoords="offset points",
                fontsize=8,
            )
