r"""Figure 5: descent with two ReLU neurons on the circle, at three beta."""

from __future__ import annotations

from typing import Any

from validation.claim import Claim
from validation.figures import circle_rows
from validation.figures import on_circle as circle
from validation.figures.settings import PANELS

CLAIM = Claim(
    title="Descent on the circle with ReLU: atoms at three beta",
    source="Figure 5",
    statement=(
        "Descent from the uniform measure gathers what the neurons see in atoms (the three "
        "beta are guesses); density and particles agree at all times."
    ),
    condition=(
        "Where no neuron is active mass spreads by repulsion and leaks slowly into the "
        "atoms: at beta = 5 the inside of that dead zone holds a share of {dead_middle:.2g} "
        "of the mass at t = 100, and of {dead_end:.2g} at t = 300. Counts at t = 300 are "
        "those of a stated time, not of the limit (Figure 1)."
    ),
    at_guessed_beta=True,
)


def main(quick: bool = False) -> dict[str, Any]:
    settings, t_end = PANELS["5"].settings(quick), 60.0 if quick else 300.0
    panels = circle.trajectories(settings, t_end=t_end, quick=quick)
    quantities = []
    for panel in panels:
        quantities += [
            *circle_rows.witnessed(panel),
            circle_rows.basins_at_the_end(panel),
        ]
        if panel.setting.beta == 5.0:
            for time, key in ((circle.MIDDLE[quick], "middle"), (t_end, "end")):
                name = (
                    f"{panel.setting}: mass inside of the dead zone at t = {time:g}, beside "
                    f"that of {circle.FEW} particles"
                )
                row = circle_rows.dead_mass(panel, time, name=name, key=f"dead_{key}")
                quantities.append(row)
    figure = circle.trajectories_figure(panels, "S¹, descent, ReLU, shifted kernel")
    return {"quantities": quantities, "figures": {"figure_05": figure}}
