r"""How many atoms the minimiser in descent has, against beta and over seeds of the weights.

Where the least value of V is taken on an arc on which no neuron is active, attention spreads
atoms over the arc, some 1/sqrt(beta) apart.  Elsewhere mass gathers around the minima of V, whose
number knows no beta.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import mfpde
from mfpde.geometry.circle import points_at
from mfpde.plotting.palette import MUTED, OKABE_ITO
from validation import independent
from validation.charts import panels
from validation.claim import Claim, Quantity
from validation.theorems.proposition_3_7_minimiser import active_set
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
MIDDLE = BETAS[1]
FINE = points_at(2 * np.pi * np.arange(20_000) / 20_000)
POINTS = 720
"""Points of the active sets; an atom may take two neighbours."""


class Case(NamedTuple):
    """Of one seed: the arc on which V is least, in radians, and atoms by beta."""

    arc: float
    minima: list[mfpde.Minimum]

    @property
    def counts(self) -> list[int]:
        """Numbers of atoms by beta."""
        return [len(one.measure) for one in self.minima]


def case_of(seed: int, betas: tuple[float, ...]) -> Case:
    neurons = mfpde.Perceptron.random(3, 2, seed=seed)
    value = neurons.value(FINE)
    is_dead = (neurons.preactivations(FINE) <= 0).all(axis=1)
    arc = 2 * np.pi * float(is_dead.mean()) if value.min() >= 0 else 0.0
    minima = [
        mfpde.minimize(
            mfpde.MeanFieldEquation(
                mfpde.Attention(beta), neurons, direction="descent"
            ),
            mfpde.Circle(512),
        )
        for beta in betas
    ]
    return Case(arc, minima)


def is_least_on_an_arc(case: Case) -> bool:
    """Whether V is least, and 0, at more than one of neighbouring points."""
    potential = independent.potential(
        independent.problem_of(case.minima[0].equation), FINE
    )
    is_least = potential == potential.min()
    return bool((is_least & np.roll(is_least, 1)).any())


def by_active_sets(minimum: mfpde.Minimum) -> tuple[int, float]:
    """Number of atoms, and the largest mass, of the minimiser among measures on points."""
    problem = independent.problem_of(minimum.equation)
    masses = active_set(problem, POINTS)
    grid, cell = points_at(2 * np.pi * np.arange(POINTS) / POINTS), 2 * np.pi / POINTS
    held = grid[masses > 0]
    near = held @ held.T >= np.cos(1.5 * cell)
    return places(held, 1.5 * cell), float((near @ masses[masses > 0]).max())


def main(quick: bool = False) -> dict[str, Any]:
    betas = BETAS[1:3] if quick else BETAS
    cases = [case_of(seed, betas) for seed in ((1, 6) if quick else range(50))]
    on_arcs = [case for case in cases if case.arc]
    at_points = [case for case in cases if not case.arc]
    figure = draw(betas, on_arcs, at_points)
    quantities = [*over_seeds(cases, betas), *growth(on_arcs, at_points, betas)]
    return {"quantities": quantities, "figures": {"support": figure}}


def over_seeds(cases: list[Case], betas: tuple[float, ...]) -> list[Quantity]:
    """Counts and masses at one beta, by minimize and by active sets."""
    chosen = [case.minima[betas.index(MIDDLE)] for case in cases]
    found = np.array([(len(m.measure), m.measure.masses.max()) for m in chosen])
    expected = np.array([by_active_sets(m) for m in chosen])
    name = f"beta = {MIDDLE:g}, {len(cases)} seeds: "
    (mean, heavy), (deviation, spread) = found.mean(axis=0), found.std(axis=0)
    (means, heavies), (deviations, spreads) = (
        expected.mean(axis=0),
        expected.std(axis=0),
    )
    # Two atoms within a point and a half of each other are one of the active sets': of one seed.
    rows = (
        ("mean number of atoms", mean, means, 0.1, "mean"),
        ("deviation of their number", deviation, deviations, 0.1, "deviation"),
        ("mean of the largest mass", heavy, heavies, 1 / len(cases), "heaviest"),
        ("deviation of the largest mass", spread, spreads, 1 / len(cases), "spread"),
    )
    return [
        Quantity(
            f"{name}{text}, that of active sets expected",
            float(value),
            float(other),
            tolerance,
            key=key,
            shows="condition",
        )
        for text, value, other, tolerance, key in rows
    ]


def growth(
    on_arcs: list[Case], at_points: list[Case], betas: tuple[float, ...]
) -> list[Quantity]:
    """Exponents of the mean count in beta, and atoms for 1/sqrt(beta) of an arc."""

    def exponent(cases: list[Case], first: float, last: float) -> float:
        low, high = (
            np.mean([case.counts[betas.index(beta)] for case in cases])
            for beta in (first, last)
        )
        return float(np.log(high / low) / np.log(last / first))

    # Beyond, more atoms than the certificate can tell apart are on an arc.
    last = betas.index(BETAS[2])
    shares = [case.counts[last] / (case.arc * BETAS[2] ** 0.5) for case in on_arcs]
    gaps = [one.gap for case in (*on_arcs, *at_points) for one in case.minima]
    return [
        Quantity("largest duality gap", max(gaps), 0.0, 2e-12),
        Quantity(
            "seeds with V least on an arc, by independent formulas expected",
            len(on_arcs),
            sum(is_least_on_an_arc(case) for case in (*on_arcs, *at_points)),
            0,
            key="arcs",
            shows="condition",
        ),
        Quantity(
            "V least on an arc: exponent of the count in beta, 32 to 128",
            exponent(on_arcs, MIDDLE, BETAS[2]),
            0.5,
            0.1,
        ),
        Quantity(
            "V least on an arc, beta = 128: atoms for each 1/sqrt(beta), least",
            min(shares),
            0.7,
            0.0,
            "at least",
        ),
        Quantity(
            "V least on an arc, beta = 128: atoms for each 1/sqrt(beta), most",
            max(shares),
            1.0,
            0.0,
            "at most",
        ),
        Quantity(
            f"V least at points: exponent of the count in beta, {betas[0]:g} to {betas[-1]:g}",
            exponent(at_points, betas[0], betas[-1]),
            0.0,
            0.1,
            "at most",
        ),
    ]


def draw(betas: tuple[float, ...], on_arcs: list[Case], at_points: list[Case]) -> Any:
    """Counts over sqrt(beta), a line a seed."""
    figure, (ax,) = panels(1, width=5)
    roots = np.sqrt(betas)
    for cases, colour, label in (
        (at_points, MUTED, "V least at points"),
        (on_arcs, OKABE_ITO["vermilion"], "V least on an arc"),
    ):
        for number, case in enumerate(cases):
            ax.plot(
                roots, case.counts, "o-", color=colour, label="" if number else label
            )
    ax.set(xlabel="√β", ylabel="atoms of the minimiser", yscale="log")
    ax.legend()
    return figure
