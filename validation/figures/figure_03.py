r"""Figure 3: ascent with two ReLU neurons on the circle, at three beta."""

from __future__ import annotations

from typing import Any

from validation.claim import Claim
from validation.figures.paper_runs import Setting
from validation.figures.trajectories import (
    late_merge,
    late_run,
    trajectories,
    trajectories_figure,
    witnessed,
)

CLAIM = Claim(
    title="Ascent on the circle with ReLU: clusters at three beta",
    source="Figure 3",
    statement=(
        "Ascent from the uniform measure gathers it in few clusters, more at large beta; "
        "density and particles agree at all times."
    ),
    condition=(
        "The counts are those of plateaus, at a stated time: at beta = 5 the two atoms of "
        "t = 300 merge near t = 3e4, at beta = 25 after 3e6. The threshold rule starts from "
        "2 pi / distance in the uniform state and agrees with the basins only once all "
        "tails are gone."
    ),
)
SETTINGS = tuple(Setting(beta, "ascent", "relu") for beta in (1.0, 5.0, 25.0))


def main(quick: bool = False) -> dict[str, Any]:
    settings = SETTINGS[1:2] if quick else SETTINGS
    found = trajectories(settings, t_end=60.0 if quick else 300.0, quick=quick)
    quantities = [quantity for one in found for quantity in witnessed(one)]
    # At beta = 5 two atoms are left, which rest for two decades of time.
    (resting,) = (one for one in found if one.setting.beta == 5.0)
    quantities += late_merge(resting, late_run(resting))
    figure = trajectories_figure(found, "S¹, ascent, ReLU, shifted kernel")
    return {"quantities": quantities, "figures": {"figure_03": figure}}


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
