r"""Figure 8: softmax attention with two neurons on the circle, and beyond its panels.

The figure shows ascent with ReLU neurons at three beta; the text speaks of softmax attention
in all settings, so that descent, GeLU neurons and the sphere stand beside it.
"""

from __future__ import annotations

from typing import Any

from validation.claim import Claim, Quantity
from validation.figures.figure_03 import RESTING
from validation.figures.late_merges import late_merge, late_run
from validation.figures.locking import locked
from validation.figures.paper_runs import Setting
from validation.figures.softmax_settings import (
    DESCENT_END,
    ON_CIRCLE,
    softmax_on_sphere,
    sphere_moments_figure,
    sphere_rows,
)
from validation.figures.trajectories import (
    basins_at_the_end,
    trajectories,
    trajectories_figure,
    witnessed,
)

CLAIM = Claim(
    title="Softmax attention: clusters on the circle, and the sphere",
    source="Figure 8",
    statement=(
        "With softmax attention, ascent from the uniform measure gathers it in few "
        "clusters, as without normalisation (the three beta are guesses). Density and "
        "particles agree at all saves: ascent to t = 300, descent with ReLU and GeLU to "
        "t = 30, and both on the sphere to t = 40. A merge is a distance of 1e-6 rad: "
        "log(h / 1e-6) later than one of a cell h, where the pair is alone."
    ),
    condition=(
        "Counts are those of plateaus, at a stated time. Of the clusters of t = 300 the "
        "first pair merges, to within a microradian, at t = {merge_5:.1e} at beta = 5, and at "
        "t = {merge_25:.1e} at beta = 25: at t = 1e8 there are {left_5:word} and "
        "{left_25:word}."
    ),
    at_guessed_beta=True,
)
SETTINGS = tuple(
    Setting(beta, "ascent", "relu", normalized=True) for beta in (1.0, 5.0, 25.0)
)


def main(quick: bool = False) -> dict[str, Any]:
    settings = SETTINGS[1:2] if quick else SETTINGS
    found = trajectories(settings, t_end=60.0 if quick else 300.0, quick=quick)
    quantities: list[Quantity] = []
    for one in found:
        quantities += [*witnessed(one), basins_at_the_end(one), locked(one)]
        if one.setting.beta in RESTING:
            quantities += late_merge(one, late_run(one))
    descents = trajectories(
        ON_CIRCLE[1:2] if quick else ON_CIRCLE, t_end=DESCENT_END[quick], quick=quick
    )
    quantities += [quantity for one in descents for quantity in witnessed(one)]
    on_sphere = softmax_on_sphere(quick)
    quantities += [quantity for one in on_sphere for quantity in sphere_rows(one)]
    figures = {
        "figure_08": trajectories_figure(
            found, "S¹, softmax, ascent, ReLU, shifted kernel"
        ),
        "figure_08_sphere": sphere_moments_figure(on_sphere),
    }
    for activation, name in (("relu", "ReLU"), ("gelu", "GeLU")):
        shown = [one for one in descents if one.setting.activation == activation]
        if shown:
            figures[f"figure_08_descent_{activation}"] = trajectories_figure(
                shown, f"S¹, softmax, descent, {name}, shifted kernel"
            )
    return {"quantities": quantities, "figures": figures}


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
