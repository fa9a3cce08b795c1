r"""Figure 5: descent with two ReLU neurons on the circle, at three beta."""

from __future__ import annotations

from typing import Any

from validation.claim import Claim
from validation.figures.paper_runs import Setting
from validation.figures.trajectories import (
    trajectories,
    trajectories_figure,
    witnessed,
)

CLAIM = Claim(
    title="Descent on the circle with ReLU: atoms at three beta",
    source="Figure 5",
    statement=(
        "Descent from the uniform measure gathers what the neurons see in atoms; density "
        "and particles agree at all times."
    ),
    condition=(
        "Where no neuron is active mass spreads by repulsion and leaks slowly into the "
        "atoms: the counts at t = 300 are those of a stated time, not of the limit "
        "(Figure 1: at beta = 5 it has five atoms, from t = 1000 on)."
    ),
)
SETTINGS = tuple(Setting(beta, "descent", "relu") for beta in (1.0, 5.0, 25.0))


def main(quick: bool = False) -> dict[str, Any]:
    settings = SETTINGS[1:2] if quick else SETTINGS
    found = trajectories(settings, t_end=60.0 if quick else 300.0, quick=quick)
    quantities = [
        quantity for one in found for quantity in witnessed(one, in_dead_zone=True)
    ]
    figure = trajectories_figure(found, "S¹, descent, ReLU, shifted kernel")
    return {"quantities": quantities, "figures": {"figure_05": figure}}


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
