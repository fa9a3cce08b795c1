r"""Figure 7: descent with three neurons on S^2, histograms of angles."""

from __future__ import annotations

from validation.claim import Claim, Findings, mark
from validation.figures import on_sphere as sphere
from validation.figures.settings import panels_of

CLAIM = Claim(
    title="Descent on the sphere: two atoms that rest",
    source="Figure 7",
    statement=(
        "Descent on S^2 with three neurons (seed 111) gathers the uniform measure in two "
        "atoms at a second-order point, with the masses that particles have (the betas 5 and "
        "25 are our choice: formulas are missing in the text that we have)."
    ),
    condition=(
        "The state is no global minimiser: each basin keeps its own level of F. At beta = 25 "
        "its energy is {excess_relu_25:.2g} (ReLU) and {excess_gelu_25:.2g} (GeLU) above the "
        "certified minimum."
    ),
    at_guessed_beta=True,
)


@CLAIM
def main(quick: bool = False) -> Findings:
    panels = [sphere.solve_on_sphere(s, quick=quick) for s in panels_of("7", quick)]
    for panel in panels:
        rows = [*sphere.sphere_rows(panel), *sphere.rest_rows(panel)]
        yield from mark(rows, under=f"{panel.setting}: ")
    title = "S², descent, shifted kernel (β: our choice)"
    yield "figure_07", sphere.sphere_figure(panels, title)
