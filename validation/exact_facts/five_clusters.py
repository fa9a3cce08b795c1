"""Five clusters on the circle that merge one after another, at times up to 4e12."""

from __future__ import annotations

import numpy as np

import mfpde
from validation.claim import Claim, Findings, equal
from validation.drawing import compare_curves
from validation.exact_facts.runs import ascent
from validation.references import five_clusters as reference

CLAIM = Claim(
    title="Five clusters merge when graded labels say, through twelve decades of time",
    source="Eq. (2.5), ascent at beta = 25 (labels: double exponential rule)",
    statement=(
        "From (1 + 0.3 cos(5 x + 0.3) + 0.1 sin 2 x) / (2 pi) five clusters form by t = 40; as "
        "points they approach at rates e^(-beta (1 - cos D)), and three merges follow. A density "
        "run with exact atoms has their times, order and masses."
    ),
)
CENTRE = 0.05
"""Share of a cell to which the centre of an atom is known that is born two cells wide."""
EXCHANGED = 1e-5
"""Mass by which atoms err that take over a tail at times of their own."""


@CLAIM
def main(quick: bool = False) -> Findings:
    expected = reference.merges()
    circle = mfpde.Circle(512 if quick else 2048)
    start = mfpde.Density(circle, reference.start_density(circle.angles)).normalized()
    run = mfpde.solve(
        ascent(mfpde.Attention(reference.BETA)),
        start,
        t_end=reference.UNTIL,
        save_at=[0.0, *np.geomspace(1.0, reference.UNTIL, 60)],
        atoms="exact",
    )
    found = [event for event in run.events if event.kind == "merge"]
    births = [event for event in run.events if event.kind == "birth"]
    yield equal("births", len(births), 5, 0.0)
    yield equal("merges", len(found), len(expected), 0.0)
    # A time is e^(beta (1 - cos D)) up to slower terms: centres that err by a share of a cell
    # h change its logarithm by beta h times that share at most.
    allowed = reference.BETA * circle.spacing * CENTRE
    for number, (one, truth) in enumerate(zip(found, expected, strict=False), start=1):
        time, mass = truth
        text = f"time of merge {number}"
        yield equal(text, one.time, time, allowed, relative=True)
        yield equal(f"mass of merge {number}", sum(one.masses), mass, EXCHANGED)
    counts = [len(state.atoms) for state in run.states[1:]]
    left = 5 - np.searchsorted([time for time, _ in expected], run.times[1:])
    curves = {"S$^1$, β = 25": (run.times[1:], counts, run.times[1:], left)}
    yield "merges", compare_curves(curves, xlabel="t", ylabel="atoms", xscale="log")
