r"""How much the number of clusters depends on the perceptron's seed.

The paper counts clusters for one perceptron (seed 777 on S^1).  Here 51 perceptrons of the
same law are run from the uniform density at beta = 25; atoms are counted as basins, by the
density solver and by quantised particles.  What the seed does is the spread of the counts;
that it is no artefact of a grid is the agreement of the two methods.
"""

from __future__ import annotations

import numpy as np

from mfpde.plotting.palette import MUTED, OKABE_ITO
from validation.charts import panels, show_legend
from validation.claim import Claim, Findings, equal, mark, vanishes
from validation.next_checks.runs import (
    MASS_TOLERANCE,
    QUICK,
    Array,
    Setting,
    counts_and_masses,
    seeds,
)

CLAIM = Claim(
    "Cluster counts against the perceptron's seed",
    "Figures 9 to 12, which use one perceptron (seed 777)",
    "The number of atoms depends on the perceptron: over seeds of one law at β = 25 it takes "
    "several values, in descent and in ascent, the same for density and particles, seed by "
    "seed.",
    condition="The paper's curves are those of one perceptron, the authors' seed 777: at "
    "β = 25 it has {of_777_descent_relu:.0f} atoms in descent with ReLU, where the seeds have "
    "{mean_descent_relu:.2f} ± {deviation_descent_relu:.2f}; {of_777_descent_gelu:.0f} in "
    "descent with GeLU, where they have {mean_descent_gelu:.2f} ± "
    "{deviation_descent_gelu:.2f}; {of_777_ascent_relu:.0f} in ascent with ReLU, where they "
    "have {mean_ascent_relu:.2f} ± {deviation_ascent_relu:.2f}. One seed says no more of a "
    "law than that.",
)
CASES = {
    ("descent", "relu"): OKABE_ITO["green"],
    ("descent", "gelu"): OKABE_ITO["orange"],
    ("ascent", "relu"): OKABE_ITO["purple"],
}
"""Directions and activations, and the colours of their bars."""


@CLAIM
def main(quick: bool = False) -> Findings:
    """Agreement of the methods, spread over the seeds, place of seed 777."""
    sizes, shown = QUICK if quick else {}, {}
    for direction, activation in list(CASES)[: 1 if quick else None]:
        counts, masses = counts_and_masses(
            Setting(seed, activation=activation, direction=direction, **sizes)
            for seed in seeds(quick, count=50)
        )
        shown[direction, activation] = counts[0]
        name = f"{direction}, {activation}: "
        yield vanishes(
            f"{name}seeds whose counts differ", (counts[0] != counts[1]).sum(), 0
        )
        text = f"{name}largest mass, density against particles, largest difference"
        yield vanishes(text, masses[0] - masses[1], MASS_TOLERANCE)
        yield from mark(law(counts, f"{direction}_{activation}"), under=name)
    figure, (ax,) = panels(1, width=5)
    draw(ax, shown)
    yield "perceptron_seeds", figure


def law(counts: Array, key: str) -> Findings:
    """The law of the counts (2, seeds) of density and particles, which are expected."""
    kinds, (ours, theirs) = [len(np.unique(row)) for row in counts], counts
    yield equal("different counts over the seeds, beside the particles'", *kinds, 0)
    # One seed of another count at most changes a mean by this.
    share, text = 0.5 / counts.shape[1], "that of the particles expected"
    for name, short, of, tolerance in (
        ("count of seed 777", "of_777", lambda row: row[0], 0),
        ("mean count of the seeds", "mean", np.mean, share),
        ("deviation of the counts", "deviation", lambda row: row.std(ddof=1), share),
    ):
        shown = {"key": f"{short}_{key}", "shows": "condition"}
        yield equal(f"{name}, {text}", of(ours), of(theirs), tolerance, **shown)


def draw(ax: object, shown: dict[tuple[str, str], Array]) -> None:
    """Histograms of the counts of the density, side by side."""
    most = int(max(counts.max() for counts in shown.values()))
    width = 0.8 / len(shown)
    for number, (case, counts) in enumerate(shown.items()):
        shift = (number - (len(shown) - 1) / 2) * width
        heights = np.bincount(counts, minlength=most + 1)
        places, name = np.arange(most + 1) + shift, ", ".join(case)
        ax.bar(places, heights, width, color=CASES[case], label=name)
        ax.plot(counts[0] + shift, -0.35, "^", color=CASES[case], ms=5)
    ax.plot([], [], "^", color=MUTED, ms=5, label="seed 777")
    ax.set(xlabel="atoms (cases side by side)", ylabel="seeds")
    ax.set_xticks(range(most + 1))
    show_legend(ax)
