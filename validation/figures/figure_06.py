r"""Figure 6: descent with two GeLU neurons on the circle, final states at three beta.

GeLU neurons push everywhere, so that the flow comes to rest: its atoms are compared with the
stationary state beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import mfpde
from mfpde.run import Run
from validation.claim import Claim, Quantity
from validation.figures.panels import (
    draw_histograms,
    draw_potential,
    new_figure,
    styled,
)
from validation.figures.paper_runs import (
    PAPER_START_SEED,
    Setting,
    at,
    density_run,
    particle_run,
    share_near,
    spacing,
)
from validation.figures.trajectories import SECOND_ORDER, quantisation_error

CLAIM = Claim(
    title="Descent on the circle with GeLU: final states are stable atoms",
    source="Figure 6, Theorem 3.2",
    statement=(
        "Descent from the uniform measure ends in finitely many atoms at a strict "
        "second-order point, with the masses that sampled particles have."
    ),
    condition=(
        "At beta = 1 the last atom needs several hundred units of time to form. The state "
        "is no global minimiser: each basin keeps its own level of F."
    ),
)
SETTINGS = tuple(Setting(beta, "descent", "gelu") for beta in (1.0, 5.0, 25.0))
EARLY = (1.0, 2.0)
LATE = 2000.0


@dataclass(frozen=True, eq=False)
class Final:
    """A density run, its end with exact atoms, particles, and the stationary state."""

    setting: Setting
    run: Run
    end: Run
    many: Run
    panel: Run
    polished: mfpde.PolishedAtoms
    minimum: mfpde.Minimum


def main(quick: bool = False) -> dict[str, Any]:
    settings = SETTINGS[1:2] if quick else SETTINGS
    found = [_final(setting, quick) for setting in settings]
    quantities = [quantity for one in found for quantity in _quantities(one)]
    return {"quantities": quantities, "figures": {"figure_06": _figure(found)}}


def _final(setting: Setting, quick: bool) -> Final:
    cells, many, few = (256, 1000, 100) if quick else (1024, 10_000, 1000)
    late, time_step = (200.0, 0.5) if quick else (500.0, 0.25)
    run = density_run(setting, cells, (*EARLY, 20.0, 100.0))
    # From the grid's state on with exact atoms: cores leave the grid, tails follow.
    end = mfpde.solve(
        setting.equation,
        run.final,
        start_time=100.0,
        t_end=LATE,
        save_at=[100.0, LATE],
        atoms="exact",
    )
    report = mfpde.concentration(end.final, setting.equation)
    return Final(
        setting,
        run,
        end,
        many=particle_run(setting, many, EARLY),
        panel=particle_run(
            setting, few, (100.0, late), seed=PAPER_START_SEED, time_step=time_step
        ),
        polished=mfpde.polish(setting.equation, report.atoms),
        minimum=mfpde.minimize(setting.equation, mfpde.Circle(256)),
    )


def _quantities(found: Final) -> list[Quantity]:
    name, width = f"β = {found.setting.beta:g}", spacing(found.run)
    polished = found.polished
    masses = polished.atoms.masses
    sampled = share_near(found.panel.final, polished.atoms.points)
    error = np.sqrt(masses * (1 - masses) / len(found.panel.final.points))
    early = [
        Quantity(
            f"{name}: W1 to {len(found.many.final.points)} particles at t = {t:g}, in cells",
            mfpde.wasserstein(at(found.run, t), at(found.many, t)) / width,
            quantisation_error(len(found.many.final.points)) / width,
            SECOND_ORDER * width,
            "at most",
        )
        for t in EARLY
    ]
    return [
        *early,
        Quantity(
            f"{name}: relative residual of the {len(masses)} polished atoms",
            polished.relative_residual,
            1e-14,
            0.0,
            "at most",
        ),
        Quantity(
            f"{name}: way to the polished atoms, in cells",
            polished.moved / width,
            0.5,
            0.0,
            "at most",
        ),
        Quantity(f"{name}: strict (1: yes)", polished.is_strict, 1.0, 0.0),
        Quantity(f"{name}: split-stable (1: yes)", polished.is_split_stable, 1.0, 0.0),
        Quantity(
            f"{name}: masses against {len(found.panel.final.points)} sampled particles, "
            "in standard errors",
            float((np.abs(sampled - masses) / error).max()),
            3.0,
            0.0,
            "at most",
        ),
        Quantity(
            f"{name}: largest rise of E between saves",
            float(np.diff(found.run.energies).max()),
            0.0,
            1e-10,
            "at most",
        ),
        Quantity(
            f"{name}: E at the end above the certified minimum",
            float(found.end.energies[-1]),
            found.minimum.lower_bound,
            0.0,
            "at least",
        ),
    ]


@styled
def _figure(all_found: Sequence[Final]) -> Figure:
    figure = new_figure(8.4, 4.6)
    rows = figure.subplots(2, len(all_found) + 1, squeeze=False)
    for found, (above, below) in zip(all_found, rows.T[:-1], strict=True):
        draw_histograms(above, at(found.run, 100.0), at(found.panel, 100.0))
        above.set_title(f"β = {found.setting.beta:g}, t = 100")
        draw_histograms(below, found.end.final, found.panel.final)
        polished = found.polished.atoms
        where = np.mod(
            np.arctan2(polished.points[:, 1], polished.points[:, 0]), 2 * np.pi
        )
        below.plot(where, polished.masses, "k_", ms=9, label="stationary")
        below.set_title(f"t = {LATE:g} (particles {found.panel.final_time:g})")
        below.set_xlabel("angle")
    rows[0, 0].set_ylabel("mass per bin")
    rows[1, 0].set_ylabel("mass per bin")
    rows[1, 0].legend(loc="lower left", fontsize=7)
    draw_potential(rows[0, -1], all_found[0].setting.equation)
    rows[0, -1].set_title("perceptron")
    bars = rows[1, -1]
    places = np.arange(len(all_found))
    bars.bar(
        places - 0.2, [f.end.energies[-1] for f in all_found], 0.4, label="E at the end"
    )
    bars.bar(
        places + 0.2, [f.minimum.energy for f in all_found], 0.4, label="minimum E*"
    )
    bars.set_xticks(places, [f"β = {f.setting.beta:g}" for f in all_found])
    bars.set_title("energies")
    bars.legend(loc="lower left", fontsize=7)
    figure.suptitle("S¹, descent, GeLU, shifted kernel")
    return figure


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
