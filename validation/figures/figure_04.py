r"""Figure 4: ascent with three neurons on S^2, histograms of angles."""

from __future__ import annotations

import mfpde
from validation.claim import Claim, Findings, Quantity, equal, mark
from validation.figures import on_sphere as sphere
from validation.figures.atoms import particle_cores
from validation.figures.paper_protocol import paper_run
from validation.figures.settings import basins, panels_of

CLAIM = Claim(
    title="Ascent on the sphere: few clusters",
    source="Figure 4",
    statement=(
        "Ascent on S^2 with three neurons (seed 111) gathers the uniform measure in few "
        "clusters; density and particles agree early and late (the betas 5 and 25 are our "
        "choice: formulas are missing in the text that we have)."
    ),
    condition=(
        "Counts are those of a stated time: clusters in ascent are metastable. With GeLU "
        "neurons at beta = 25 there are {count_gelu_25:word} at t = 40 and {later:word} at "
        "t = 150."
    ),
    at_guessed_beta=True,
)
LATER = 150.0


@CLAIM
def main(quick: bool = False) -> Findings:
    panels = [sphere.solve_on_sphere(s, quick=quick) for s in panels_of("4", quick)]
    for panel in panels:
        yield from mark(sphere.sphere_rows(panel), under=f"{panel.setting}: ")
    if not quick:
        yield from mark([_later(panels[-1])], under=f"{panels[-1].setting}: ")
    title = "S², ascent, shifted kernel (β: our choice)"
    yield "figure_04", sphere.sphere_figure(panels, title)


def _later(panel: sphere.SpherePanel) -> Quantity:
    """Clusters long after, beside those of the paper's protocol from a lattice of points."""
    equation, start = panel.setting.equation, sphere.lattice(sphere.PARTICLES[0])
    times = {"start_time": sphere.T_END, "t_end": LATER}
    run = mfpde.solve(equation, panel.run.final, **times, atoms="exact")
    given = {"give_up": LATER, "see": (LATER,)}
    witness = paper_run(panel.problem, start.points, **given).seen[LATER]
    theirs = len(particle_cores(witness, panel.setting.reach))
    count = f"{len(start.points)} particles by independent formulas"
    row, about = f"atoms at t = {LATER:g}, against clusters of {count}", "condition"
    ours = len(basins(run.final, equation))
    return equal(row, ours, theirs, 0.0, key="later", shows=about)
