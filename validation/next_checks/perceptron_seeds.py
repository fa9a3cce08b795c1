r"""How much the number of clusters depends on the perceptron's seed.

The paper counts clusters for one perceptron (seed 777 on S^1).  Here 21 perceptrons of the
same law are run from the uniform density at beta = 25; atoms are counted as basins, by the
density solver and by quantised particles.  What the seed does is the spread of the counts;
that it is no artefact of a grid is the agreement of the two methods.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from validation.charts import COLOURS, describe, panels, show_legend
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
    "The number of atoms depends on the perceptron: over 21 seeds of one law at β = 25 it "
    "spreads over at least three values, in descent and in ascent, for density and particles "
    "alike.",
    condition="The paper's curves are those of one perceptron: a count at one seed is typical "
    "(within two standard deviations), no more.",
)
AGREEMENT = 0.95
# A particle on either boundary of a basin.
MASS_TOLERANCE = 2 / PARTICLES
CASES = (("descent", "relu"), ("descent", "gelu"), ("ascent", "relu"))


def settings(direction: str, activation: str, quick: bool) -> list[Setting]:
    """One for every seed, the paper's first."""
    sizes = {"cells_per_root": 100.0, "t_end": 15.0, "beta": 10.0} if quick else {}
    return [
        Setting(seed, activation=activation, direction=direction, **sizes)
        for seed in seeds(quick)
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
        quantities += on_case(name, counts, masses, least_spread=1 if quick else 2)
    return {"quantities": quantities, "figures": {"perceptron_seeds": figure(shown)}}


def on_case(
    name: str, counts: Array, masses: Array, *, least_spread: int
) -> list[Quantity]:
    """Quantities of one direction and activation."""
    equal = counts[0] == counts[1]
    off = np.abs(masses[0] - masses[1])[equal].max(initial=0.0)
    mean, deviation = counts[0].mean(), counts[0].std(ddof=1)
    label = f"{name}: counts {mean:.2f} ± {deviation:.2f}"
    return [
        Quantity(
            f"{name}: share of seeds with equal counts of density and particles",
            float(equal.mean()),
            AGREEMENT,
            0.0,
            "at least",
        ),
        Quantity(
            f"{name}: largest mass, density against particles, where counts agree",
            float(off),
            0.0,
            MASS_TOLERANCE,
        ),
        Quantity(
            f"{label}, most minus fewest",
            float(np.ptp(counts[0])),
            float(least_spread),
            0.0,
            "at least",
        ),
        Quantity(
            f"{label}, seed 777 ({counts[0, 0]:.0f}): deviations from the mean",
            float(abs(counts[0, 0] - mean) / max(deviation, 1e-12)),
            2.0,
            0.0,
            "at most",
        ),
    ]


def figure(shown: dict[str, tuple[Array, Array]]) -> object:
    """Histograms of the counts, and counts against the largest mass."""
    drawn, (left, right) = panels(2)
    most = int(max(counts.max() for counts, _ in shown.values()))
    width = 0.8 / len(shown)
    for number, (name, (counts, masses)) in enumerate(shown.items()):
        colour = COLOURS[number]
        heights = np.bincount(counts[0].astype(int), minlength=most + 1)
        shift = (number - (len(shown) - 1) / 2) * width
        places = np.arange(most + 1) + shift
        left.bar(places, heights, width, color=colour, label=name)
        left.plot(counts[0, 0] + shift, -0.35, "^", color=colour, ms=5)
        jitter = counts[0] + shift / 2
        right.plot(jitter, masses[0], "o", ms=3.5, color=colour, label=name)
        right.plot(jitter, masses[1], "x", ms=4, color=colour)
        right.plot(jitter[0], masses[0, 0], "o", ms=9, mfc="none", color=colour)
    describe(left, xlabel="atoms (▲: seed 777)", ylabel="seeds")
    describe(
        right, xlabel="atoms (ring: seed 777; ×: particles)", ylabel="largest mass"
    )
    for ax in (left, right):
        ax.set_xticks(range(most + 1))
    show_legend(left)
    return drawn
