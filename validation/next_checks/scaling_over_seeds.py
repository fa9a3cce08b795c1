r"""How the growth of the number of clusters with sqrt(beta) depends on the perceptron's seed.

The paper's Figure 9 counts clusters for one perceptron (seed 777).  Here 21 perceptrons of the
same law are run from the uniform density in ascent, where that figure grows with ReLU neurons,
at several beta; basins that hold an atom are counted, and a line in sqrt(beta) is fitted for
each seed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import t as student

from validation.charts import COLOURS, describe, panels, show_legend
from validation.claim import Claim, Quantity
from validation.next_checks.runs import (
    PAPER_SEED,
    Setting,
    atoms,
    atoms_of,
    particle_end,
    seeds,
)

Array = NDArray[np.float64]

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
QUICK_BETAS: Final = (1.0, 9.0, 25.0)
CONFIDENCE: Final = 0.95
SHARE: Final = 0.05
"""A light cluster that forms just then is there for one of the two."""


def main(quick: bool = False) -> dict[str, object]:
    """Slopes over the seeds, density beside particles."""
    betas = QUICK_BETAS if quick else BETAS
    quantities, shown = [], {}
    for activation in ("relu",) if quick else ("relu", "gelu"):
        counts = _counts(activation, betas, quick=quick)
        shown[activation] = counts
        quantities += _quantities(activation, betas, counts)
    return {
        "quantities": quantities,
        "figures": {"scaling_over_seeds": _figure(betas, shown, seeds(quick))},
    }


def _counts(activation: str, betas: tuple[float, ...], *, quick: bool) -> Array:
    """Numbers of atoms (2, seeds, betas): density, particles."""
    sizes = {"cells_per_root": 100.0} if quick else {}
    found = np.zeros((2, len(seeds(quick)), len(betas)))
    for row, seed in enumerate(seeds(quick)):
        for column, beta in enumerate(betas):
            setting = Setting(
                seed, beta=beta, activation=activation, direction="ascent", **sizes
            )
            found[0, row, column] = len(atoms(setting))
            found[1, row, column] = len(atoms_of(setting, particle_end(setting)))
    return found


def slopes(betas: tuple[float, ...], counts: Array) -> Array:
    """Slope in sqrt(beta) of each row, by least squares."""
    return np.asarray(np.polyfit(np.sqrt(betas), counts.T, 1)[0])


def _quantities(
    activation: str, betas: tuple[float, ...], counts: Array
) -> list[Quantity]:
    name = {"relu": "ReLU", "gelu": "GeLU"}[activation]
    ours, theirs = slopes(betas, counts[0]), slopes(betas, counts[1])
    number = len(ours)
    half = float(student.ppf((1 + CONFIDENCE) / 2, number - 1)) * float(
        ours.std(ddof=1) / np.sqrt(number)
    )
    quantities = [
        Quantity(
            f"{name}: numbers of atoms, share of runs where density and particles differ",
            float((counts[0] != counts[1]).mean()),
            0.0,
            SHARE,
            "at most",
        ),
        Quantity(
            f"{name}: mean slope over the seeds, against particles",
            float(ours.mean()),
            float(theirs.mean()),
            half,
            key=f"mean_{activation}",
            shows="condition",
        ),
        Quantity(
            f"{name}: standard deviation of the slope from seed to seed, against particles",
            float(ours.std(ddof=1)),
            float(theirs.std(ddof=1)),
            # Of a standard deviation from so many.
            float(ours.std(ddof=1)) / np.sqrt(2 * (number - 1)),
            key=f"spread_{activation}",
            shows="condition",
        ),
    ]
    if activation == "relu":
        rises = counts[:, :, -1] - counts[:, :, 0]
        quantities += [
            Quantity(
                f"{name}: mean slope over the seeds, against half its interval of 95 %",
                float(ours.mean()),
                half,
                0.0,
                "at least",
            ),
            Quantity(
                f"{name}: perceptrons without more clusters at beta = {betas[-1]:g} than at "
                f"beta = {betas[0]:g}, against particles",
                float((rises[0] <= 0).sum()),
                float((rises[1] <= 0).sum()),
                1.0,
                key="flat",
                shows="condition",
            ),
        ]
    return quantities


def _figure(
    betas: tuple[float, ...], shown: dict[str, Array], chosen: tuple[int, ...]
) -> Figure:
    """Mean counts with their spread, and the slopes of all seeds."""
    drawn, (left, right) = panels(2)
    roots = np.sqrt(betas)
    paper = chosen.index(PAPER_SEED)
    bins = np.arange(-0.5, 2.01, 0.125)
    for number, (activation, counts) in enumerate(shown.items()):
        name = {"relu": "ReLU", "gelu": "GeLU"}[activation]
        mean, spread = counts[0].mean(axis=0), counts[0].std(axis=0, ddof=1)
        colour = COLOURS[number]
        left.errorbar(
            roots + 0.04 * number, mean, spread, color=colour, capsize=2, label=name
        )
        left.plot(roots, counts[0, paper], "^", color=colour, ms=5)
        found = slopes(betas, counts[0])
        right.hist(found, bins, histtype="step", color=colour, lw=1.4, label=name)
        right.plot(found[paper], 0.15 + 0.3 * number, "^", color=colour, ms=6)
    describe(left, xlabel="√β (▲: seed 777)", ylabel="atoms: mean, standard deviation")
    describe(right, xlabel="slope in √β (▲: seed 777)", ylabel="perceptrons")
    show_legend(left)
    show_legend(right)
    return drawn
