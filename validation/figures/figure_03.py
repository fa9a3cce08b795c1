r"""Figure 3: ascent with two ReLU neurons on the circle, at three beta."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import mfpde
from validation.claim import Claim, Quantity
from validation.figures import circle_atoms, circle_rows
from validation.figures import on_circle as circle
from validation.figures.on_circle import CirclePanel
from validation.figures.settings import (
    PANELS,
    TIME_STEP,
    Setting,
    angles,
    basins,
    spacing,
)
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
RESTING = (5.0, 25.0)
"""Where several clusters are left, which rest for decades of time."""
ALONE = Setting(1.0, "ascent", None)
SOLE_MASS = 1e-6
"""What may be left outside of the single atom: mass leaves its antipode like e^{-2 beta} t."""


def main(quick: bool = False) -> dict[str, Any]:
    settings = PANELS["3"].settings(quick)
    panels = circle.trajectories(settings, t_end=60.0 if quick else 300.0, quick=quick)
    quantities = [row for panel in panels for row in ascent_rows(panel)]
    if not quick:
        quantities.append(_more_at_large_beta(panels[0], panels[-1]))
    quantities += [*_unique_maximum(Setting(5.0, "ascent")), *_attention_alone(quick)]
    figure = circle.trajectories_figure(panels, "S¹, ascent, ReLU, shifted kernel")
    return {"quantities": quantities, "figures": {"figure_03": figure}}


def ascent_rows(panel: CirclePanel) -> Iterator[Quantity]:
    """Agreement with particles, locking to the maximum of V, and the end of the plateau."""
    yield from circle_rows.witnessed(panel)
    yield circle_rows.basins_at_the_end(panel)
    yield circle_rows.locked(panel)
    if panel.setting.beta in RESTING:
        yield from circle_rows.late_merge(panel)


def _more_at_large_beta(first: CirclePanel, last: CirclePanel) -> Quantity:
    """Basins at the end at the largest beta beyond those at the smallest."""
    betas = last.setting.beta, first.setting.beta
    return Quantity(
        "basins at the end, β = {:g} beyond β = {:g}".format(*betas),
        last.counts[-1] - first.counts[-1],
        1.0,
        0.0,
        "at least",
    )


def _unique_maximum(setting: Setting) -> Iterator[Quantity]:
    """One local maximum of V, and so one maximiser: its place and its energy."""
    problem = problem_of(setting.equation)
    tops = circle_atoms.strict_maxima(problem)
    found = mfpde.maximize(setting.equation)
    highest = potential(problem, circle_atoms.points_at(tops)).max()
    row = "strict local maxima of V on the circle (seed 777, ReLU)"
    yield Quantity(row, len(tops), 1.0, 0.0, subject="formula")
    row = "angle of the maximiser, beside that of the maximum of V"
    yield Quantity(row, angles(found.points)[0], tops[0], 1e-9)
    row = f"β = {setting.beta:g}: largest energy, beside 1/(2 beta) + max V"
    yield Quantity(row, found.energy, 1 / (2 * setting.beta) + highest, 1e-12)


def _attention_alone(quick: bool) -> Iterator[Quantity]:
    """From a density without symmetry attention alone ends in one atom."""
    cells, count, end = (256, 400, 100.0) if quick else (1024, 2000, 100.0)
    grid, equation = mfpde.Circle(cells), ALONE.equation
    where = angles(grid.points)
    values = 1 + 0.3 * np.cos(where - 0.4) + 0.4 * np.cos(2 * where - 2.1)
    start = mfpde.Density(grid, values / (values @ grid.areas))
    run = mfpde.solve(equation, start, t_end=end, atoms="exact")
    particles = mfpde.solve_particles(
        equation, mfpde.quantized(start, count), t_end=end, time_step=2 * TIME_STEP
    )
    name = f"attention alone, β = {ALONE.beta:g}, t = {end:g}"
    row = f"{name}: mass of the heaviest atom"
    yield Quantity(
        row, basins(run.final, equation).masses.max(initial=0.0), 1.0, SOLE_MASS
    )
    yield Quantity(
        f"{name}: W1 to {count} particles, in cells",
        mfpde.wasserstein(run.final, particles.final) / spacing(run),
        circle_rows.quantisation_error(count) / spacing(run),
        circle_rows.SPIKE,
        "at most",
    )
    row = f"{name}: E, beside 1/(2 beta)"
    yield Quantity(row, run.energies[-1], 1 / (2 * ALONE.beta), SOLE_MASS)
