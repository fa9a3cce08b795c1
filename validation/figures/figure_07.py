r"""Figure 7: descent with three neurons on S^2, histograms of angles."""

from __future__ import annotations

from typing import Any

from validation.claim import Claim
from validation.figures.on_sphere import (
    rest_rows,
    solve_on_sphere,
    sphere_figure,
    sphere_rows,
)
from validation.figures.settings import PANELS

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


def main(quick: bool = False) -> dict[str, Any]:
    settings = PANELS["7"].settings(quick)
    panels = [solve_on_sphere(setting, quick=quick) for setting in settings]
    quantities = [
        row for panel in panels for row in (*sphere_rows(panel), *rest_rows(panel))
    ]
    figure = sphere_figure(panels, "S², descent, shifted kernel (β: our choice)")
    return {"quantities": quantities, "figures": {"figure_07": figure}}
