r"""How many atoms the minimiser in descent has, against beta and over seeds of the weights.

Where the least value of V is taken on an arc on which no neuron is active, attention spreads
atoms over the arc, some 1/sqrt(beta) apart.  Elsewhere mass gathers around the minima of V, whose
number knows no beta.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import mfpde
from mfpde.plotting.palette import MUTED
from validation import independent
from validation.claim import Claim, Findings, at_least, at_most, equal, vanishes
from validation.drawing import COLOURS, panels
from validation.stable_states import descent
from validation.theorems.extremals import active_set, points_on_grid
from validation.theorems.witness import places

CLAIM = Claim(
    "Support of the minimiser against beta: sqrt(beta) is tight where V is least on an arc",
    "Section 4.1 (counts against sqrt(beta)); Proposition 3.7 (ii)",
    "Over 50 seeds of three ReLU neurons the minimiser has of the order of sqrt(beta) atoms if "
    "V is least on an arc where no neuron is active, and a bounded number if V is least at "
    "points: sqrt(beta) is the largest growth that was seen.",
    condition="At beta = 32 it has {mean:.2f} ± {deviation:.2f} atoms over the seeds, the "
    "heaviest with {heaviest:.2f} ± {spread:.2f} of the mass. V is least on an arc for "
    "{arcs:.0f} of the seeds.",
)
BETAS = (8.0, 32.0, 128.0, 512.0)
MIDDLE, LATE = BETAS[1:3]
FINE = points_on_grid(20_000)
POINTS = 720
"""Points of the active sets; an atom may take two neighbours."""


class Case(NamedTuple):
    """Of one seed: the arc on which V is least, in radians, and minimisers by beta."""

    arc: float
    minima: dict[float, mfpde.Minimum]

    def count(self, beta: float) -> int:
        """Number of atoms."""
        return len(self.minima[beta].measure)

    @property
    def is_least_on_an_arc(self) -> bool:
        """Whether V is least, and 0, at neighbouring points, by independent formulas."""
        problem = independent.problem_of(self.minima[MIDDLE].equation)
        potential = independent.potential(problem, FINE)
        is_least = potential == potential.min()
        return bool((is_least & np.roll(is_least, 1)).any())


def case_of(seed: int, betas: tuple[float, ...]) -> Case:
    neurons = mfpde.Perceptron.random(3, 2, seed=seed)
    is_dead = (neurons.preactivations(FINE) <= 0).all(axis=1)
    arc = 2 * np.pi * float(is_dead.mean()) if neurons.value(FINE).min() >= 0 else 0.0
    circle = mfpde.Circle(512)
    minima = {beta: mfpde.minimize(descent(beta, neurons), circle) for beta in betas}
    return Case(arc, minima)


@CLAIM
def main(quick: bool = False) -> Findings:
    betas = BETAS[1:3] if quick else BETAS
    cases = [case_of(seed, betas) for seed in ((1, 6) if quick else range(50))]
    yield from over_seeds(cases)
    yield from growth(cases, betas)
    figure, (ax,) = panels(1, width=5)
    for case in cases:
        counts = [case.count(beta) for beta in betas]
        ax.plot(np.sqrt(betas), counts, "o-", color=COLOURS[1] if case.arc else MUTED)
    title = "vermilion: V least on an arc; grey: at points"
    labels = {"xlabel": "√β", "ylabel": "atoms of the minimiser"}
    ax.set(title=title, yscale="log", **labels)
    yield "support", figure


def by_active_sets(minimum: mfpde.Minimum) -> tuple[int, float]:
    """Number of atoms, and the largest mass, of the minimiser among measures on points."""
    masses = active_set(independent.problem_of(minimum.equation), POINTS)
    held, within = points_on_grid(POINTS)[masses > 0], 1.5 * 2 * np.pi / POINTS
    near = held @ held.T >= np.cos(within)
    return places(held, within), float((near @ masses[masses > 0]).max())


def over_seeds(cases: list[Case]) -> Findings:
    """Counts and masses at one beta, by minimize and by active sets."""
    chosen = [case.minima[MIDDLE] for case in cases]
    found = np.array([(len(m.measure), m.measure.masses.max()) for m in chosen])
    expected = np.array([by_active_sets(m) for m in chosen])
    # Two atoms within a point and a half of each other are one of the active sets': of one seed.
    tolerances = (0.1, 1 / len(cases))
    for key, of, k, subject in (
        ("mean", np.mean, 0, "mean of the number of atoms"),
        ("deviation", np.std, 0, "deviation of the number of atoms"),
        ("heaviest", np.mean, 1, "mean of the largest mass"),
        ("spread", np.std, 1, "deviation of the largest mass"),
    ):
        text = f"beta = {MIDDLE:g}, {len(cases)} seeds: {subject}, that of active sets expected"
        shown = {"key": key, "shows": "condition"}
        yield equal(text, of(found[:, k]), of(expected[:, k]), tolerances[k], **shown)


def growth(cases: list[Case], betas: tuple[float, ...]) -> Findings:
    """Exponents of the mean count in beta, and atoms for 1/sqrt(beta) of an arc."""
    gaps = [one.gap for case in cases for one in case.minima.values()]
    yield vanishes("largest duality gap", gaps, 2e-12)
    on_arcs = [case for case in cases if case.arc]
    at_points = [case for case in cases if not case.arc]
    exact = sum(case.is_least_on_an_arc for case in cases)
    text = "seeds with V least on an arc, by independent formulas expected"
    yield equal(text, len(on_arcs), exact, 0, key="arcs", shows="condition")
    # Beyond, more atoms than the certificate can tell apart are on an arc.
    power = exponent(on_arcs, MIDDLE, LATE)
    text = "V least on an arc: exponent of the count in beta, 32 to 128"
    yield equal(text, power, 0.5, 0.1)
    shares = [case.count(LATE) / (case.arc * LATE**0.5) for case in on_arcs]
    text = "V least on an arc, beta = 128: atoms for each 1/sqrt(beta)"
    yield at_least(f"{text}, least", min(shares), 0.7)
    yield at_most(f"{text}, most", max(shares), 1.0)
    power = exponent(at_points, betas[0], betas[-1])
    text = f"V least at points: exponent of the count in beta, {betas[0]:g} to {betas[-1]:g}"
    yield at_most(text, power, 0.0, 0.1)


def exponent(cases: list[Case], first: float, last: float) -> float:
    """Of the mean count in beta, between two beta."""
    low, high = (
        np.mean([case.count(beta) for case in cases]) for beta in (first, last)
    )
    return float(np.log(high / low) / np.log(last / first))
