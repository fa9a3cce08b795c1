r"""Figure 8: softmax attention with two neurons on the circle, and beyond its panels.

The figure shows ascent with ReLU neurons at three beta; the text speaks of softmax attention
in all settings, so that descent, GeLU neurons and the sphere stand beside it.
"""

from __future__ import annotations

from validation.claim import Claim, Findings, mark
from validation.figures import on_circle as circle
from validation.figures import on_sphere as sphere
from validation.figures.settings import panels_of

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


@CLAIM
def main(quick: bool = False) -> Findings:
    t_end, title = 60.0 if quick else 300.0, "S¹, softmax, {}, shifted kernel"
    panels = circle.trajectories(panels_of("8", quick), t_end=t_end, quick=quick)
    for panel in panels:
        yield from circle.ascent_rows(panel)
    figure = circle.trajectories_figure(panels, title.format("ascent, ReLU"))
    yield "figure_08", figure
    t_end, settings = 10.0 if quick else 30.0, panels_of("8, descent", quick)
    descents = circle.trajectories(settings, t_end=t_end, quick=quick)
    for panel in descents:
        yield from mark(circle.witnessed(panel), under=f"{panel.setting}: ")
    for neurons in dict.fromkeys(panel.setting.neurons for panel in descents):
        shown = [panel for panel in descents if panel.setting.neurons == neurons]
        figure = circle.trajectories_figure(shown, title.format(f"descent, {neurons}"))
        yield f"figure_08_descent_{neurons.lower()}", figure
    balls = [
        sphere.solve_on_sphere(s, quick=quick) for s in panels_of("8, sphere", quick)
    ]
    for ball in balls:
        rows = [sphere.early_moments(ball), sphere.late_moments(ball)]
        yield from mark(rows, under=f"S², {ball.setting}: ")
    title = "S², softmax, β = 5 (a guess), shifted kernel"
    yield "figure_08_sphere", sphere.sphere_figure(balls, title)
