r"""Figure 5: descent with two ReLU neurons on the circle, trajectories at three beta."""

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
    title="Descent on the circle with ReLU: clusters at three beta",
    source="Figure 5",
    statement="Descent from the uniform measure gathers it in few clusters, more at large beta.",
)
SETTINGS = tuple(Setting(beta, "descent", "relu") for beta in (1.0, 5.0, 25.0))


def main(quick: bool = False) -> dict[str, Any]:
    found = trajectories(SETTINGS, t_end=20.0 if quick else 300.0, quick=quick)
    quantities = [quantity for one in found for quantity in witnessed(one)]
    figure = trajectories_figure(found, "S¹, descent, ReLU, shifted kernel")
    return {"quantities": quantities, "figures": {"figure_05": figure}}


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
