"""Pictures of this section: histograms, maps and paths over angles, and curves against sqrt(beta).

The density is blue, particles are vermilion.  A page gathers the labels of all its axes in one
legend, so that what looks alike is named once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

import mfpde
from mfpde.measures.measure import AnyMeasure, as_measure
from mfpde.plotting.palette import ATOM, DENSITY, DENSITY_MAP, LANDSCAPE, OKABE_ITO
from mfpde.plotting.style import largest_in_rows
from mfpde.runs.run import Run
from validation.characteristics import Cloud
from validation.figures.settings import TURN, angles
from validation.independent import cells_of

Array = NDArray[np.float64]

PATHS, ROWS = 90, 200
ARCS = np.linspace(0, TURN, 65)
ACTIVE_GROUND, DEAD_GROUND = "0.94", "0.74"
POSITIVE, NEGATIVE = OKABE_ITO["yellow"], OKABE_ITO["sky"]
SIGN_BAND = 0.045
"""Height of the band that shows the sign of V, as a share of the axes."""
LINEAR_COUNTS = 10
LOOKS = {
    3: {"color": OKABE_ITO["green"], "marker": "o"},
    4: {"color": OKABE_ITO["purple"], "marker": "s"},
    8: {"color": OKABE_ITO["orange"], "marker": "D"},
    16: {"color": OKABE_ITO["black"], "marker": "^"},
}
"""Colour and mark by dimension."""
EMPTY = 1e-9
"""Densities below this are drawn as this: exact atoms have emptied the cells about them."""


def new_page(
    rows: int, columns: int, size: tuple[float, float], **grid: Any
) -> tuple[Figure, Any]:
    """A figure of ``size`` inches and its axes (rows, columns)."""
    figure = Figure(figsize=size, layout="constrained", dpi=130)
    return figure, figure.subplots(rows, columns, squeeze=False, **grid)


def finish_page(figure: Figure, title: str, columns: int = 5) -> Figure:
    """Put a title above the axes, and below them what they have labels for, each name once."""
    named: dict[str, Any] = {}
    for ax in figure.axes:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    figure.legend(
        list(named.values()),
        list(named),
        loc="outside lower center",
        ncols=columns,
        fontsize=7.5,
    )
    figure.suptitle(title)
    return figure


# Axes ----------------------------------------------------------------------------------------


def angle_axis(ax: Axes, which: str = "x") -> None:
    """Angles 0 to 2 pi in units of pi."""
    ticks, names = np.linspace(0, TURN, 5), ["0", "π/2", "π", "3π/2", "2π"]
    limits = {f"{which}ticks": ticks, f"{which}ticklabels": names}
    ax.set(**limits, **{f"{which}lim": (0, TURN)})


def logarithmic_time(ax: Axes, times: Sequence[float] | Array) -> None:
    """Times from the first positive one on, by decades."""
    positive = np.asarray(times)[np.asarray(times) > 0]
    ax.set(xscale="log", xlim=(positive[0], positive[-1]), xlabel="time")


def count_axis(ax: Axes) -> None:
    """Counts: linear up to 10, logarithmic above a line that says so."""
    ax.set_yscale("symlog", linthresh=LINEAR_COUNTS)
    ax.set_yticks([0, 2, 4, 6, 8, 10, 100], ["0", "2", "4", "6", "8", "10", "100"])
    ax.set_ylim(0, 110)
    ax.axhline(LINEAR_COUNTS, color="0.6", lw=0.6, ls=(0, (1, 2)))
    where = {"transform": ax.transAxes, "ha": "right"}
    text = "above the dots: logarithmic"
    ax.text(0.985, 0.93, text, fontsize=6.5, color="0.45", **where)


def small_counts(ax: Axes) -> None:
    """Whole numbers from 0 on."""
    ax.set_ylim(0, ax.get_ylim()[1] + 0.2)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))


# Masses --------------------------------------------------------------------------------------


def draw_masses(
    ax: Axes,
    edges: Array,
    drawn: dict[str, tuple[Array, Array]],
    *,
    top: float = 2.0,
) -> None:
    """Mass per bin, logarithmic: of "density" as a line, of all other names as bars.

    ``drawn`` holds the coordinates and the masses of the points of each measure.
    """
    for name, (where, masses) in drawn.items():
        look: dict[str, Any] = {"fill": True, "color": ATOM, "alpha": 0.35}
        if name == "density":
            look = {"color": DENSITY, "lw": 1.2}
        found, _ = np.histogram(where, edges, weights=masses)
        ax.stairs(found, edges, label=name, **look)
    ax.set(yscale="log", ylim=(1e-4, top), xlim=(edges[0], edges[-1]))


def draw_histograms(
    ax: Axes,
    density: AnyMeasure,
    particles: AnyMeasure | None = None,
    *,
    landscape: mfpde.MeanFieldEquation | None = None,
    name: str = "particles",
) -> None:
    """Mass per arc of the circle of the density and of particles, on a landscape."""
    if landscape is not None:
        shade_landscape(ax, landscape)
    both = {name: particles, "density": density}
    drawn = {which: around(one) for which, one in both.items() if one is not None}
    draw_masses(ax, ARCS, drawn)
    angle_axis(ax)
    ax.set_xlabel("angle")


def draw_arcs(ax: Axes, measure: AnyMeasure, **look: Any) -> None:
    """Mass per arc of the circle as a thin line."""
    where, weights = around(measure)
    ax.stairs(*np.histogram(where, ARCS, weights=weights), **look)


def around(measure: AnyMeasure | Cloud) -> tuple[Array, Array]:
    """Angles about the last axis (the circle's own), and masses, of all points."""
    points, masses = cells_of(measure)
    return angles(points), masses


# Maps and paths ------------------------------------------------------------------------------


def draw_map(
    ax: Axes, x: Array, y: Array, values: Array, limits: tuple[float, float]
) -> Any:
    """Logarithm of densities (y, x); returns the coloured mesh."""
    return ax.pcolormesh(
        x,
        y,
        np.log10(np.maximum(values, EMPTY)),
        vmin=limits[0],
        vmax=limits[1],
        cmap=DENSITY_MAP,
        rasterized=True,
    )


def draw_in_time(ax: Axes, times: Array, densities: Sequence[mfpde.Density]) -> Any:
    """Densities on the circle against time and angle; returns the coloured mesh."""
    order = np.argsort(angles(densities[0].geometry.points))
    columns = np.stack([density.values[order] for density in densities[1:]])
    rows = largest_in_rows(columns, ROWS).T
    mesh = draw_map(ax, times, np.linspace(0, TURN, len(rows) + 1), rows, (-3.0, 1.0))
    angle_axis(ax, "y")
    return mesh


def draw_on_sphere(ax: Axes, measure: AnyMeasure, particles: Cloud) -> Any:
    """A density over longitude and cos theta (equal areas), and particles; the mesh."""
    whole = as_measure(measure)
    grid, values = whole.geometry, whole.density.values
    first = angles(grid.points[0, :, :2])
    # The first column again at the end: the map closes.
    order = np.append(np.argsort(first), np.argmin(first))
    across = np.append(np.sort(first), first.min() + TURN)
    heights = grid.points[:, 0, 2]
    mesh = draw_map(ax, across, heights, values[:, order] * 4 * np.pi, (-2.0, 2.0))
    some, atoms = particles.points[::3], whole.atoms.points
    ax.plot(angles(some), some[:, 2], ".", ms=1.2, color=ATOM, alpha=0.7)
    look = {"ms": 5, "mfc": "none", "mec": "black", "mew": 0.8}
    ax.plot(angles(atoms), atoms[:, 2], "D", label="exact atom", **look)
    angle_axis(ax)
    ax.set(ylim=(-1, 1), xlabel="longitude")
    return mesh


def draw_paths(ax: Axes, run: Run) -> None:
    """Angles of up to ``PATHS`` particles against time."""
    step = max(len(run.final.points) // PATHS, 1)
    paths = np.unwrap([angles(state.points[::step]) for state in run.states], axis=0)
    # Where particles wind around the circle, another copy of their path comes into view.
    for shift in TURN * np.arange(-3, 4):
        ax.plot(run.times, paths + shift, color=ATOM, lw=0.35, alpha=0.8)
    angle_axis(ax, "y")


# The landscape of the perceptron ---------------------------------------------------------------


def draw_potential(ax: Axes, equation: mfpde.MeanFieldEquation) -> None:
    """V against the angle, and its sign and dead zones behind it."""
    fine, value, _ = _landscape(equation)
    shade_landscape(ax, equation)
    ax.plot(fine, value, color=LANDSCAPE)
    ax.margins(y=0.12)
    ax.set(xlabel="angle", ylabel="V")
    angle_axis(ax)


def shade_landscape(
    ax: Axes, equation: mfpde.MeanFieldEquation, which: str = "x"
) -> None:
    """Behind histograms and paths: dead zones dark, the rest light, and the sign of V.

    The sign is a band at the end of the axes, and black marks on it are the strict local
    maxima of V.
    """
    fine, value, dead = _landscape(equation)
    level = 1e-9 * np.abs(value).max()
    band = {"x": (1 - SIGN_BAND, 1.0), "y": (1 - SIGN_BAND * 0.75, 1.0)}[which]
    span = ax.axvspan if which == "x" else ax.axhspan
    for name, there, colour, ends, order in (
        ("neurons act", np.ones_like(dead), ACTIVE_GROUND, (0.0, 1.0), -3),
        ("no neuron acts", dead, DEAD_GROUND, (0.0, 1.0), -2),
        ("V > 0", value > level, POSITIVE, band, 3),
        ("V < 0", value < -level, NEGATIVE, band, 3),
    ):
        for low, high in _stretches(fine, there):
            span(low, high, *ends, color=colour, lw=0, zorder=order, label=name)
    ring = value[:-1]
    tops = fine[:-1][(ring > np.roll(ring, 1)) & (ring > np.roll(ring, -1))]
    middle = np.full(len(tops), sum(band) / 2)
    look = {"ls": "", "color": "black", "ms": 4, "zorder": 4}
    look["label"] = "local maximum of V"
    if which == "x":
        ax.plot(tops, middle, marker="v", transform=ax.get_xaxis_transform(), **look)
    else:
        ax.plot(middle, tops, marker="<", transform=ax.get_yaxis_transform(), **look)


def _landscape(equation: mfpde.MeanFieldEquation) -> tuple[Array, Array, NDArray[Any]]:
    """Angles from 0 to 2 pi, V there, and where no neuron is active."""
    fine = np.linspace(0, TURN, 1441)
    points = np.stack([np.cos(fine), np.sin(fine)], axis=1)
    (term,) = equation.externals
    dead = np.zeros(len(fine), bool)
    if isinstance(term, mfpde.Perceptron) and term.activation.name == "relu":
        dead = (term.preactivations(points) <= 0).all(axis=-1)
    return fine, np.asarray(term.value(points)), dead


def _stretches(fine: Array, there: NDArray[Any]) -> list[tuple[float, float]]:
    """Ends of the intervals of angles on which a condition holds."""
    steps = np.diff(np.concatenate([[0], np.asarray(there, int), [0]]))
    begins, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1) - 1
    return list(zip(fine[begins], fine[ends], strict=True))


# Against sqrt(beta) ----------------------------------------------------------------------------


def draw_sweep(
    ax: Axes,
    betas: Sequence[float],
    values: Sequence[float] | Array,
    *,
    rank: int = 0,
    particles: Sequence[float] | Array | None = None,
    **look: Any,
) -> None:
    """A quantity against sqrt(beta), and crosses for that of particles.

    Marks of a higher ``rank`` are smaller and lie on the larger ones: equal ones are all seen.
    """
    look = {"marker": "o", "ms": 9.5 - 1.6 * rank, "lw": 1.0, **look}
    roots = np.sqrt(betas)
    ax.plot(roots, values, zorder=2 + 0.1 * rank, **look)
    if particles is not None:
        ax.plot(roots, particles, "k+", ms=5, mew=0.7, zorder=3, label="particles")
    ax.set_xlabel("√β")
