"""The external landscape against one angle: V(theta), active neurons, directions.

A neuron is active where a.x + b > 0.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.plotting.angle_view import AngleView
from mfpde.plotting.neurons import neuron_color, neuron_marker, neurons_of
from mfpde.plotting.style import LANDSCAPE, MUTED, NEURONS

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
