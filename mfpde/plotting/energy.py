"""Energy against time, with the rate at which energy is dissipated."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from mfpde.arrays import FloatArray
from mfpde.plotting.scales import set_decades, set_time_axis
from mfpde.plotting.style import DISSIPATION, ENERGY, MUTED, axes_or_new, styled
from mfpde.runs.run import Run

NO_GRADIENT = "no energy: drift is not a gradient"
NOT_RECORDED = "no energy was recorded"
NEGLIGIBLE = 1e-12


@styled
def plot_energy(run: Run, *, ax: Axes | None = None) -> Axes:
    """Draw the energy at each save and its dissipation, on a logarithmic second axis.

    A run without an energy says so in the picture.  Changes below 1e-12 of the energy
    are rounding and are drawn as the constant they are.

    Parameters
    ----------
    run
        A run of any geometry.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    ValueError
        If nothing was saved, or the run has no diagnostic ``energy``.
    """
    if not len(run.times) or "energy" not in run.diagnostics:
        raise ValueError(
            f"plot_energy needs the energy at one or more saves, but the run has "
            f"{len(run.times)} saves and the diagnostics {sorted(run.diagnostics)}"
        )
    ax = axes_or_new(ax, size=(6.0, 2.8))
    ax.spines["right"].set_visible(False)
    if np.isfinite(run.energies).any():
        _draw_energy(ax, run.times, run.energies)
    else:
        _say_why_not(ax, run)
    _draw_dissipation(ax, run)
    set_time_axis(ax, run.times)
    return ax


def _draw_energy(ax: Axes, times: FloatArray, energies: FloatArray) -> None:
    marker = "o" if len(times) == 1 else ""
    ax.plot(times, energies, color=ENERGY, marker=marker, gid="energy")
    ax.set_ylabel("energy E", color=ENERGY)
    ax.tick_params(axis="y", labelcolor=ENERGY)
    low, high = float(np.nanmin(energies)), float(np.nanmax(energies))
    size = max(abs(low), abs(high))
    if high - low <= NEGLIGIBLE * size:
        ax.set_ylim(low - 0.1 * (size or 1.0), high + 0.1 * (size or 1.0))


def _say_why_not(ax: Axes, run: Run) -> None:
    should_exist = run.equation is not None and run.equation.has_energy
    ax.set_yticks([])
    ax.text(
        0.5,
        1.02,
        NOT_RECORDED if should_exist else NO_GRADIENT,
        transform=ax.transAxes,
        ha="center",
        va="bottom",
        color=MUTED,
    )


def _draw_dissipation(ax: Axes, run: Run) -> None:
    rates = run.diagnostics.get("dissipation", np.empty(0))
    positive = np.isfinite(rates) & (rates > 0)
    if not positive.any():
        return
    shown = np.where(positive, rates, np.nan)
    twin = ax.twinx()
    twin.plot(run.times, shown, color=DISSIPATION, linestyle="--", gid="dissipation")
    top = float(np.nanmax(shown))
    set_decades(twin, max(float(np.nanmin(shown)), NEGLIGIBLE * top), top)
    twin.set_ylabel("dissipation", color=DISSIPATION)
    twin.tick_params(axis="y", which="both", labelcolor=DISSIPATION)
