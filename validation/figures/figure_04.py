r"""Figure 4: ascent with three neurons on S^2, histograms of angles."""

from __future__ import annotations

from typing import Any

import mfpde
from validation.claim import Claim, Quantity
from validation.figures.on_sphere import (
    PARTICLES,
    T_END,
    SpherePanel,
    solve_on_sphere,
    sphere_figure,
    sphere_rows,
)
from validation.figures.paper_protocol import paper_run
from validation.figures.settings import PANELS, basins
from validation.figures.sphere_atoms import cluster_centres
from validation.independent import problem_of

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


def main(quick: bool = False) -> dict[str, Any]:
    settings = PANELS["4"].settings(quick)
    panels = [solve_on_sphere(setting, quick=quick) for setting in settings]
    quantities = [row for panel in panels for row in sphere_rows(panel)]
    if not quick:
        quantities.append(_later(panels[-1]))
    figure = sphere_figure(panels, "S², ascent, shifted kernel (β: our choice)")
    return {"quantities": quantities, "figures": {"figure_04": figure}}


def _later(panel: SpherePanel) -> Quantity:
    """Clusters long after, beside those of the paper's protocol from a lattice of points."""
    equation, few = panel.setting.equation, PARTICLES[0]
    run = mfpde.solve(
        equation, panel.run.final, start_time=T_END, t_end=LATER, atoms="exact"
    )
    start = mfpde.quantized(mfpde.uniform(mfpde.Sphere(32)), few).points
    witness = paper_run(problem_of(equation), start, give_up=LATER, see=(LATER,))
    return Quantity(
        f"{panel.setting}: atoms at t = {LATER:g}, against clusters of {few} particles by "
        "independent formulas",
        len(basins(run.final, equation)),
        len(cluster_centres(witness.seen[LATER], panel.setting.reach)),
        0.0,
        key="later",
        shows="condition",
    )
