r"""Figure 6: descent with two GeLU neurons on the circle, final states at three beta.

GeLU neurons push everywhere, so that the flow comes to rest: its atoms are compared with the
stationary state beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from mfpde.plotting.palette import DENSITY
from validation.claim import Claim
from validation.figures import circle_rows, drawing
from validation.figures import on_circle as circle
from validation.figures.settings import PANELS, angles, at

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


def main(quick: bool = False) -> dict[str, Any]:
    times = np.array(TIMES[:-2] if quick else TIMES)
    settings = PANELS["6"].settings(quick)
    panels = [circle.solve_to_the_end(s, times, quick=quick) for s in settings]
    quantities = []
    for panel in panels:
        beta = f"{panel.setting.beta:g}"
        prefix = f"β = {beta}: "
        quantities += circle_rows.witnessed(panel)
        quantities += circle_rows.at_rest(panel, prefix, key=f"rest_{beta}")
        quantities += circle_rows.above_the_minimum(panel, prefix, key=f"excess_{beta}")
    return {"quantities": quantities, "figures": {"figure_06": _figure(panels)}}


def _figure(panels: Sequence[circle.CirclePanel]) -> Figure:
    """Histograms at two times, the energies of the end, and the landscape."""
    figure, rows = drawing.new_page(2, len(panels) + 1, (8.4, 5.4))
    for panel, column in zip(panels, rows.T[:-1], strict=True):
        run, few, atoms = panel.run, panel.few, panel.polished.atoms
        for ax, time in zip(column, (CUT, panel.end), strict=True):
            density, particles = at(run, time), at(few, time)
            drawing.draw_histograms(ax, density, particles, landscape=panel.equation)
            ax.set_title(f"β = {panel.setting.beta:g}, t = {time:g}")
        places = angles(atoms.points)
        column[1].plot(places, atoms.masses, "k_", ms=9, label="stationary atoms")
    for ax in rows[:, 0]:
        ax.set_ylabel("mass per bin")
    above, below = rows[:, -1]
    places = np.arange(len(panels))
    ends = [panel.run.energies[-1] for panel in panels]
    least = [panel.minimum.energy for panel in panels]
    above.bar(places - 0.2, ends, 0.4, color=DENSITY)
    above.bar(places + 0.2, least, 0.4, color="white", edgecolor="black", hatch="///")
    above.axhline(0.0, color="0.4", lw=0.6)
    above.set_xticks(places, [f"β = {panel.setting.beta:g}" for panel in panels])
    above.set(ylabel="E", title="E at the end (filled),\nminimum (hatched)")
    drawing.draw_potential(below, panels[0].equation)
    return drawing.finish_page(figure, "S¹, descent, GeLU, shifted kernel")
