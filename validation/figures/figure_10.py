r"""Figure 10: sensitivity to the start: repeats from resampled uniform starts.

The density has no sampling noise.  Where its solution is stable, repeats with n particles lie
around it with a spread like n^(-1/2); that of the mean <x> is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

import mfpde
from mfpde.plotting.palette import OKABE_ITO
from mfpde.runs.run import Run
from validation.claim import Claim, Quantity
from validation.figures import drawing
from validation.figures.circle_rows import measured_rate
from validation.figures.settings import Setting, at, density_run, particle_run
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
ALONE = "no perceptron, ascent"
SETTINGS = {
    ALONE: Setting(5.0, "ascent", None),
    "ascent, GeLU": Setting(5.0, "ascent", "gelu"),
    "descent, GeLU": Setting(5.0, "descent", "gelu"),
}
CELLS, QUANTISED = 512, 1000
LAW = -0.5
SIGNIFICANT = 3.0
"""Standard errors."""


class Panel(NamedTuple):
    """Repeats at several n beside the density: <x> at both times, (n, repeats, times, 2).

    Beside both stand particles without sampling noise; ``last`` are the repeats of the largest n.
    """

    density: Run
    expected: Array
    quantised: Array
    means: Array
    last: list[mfpde.Atoms]

    def spread(self, which: int, centre: Array | float) -> Array:
        """Root mean square distance of <x> to ``centre`` at a time, for each n."""
        errors = self.means[:, :, which] - centre
        return np.asarray(np.sqrt((errors**2).sum(axis=-1).mean(axis=-1)))


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
            elif which == 0 or not quick:
                quantities += _alone(about, panel, which, sizes=sizes)
    figure = _figure(panels, sizes, times)
    return {"quantities": quantities, "figures": {"figure_10": figure}}


def _panel(
    setting: Setting,
    sizes: tuple[int, ...],
    *,
    repeats: int,
    times: tuple[float, float],
) -> Panel:
    means = []
    for n in sizes:
        runs = [
            particle_run(setting, n, times, seed=seed, time_step=0.25)
            for seed in range(repeats)
        ]
        means.append([_means(run, times) for run in runs])
    density = density_run(setting, CELLS, times)
    quantised = particle_run(setting, QUANTISED, times, time_step=0.25)
    beside = _means(density, times), _means(quantised, times)
    return Panel(density, *beside, np.array(means), [run.final for run in runs])


def _means(run: Run, times: tuple[float, float]) -> Array:
    """<x> (times, 2)."""
    states = [cells_of(at(run, time)) for time in times]
    return np.stack([masses @ points for points, masses in states])


def _amplified() -> Quantity:
    """Growth of the fastest mode of a density about the uniform measure."""
    setting = SETTINGS[ALONE]
    mode = mfpde.theory.fastest_mode(setting.beta, 2)
    (rate,) = mfpde.theory.growth_rates(setting.beta, 2, [mode], direction="ascent")
    return Quantity(
        f"{ALONE}: rate of the fastest mode of the density about the uniform measure",
        measured_rate(setting, CELLS, mode, after=10.0),
        rate,
        1e-3,
        relative=True,
        key="rate",
        shows="condition",
    )


def _around_the_density(
    about: str, panel: Panel, which: int, *, sizes: tuple[int, ...]
) -> Iterator[Quantity]:
    """The law of the spread, its centre, and particles without noise.

    The spread about the centre is that of the repeats about their own mean: about the density
    it would grow with the density's error, and hide it.  Of quantiles a basin's two edges cut
    one each.
    """
    expected = panel.expected[which]
    slope, error = _exponent(sizes, panel.spread(which, expected), panel)
    row = f"{about}: exponent of the spread about the density in n"
    yield Quantity(row, slope, LAW, SIGNIFICANT * error)
    values = panel.means[-1, :, which]
    middle, count = values.mean(axis=0), len(values)
    spread = np.sqrt(((values - middle) ** 2).sum() / (count - 1))
    away = np.linalg.norm(middle - expected) / (spread / np.sqrt(count))
    row = f"{about}: mean of the panel to the density, in standard errors"
    yield Quantity(row, away, 0.0, SIGNIFICANT)
    away = np.linalg.norm(expected - panel.quantised[which])
    row = f"{about}: mean of the density, from {QUANTISED} particles without noise"
    yield Quantity(row, away, 0.0, 2 / QUANTISED)


def _alone(
    about: str, panel: Panel, which: int, *, sizes: tuple[int, ...]
) -> Iterator[Quantity]:
    """Particles alone, about the uniform measure, whose mean is 0.

    Early their exponent is the law's, late it is between no fall and the law, and far from it.
    """
    slope, error = _exponent(sizes, panel.spread(which, 0.0), panel)
    row = f"{about}: exponent of the spread about the uniform measure in n"
    if which == 0:
        yield Quantity(row, slope, LAW, SIGNIFICANT * error, subject="formula")
        return
    shown: dict[str, Any] = {"subject": "formula", "shows": "condition"}
    yield Quantity(row, slope, 0.0, SIGNIFICANT * error, key="late_exponent", **shown)
    yield Quantity(
        f"{about}: standard errors of that exponent above -1/2",
        (slope - LAW) / error,
        SIGNIFICANT,
        0.0,
        "at least",
        key="standard_errors",
        **shown,
    )


def _exponent(
    sizes: tuple[int, ...], spread: Array, panel: Panel
) -> tuple[float, float]:
    """Slope of log spread in log n, and its standard error.

    A root mean square of r independent pairs of normal numbers has a logarithm of standard
    deviation about 1/(2 sqrt r) (one number each in the worst case: 1/sqrt(2 r)).
    """
    logs = np.log(np.array(sizes, float))
    centred = logs - logs.mean()
    slope = float(centred @ np.log(spread) / (centred @ centred))
    error = 1 / np.sqrt(2 * panel.means.shape[1]) / np.sqrt(centred @ centred)
    return slope, float(error)


def _figure(
    panels: dict[str, Panel], sizes: tuple[int, ...], times: tuple[float, float]
) -> Figure:
    """Above the density and all repeats pooled, below the spread against n."""
    figure, (upper, lower) = drawing.new_page(2, 3, (8.6, 5.6))
    for ax, below, (name, panel) in zip(upper, lower, panels.items(), strict=True):
        landscape = None if name == ALONE else SETTINGS[name].equation
        count, one = len(panel.last), panel.last[0]
        points = np.concatenate([state.points for state in panel.last])
        pooled = mfpde.Atoms(points, np.tile(one.masses, count) / count)
        density, label = panel.density.final, f"{count} repeats, pooled"
        drawing.draw_histograms(ax, density, pooled, landscape=landscape, name=label)
        drawing.draw_arcs(ax, one, color="black", lw=0.6, label="one of them")
        ax.set_title(f"{name}, t = {times[1]:g}")
        for which, time in enumerate(times):
            spread = panel.spread(which, panel.expected[which])
            colour = OKABE_ITO[("green", "purple")[which]]
            below.loglog(sizes, spread, "o-", ms=4, color=colour, label=f"t = {time:g}")
            law = spread[0] * np.sqrt(sizes[0] / np.array(sizes))
            below.loglog(sizes, law, "--", lw=0.8, color=colour)
        below.set(ylim=(8e-3, 0.5), xlabel="particles n")
        below.xaxis.set_major_locator(FixedLocator(sizes))
        below.xaxis.set_minor_locator(NullLocator())
        below.xaxis.set_major_formatter("{x:.0f}")
        below.yaxis.set_minor_formatter(NullFormatter())
    upper[0].set_ylabel("mass per bin")
    lower[0].set_ylabel("spread of ⟨x⟩")
    title = (
        "S¹, β = 5, shifted kernel: repeats from resampled starts (dashed: $n^{-1/2}$)"
    )
    return drawing.finish_page(figure, title)
