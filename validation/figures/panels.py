"""Densities and particles on the same axes, for the figures of this section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

import mfpde
from mfpde.measures.measure import AnyMeasure, as_measure
from mfpde.plotting.palette import ATOM, DENSITY, DENSITY_MAP, LANDSCAPE, OKABE_ITO
from mfpde.plotting.style import STYLE, largest_in_rows
from mfpde.runs.run import Run
from validation.figures.cells import on_cells
from validation.figures.paper_runs import TURN, angles
from validation.threshold import threshold_distance

Array = NDArray[np.float64]

BINS = 64
PATHS, ROWS = 90, 200
SETTING_COLOURS = tuple(
    OKABE_ITO[name]
    for name in ("blue", "vermilion", "green", "purple", "orange", "sky", "black")
)

ACTIVE_GROUND, DEAD_GROUND = "0.94", "0.74"
POSITIVE, NEGATIVE = OKABE_ITO["yellow"], OKABE_ITO["sky"]
SIGN_BAND = 0.045
"""Height of the band that shows the sign of V, as a share of the axes."""
LINEAR_COUNTS = 10
EMPTY = 1e-9

styled = mpl.rc_context(STYLE)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of so many inches."""
    return Figure(figsize=(width, height), layout="constrained", dpi=130)


def angle_axis(ax: Axes, which: str = "x") -> None:
    """Angles 0 to 2 pi in units of pi."""
    ticks = np.linspace(0, TURN, 5)
    names = ["0", "π/2", "π", "3π/2", "2π"]
    if which == "x":
        ax.set_xticks(ticks, names)
        ax.set_xlim(0, TURN)
    else:
        ax.set_yticks(ticks, names)
        ax.set_ylim(0, TURN)


def mass_per_bin(measure: AnyMeasure) -> Array:
    """Mass in each of ``BINS`` equal arcs of the circle."""
    if isinstance(measure, mfpde.Atoms):
        where, masses = angles(measure.points), measure.masses
    else:
        whole = as_measure(measure)
        where = np.concatenate(
            [angles(whole.geometry.points), angles(whole.atoms.points)]
        )
        masses = np.concatenate([whole.density.masses, whole.atoms.masses])
    found, _ = np.histogram(where, np.linspace(0, TURN, BINS + 1), weights=masses)
    return np.asarray(found)


def draw_histograms(
    ax: Axes,
    density: AnyMeasure,
    particles: AnyMeasure | None = None,
    *,
    landscape: mfpde.MeanFieldEquation | None = None,
) -> None:
    """Mass per bin on a logarithmic scale: particles as bars, the density as a line.

    Behind them the landscape of an equation, if one is given.
    """
    edges = np.linspace(0, TURN, BINS + 1)
    if landscape is not None:
        shade_landscape(ax, landscape)
    if particles is not None:
        ax.stairs(
            mass_per_bin(particles),
            edges,
            fill=True,
            color=ATOM,
            alpha=0.35,
            label="particles",
        )
    ax.stairs(mass_per_bin(density), edges, color=DENSITY, lw=1.2, label="density")
    ax.set_yscale("log")
    ax.set_ylim(1e-4, 2.0)
    angle_axis(ax)


def draw_paths(ax: Axes, run: Run) -> None:
    """Angles of up to ``PATHS`` particles against time."""
    states = [state for state in run.states if isinstance(state, mfpde.Atoms)]
    step = max(len(states[0]) // PATHS, 1)
    paths = np.unwrap(np.stack([angles(s.points[::step]) for s in states]), axis=0)
    # Where particles wind around the circle, another copy of their path comes into view.
    for shift in TURN * np.arange(-3, 4):
        ax.plot(run.times, paths + shift, color=ATOM, lw=0.35, alpha=0.8)
    angle_axis(ax, "y")


def draw_map(ax: Axes, run: Run) -> Any:
    """Logarithm of the density against time and angle; returns the coloured mesh.

    Exact atoms are drawn in the two cells nearest to them.
    """
    geometry = as_measure(run.states[0]).geometry
    size = len(geometry.points)
    columns = np.stack([on_cells(state, size).values for state in run.states])
    rows = largest_in_rows(columns[1:, np.argsort(angles(geometry.points))], ROWS)
    edges = np.linspace(0, TURN, rows.shape[1] + 1)
    # Where all mass is in exact atoms the density is 0.
    shown = np.log10(np.maximum(rows.T, EMPTY))
    mesh = ax.pcolormesh(
        run.times,
        edges,
        shown,
        vmin=-3.0,
        vmax=1.0,
        cmap=DENSITY_MAP,
        rasterized=True,
    )
    angle_axis(ax, "y")
    return mesh


def count_axis(ax: Axes) -> None:
    """Counts: linear up to 10, logarithmic above a line that says so."""
    ax.set_yscale("symlog", linthresh=LINEAR_COUNTS)
    ax.set_yticks([0, 2, 4, 6, 8, 10, 100], ["0", "2", "4", "6", "8", "10", "100"])
    ax.set_ylim(0, 110)
    ax.axhline(LINEAR_COUNTS, color="0.6", lw=0.6, ls=(0, (1, 2)))
    ax.text(
        0.985,
        0.93,
        "above the dots: logarithmic",
        transform=ax.transAxes,
        ha="right",
        fontsize=6.5,
        color="0.45",
    )


def logarithmic_time(ax: Axes, times: Sequence[float] | Array) -> None:
    """Times from the first positive one on, by decades."""
    positive = np.asarray(times)[np.asarray(times) > 0]
    ax.set_xscale("log")
    ax.set_xlim(positive[0], positive[-1])
    ax.set_xlabel("time")


def draw_potential(ax: Axes, equation: mfpde.MeanFieldEquation) -> None:
    """V against the angle, and its sign and dead zones behind it."""
    fine, value, _ = _landscape(equation)
    shade_landscape(ax, equation)
    ax.plot(fine, value, color=LANDSCAPE)
    ax.margins(y=0.12)
    ax.set_ylabel("V")
    angle_axis(ax)


def shade_landscape(
    ax: Axes, equation: mfpde.MeanFieldEquation, which: str = "x"
) -> None:
    """Behind histograms and paths: dead zones dark, the rest light, and the sign of V.

    The sign is a band at the end of the axes, and black marks on it are the strict local
    maxima of V.
    """
    fine, value, dead = _landscape(equation)
    span = ax.axvspan if which == "x" else ax.axhspan
    for low, high in _stretches(fine, np.ones_like(dead)):
        span(low, high, color=ACTIVE_GROUND, lw=0, zorder=-3)
    for low, high in _stretches(fine, dead):
        span(low, high, color=DEAD_GROUND, lw=0, zorder=-2)
    level = 1e-9 * np.abs(value).max()
    ends = {"x": (1 - SIGN_BAND, 1.0), "y": (1 - SIGN_BAND * 0.75, 1.0)}[which]
    for there, colour in ((value > level, POSITIVE), (value < -level, NEGATIVE)):
        for low, high in _stretches(fine, there):
            span(low, high, *ends, color=colour, lw=0, zorder=3)
    ring = value[:-1]
    tops = fine[:-1][(ring > np.roll(ring, 1)) & (ring > np.roll(ring, -1))]
    middle = np.full(len(tops), (ends[0] + ends[1]) / 2)
    places = (tops, middle) if which == "x" else (middle, tops)
    transform = ax.get_xaxis_transform() if which == "x" else ax.get_yaxis_transform()
    mark = "v" if which == "x" else "<"
    ax.plot(*places, mark, color="black", ms=4, transform=transform, zorder=4)


def landscape_legend(equation: mfpde.MeanFieldEquation) -> list[Any]:
    """Patches that name what ``shade_landscape`` draws."""
    _, _, dead = _landscape(equation)
    grounds = [(POSITIVE, "V > 0"), (NEGATIVE, "V < 0"), (ACTIVE_GROUND, "neurons act")]
    if dead.any():
        grounds.append((DEAD_GROUND, "no neuron acts"))
    top = Line2D(
        [], [], color="black", marker="v", ls="", ms=4, label="local maximum of V"
    )
    return [*(Patch(color=colour, label=name) for colour, name in grounds), top]


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
    return [(fine[b], fine[e]) for b, e in zip(begins, ends, strict=True)]


def threshold_label(beta: float, dimension: int) -> str:
    """Name of the paper's rule with its distance."""
    return f"threshold {threshold_distance(beta, dimension):.2f}"
