"""Pictures of this section: pages of curves, of masses per bin, and of maps.

Each kind is a function of what there is to see that returns one of axes.  The density is blue,
particles are vermilion or crosses; what has the same name on a page is named once, below it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy.typing import NDArray

import mfpde
from mfpde.plotting.palette import ATOM, DENSITY, DENSITY_MAP, OKABE_ITO
from validation.circle_cases import points_at
from validation.figures.settings import TURN, angles
from validation.independent import cells_of, potential, problem_of

Array = NDArray[np.float64]
Draw = Callable[[Axes], Any]

EMPTY = 1e-9
"""Densities below this are drawn as this: exact atoms have emptied the cells about them."""
NAMES = "green", "purple", "orange", "sky", "black", "vermilion"
COLOURS = tuple(OKABE_ITO[name] for name in NAMES)
CROSSES = {"ls": "", "marker": "+", "color": "black", "ms": 5, "mew": 0.8}
DASHED = {"ls": "--", "marker": "", "color": "0.5"}
PLAIN = {"marker": "", "color": DENSITY}
DOTS = {"ls": "", "color": ATOM, "ms": 3}
ANGLES: dict[str, Any] = {
    "ticks": np.linspace(0, TURN, 5),
    "ticklabels": ["0", "π/2", "π", "3π/2", "2π"],
    "lim": (0, TURN),
}


def draw_page(
    title: str, rows: Sequence[Sequence[Draw]], *, size: tuple[float, float]
) -> Figure:
    """A figure of ``size`` inches: rows of axes, what they name once, and a bar for maps."""
    figure = Figure(figsize=size, layout="constrained", dpi=130)
    axes = figure.subplots(len(rows), max(map(len, rows)), squeeze=False)
    named: dict[str, Any] = {}
    for draws, row in zip(rows, axes, strict=True):
        meshes = [draw(ax) for draw, ax in zip(draws, row, strict=False)]
        if meshes[-1] is not None:
            figure.colorbar(meshes[-1], ax=list(row), label="log10 density", aspect=15)
        for ax in row[len(draws) :]:
            ax.set_axis_off()
        for ax in row[: len(draws)]:
            for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
                named.setdefault(name, handle)
    place = {"loc": "outside lower center", "ncols": 5, "fontsize": 7.5}
    figure.legend(list(named.values()), list(named), **place)
    figure.suptitle(title)
    return figure


ON_ANGLES = {"x" + name: value for name, value in ANGLES.items()} | {"xlabel": "angle"}


def angle_axis(ax: Axes) -> None:
    """Angles 0 to 2 pi in units of pi."""
    ax.set(**{"x" + name: value for name, value in ANGLES.items()})


def count_axis(ax: Axes) -> None:
    """Whole numbers from 0 on; many are logarithmic above 10."""
    top = ax.get_ylim()[1]
    ax.set_ylim(0, top + 0.2)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    if top > 12:
        ax.set_yscale("symlog", linthresh=10)
        ax.set_yticks([0, 2, 4, 6, 8, 10, 100], ["0", "2", "4", "6", "8", "10", "100"])
        ax.axhline(10, color="0.6", lw=0.6, ls=":", label="logarithmic above")


# Three kinds ---------------------------------------------------------------------------------


def curves(title: str, lines: Mapping[str, Sequence[Any]], **axes: Any) -> Draw:
    """Lines by name, each (x, y) or (x, y, look); ``axes`` as in ``Axes.set``.

    Marks of a later line are smaller and lie on the larger ones: equal ones are all seen.
    """

    def draw(ax: Axes) -> None:
        for rank, (name, (x, y, *looks)) in enumerate(lines.items()):
            look = {"marker": "o", "ms": max(9 - 1.4 * rank, 3), "lw": 1.0}
            look |= {"label": name, "color": COLOURS[rank % len(COLOURS)]}
            ax.plot(x, y, **look | dict(*looks))
        ax.set(title=title, **axes)
        if "xticks" in axes:
            ax.xaxis.set_minor_locator(NullLocator())
        if axes.get("ylabel") == "clusters":
            count_axis(ax)

    return draw


def masses(
    title: str,
    drawn: Mapping[str, Any],
    edges: Array | None = None,
    *,
    equation: mfpde.MeanFieldEquation | None = None,
    **axes: Any,
) -> Draw:
    """Mass per bin, logarithmic: of "density" as a line, of all other names as bars.

    ``drawn`` holds coordinates and masses, or measures whose angle is that about the last axis
    (the circle's own).  Of an equation V is the strip above: green where V > 0, purple below.
    """

    def draw(ax: Axes) -> None:
        bins = np.linspace(0, TURN, 65) if edges is None else edges
        for name, found in drawn.items():
            look: dict[str, Any] = {"fill": True, "color": ATOM, "alpha": 0.35}
            if name == "density":
                look = {"color": DENSITY, "lw": 1.2}
            where, weights = found if isinstance(found, tuple) else around(found)
            held, _ = np.histogram(where, bins, weights=weights)
            ax.stairs(held, bins, label=name, **look)
        ax.set(yscale="log", ylim=(1e-4, 4.0), xlim=(bins[0], bins[-1]))
        if edges is None:
            angle_axis(ax)
        if equation is not None:
            shade_landscape(ax, equation)
        ax.set(title=title, ylabel="mass per bin", **axes)

    return draw


def density_map(
    title: str,
    edges: tuple[Array, Array],
    values: Array,
    limits: tuple[float, float],
    over: Mapping[str, Sequence[Any]],
    **axes: Any,
) -> Draw:
    """Logarithm of densities (y, x), and lines by name (x, y, look) over it."""

    def draw(ax: Axes) -> Any:
        logs = np.log10(np.maximum(values, EMPTY))
        look = {"cmap": DENSITY_MAP, "rasterized": True}
        mesh = ax.pcolormesh(*edges, logs, vmin=limits[0], vmax=limits[1], **look)
        for name, (across, up, line) in over.items():
            ax.plot(across, up, label=name, **line)
        ax.set(title=title, **axes)
        return mesh

    return draw


# What they are given -------------------------------------------------------------------------


def crosses(pairs: Sequence[tuple[Any, Any]]) -> tuple[Array, Array, dict[str, Any]]:
    """The line of particles at all of several (x, y)."""
    x, y = (np.concatenate(one) for one in zip(*pairs, strict=True))
    return x, y, CROSSES


def around(measure: Any) -> tuple[Array, Array]:
    """Angles about the last axis (the circle's own), and masses, of all points."""
    points, held = cells_of(measure)
    return angles(points), held


def shade_landscape(ax: Axes, equation: mfpde.MeanFieldEquation) -> None:
    """V along the angle as a strip of colours: white where no neuron acts."""
    edges = np.linspace(0, TURN, 721)
    value = potential(problem_of(equation), points_at(edges[1:]))[np.newaxis]
    largest, across = np.abs(value).max(), ax.get_xaxis_transform()
    look = {"cmap": "PRGn", "vmin": -largest, "vmax": largest, "transform": across}
    ax.pcolormesh(edges, [0.94, 1.0], value, rasterized=True, **look)


def potential_curve(equation: mfpde.MeanFieldEquation) -> Draw:
    """V against the angle."""
    fine = np.linspace(0, TURN, 721)
    line = (fine, potential(problem_of(equation), points_at(fine)), PLAIN)
    return curves("V of the perceptron", {"V": line}, ylabel="V", **ON_ANGLES)
