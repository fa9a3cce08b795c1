r"""Figure 3: ascent with two ReLU neurons on the circle, at three beta."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mfpde
from validation.circle_cases import points_at
from validation.claim import Claim, Findings, Quantity, at_least, equal, mark
from validation.figures import atoms, settings
from validation.figures import on_circle as circle
from validation.figures.settings import TIME_STEP, Setting, angles, basins
from validation.independent import potential, problem_of

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
ALONE = Setting(1.0, "ascent", None)
SOLE_MASS = 1e-6
"""What may be left outside of the single atom: mass leaves its antipode like e^{-2 beta} t."""


@CLAIM
def main(quick: bool = False) -> Findings:
    t_end = 60.0 if quick else 300.0
    chosen = settings.panels_of("3", quick)
    panels = circle.trajectories(chosen, t_end=t_end, quick=quick)
    for panel in panels:
        yield from circle.ascent_rows(panel)
    if not quick:
        first, last = (panel.counts[0][-1] for panel in (panels[0], panels[-1]))
        row = "basins at the end, β = 25 beyond β = 1"
        yield at_least(row, last - first, 1.0)
    yield from _unique_maximum(Setting(5.0, "ascent"))
    yield from mark(_alone(quick), under="attention alone, β = 1, t = 100: ")
    title = "S¹, ascent, ReLU, shifted kernel"
    yield "figure_03", circle.trajectories_figure(panels, title)


def _unique_maximum(setting: Setting) -> Iterator[Quantity]:
    """One local maximum of V, and so one maximiser: its place and its energy."""
    problem, found = problem_of(setting.equation), mfpde.maximize(setting.equation)
    tops = atoms.strict_maxima(problem)
    row = "strict local maxima of V on the circle (seed 777, ReLU)"
    yield equal(row, len(tops), 1.0, 0.0, subject="formula")
    row = "angle of the maximiser, beside that of the maximum of V"
    yield equal(row, angles(found.points)[0], tops[0], 1e-9)
    highest = 1 / (2 * setting.beta) + potential(problem, points_at(tops)).max()
    row = f"β = {setting.beta:g}: largest energy, beside 1/(2 beta) + max V"
    yield equal(row, found.energy, highest, 1e-12)


def _alone(quick: bool) -> Iterator[Quantity]:
    """From a density without symmetry attention alone ends in one atom."""
    (cells, count), end = ((256, 400) if quick else (1024, 2000)), 100.0
    grid, equation = mfpde.Circle(cells), ALONE.equation
    where = angles(grid.points)
    values = 1 + 0.3 * np.cos(where - 0.4) + 0.4 * np.cos(2 * where - 2.1)
    start = mfpde.Density(grid, values / (values @ grid.areas))
    run = mfpde.solve(equation, start, t_end=end, atoms="exact")
    heaviest = basins(run.final, equation).masses.max(initial=0.0)
    yield equal("mass of the heaviest atom", heaviest, 1.0, SOLE_MASS)
    quantiles, step = mfpde.quantized(start, count), 2 * TIME_STEP
    few = mfpde.solve_particles(equation, quantiles, t_end=end, time_step=step)
    row = f"W1 to {count} particles, in cells"
    yield circle.near(row, [(run.final, few.final)], settings.spacing(run))
