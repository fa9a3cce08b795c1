"""Counts of clusters against sqrt(beta), and against time at one beta (Figure 9)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

import mfpde
from mfpde.plotting.palette import OKABE_ITO
from validation.figures.attention_alone import GROWTH_TIMES
from validation.figures.beta_sweeps import Sweep
from validation.figures.panels import count_axis, logarithmic_time, new_figure, styled
from validation.figures.paper_runs import Setting, counts, threshold_counts

Array = NDArray[np.float64]

SHOWN_BETA = 25.0
LOOKS = {
    (False, "ascent", "relu"): ("green", "ascent, ReLU"),
    (False, "ascent", "gelu"): ("purple", "ascent, GeLU"),
    (False, "descent", "relu"): ("orange", "descent, ReLU"),
    (False, "descent", "gelu"): ("sky", "descent, GeLU"),
    (True, "ascent", "relu"): ("black", "softmax, ascent, ReLU"),
}
"""Colour and name of a setting, on S^1 and on S^2."""


def setting_name(setting: Setting) -> str:
    """Name of a setting, whatever its beta."""
    kernel = "softmax " if setting.normalized else ""
    activation = {"relu": "ReLU", "gelu": "GeLU"}[setting.activation or ""]
    return f"S{'¹' if setting.dimension == 2 else '²'} {kernel}{setting.direction} {activation}"


def setting_key(setting: Setting) -> str:
    """The same for the texts of the claim."""
    plain = setting_name(setting).replace("¹", "1").replace("²", "2")
    return plain.lower().replace(" ", "_")


def look(setting: Setting) -> tuple[str, str]:
    """Colour and name of a setting."""
    colour, name = LOOKS[
        setting.normalized, setting.direction, setting.activation or ""
    ]
    return OKABE_ITO[colour], name


@styled
def counts_figure(
    on_circle: Sequence[Sweep], on_sphere: Sequence[Sweep], alone: dict[float, Array]
) -> Figure:
    """Late counts against sqrt(beta), the paper's beside them, and counts in time."""
    figure = new_figure(9.4, 6.0)
    upper, lower = figure.subplots(2, 3)
    time = on_circle[0].points[0].run.final_time
    _draw_late(upper[0], on_circle)
    upper[0].set_title(f"S¹: basins at t = {time:g}")
    _draw_paper(upper[1], on_circle)
    upper[1].set_title("S¹: the paper's protocol\n(hollow: given up, not stopped)")
    if on_sphere:
        _draw_late(upper[2], on_sphere)
    upper[2].set_title(f"S²: basins at t = {time:g}")
    _draw_alone(lower[0], alone)
    for ax, rule in ((lower[1], False), (lower[2], True)):
        _draw_in_time(ax, on_circle, rule=rule)
    for ax in (*upper, lower[0]):
        ax.set_xlabel("√β")
    for ax in (*upper, *lower):
        ax.set_ylabel("clusters")
    figure.legend(
        *upper[0].get_legend_handles_labels(), loc="outside lower center", ncols=6
    )
    figure.suptitle("Clusters against √β, shifted kernel")
    return figure


def _draw_late(ax: Axes, sweeps: Sequence[Sweep]) -> None:
    """Basins of the density: larger marks below smaller ones, so that equal ones are seen."""
    for k, found in enumerate(sweeps):
        colour, name = look(found.setting)
        size = 9.5 - 1.6 * k
        roots = np.sqrt(found.betas)
        ax.plot(roots, found.counts, "o-", ms=size, lw=1, color=colour, label=name)
    for k, found in enumerate(sweeps):
        label = "particles" if k == 0 else None
        ax.plot(
            np.sqrt(found.betas),
            found.particle_counts,
            "k+",
            ms=5,
            mew=0.7,
            label=label,
        )
    ax.set_ylim(0, ax.get_ylim()[1] + 0.2)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))


def _draw_paper(ax: Axes, sweeps: Sequence[Sweep]) -> None:
    for k, found in enumerate(sweeps):
        colour, _ = look(found.setting)
        roots = np.sqrt([beta for beta, _ in found.paper])
        ax.plot(roots, found.paper_counts, "-", lw=1, color=colour)
        stopped = np.array([run.has_stopped for _, run in found.paper])
        for which, fill in ((stopped, colour), (~stopped, "white")):
            ax.plot(
                roots[which],
                found.paper_counts[which],
                "o",
                ms=9.5 - 1.6 * k,
                color=colour,
                mfc=fill,
            )
    roots = np.linspace(0, 7.1, 50)
    ax.plot(roots, 4 * np.pi * roots, "--", color="0.5", lw=0.8)
    ax.annotate("4π√β: uniform", (3.0, 45), fontsize=7, color="0.4", ha="right")
    count_axis(ax)


def _draw_alone(ax: Axes, alone: dict[float, Array]) -> None:
    roots = np.sqrt(list(alone))
    for k, share in enumerate(GROWTH_TIMES):
        values = [found[k] for found in alone.values()]
        label = f"at {share:g} × growth time"
        ax.plot(roots, values, "os^"[k], ms=7 - 2 * k, color=str(0.3 * k), label=label)
    modes = [mfpde.theory.fastest_mode(b, 2) for b in alone]
    ax.plot(roots, modes, "-", color="0.6", lw=0.9, label="fastest mode", zorder=0)
    ax.set_ylim(0, ax.get_ylim()[1] + 0.2)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_title("S¹: attention alone, ascent")
    ax.legend(loc="lower right")


def _draw_in_time(ax: Axes, sweeps: Sequence[Sweep], *, rule: bool) -> None:
    for k, found in enumerate(sweeps):
        beta = SHOWN_BETA if SHOWN_BETA in found.betas else max(found.betas)
        run = found.points[found.betas.index(beta)].run
        values = threshold_counts(run, beta) if rule else counts(run)
        ax.step(
            run.times,
            values,
            where="post",
            color=look(found.setting)[0],
            lw=3.6 - 0.7 * k,
        )
    logarithmic_time(ax, run.times)
    if rule:
        count_axis(ax)
    else:
        ax.set_ylim(0, None)
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    what = "the paper's rule on the density" if rule else "basins"
    ax.set_title(f"S¹, β = {beta:g}: {what}")
