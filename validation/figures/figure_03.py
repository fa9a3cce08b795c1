r"""Figure 3: ascent with two ReLU neurons on the circle, trajectories at three beta."""

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
    title="Ascent on the circle with ReLU: clusters at three beta",
    source="Figure 3",
    statement="Ascent from the uniform measure gathers it in few clusters, more at large beta.",
)
SETTINGS = tuple(Setting(beta, "ascent", "relu") for beta in (1.0, 5.0, 25.0))


def main(quick: bool = False) -> dict[str, Any]:
    found = trajectories(SETTINGS, t_end=20.0 if quick else 300.0, quick=quick)
    quantities = [quantity for one in found for quantity in witnessed(one)]
    figure = trajectories_figure(found, "S¹, ascent, ReLU, shifted kernel")
    return {"quantities": quantities, "figures": {"figure_03": figure}}


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
