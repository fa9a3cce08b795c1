r"""How the growth of the number of clusters with sqrt(beta) depends on the perceptron's seed.

The paper's Figure 9 counts clusters for one perceptron (seed 777).  Here 21 perceptrons of the
same law are run from the uniform density in ascent, where that figure grows with ReLU neurons,
at several beta; basins that hold an atom are counted, and a line in sqrt(beta) is fitted for
each seed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.stats import t as student

from validation.charts import COLOURS, panels, show_legend
from validation.claim import Claim, Findings, at_least, at_most, equal, mark
from validation.next_checks.runs import Array, Setting, counts_and_masses, seeds

CLAIM = Claim(
    "Growth of cluster counts with sqrt(beta) over perceptron seeds",
    "Figure 9, which uses one perceptron (seed 777)",
    "In ascent with ReLU neurons the number of clusters grows with sqrt(beta), whatever the "
    "perceptron.",
    condition="On average, with the slope {mean_relu:.2g}, not for every perceptron: it is "
    "{spread_relu:.2g} from seed to seed in standard deviation, and {flat:word} of the "
    "perceptrons have no more clusters at beta = 25 than at beta = 1. With GeLU neurons the mean "
    "slope is {mean_gelu:.2g}.",
)
BETAS: Final = (1.0, 4.0, 9.0, 16.0, 25.0)
CONFIDENCE: Final = 0.95
SHARE: Final = 0.05
"""A light cluster that forms just then is there for one of the two."""
NAMES: Final = {"relu": "ReLU", "gelu": "GeLU"}


@CLAIM
def main(quick: bool = False) -> Findings:
    """Slopes over the seeds, density beside particles, and mean counts with their spread."""
    betas, sizes = (BETAS[::2], {"cells_per_root": 100.0}) if quick else (BETAS, {})
    figure, (ax,) = panels(1, width=5)
    for number, activation in enumerate(list(NAMES)[: 1 if quick else None]):
        by_beta = [
            counts_and_masses(
                Setting(seed, beta, activation, "ascent", **sizes)
                for seed in seeds(quick)
            )[0]
            for beta in betas
        ]
        counts = np.stack(by_beta, axis=2)
        rows = slopes_over_seeds(counts, activation, betas)
        yield from mark(rows, under=f"{NAMES[activation]}: ")
        mean, spread = counts[0].mean(axis=0), counts[0].std(axis=0, ddof=1)
        look = {"color": COLOURS[number], "label": NAMES[activation]}
        ax.errorbar(np.sqrt(betas) + 0.04 * number, mean, spread, capsize=2, **look)
        ax.plot(np.sqrt(betas), counts[0, 0], "^", color=look["color"], ms=5)
    ax.set(xlabel="√β (▲: seed 777)", ylabel="atoms: mean, standard deviation")
    show_legend(ax)
    yield "scaling_over_seeds", figure


def slopes_over_seeds(
    counts: Array, activation: str, betas: tuple[float, ...]
) -> Findings:
    """Slopes in sqrt(beta), by least squares, of counts (2, seeds, betas); particles expected."""
    text = "numbers of atoms, share of runs where density and particles differ"
    yield at_most(text, (counts[0] != counts[1]).mean(), 0.0, SHARE)
    ours, theirs = (np.polyfit(np.sqrt(betas), rows.T, 1)[0] for rows in counts)
    number, spread = len(ours), ours.std(ddof=1)
    quantile = student.ppf((1 + CONFIDENCE) / 2, number - 1)
    half = quantile * spread / np.sqrt(number)
    shown = {"key": f"mean_{activation}", "shows": "condition"}
    text = "mean slope over the seeds, against particles"
    yield equal(text, ours.mean(), theirs.mean(), half, **shown)
    shown = {"key": f"spread_{activation}", "shows": "condition"}
    text = "standard deviation of the slope from seed to seed, against particles"
    # Of a standard deviation from so many.
    rounding = spread / np.sqrt(2 * (number - 1))
    yield equal(text, spread, theirs.std(ddof=1), rounding, **shown)
    if activation == "relu":
        text = "mean slope over the seeds, against half its interval of 95 %"
        yield at_least(text, ours.mean(), half)
        flat = (counts[:, :, -1] <= counts[:, :, 0]).sum(axis=1)
        text = (
            f"perceptrons without more clusters at beta = {betas[-1]:g} than at beta = "
            f"{betas[0]:g}, against particles"
        )
        yield equal(text, *flat, 1.0, key="flat", shows="condition")
