r"""Figure 10: sensitivity to the start: repeats from resampled uniform starts.

The density has no sampling noise.  Where its solution is stable, repeats with n particles lie
around it with a spread like n^(-1/2); that of the mean <x> is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

import mfpde
from mfpde.measures.measure import AnyMeasure, Atoms
from mfpde.runs.run import Run
from validation.claim import Claim, Quantity
from validation.figures.panels import (
    SETTING_COLOURS,
    draw_histograms,
    landscape_legend,
    mass_per_bin,
    new_figure,
    styled,
)
from validation.figures.paper_runs import Setting, angles, at, density_run, particle_run
from validation.independent import cells_of

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
        "density at all times. Attention alone in ascent amplifies sampling noise, its "
        "fastest mode at the rate {rate:.2g}: at a fixed early time its spread falls in the "
        "same way, but by t = 60 it falls more slowly, with the exponent "
        "{late_exponent:.2g} in n, {standard_errors:.1f} standard errors above that law. "
        "The limits of many particles and of long time do not commute: the density that "
        "starts from the uniform measure stays there."
    ),
)
SETTINGS = {
    "no perceptron, ascent": Setting(5.0, "ascent", None),
    "ascent, GeLU": Setting(5.0, "ascent", "gelu"),
    "descent, GeLU": Setting(5.0, "descent", "gelu"),
}
ALONE = "no perceptron, ascent"
CELLS = 512
QUANTISED = 1000
LAW = -0.5
SIGNIFICANT = 3.0
"""Standard errors."""
AMPLITUDE, AFTER = 1e-4, 10.0


@dataclass(frozen=True, eq=False)
class Panel:
    """Repeats at several n beside the density: <x> at both times, (n, repeats, times, 2).

    Beside both stand particles without sampling noise.
    """

    density: Run
    quantised: Run
    means: Array
    expected: Array
    last: list[AnyMeasure]


def main(quick: bool = False) -> dict[str, Any]:
    sizes = (50, 200, 800) if quick else (100, 400, 1600)
    repeats = 12 if quick else 24
    times = (2.0, 10.0) if quick else (2.0, 60.0)
    panels = {
        name: _panel(setting, sizes, repeats=repeats, times=times)
        for name, setting in SETTINGS.items()
    }
    quantities = [_amplified()]
    for name, panel in panels.items():
        for which, time in enumerate(times):
            about = f"{name}, t = {time:g}"
            if name != ALONE:
                quantities += _around_the_density(about, panel, which, sizes=sizes)
            elif which == 0:
                quantities.append(_early_alone(about, panel, sizes))
            elif not quick:
                quantities += _late_alone(about, panel, sizes)
    figure = _figure(panels, sizes, times)
    return {"quantities": quantities, "figures": {"figure_10": figure}}


def _panel(
    setting: Setting,
    sizes: tuple[int, ...],
    *,
    repeats: int,
    times: tuple[float, float],
) -> Panel:
    density = density_run(setting, CELLS, times, atoms="exact")
    means, last = [], []
    for n in sizes:
        runs = [
            particle_run(setting, n, times, seed=seed, time_step=0.25)
            for seed in range(repeats)
        ]
        means.append([[_mean(at(run, t)) for t in times] for run in runs])
        last = [run.final for run in runs]
    expected = np.array([_mean(at(density, t)) for t in times])
    quantised = particle_run(setting, QUANTISED, times, time_step=0.25)
    return Panel(density, quantised, np.array(means), expected, last)


def _mean(measure: AnyMeasure) -> Array:
    points, masses = cells_of(measure)
    return np.asarray(masses @ points)


def _spread(panel: Panel, which: int) -> Array:
    """Root mean square distance of <x> to the density's, for each n."""
    errors = panel.means[:, :, which] - panel.expected[which]
    return np.asarray(np.sqrt((errors**2).sum(axis=-1).mean(axis=-1)))


def _amplified() -> Quantity:
    """Growth of the fastest mode of a density about the uniform measure."""
    setting = SETTINGS[ALONE]
    grid = mfpde.Circle(CELLS)
    mode = mfpde.theory.fastest_mode(setting.beta, 2)
    wave = np.cos(mode * angles(grid.points))
    start = mfpde.Density(grid, (1 + AMPLITUDE * wave) / grid.areas.sum())
    run = mfpde.solve(setting.equation, start, t_end=AFTER)
    grown = 2 * float(run.final.density.masses @ wave) / AMPLITUDE
    (rate,) = mfpde.theory.growth_rates(setting.beta, 2, [mode], direction="ascent")
    return Quantity(
        f"{ALONE}: rate of the fastest mode of the density about the uniform measure",
        float(np.log(grown)) / AFTER,
        float(rate),
        1e-3,
        relative=True,
        key="rate",
        shows="condition",
    )


def _around_the_density(
    about: str, panel: Panel, which: int, *, sizes: tuple[int, ...]
) -> list[Quantity]:
    slope, error = _exponent(sizes, _spread(panel, which), panel.means.shape[1])
    return [
        Quantity(
            f"{about}: exponent of the spread about the density in n",
            slope,
            LAW,
            SIGNIFICANT * error,
        ),
        _centre(about, panel, which),
        _without_noise(about, panel, which),
    ]


def _without_noise(about: str, panel: Panel, which: int) -> Quantity:
    """<x> of the density beside quantiles, of which a basin's two edges cut one each."""
    state = panel.quantised.states[which + 1]
    away = np.linalg.norm(panel.expected[which] - _mean(state))
    return Quantity(
        f"{about}: mean of the density, from {QUANTISED} particles without noise",
        float(away),
        0.0,
        2 / QUANTISED,
    )


def _early_alone(about: str, panel: Panel, sizes: tuple[int, ...]) -> Quantity:
    """Particles alone: about the uniform measure, whose mean is 0."""
    slope, error = _exponent(sizes, _spread_about_zero(panel, 0), panel.means.shape[1])
    return Quantity(
        f"{about}: exponent of the spread about the uniform measure in n",
        slope,
        LAW,
        SIGNIFICANT * error,
        subject="formula",
    )


def _late_alone(about: str, panel: Panel, sizes: tuple[int, ...]) -> list[Quantity]:
    """The exponent between no fall and the law, and how far it is from the law."""
    slope, error = _exponent(sizes, _spread_about_zero(panel, 1), panel.means.shape[1])
    return [
        Quantity(
            f"{about}: exponent of the spread about the uniform measure in n",
            slope,
            0.0,
            SIGNIFICANT * error,
            key="late_exponent",
            shows="condition",
            subject="formula",
        ),
        Quantity(
            f"{about}: standard errors of that exponent above -1/2",
            (slope - LAW) / error,
            SIGNIFICANT,
            0.0,
            "at least",
            key="standard_errors",
            shows="condition",
            subject="formula",
        ),
    ]


def _spread_about_zero(panel: Panel, which: int) -> Array:
    values = panel.means[:, :, which]
    return np.asarray(np.sqrt((values**2).sum(axis=-1).mean(axis=-1)))


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
    """The mean over the repeats at the largest n, beside the density.

    Their spread is taken about their own mean: about the density it would grow with the
    density's error, and hide it.
    """
    values = panel.means[-1, :, which]
    middle = values.mean(axis=0)
    spread = np.sqrt(((values - middle) ** 2).sum() / (len(values) - 1))
    away = np.linalg.norm(middle - panel.expected[which])
    return Quantity(
        f"{name}: mean of the panel to the density, in standard errors",
        float(away / (spread / np.sqrt(len(values)))),
        0.0,
        SIGNIFICANT,
    )


@styled
def _figure(
    panels: dict[str, Panel], sizes: tuple[int, ...], times: tuple[float, float]
) -> Figure:
    figure = new_figure(8.6, 5.6)
    upper, lower = figure.subplots(2, 3)
    for ax, below, (name, panel) in zip(upper, lower, panels.items(), strict=True):
        landscape = None if name == ALONE else SETTINGS[name].equation
        _draw_panels(ax, panel, landscape)
        ax.set_title(f"{name}, t = {times[1]:g}")
        ax.set_xlabel("angle")
        for which, time in enumerate(times):
            spread = _spread(panel, which)
            colour = SETTING_COLOURS[2 + which]
            below.loglog(sizes, spread, "o-", ms=4, color=colour, label=f"t = {time:g}")
            law = spread[0] * np.sqrt(sizes[0] / np.array(sizes))
            below.loglog(sizes, law, "--", lw=0.8, color=colour)
        below.set_ylim(8e-3, 0.5)
        below.xaxis.set_major_locator(FixedLocator(sizes))
        below.xaxis.set_minor_locator(NullLocator())
        below.xaxis.set_major_formatter("{x:.0f}")
        below.yaxis.set_minor_formatter(NullFormatter())
        below.set_xlabel("particles n")
    upper[0].set_ylabel("mass per bin")
    lower[0].set_ylabel("spread of ⟨x⟩")
    drawn, names = upper[1].get_legend_handles_labels()
    laws, times_drawn = lower[0].get_legend_handles_labels()
    ground = landscape_legend(SETTINGS["ascent, GeLU"].equation)
    figure.legend(
        [*drawn, *laws, *ground],
        [*names, *times_drawn, *(str(patch.get_label()) for patch in ground)],
        loc="outside lower center",
        ncols=4,
        fontsize=7.5,
    )
    figure.suptitle(
        "S¹, β = 5, shifted kernel: repeats from resampled starts (dashed: $n^{-1/2}$)"
    )
    return figure


def _draw_panels(
    ax: Any, panel: Panel, landscape: mfpde.MeanFieldEquation | None
) -> None:
    """The density, all repeats pooled, and one of them."""
    pooled, one = _pooled(panel.last), panel.last[0]
    draw_histograms(ax, panel.density.final, pooled, landscape=landscape)
    handles, _ = ax.get_legend_handles_labels()
    handles[0].set_label(f"{len(panel.last)} repeats, pooled")
    draw_one_histogram(ax, one)


def draw_one_histogram(ax: Any, measure: AnyMeasure) -> None:
    """Mass per bin of one repeat, as a thin line."""
    values = mass_per_bin(measure)
    edges = np.linspace(0, 2 * np.pi, len(values) + 1)
    ax.stairs(values, edges, color="black", lw=0.6, label="one of them")


def _pooled(states: list[AnyMeasure]) -> Atoms:
    points = np.concatenate([state.points for state in states])
    masses = np.concatenate([state.masses for state in states]) / len(states)
    return Atoms(points, masses)


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
