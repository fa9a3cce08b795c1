"""Five clusters on the circle that merge one after another, at times up to 4e12."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from mfpde.runs.run import Run
from validation.claim import Claim, Quantity
from validation.drawing import panels
from validation.exact_facts.drawn import FORMULA_DOTS, SOLVER
from validation.references import five_clusters as reference
from validation.references.circle_atoms import Merge, merges

CLAIM = Claim(
    title="Five clusters merge when graded labels say, through twelve decades of time",
    source="Eq. (2.5), ascent at beta = 25 (labels: Gauss-Legendre on panels)",
    statement=(
        "From (1 + 0.3 cos(5 x + 0.3) + 0.1 sin 2 x) / (2 pi) five clusters form by t = 40; as "
        "points they approach at rates e^(-beta (1 - cos D)), and three merges follow. A density "
        "run with exact atoms has their times, order and masses."
    ),
)
LAST = 8e12
CENTRE = 0.05
"""Share of a cell to which the centre of an atom is known that is born two cells wide."""
EXCHANGED = 1e-5
"""Mass by which atoms err that take over a tail at times of their own."""


def main(quick: bool = False) -> dict[str, Any]:
    labels = reference.collapse(6 if quick else 8)
    expected = merges(*labels.clusters(), beta=reference.BETA, start=labels.end)
    expected = [one for one in expected if one.time < LAST]
    run = solve_to_the_last_merge(512 if quick else 2048)
    figure, (ax,) = panels(1, width=5)
    draw(ax, run, expected)
    return {"quantities": compare(run, expected), "figures": {"merges": figure}}


def solve_to_the_last_merge(cells: int) -> Run:
    """The density run with exact atoms."""
    circle = mfpde.Circle(cells)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(reference.BETA), direction="ascent"
    )
    start = mfpde.Density(circle, reference.start_density(circle.angles)).normalized()
    saves = [0.0, *np.geomspace(1.0, LAST, 60)]
    return mfpde.solve(equation, start, t_end=LAST, save_at=saves, atoms="exact")


def compare(run: Run, expected: list[Merge]) -> list[Quantity]:
    """Numbers of births and merges, and time and mass of each merge.

    A time is e^(beta (1 - cos D)) up to slower terms: centres that err by a share of a cell h
    change its logarithm by beta h times that share at most.
    """
    width = float(run.final.geometry.spacing)  # type: ignore[union-attr]
    found = [event for event in run.events if event.kind == "merge"]
    births = sum(event.kind == "birth" for event in run.events)
    rows = [
        Quantity("births", float(births), 5.0, 0.0),
        Quantity("merges", float(len(found)), float(len(expected)), 0.0),
    ]
    for number, (merge, truth) in enumerate(
        zip(found, expected, strict=False), start=1
    ):
        rows += [
            Quantity(
                f"time of merge {number}",
                merge.time,
                truth.time,
                reference.BETA * width * CENTRE,
                relative=True,
            ),
            Quantity(
                f"mass of merge {number}",
                float(np.sum(merge.masses)),
                truth.mass,
                EXCHANGED,
            ),
        ]
    return rows


def draw(ax: Any, run: Run, expected: list[Merge]) -> None:
    """Numbers of atoms over time."""
    counts = [len(state.atoms) for state in run.states]  # type: ignore[union-attr]
    ax.step(run.times[1:], counts[1:], where="post", color=SOLVER, label="solver")
    left = 5 - np.arange(len(expected)) - 0.5
    times = [one.time for one in expected]
    ax.plot(times, left, **FORMULA_DOTS, label="merges of labels")
    ax.set(title="S$^1$, β = 25", xlabel="t", ylabel="atoms", xscale="log")
    ax.set_ylim(0, 5.5)
    ax.legend()
