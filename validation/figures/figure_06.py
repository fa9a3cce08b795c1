r"""Figure 6: descent with two GeLU neurons on the circle, final states at three beta.

GeLU neurons push everywhere, so that the flow comes to rest: its atoms are compared with the
stationary state beside them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from validation.claim import Claim, Findings, mark
from validation.figures import drawing
from validation.figures import on_circle as circle
from validation.figures.settings import at, panels_of

CLAIM = Claim(
    title="Descent on the circle with GeLU: final states are stable atoms",
    source="Figure 6, Theorem 3.2",
    statement=(
        "Descent from the uniform measure ends in finitely many atoms at a strict "
        "second-order point, with the masses that particles have."
    ),
    condition=(
        "The states are no global minimisers: the energy is above the certified minimum, by "
        "{excess_1:.2g} at beta = 1, {excess_5:.2g} at beta = 5 and {excess_25:.2g} at "
        "beta = 25."
    ),
    at_guessed_beta=True,
)
CUT = 100.0
TIMES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, CUT, 200.0, 500.0, 1000.0, 2000.0)


@CLAIM
def main(quick: bool = False) -> Findings:
    times, step = np.array(TIMES[:-2] if quick else TIMES), 0.5 if quick else 0.25
    panels = []
    for setting in panels_of("6", quick):
        beta = setting.beta
        panel = circle.solve_on_circle(setting, times, time_step=step)
        above = circle.above_the_minimum(panel, f"excess_{beta:g}")
        rows = [*circle.at_rest(panel), *above]
        yield from mark(circle.witnessed(panel), under=f"{setting}: ")
        yield from mark(rows, under=f"β = {beta:g}: ")
        panels.append(panel)
    yield "figure_06", _figure(panels)


def _figure(panels: Sequence[circle.CirclePanel]) -> Figure:
    """Histograms at two times, the energies of the end, and the landscape."""
    rows = [
        [_masses(panel, CUT) for panel in panels],
        [_masses(panel, panel.end) for panel in panels],
    ]
    betas = [panel.setting.beta for panel in panels]
    energies = {
        "E at the end": (betas, [p.run.energies[-1] for p in panels]),
        "E, minimum": (betas, [p.minimum.energy for p in panels], drawing.DASHED),
    }
    rows[0].append(drawing.curves("energies", energies, xlabel="β", ylabel="E"))
    rows[1].append(drawing.potential_curve(panels[0].equation))
    title = "S¹, descent, GeLU, shifted kernel (strips: V, > 0 green)"
    return drawing.draw_page(title, rows, size=(9.4, 5.4))


def _masses(panel: circle.CirclePanel, time: float) -> drawing.Draw:
    both = {"particles": at(panel.few, time), "density": at(panel.run, time)}
    title = f"β = {panel.setting.beta:g}, t = {time:g}"
    return drawing.masses(title, both, equation=panel.equation, xlabel="angle")
