"""Neurons in pictures: the landscape V against one angle, circles and zones on the sphere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from scipy.linalg import null_space

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.circle import points_at
from mfpde.plotting import palette, style
from mfpde.plotting.angle_view import AngleView
from mfpde.plotting.projections import line_through, pixels_of, places_of, points_of
from mfpde.plotting.style import Look

LINE_POINTS = 1441
SHARED_LABEL_ANGLE = 0.3
PIXELS = 240
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
    weight: Any
    number: int
    colour: str
    name: str

    @property
    def marker(self) -> str:
        """By the sign of the weight."""
        return "D" if np.ndim(self.weight) else "^" if self.weight > 0 else "v"


def neurons_of(equation: MeanFieldEquation | None, dimension: int) -> list[Neuron]:
    """Return every neuron of an equation, none without one; d must be ``dimension``."""
    found: list[Any] = []
    for layer in [] if equation is None else equation.perceptrons:
        layer.check_dimension(dimension)
        found += zip(layer.directions, layer.biases, layer.weights, strict=True)
    few = len(found) <= len(palette.NEURONS)
    colours = palette.NEURONS if few else (palette.MUTED,) * len(found)
    return [
        Neuron(a, float(b), weight, number, colour, str(number) if few else "")
        for number, ((a, b, weight), colour) in enumerate(
            zip(found, colours, strict=False), 1
        )
    ]


def direction_handles(neurons: Sequence[Neuron]) -> list[Artist]:
    """Explain the marks of the neurons' directions, those alone that are used."""
    used = {neuron.marker for neuron in neurons}
    look: Look = {"linestyle": "", "mfc": "white", "mec": palette.LANDSCAPE, "mew": 0.6}
    marks = [marker for marker in MEANINGS if marker in used]
    return [Line2D([], [], marker=m, label=MEANINGS[m], **look) for m in marks]


def has_landscape(equation: MeanFieldEquation | None) -> TypeGuard[MeanFieldEquation]:
    """Whether there is an external term to draw."""
    return equation is not None and len(equation.externals) > 0


def external_field(
    equation: MeanFieldEquation, angles: FloatArray, view: AngleView
) -> tuple[FloatArray, str]:
    """V at ``angles``, or the drift along the angle if there is no potential; and its name."""
    points = view.points_at(angles)
    for term in equation.externals:
        term.check_dimension(view.dimension)
    if all(term.is_gradient for term in equation.externals):
        return sum((t.value(points) for t in equation.externals), 0 * angles), "V"
    drift = sum((t.drift(points) for t in equation.externals), 0 * points)
    return np.sum(drift * view.tangents_at(angles), axis=-1), "drift"


def draw_active_regions(ax: Axes, equation: MeanFieldEquation, view: AngleView) -> None:
    """Tint where each neuron is active; tints add up, so that the darkness of greys counts."""
    neurons = neurons_of(equation, view.dimension)
    opacity = 0.16 if len(neurons) <= 4 else min(0.16, 0.4 / len(neurons))
    angles = np.linspace(0.0, view.span, LINE_POINTS)
    points, height = view.points_at(angles), ax.get_xaxis_transform()
    for neuron in neurons:
        is_active = points @ neuron.direction + neuron.bias > 0
        tint = ax.fill_between(angles, 0.0, 1.0, where=is_active, transform=height)
        tint.set(facecolor=neuron.colour, alpha=opacity, linewidth=0.0, zorder=0)
        tint.set_gid(f"active region {neuron.number}")


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


def draw_directions(ax: Axes, neurons: Sequence[Neuron]) -> None:
    """Mark each a_j on axes of the sphere."""
    for neuron in neurons:
        x, y = map(float, places_of(neuron.direction))
        _mark_direction(ax, neuron, x, y)
        _name_direction(ax, neuron.name, x, y, path_effects=style.white_outline())


def _mark_direction(ax: Axes, neuron: Neuron, x: float, y: float, **look: Any) -> None:
    look |= {"markeredgecolor": palette.LANDSCAPE, "markeredgewidth": 0.6}
    look |= {"color": neuron.colour, "markersize": 6.5, "clip_on": False, "zorder": 7}
    ax.plot([x], [y], neuron.marker, gid=f"direction {neuron.number}", **look)


def _name_direction(ax: Axes, name: str, x: float, y: float, **look: Any) -> None:
    if name:
        style.write_beside(ax, f"$a_{{{name}}}$", (x, y), (5, 2), zorder=8, **look)


def circle_points(direction: FloatArray, bias: float) -> FloatArray:
    """Points (n, 3) of the circle direction.x + bias = 0; none if it misses the sphere."""
    length = float(np.linalg.norm(direction))
    height = -bias / length
    if abs(height) >= 1:
        return np.empty((0, 3))
    turn = np.linspace(0.0, 2 * np.pi, LINE_POINTS)
    around = points_at(turn) @ null_space(direction[np.newaxis]).T
    return np.asarray(height * direction / length + np.sqrt(1 - height**2) * around)


def largest_sum(neurons: Sequence[Neuron], points: FloatArray) -> FloatArray:
    """Largest a_j.x + b_j (...) at points (..., d): none is active where it is below zero."""
    sums = [points @ neuron.direction + neuron.bias for neuron in neurons]
    return np.asarray(np.max(sums, axis=0))


def has_dead_zone(neurons: Sequence[Neuron]) -> bool:
    """Whether there are neurons, but none is active on some part of the sphere."""
    longitudes = np.linspace(-np.pi, np.pi, PIXELS)
    places = np.stack(np.meshgrid(longitudes, longitudes / 2), axis=-1)
    return bool(neurons) and bool((largest_sum(neurons, points_of(places)) < 0).any())


def draw_neurons(ax: Axes, neurons: Sequence[Neuron], *, width: float = 1.2) -> None:
    """Hatch where no neuron is active, and draw the circles a_j.x + b_j = 0."""
    if not neurons:
        return
    largest = largest_sum(neurons, pixels_of(ax, PIXELS))
    if (lowest := float(largest.min())) < 0:
        x, y = (np.linspace(0.0, 1.0, count) for count in reversed(largest.shape))
        look: Look = {"levels": [lowest - 1, 0.0], "colors": "none", "zorder": 1.5}
        look |= {"transform": ax.transAxes, "hatches": [HATCH]}
        hatching = ax.contourf(x, y, largest, **look)
        hatching.set(edgecolor=HATCH_COLOUR, linewidth=0.0, gid="dead zone")
    for neuron in neurons:
        circle = line_through(circle_points(neuron.direction, neuron.bias))
        look = {"path_effects": style.white_outline(2 * width), "linewidth": width}
        look |= {"color": neuron.colour, "zorder": 2, "gid": f"circle {neuron.number}"}
        ax.plot(*circle.T, **look)
