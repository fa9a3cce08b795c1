"""Five clusters on the circle that merge one after another, at times up to 4e12."""

from __future__ import annotations

import numpy as np

import mfpde
from validation.claim import Claim, Findings, equal
from validation.exact_facts.drawn import compare_curves
from validation.exact_facts.runs import ascent
from validation.references import five_clusters as reference
from validation.references.circle_atoms import merges

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


@CLAIM
def main(quick: bool = False) -> Findings:
    labels = reference.collapse(6 if quick else 8)
    expected = merges(
        *labels.clusters(), beta=reference.BETA, start=reference.COLLAPSED
    )
    expected = [one for one in expected if one.time < LAST]
    circle = mfpde.Circle(512 if quick else 2048)
    start = mfpde.Density(circle, reference.start_density(circle.angles)).normalized()
    run = mfpde.solve(
        ascent(mfpde.Attention(reference.BETA)),
        start,
        t_end=LAST,
        save_at=[0.0, *np.geomspace(1.0, LAST, 60)],
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
        name = f"time of merge {number}"
        yield equal(name, one.time, truth.time, allowed, relative=True)
        yield equal(f"mass of merge {number}", sum(one.masses), truth.mass, EXCHANGED)
    counts = [len(state.atoms) for state in run.states[1:]]
    left = 5 - np.searchsorted([one.time for one in expected], run.times[1:])
    curves = {"S$^1$, β = 25": (run.times[1:], counts, run.times[1:], left)}
    yield "merges", compare_curves(curves, xlabel="t", ylabel="atoms", xscale="log")
