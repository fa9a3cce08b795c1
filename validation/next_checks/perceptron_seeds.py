r"""How much the number of clusters depends on the perceptron's seed.

The paper counts clusters for one perceptron (seed 777 on S^1).  Here 51 perceptrons of the
same law are run from the uniform density at beta = 25; atoms are counted as basins, by the
density solver and by quantised particles.  What the seed does is the spread of the counts;
that it is no artefact of a grid is the agreement of the two methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfpde.plotting.palette import MUTED, OKABE_ITO
from validation.charts import describe, panels, show_legend
from validation.claim import Claim, Quantity
from validation.next_checks.runs import (
    PARTICLES,
    Setting,
    atoms,
    atoms_of,
    particle_end,
    seeds,
)

Array = NDArray[np.float64]

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
# A particle on either boundary of a basin.
MASS_TOLERANCE = 2 / PARTICLES
CASE_COLOURS = tuple(OKABE_ITO[name] for name in ("green", "orange", "purple"))
CASES = (("descent", "relu"), ("descent", "gelu"), ("ascent", "relu"))


def settings(direction: str, activation: str, quick: bool) -> list[Setting]:
    """One for every seed, the paper's first."""
    sizes = {"cells_per_root": 100.0, "t_end": 15.0, "beta": 10.0} if quick else {}
    return [
        Setting(seed, activation=activation, direction=direction, **sizes)
        for seed in seeds(quick, count=50)
    ]


def counts_and_masses(chosen: list[Setting]) -> tuple[Array, Array]:
    """Counts (2, seeds) and largest masses (2, seeds): density, particles."""
    found = []
    for setting in chosen:
        both = atoms(setting), atoms_of(setting, particle_end(setting))
        found.append([(len(a), max((x.mass for x in a), default=0.0)) for a in both])
    table = np.array(found)
    return table[:, :, 0].T, table[:, :, 1].T


def main(quick: bool = False) -> dict[str, object]:
    """Agreement of the methods, spread over the seeds, place of seed 777."""
    quantities, shown = [], {}
    for direction, activation in CASES[:1] if quick else CASES:
        name = f"{direction}, {activation}"
        counts, masses = counts_and_masses(settings(direction, activation, quick))
        shown[name] = counts, masses
        quantities += on_case(name, counts, masses)
    return {"quantities": quantities, "figures": {"perceptron_seeds": figure(shown)}}


def on_case(name: str, counts: Array, masses: Array) -> list[Quantity]:
    """Quantities of one direction and activation; what is expected is the particles'."""
    deviations, means = counts.std(axis=1, ddof=1), counts.mean(axis=1)
    key = name.replace(", ", "_")
    condition: dict[str, Any] = {"shows": "condition"}
    return [
        Quantity(
            f"{name}: seeds whose counts of density and particles differ",
            float((counts[0] != counts[1]).sum()),
            0.0,
            0.0,
        ),
        Quantity(
            f"{name}: largest mass, density against particles, largest difference",
            float(np.abs(masses[0] - masses[1]).max()),
            0.0,
            MASS_TOLERANCE,
        ),
        Quantity(
            f"{name}: different counts over the seeds, those of the particles expected",
            float(len(np.unique(counts[0]))),
            float(len(np.unique(counts[1]))),
            0.0,
        ),
        Quantity(
            f"{name}: count of seed 777, that of its particles expected",
            float(counts[0, 0]),
            float(counts[1, 0]),
            0.0,
            key=f"of_777_{key}",
            **condition,
        ),
        # One seed of another count at most changes a mean by this.
        Quantity(
            f"{name}: mean count of the seeds, that of the particles expected",
            float(means[0]),
            float(means[1]),
            0.5 / counts.shape[1],
            key=f"mean_{key}",
            **condition,
        ),
        Quantity(
            f"{name}: deviation of the counts, that of the particles expected",
            float(deviations[0]),
            float(deviations[1]),
            0.5 / counts.shape[1],
            key=f"deviation_{key}",
            **condition,
        ),
    ]


def figure(shown: dict[str, tuple[Array, Array]]) -> object:
    """Histograms of the counts, and counts against the largest mass."""
    drawn, (left, right) = panels(2)
    most = int(max(counts.max() for counts, _ in shown.values()))
    width = 0.8 / len(shown)
    for number, (name, (counts, masses)) in enumerate(shown.items()):
        colour = CASE_COLOURS[number]
        heights = np.bincount(counts[0].astype(int), minlength=most + 1)
        shift = (number - (len(shown) - 1) / 2) * width
        places = np.arange(most + 1) + shift
        left.bar(places, heights, width, color=colour, label=name)
        left.plot(counts[0, 0] + shift, -0.35, "^", color=colour, ms=5)
        right.plot(counts[0] + shift, masses[0], "o", ms=4, mfc="none", color=colour)
        right.plot(counts[1] + shift, masses[1], "x", ms=3.5, color=colour)
        right.plot(
            counts[0, 0] + shift, masses[0, 0], "^", ms=8, mfc="none", color=colour
        )
    left.plot([], [], "^", color=MUTED, ms=5, label="seed 777")
    for marker, name in (("o", "density"), ("x", "particles"), ("^", "seed 777")):
        right.plot([], [], marker, mfc="none", color=MUTED, label=name)
    describe(left, xlabel="atoms (cases side by side)", ylabel="seeds")
    describe(
        right,
        xlabel="atoms (cases side by side)",
        ylabel="largest mass",
        ylim=(0, 1.05),
    )
    for ax in (left, right):
        ax.set_xticks(range(most + 1))
        show_legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=4)
    return drawn
