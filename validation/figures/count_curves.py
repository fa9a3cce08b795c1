"""Counts of clusters at the end of sweeps over beta, and their curves (Figure 9)."""

from __future__ import annotations

from functools import cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

import mfpde
from mfpde.run import Run
from validation.figures.panels import (
    SETTING_COLOURS,
    count_axis,
    logarithmic_time,
    new_figure,
    styled,
)
from validation.figures.paper_runs import (
    LEAST_MASS,
    Setting,
    basins,
    counts,
    threshold_count,
    threshold_counts,
)

Array = NDArray[np.float64]
Sweep = dict[float, Run]
"""Runs of one setting by beta."""

SHOWN_BETA = 25.0


def late(sweep: Sweep) -> Array:
    """Number of basins with an atom in the last states."""
    return np.array([_last_count(run) for run in sweep.values()])


def all_basins(sweep: Sweep) -> Array:
    """Numbers of basins of mass 1 % and more, forming, narrow or not."""
    return np.array([_last_basins(run) for run in sweep.values()])


@cache
def _last_basins(run: Run) -> float:
    assert run.equation is not None
    regions = mfpde.concentration(run.final, run.equation).regions
    return float(sum(region.mass >= LEAST_MASS for region in regions))


@cache
def _last_count(run: Run) -> float:
    assert run.equation is not None
    return float(len(basins(run.final, run.equation)))


def setting_name(setting: Setting) -> str:
    """Name of a setting, whatever its beta."""
    kernel = "softmax " if setting.normalized else ""
    activation = {"relu": "ReLU", "gelu": "GeLU"}[setting.activation or ""]
    return f"S{'¹' if setting.dimension == 2 else '²'} {kernel}{setting.direction} {activation}"


@styled
def counts_figure(
    on_circle: dict[Setting, Sweep],
    on_sphere: dict[Setting, Sweep],
    alone: dict[float, Array],
) -> Figure:
    """Late counts against sqrt(beta), and counts in time at one beta."""
    figure = new_figure(9.0, 5.4)
    upper, lower = figure.subplots(2, 3)
    _draw_late(upper[0], on_circle)
    upper[0].set_title(f"S¹, basins at t = {_time(on_circle):g}")
    _draw_rule(upper[1], on_circle)
    upper[1].set_title("S¹, threshold rule at the same time")
    _draw_late(upper[2], on_sphere)
    upper[2].set_title(f"S², basins at t = {_time(on_sphere):g}")
    _draw_alone(lower[0], alone)
    for ax, rule in ((lower[1], False), (lower[2], True)):
        _draw_in_time(ax, on_circle, rule=rule)
    for ax in (*upper, lower[0]):
        ax.set_xlabel("√β")
    upper[0].set_ylabel("clusters")
    lower[0].set_ylabel("clusters")
    figure.legend(
        *upper[0].get_legend_handles_labels(), loc="outside lower center", ncols=5
    )
    figure.suptitle(
        "Clusters against √β: basins of the velocity, and the threshold rule"
    )
    return figure


def _time(sweeps: dict[Setting, Sweep]) -> float:
    return next(iter(next(iter(sweeps.values())).values())).final_time


def _draw_late(ax: Axes, sweeps: dict[Setting, Sweep]) -> None:
    for k, (setting, sweep) in enumerate(sweeps.items()):
        ax.plot(
            np.sqrt(list(sweep)),
            late(sweep) + 0.06 * (k - 2),
            "o-",
            ms=3,
            lw=1,
            color=SETTING_COLOURS[k],
            label=setting_name(setting),
        )
    ax.set_ylim(0, 6)


def _draw_rule(ax: Axes, sweeps: dict[Setting, Sweep]) -> None:
    for k, sweep in enumerate(sweeps.values()):
        rule = [threshold_count(run.final, beta) for beta, run in sweep.items()]
        ax.plot(np.sqrt(list(sweep)), rule, "o-", ms=3, lw=1, color=SETTING_COLOURS[k])
    roots = np.linspace(0, 7, 50)
    ax.plot(roots, 4 * np.pi * roots, "k--", lw=0.8, label="4π√β: uniform")
    count_axis(ax)
    ax.legend(loc="upper left")


def _draw_alone(ax: Axes, alone: dict[float, Array]) -> None:
    roots = np.sqrt(list(alone))
    for k, share in enumerate((1, 1.5, 2)):
        values = [found[k] for found in alone.values()]
        ax.plot(roots, values, "o-", ms=3, lw=1, label=f"{share:g} growth times")
    modes = [mfpde.theory.fastest_mode(b, 2) for b in alone]
    ax.plot(roots, modes, "k--", lw=0.8, label="fastest mode")
    ax.set_title("S¹, attention alone, ascent")
    ax.legend()


def _draw_in_time(ax: Axes, sweeps: dict[Setting, Sweep], *, rule: bool) -> None:
    for k, sweep in enumerate(sweeps.values()):
        beta = SHOWN_BETA if SHOWN_BETA in sweep else max(sweep)
        run = sweep[beta]
        values = threshold_counts(run, beta) if rule else counts(run)
        ax.step(run.times, values, where="post", color=SETTING_COLOURS[k], lw=1.1)
    logarithmic_time(ax, run.times)
    count_axis(ax)
    what = "threshold rule" if rule else "basins"
    ax.set_title(f"S¹, β = {beta:g}: {what} in time")
