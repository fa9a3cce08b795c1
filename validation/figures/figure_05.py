r"""Figure 5: descent with two ReLU neurons on the circle, at three beta."""

from __future__ import annotations

from validation.claim import Claim, Findings, mark
from validation.figures import on_circle as circle
from validation.figures.settings import panels_of

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


@CLAIM
def main(quick: bool = False) -> Findings:
    settings, t_end = panels_of("5", quick), 60.0 if quick else 300.0
    panels = circle.trajectories(settings, t_end=t_end, quick=quick)
    for panel in panels:
        rows = [*circle.witnessed(panel), circle.basins_at_the_end(panel)]
        if panel.setting.beta == 5.0:
            rows.append(circle.dead_mass(panel, circle.MIDDLE[quick], "dead_middle"))
            rows.append(circle.dead_mass(panel, t_end, "dead_end"))
        yield from mark(rows, under=f"{panel.setting}: ")
    title = "S¹, descent, ReLU, shifted kernel"
    yield "figure_05", circle.trajectories_figure(panels, title)
