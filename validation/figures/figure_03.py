r"""Figure 3: ascent with two ReLU neurons on the circle, at three beta."""

from __future__ import annotations

from typing import Any

from validation.claim import Claim, Quantity
from validation.figures.late_merges import late_merge, late_run
from validation.figures.locking import attention_alone, locked, unique_maximum
from validation.figures.paper_runs import Setting
from validation.figures.trajectories import (
    Trajectories,
    basins_at_the_end,
    trajectories,
    trajectories_figure,
    witnessed,
)

CLAIM = Claim(
    title="Ascent on the circle with ReLU: clusters at three beta",
    source="Figure 3, Proposition 3.7 (i)",
    statement=(
        "Ascent from the uniform measure gathers it in few clusters, more at large beta "
        "(the three beta are guesses); one is locked to the only maximum of V. Density and "
        "particles agree at all times. Attention alone ends in one atom. A merge is a distance of "
        "1e-6 rad: log(h / 1e-6) / M later than one of a cell h, where attention alone pulls the "
        "mass M of two clusters together."
    ),
    condition=(
        "Counts are those of plateaus, at a stated time, and on the way to one atom, the "
        "maximiser. Of the clusters of t = 300 the first pair merges, to within a microradian, at "
        "t = {merge_5:.1e} at beta = 5, and at t = {merge_25:.1e} at beta = 25: at t = 1e8 there "
        "are {left_5:word} and {left_25:word}."
    ),
    at_guessed_beta=True,
)
SETTINGS = tuple(Setting(beta, "ascent", "relu") for beta in (1.0, 5.0, 25.0))
RESTING = (5.0, 25.0)
"""Where several clusters are left, which rest for decades of time."""


def main(quick: bool = False) -> dict[str, Any]:
    settings = SETTINGS[1:2] if quick else SETTINGS
    found = trajectories(settings, t_end=60.0 if quick else 300.0, quick=quick)
    quantities: list[Quantity] = []
    for one in found:
        quantities += [*witnessed(one), basins_at_the_end(one), locked(one)]
        if one.setting.beta in RESTING:
            quantities += late_merge(one, late_run(one))
    quantities += [*more_at_large_beta(found), *unique_maximum(SETTINGS[1])]
    quantities += attention_alone(quick)
    figure = trajectories_figure(found, "S¹, ascent, ReLU, shifted kernel")
    return {"quantities": quantities, "figures": {"figure_03": figure}}


def more_at_large_beta(found: list[Trajectories]) -> list[Quantity]:
    """Basins at the end at the largest beta beyond those at the smallest."""
    if len(found) == 1:
        return []
    first, last = found[0], found[-1]
    return [
        Quantity(
            f"basins at the end, β = {last.setting.beta:g} beyond β = {first.setting.beta:g}",
            float(last.counts[-1] - first.counts[-1]),
            1.0,
            0.0,
            "at least",
        )
    ]


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
