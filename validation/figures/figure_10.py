r"""Figure 10: sensitivity to the start: repeats from resampled uniform starts.

The density has no sampling noise.  Where its solution is stable, repeats with n particles lie
around it with a spread like n^(-1/2); that of the mean <x> is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import linregress

import mfpde
from mfpde.runs.run import Run
from validation.claim import Claim, Findings, Quantity, at_least, equal, mark, vanishes
from validation.figures import drawing
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
        "density at all times. Attention alone in ascent amplifies sampling noise "
        "(exact_facts/growth_rates): at a fixed early time its spread falls in the "
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
CELLS = 512
LAW = -0.5
SIGNIFICANT = 3.0
"""Standard errors."""


class Panel(NamedTuple):
    """Repeats at several n beside the density: <x> at both times, (n, repeats, times, 2).

    ``last`` are the final states of the largest n.
    """

    density: Run
    expected: Array
    means: Array
    last: list[mfpde.Atoms]

    @property
    def spread(self) -> Array:
        """Root mean square distance (n, times) of <x> to that of the density."""
        errors = self.means - self.expected
        return np.asarray(np.sqrt((errors**2).sum(axis=-1).mean(axis=1)))


@CLAIM
def main(quick: bool = False) -> Findings:
    sizes, repeats = ((50, 200, 800), 12) if quick else ((100, 400, 1600), 24)
    times = (2.0, 10.0) if quick else (2.0, 60.0)
    panels = {}
    for name, setting in SETTINGS.items():
        panels[name] = panel = _repeat(setting, sizes, repeats, times)
        for which, time in enumerate(times):
            rows = _alone if name == ALONE else _around_the_density
            if name != ALONE or which == 0 or not quick:
                about = f"{name}, t = {time:g}: "
                yield from mark(rows(panel, which, sizes), under=about)
    yield "figure_10", _figure(panels, sizes, times)


def _repeat(
    setting: Setting, sizes: tuple[int, ...], repeats: int, times: tuple[float, ...]
) -> Panel:
    means, step = [], {"time_step": 0.25}
    for n in sizes:
        seeds = range(repeats)
        runs = [particle_run(setting, n, times, seed=seed, **step) for seed in seeds]
        means.append([_means(run, times) for run in runs])
    density = density_run(setting, CELLS, times)
    last = [run.final for run in runs]
    return Panel(density, _means(density, times), np.array(means), last)


def _means(run: Run, times: tuple[float, ...]) -> Array:
    """<x> (times, 2)."""
    states = [cells_of(at(run, time)) for time in times]
    return np.stack([masses @ points for points, masses in states])


def _around_the_density(
    panel: Panel, which: int, sizes: tuple[int, ...]
) -> Iterator[Quantity]:
    """The law of the spread, and its centre.

    The spread about the centre is that of the repeats about their own mean: about the density
    it would grow with the density's error, and hide it.
    """
    slope, error = _exponent(panel, which, sizes)
    row = "exponent of the spread about the density in n"
    yield equal(row, slope, LAW, SIGNIFICANT * error)
    expected, values = panel.expected[which], panel.means[-1, :, which]
    middle, count = values.mean(axis=0), len(values)
    spread = np.sqrt(((values - middle) ** 2).sum() / (count - 1))
    away = np.linalg.norm(middle - expected) / (spread / np.sqrt(count))
    row = "mean of the panel to the density, in standard errors"
    yield vanishes(row, away, SIGNIFICANT)


def _alone(panel: Panel, which: int, sizes: tuple[int, ...]) -> Iterator[Quantity]:
    """Particles alone, about the uniform measure, whose mean is 0.

    Early their exponent is the law's, late it is between no fall and the law, and far from it.
    """
    around = panel._replace(expected=np.zeros(2))
    slope, error = _exponent(around, which, sizes)
    row = "exponent of the spread about the uniform measure in n"
    if which == 0:
        yield equal(row, slope, LAW, SIGNIFICANT * error, subject="formula")
        return
    shown: dict[str, Any] = {"subject": "formula", "shows": "condition"}
    yield vanishes(row, slope, SIGNIFICANT * error, key="late_exponent", **shown)
    row, away = "standard errors of that exponent above -1/2", (slope - LAW) / error
    yield at_least(row, away, SIGNIFICANT, key="standard_errors", **shown)


def _exponent(panel: Panel, which: int, sizes: tuple[int, ...]) -> tuple[float, float]:
    """Slope of log spread in log n, and its standard error.

    A root mean square of r independent pairs of normal numbers has a logarithm of standard
    deviation about 1/(2 sqrt r) (one number each in the worst case: 1/sqrt(2 r)).
    """
    logs = np.log(sizes)
    slope = linregress(logs, np.log(panel.spread[:, which])).slope
    return slope, 1 / np.sqrt(2 * panel.means.shape[1] * len(logs) * logs.var())


def _figure(
    panels: dict[str, Panel], sizes: tuple[int, ...], times: tuple[float, ...]
) -> Figure:
    """Above the density and all repeats pooled, below the spread against n."""
    upper, lower = [], []
    for name, panel in panels.items():
        states = [cells_of(state) for state in panel.last]
        points, masses = (np.concatenate(one) for one in zip(*states, strict=True))
        pooled = mfpde.Atoms(points, masses / len(states))
        drawn = {f"{len(states)} repeats, pooled": pooled}
        drawn["density"] = panel.density.final
        equation = None if name == ALONE else SETTINGS[name].equation
        title = f"{name}, t = {times[1]:g}"
        upper.append(drawing.masses(title, drawn, equation=equation, xlabel="angle"))
        lines: dict[str, Any] = {}
        for time, spread in zip(times, panel.spread.T, strict=True):
            lines[f"t = {time:g}"] = sizes, spread
        law = panel.spread[0].mean() * np.sqrt(sizes[0] / np.array(sizes))
        lines["n^(-1/2)"] = sizes, law, drawing.DASHED
        axes = {"xscale": "log", "yscale": "log", "ylim": (8e-3, 0.5)}
        axes |= {"xlabel": "particles n", "ylabel": "spread of ⟨x⟩"}
        axes |= {"xticks": sizes, "xticklabels": sizes}
        lower.append(drawing.curves("", lines, **axes))
    title = "S¹, β = 5, shifted kernel: resampled starts (strips: V, > 0 green)"
    return drawing.draw_page(title, [upper, lower], size=(8.6, 5.6))
