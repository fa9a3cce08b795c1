r"""Figure 5: descent with two ReLU neurons on the circle, at three beta."""

from __future__ import annotations

from typing import Any

import numpy as np

from mfpde.measures.measure import AnyMeasure
from validation.claim import Claim, Quantity
from validation.figures.paper_runs import TURN, Setting, at, spacing
from validation.figures.trajectories import (
    MIDDLE,
    Trajectories,
    basins_at_the_end,
    trajectories,
    trajectories_figure,
    witnessed,
)
from validation.independent import cells_of, problem_of

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
SETTINGS = tuple(Setting(beta, "descent", "relu") for beta in (1.0, 5.0, 25.0))
INSIDE = 0.2
"""Radians from the edges of the dead zone, near which atoms come to rest, to its inside."""


def main(quick: bool = False) -> dict[str, Any]:
    settings = SETTINGS[1:2] if quick else SETTINGS
    t_end = 60.0 if quick else 300.0
    found = trajectories(settings, t_end=t_end, quick=quick)
    quantities: list[Quantity] = []
    for one in found:
        quantities += [*witnessed(one), basins_at_the_end(one)]
        if one.setting.beta == 5.0:
            quantities.append(_dead(one, MIDDLE[quick], "dead_middle"))
            quantities.append(_dead(one, t_end, "dead_end"))
    figure = trajectories_figure(found, "S¹, descent, ReLU, shifted kernel")
    return {"quantities": quantities, "figures": {"figure_05": figure}}


def _dead(found: Trajectories, time: float, key: str) -> Quantity:
    """Mass inside of the dead zone beside that of the particles.

    Either edge cuts one cell and one particle's share.
    """
    particles = len(found.few.final.points)
    density = dead_mass(found.setting, at(found.run, time))
    return Quantity(
        f"descent, ReLU, β = {found.setting.beta:g}: mass inside of the dead zone at "
        f"t = {time:g}, beside that of {particles} particles",
        density,
        dead_mass(found.setting, at(found.few, time)),
        2 / particles + density * spacing(found.run) / (TURN / 4),
        key=key,
        shows="condition",
    )


def dead_mass(setting: Setting, measure: AnyMeasure) -> float:
    """Mass at which all preactivations are below that of a point ``INSIDE`` of the edge."""
    problem = problem_of(setting.equation)
    points, masses = cells_of(measure)
    lengths = np.linalg.norm(problem.directions, axis=1)
    active = points @ problem.directions.T > -np.sin(INSIDE) * lengths
    return float(masses[~active.any(axis=1)].sum())


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
