r"""Figure 10: sensitivity to the start: repeats from resampled uniform starts.

The density has no sampling noise.  Where its solution is stable, repeats with n particles lie
around it with a spread like n^(-1/2); that of the mean <x> is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import mfpde
from mfpde.measure import AnyMeasure, Atoms, as_measure
from mfpde.run import Run
from validation.claim import Claim, Quantity
from validation.figures.panels import (
    SETTING_COLOURS,
    draw_histograms,
    new_figure,
    styled,
)
from validation.figures.paper_runs import Setting, at, density_run, particle_run

Array = NDArray[np.float64]

CLAIM = Claim(
    title="Resampled starts: the density is the limit of the panels",
    source="Figure 10",
    statement=(
        "Runs with GeLU neurons depend little on the sampled start, runs without "
        "perceptron depend on it wholly."
    ),
    condition=(
        "With the perceptron (ascent and descent) the spread falls as n^(-1/2) around the "
        "density at all times. Attention alone in ascent amplifies sampling noise: at a "
        "fixed early time its spread falls in the same way, but later it does not fall: "
        "the limits of many particles and of long time do not commute, and the density "
        "started from the uniform measure stays there."
    ),
)
SETTINGS = {
    "no perceptron, ascent": Setting(5.0, "ascent", None),
    "ascent, GeLU": Setting(5.0, "ascent", "gelu"),
    "descent, GeLU": Setting(5.0, "descent", "gelu"),
}
ALONE = "no perceptron, ascent"


@dataclass(frozen=True, eq=False)
class Panel:
    """Repeats at several n beside the density: <x> at both times, (n, repeats, times, 2)."""

    density: Run
    means: Array
    expected: Array
    last: list[AnyMeasure]


def main(quick: bool = False) -> dict[str, Any]:
    sizes = (50, 200, 800) if quick else (100, 400, 1600)
    repeats = 6 if quick else 24
    times = (1.0, 10.0) if quick else (2.0, 60.0)
    panels = {
        name: _panel(setting, sizes, repeats=repeats, times=times)
        for name, setting in SETTINGS.items()
    }
    quantities = []
    for name, panel in panels.items():
        quantities += _law(name, panel, sizes, times=times)
    figure = _figure(panels, sizes, times)
    return {"quantities": quantities, "figures": {"figure_10": figure}}


def _panel(
    setting: Setting,
    sizes: tuple[int, ...],
    *,
    repeats: int,
    times: tuple[float, float],
) -> Panel:
    density = density_run(setting, 512, times)
    means, last = [], []
    for n in sizes:
        runs = [
            particle_run(setting, n, times, seed=seed, time_step=0.25)
            for seed in range(repeats)
        ]
        means.append([[_mean(at(run, t)) for t in times] for run in runs])
        last = [run.final for run in runs]
    expected = np.array([_mean(at(density, t)) for t in times])
    return Panel(density, np.array(means), expected, last)


def _mean(measure: AnyMeasure) -> Array:
    if isinstance(measure, Atoms):
        return measure.masses @ measure.points
    whole = as_measure(measure)
    return np.asarray(whole.density.masses @ whole.geometry.points)


def _spread(panel: Panel, which: int) -> Array:
    """Root mean square distance of <x> to the density's, for each n."""
    errors = panel.means[:, :, which] - panel.expected[which]
    return np.asarray(np.sqrt((errors**2).sum(axis=-1).mean(axis=-1)))


def _law(
    name: str, panel: Panel, sizes: tuple[int, ...], *, times: tuple[float, float]
) -> list[Quantity]:
    repeats = panel.means.shape[1]
    quantities = []
    for which, time in enumerate(times):
        if name == ALONE and which == 1:
            continue
        slope, error = _exponent(sizes, _spread(panel, which), repeats)
        quantities.append(
            Quantity(
                f"{name}: exponent of the spread in n, t = {time:g}",
                slope,
                -0.5,
                3 * error,
            )
        )
        quantities.append(_centre(f"{name}: t = {time:g}", panel, which))
    if name == ALONE:
        grown = _spread(panel, 1) / _spread(panel, 0)
        rate = mfpde.theory.growth_rates(5.0, 2, range(1, 9), direction="ascent").max()
        quantities.append(
            Quantity(
                f"{name}: growth of the spread from t = {times[0]:g} to {times[1]:g}, "
                f"n = {sizes[-1]}; a stable flow has at most 1 (fastest rate {rate:.2g})",
                float(grown[-1]),
                1.0,
                0.0,
                "at least",
            )
        )
    return quantities


def _exponent(
    sizes: tuple[int, ...], spread: Array, repeats: int
) -> tuple[float, float]:
    """Slope of log spread in log n, and its standard error.

    A root mean square of r independent pairs of normal numbers has a logarithm of standard
    deviation about 1/(2 sqrt r) (one number each in the worst case: 1/sqrt(2 r)).
    """
    logs = np.log(np.array(sizes, float))
    centred = logs - logs.mean()
    slope = float(centred @ np.log(spread) / (centred @ centred))
    error = 1 / np.sqrt(2 * repeats) / np.sqrt(centred @ centred)
    return slope, float(error)


def _centre(name: str, panel: Panel, which: int) -> Quantity:
    """The mean over the repeats at the largest n, beside the density."""
    values = panel.means[-1, :, which]
    spread = np.sqrt(((values - panel.expected[which]) ** 2).sum(axis=-1).mean())
    centre = np.linalg.norm(values.mean(axis=0) - panel.expected[which])
    return Quantity(
        f"{name}: mean of the panel to the density, in standard errors",
        float(centre / (spread / np.sqrt(len(values)))),
        3.0,
        0.0,
        "at most",
    )


@styled
def _figure(
    panels: dict[str, Panel], sizes: tuple[int, ...], times: tuple[float, float]
) -> Figure:
    figure = new_figure(8.6, 4.8)
    upper, lower = figure.subplots(2, 3)
    for ax, below, (name, panel) in zip(upper, lower, panels.items(), strict=True):
        draw_histograms(ax, panel.density.final, _pooled(panel.last))
        ax.set_title(f"{name}, t = {times[1]:g}")
        for which, time in enumerate(times):
            spread = _spread(panel, which)
            colour = SETTING_COLOURS[which]
            below.loglog(sizes, spread, "o-", ms=4, color=colour, label=f"t = {time:g}")
            law = spread[0] * np.sqrt(sizes[0] / np.array(sizes))
            below.loglog(sizes, law, "--", lw=0.8, color=colour)
        below.set_xlabel("particles n")
    upper[0].set_ylabel("mass per bin")
    lower[0].set_ylabel("spread of ⟨x⟩")
    upper[0].legend(
        *_renamed(upper[0], len(next(iter(panels.values())).last)), loc="lower left"
    )
    lower[0].legend(title="dashed: $n^{-1/2}$")
    figure.suptitle("S¹, β = 5, shifted kernel: repeats from resampled starts")
    return figure


def _renamed(ax: Any, repeats: int) -> tuple[list[Any], list[str]]:
    handles, _ = ax.get_legend_handles_labels()
    return handles, [f"{repeats} repeats, pooled", "density"]


def _pooled(states: list[AnyMeasure]) -> Atoms:
    points = np.concatenate([state.points for state in states])
    masses = np.concatenate([state.masses for state in states]) / len(states)
    return Atoms(points, masses)


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
