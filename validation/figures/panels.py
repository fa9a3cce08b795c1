"""Densities and particles on the same axes, for the figures of this section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

import mfpde
from mfpde.concentration import threshold_distance
from mfpde.measure import AnyMeasure, as_measure
from mfpde.plotting.scales import largest_in_rows
from mfpde.plotting.style import (
    ATOM,
    DENSITY,
    DENSITY_MAP,
    LANDSCAPE,
    MUTED,
    OKABE_ITO,
    STYLE,
)
from mfpde.run import Run
from validation.figures.paper_runs import TURN, angles

Array = NDArray[np.float64]

BINS = 64
PATHS, ROWS = 90, 200
SETTING_COLOURS = tuple(
    OKABE_ITO[name]
    for name in ("blue", "vermilion", "green", "purple", "orange", "sky", "black")
)

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
    ax: Axes, density: AnyMeasure, particles: AnyMeasure | None = None
) -> None:
    """Mass per bin on a logarithmic scale: particles as bars, the density as a line."""
    edges = np.linspace(0, TURN, BINS + 1)
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
    for shift in (-TURN, 0.0, TURN):
        ax.plot(run.times, paths + shift, color=ATOM, lw=0.35, alpha=0.8)
    angle_axis(ax, "y")


def draw_map(ax: Axes, run: Run) -> Any:
    """Logarithm of the density against time and angle; returns the coloured mesh."""
    geometry = as_measure(run.states[0]).geometry
    columns = np.stack([as_measure(state).density.values for state in run.states])
    rows = largest_in_rows(columns[1:, np.argsort(angles(geometry.points))], ROWS)
    edges = np.linspace(0, TURN, rows.shape[1] + 1)
    with np.errstate(divide="ignore"):
        shown = np.log10(rows.T)
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
    """Counts: linear up to 10, logarithmic above."""
    ax.set_yscale("symlog", linthresh=10)
    ax.set_yticks([0, 2, 4, 6, 8, 10, 100], ["0", "2", "4", "6", "8", "10", "100"])
    ax.set_ylim(0, 110)


def logarithmic_time(ax: Axes, times: Sequence[float] | Array) -> None:
    """Times from the first positive one on, by decades."""
    positive = np.asarray(times)[np.asarray(times) > 0]
    ax.set_xscale("log")
    ax.set_xlim(positive[0], positive[-1])
    ax.set_xlabel("time")


def draw_potential(ax: Axes, equation: mfpde.MeanFieldEquation) -> None:
    """V against the angle, shaded where no neuron is active."""
    fine = np.linspace(0, TURN, 721)
    points = np.stack([np.cos(fine), np.sin(fine)], axis=1)
    (term,) = equation.externals
    value = np.asarray(term.value(points))
    ax.plot(fine, value, color=LANDSCAPE)
    if isinstance(term, mfpde.Perceptron) and term.activation_name == "relu":
        dead = (term.preactivations(points) <= 0).all(axis=-1)
        low, high = value.min(), value.max()
        ax.fill_between(
            fine,
            low,
            high,
            where=dead,
            color=MUTED,
            alpha=0.25,
            lw=0,
            label="none active",
        )
        ax.legend(loc="upper right")
    ax.set_ylabel("V")
    angle_axis(ax)


def threshold_label(beta: float, dimension: int) -> str:
    """Name of the paper's rule with its distance."""
    return f"threshold {threshold_distance(beta, dimension):.2f}"
