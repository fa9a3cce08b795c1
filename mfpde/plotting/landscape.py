r"""The external landscape: V(theta), where each neuron is active, and where it points.

A neuron is active where a.x + b > 0.  On the circle, with a at the angle phi, that is
|theta - phi| < arccos(-b / |a|).
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.circle import angles_of, points_at, tangents_at
from mfpde.plotting.style import LANDSCAPE, MUTED, NEURONS
from mfpde.terms import Perceptron

LINE_ANGLES = 1441
SHARED_LABEL_ANGLE = 0.3
TURN = 2 * np.pi

Neuron = tuple[FloatArray, FloatArray, float]


def has_landscape(equation: MeanFieldEquation | None) -> bool:
    """Whether there is an external term to draw."""
    return equation is not None and len(equation.externals) > 0


def active_spans(direction: FloatArray, bias: float) -> list[tuple[float, float]]:
    """Intervals of [0, 2 pi] where direction.x + bias > 0.

    Parameters
    ----------
    direction
        Vector a, shape (2,).
    bias
        Scalar b.

    Returns
    -------
    None, one or (across the angle 0) two intervals ``(low, high)``, in order.
    """
    length = float(np.linalg.norm(direction))
    if bias > length:
        return [(0.0, TURN)]
    if bias <= -length:
        return []
    half = float(np.arccos(-bias / length))
    low = float(angles_of(direction)) - half
    high = low + 2 * half
    if low < 0:
        return [(0.0, high), (low + TURN, TURN)]
    if high > TURN:
        return [(0.0, high - TURN), (low, TURN)]
    return [(low, high)]


def draw_active_regions(ax: Axes, equation: MeanFieldEquation) -> None:
    """Tint where each neuron is active; overlapping tints add up.

    Up to six neurons have a colour each; more share a grey, whose darkness then counts
    the active ones.
    """
    neurons = _neurons(equation)
    opacity = 0.16 if len(neurons) <= 4 else min(0.16, 0.4 / len(neurons))
    for index, (direction, _, bias) in enumerate(neurons):
        for low, high in active_spans(direction, bias):
            ax.axvspan(
                low,
                high,
                facecolor=_color(index, len(neurons)),
                alpha=opacity,
                linewidth=0,
                zorder=0,
                gid=f"active region {index + 1}",
            )


def draw_landscape(ax: Axes, equation: MeanFieldEquation) -> None:
    """Draw V (or the drift, if there is no potential), regions and directions."""
    angles = np.linspace(0.0, TURN, LINE_ANGLES)
    values, name = _external_field(equation, angles)
    draw_active_regions(ax, equation)
    if values.min() < 0 < values.max():
        ax.axhline(0.0, color=MUTED, linewidth=0.5, linestyle=":")
    ax.plot(angles, values, color=LANDSCAPE, linewidth=1.0, gid="landscape")
    ax.set_ylabel(name)
    ax.margins(y=0.15)
    ax.yaxis.set_major_locator(MaxNLocator(3))
    _draw_directions(ax, equation)


def _external_field(
    equation: MeanFieldEquation, angles: FloatArray
) -> tuple[FloatArray, str]:
    points = points_at(angles)
    for term in equation.externals:
        term.check_dimension(2)
    if equation.has_energy:
        values = np.zeros(len(angles))
        for term in equation.externals:
            values = values + term.value(points)
        return values, "V"
    drift = np.zeros(points.shape)
    for term in equation.externals:
        drift = drift + term.drift(points)
    return np.asarray((drift * tangents_at(angles)).sum(axis=-1)), "drift"


def _neurons(equation: MeanFieldEquation) -> list[Neuron]:
    """Direction, weight (scalar or vector) and bias of every neuron."""
    neurons = []
    for term in equation.externals:
        if isinstance(term, Perceptron):
            term.check_dimension(2)
            neurons += [
                (direction, np.asarray(weight), float(bias))
                for direction, weight, bias in zip(
                    term.directions, term.weights, term.biases, strict=True
                )
            ]
    return neurons


def _color(index: int, count: int) -> str:
    return NEURONS[index] if count <= len(NEURONS) else MUTED


def _draw_directions(ax: Axes, equation: MeanFieldEquation) -> None:
    """Mark each a_j on the upper edge: a triangle up for w_j > 0, down for w_j < 0."""
    neurons = _neurons(equation)
    edge = ax.get_xaxis_transform()
    labels: list[tuple[float, list[str]]] = []
    for index, (direction, weight, _) in enumerate(neurons):
        angle = float(angles_of(direction))
        ax.plot(
            [angle],
            [1.0],
            transform=edge,
            marker=_marker(weight),
            color=_color(index, len(neurons)),
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


def _marker(weight: FloatArray) -> str:
    if weight.ndim:
        return "D"
    return "^" if weight > 0 else "v"
