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
from validation.figures.final_states import (
    FinalState,
    minimum_quantities,
    resting_quantities,
    solve_to_the_end,
)
from validation.figures.panels import (
    draw_histograms,
    landscape_legend,
    new_figure,
    styled,
)
from validation.figures.paper_runs import Setting, angles, at
from validation.figures.trajectories import witnessed

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
SETTINGS = tuple(Setting(beta, "descent", "gelu") for beta in (1.0, 5.0, 25.0))
CUT = 100.0
TIMES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, CUT, 200.0, 500.0, 1000.0, 2000.0)


def main(quick: bool = False) -> dict[str, Any]:
    settings = SETTINGS[1:2] if quick else SETTINGS
    times = np.array(TIMES[:-2] if quick else TIMES)
    all_found = [solve_to_the_end(setting, times, quick=quick) for setting in settings]
    quantities = []
    for final in all_found:
        beta = f"{final.found.setting.beta:g}"
        prefix = f"β = {beta}: "
        quantities += witnessed(final.found)
        quantities += resting_quantities(final, prefix, key=f"rest_{beta}")
        quantities += minimum_quantities(final, prefix, key=f"excess_{beta}")
    return {"quantities": quantities, "figures": {"figure_06": _figure(all_found)}}


@styled
def _figure(all_found: Sequence[FinalState]) -> Figure:
    figure = new_figure(8.4, 5.4)
    rows = figure.subplots(2, len(all_found) + 1, squeeze=False)
    equation = all_found[0].equation
    for final, (above, below) in zip(all_found, rows.T[:-1], strict=True):
        found, polished = final.found, final.polished.atoms
        for ax, time in ((above, CUT), (below, found.run.final_time)):
            draw_histograms(
                ax, at(found.run, time), at(found.few, time), landscape=equation
            )
            ax.set_title(f"β = {found.setting.beta:g}, t = {time:g}")
            ax.set_xlabel("angle")
        below.plot(
            angles(polished.points),
            polished.masses,
            "k_",
            ms=9,
            label="stationary atoms",
        )
    rows[0, 0].set_ylabel("mass per bin")
    rows[1, 0].set_ylabel("mass per bin")
    _draw_energies(rows[0, -1], all_found)
    rows[1, -1].axis("off")
    handles, _ = rows[1, 0].get_legend_handles_labels()
    rows[1, -1].legend(
        handles=[*handles, *landscape_legend(equation)], loc="center", fontsize=7.5
    )
    figure.suptitle("S¹, descent, GeLU, shifted kernel")
    return figure


def _draw_energies(ax: Any, all_found: Sequence[FinalState]) -> None:
    places = np.arange(len(all_found))
    ends = [final.found.run.energies[-1] for final in all_found]
    least = [final.minimum.energy for final in all_found]
    ax.bar(places - 0.2, ends, 0.4, color=DENSITY)
    ax.bar(places + 0.2, least, 0.4, color="white", edgecolor="black", hatch="///")
    ax.axhline(0.0, color="0.4", lw=0.6)
    ax.set_xticks(places, [f"β = {f.found.setting.beta:g}" for f in all_found])
    ax.set_ylabel("E")
    ax.set_title("E at the end (filled),\nminimum (hatched)")


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
