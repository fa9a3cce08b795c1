r"""Figure 7: descent with three neurons on S^2, histograms of angles."""

from __future__ import annotations

from typing import Any

from validation.claim import Claim
from validation.figures.paper_runs import Setting
from validation.figures.sphere_runs import (
    at_rest,
    on_sphere,
    sphere_figure,
    sphere_quantities,
)

CLAIM = Claim(
    title="Descent on the sphere: atoms of almost equal mass",
    source="Figure 7",
    statement=(
        "Descent on S^2 with three neurons (seed 111) gathers the uniform measure in few "
        "clusters; density and particles agree early and late."
    ),
    condition="Counts are those of a stated time, t = 40: mass that few neurons see leaks later.",
)
SETTINGS = tuple(
    Setting(beta, "descent", activation, dimension=3)
    for activation in ("relu", "gelu")
    for beta in (5.0, 25.0)
)


def main(quick: bool = False) -> dict[str, Any]:
    settings = SETTINGS[::2] if quick else SETTINGS
    found = [
        on_sphere(setting, quick=quick, t_end=15.0 if quick else 40.0)
        for setting in settings
    ]
    quantities = [
        quantity
        for one in found
        for quantity in (*sphere_quantities(one), *at_rest(one))
    ]
    figure = sphere_figure(found, "S², descent, shifted kernel")
    return {"quantities": quantities, "figures": {"figure_07": figure}}


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
