r"""Figure 7: descent with three neurons on S^2, histograms of angles."""

from __future__ import annotations

from typing import Any

from validation.claim import Claim
from validation.figures.paper_runs import Setting
from validation.figures.sphere_panels import sphere_figure
from validation.figures.sphere_runs import at_rest, on_sphere, sphere_quantities

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
SETTINGS = tuple(
    Setting(beta, "descent", activation, dimension=3)
    for activation in ("relu", "gelu")
    for beta in (5.0, 25.0)
)
T_END = 40.0


def main(quick: bool = False) -> dict[str, Any]:
    settings = SETTINGS[2:3] if quick else SETTINGS
    found = [on_sphere(setting, quick=quick, t_end=T_END) for setting in settings]
    quantities = [
        quantity
        for one in found
        for quantity in (*sphere_quantities(one), *at_rest(one))
    ]
    figure = sphere_figure(found, "S², descent, shifted kernel (β: our choice)")
    return {"quantities": quantities, "figures": {"figure_07": figure}}


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
