r"""Figure 6: descent with two GeLU neurons on the circle, final states at three beta.

GeLU neurons push everywhere, so that the flow comes to rest: its atoms are compared with the
stationary state beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import mfpde
from mfpde.plotting.palette import DENSITY
from validation.claim import Claim, Quantity
from validation.figures.at_rest import (
    duality_gap,
    independent_energy,
    largest_speed,
    least_shift_rate,
    least_split_rate,
)
from validation.figures.panels import (
    draw_histograms,
    landscape_legend,
    new_figure,
    styled,
)
from validation.figures.paper_runs import (
    Setting,
    angles,
    at,
    density_run,
    particle_run,
    share_near,
    spacing,
)
from validation.figures.trajectories import SPIKE, Trajectories, witnessed

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
LATE = 2000.0
CUT = 100.0
SIZES = {False: (1024, 10_000, 2000, 0.25), True: (1024, 2000, 2000, 0.5)}
"""Cells, particles early on, particles to the end, their time step."""


@dataclass(frozen=True, eq=False)
class Final:
    """The density and particles to the end, the stationary state and the minimum."""

    found: Trajectories
    minimum: mfpde.Minimum

    @property
    def equation(self) -> mfpde.MeanFieldEquation:
        """The equation of the setting."""
        return self.found.setting.equation

    @cached_property
    def polished(self) -> mfpde.PolishedAtoms:
        """The atoms of the last state after Newton's method."""
        report = mfpde.concentration(self.found.run.final, self.equation)
        return mfpde.polish(self.equation, report.clusters)


def main(quick: bool = False) -> dict[str, Any]:
    settings = SETTINGS[1:2] if quick else SETTINGS
    all_found = [_final(setting, quick) for setting in settings]
    quantities = [quantity for one in all_found for quantity in _quantities(one)]
    return {"quantities": quantities, "figures": {"figure_06": _figure(all_found)}}


def _final(setting: Setting, quick: bool) -> Final:
    cells, many, few, step = SIZES[quick]
    early = (1.0, 2.0)
    times = (*early, 5.0, 10.0, 20.0, 50.0, CUT, 200.0, 500.0, 1000.0, LATE)
    times = times[:-2] if quick else times
    found = Trajectories(
        setting,
        run=density_run(setting, cells, times, atoms="exact"),
        coarse=density_run(setting, cells // 2, times, atoms="exact"),
        many=particle_run(setting, many, early),
        few=particle_run(setting, few, times, time_step=step),
        times=np.array([0.0, *times]),
    )
    return Final(found, mfpde.minimize(setting.equation, mfpde.Circle(256)))


def _quantities(final: Final) -> list[Quantity]:
    found = final.found
    return [*witnessed(found), *_resting(final), *_energies(final)]


def _resting(final: Final) -> list[Quantity]:
    """The atoms of the end: at rest, strictly stable, and with the particles' masses."""
    found, polished, equation = final.found, final.polished, final.equation
    beta, atoms = found.setting.beta, polished.atoms
    name, count = f"β = {beta:g}", len(found.few.final.points)
    end = float(found.run.times[-1])
    sampled = share_near(found.few.final, atoms.points)
    return [
        Quantity(
            f"{name}: atoms that rest, beside basins of {count} particles at t = {end:g}",
            float(len(atoms)),
            float(found.particle_counts[-1]),
            0.0,
            key=f"rest_{beta:g}",
        ),
        Quantity(
            f"{name}: largest |grad F| at the polished atoms, independent formulas",
            largest_speed(equation, atoms),
            0.0,
            1e-14,
        ),
        Quantity(
            f"{name}: way to the polished atoms, in cells",
            polished.moved / spacing(found.run),
            0.0,
            SPIKE,
        ),
        Quantity(
            f"{name}: strict: smallest eigenvalue of Hess E, independent formulas, beside "
            "the package's",
            least_shift_rate(equation, atoms),
            -float(polished.shift_rates.real.max()),
            1e-6,
        ),
        Quantity(
            f"{name}: split-stable: smallest F'' at the atoms, independent formulas",
            least_split_rate(equation, atoms),
            0.0,
            0.0,
            "at least",
        ),
        Quantity(
            f"{name}: masses at the end, largest difference from {count} particles",
            float(np.abs(sampled - atoms.masses).max()),
            0.0,
            2 / count,
        ),
    ]


def _energies(final: Final) -> list[Quantity]:
    """The minimum by independent formulas, and how far above it the flow ends.

    Levels of F differ by less than 1, and two edges of each basin cut a particle's share.
    """
    found, measure = final.found, final.minimum.measure
    beta, count = found.setting.beta, len(found.few.final.points)
    expected = independent_energy(final.equation, found.few.final)
    expected -= independent_energy(final.equation, measure)
    return [
        Quantity(
            f"β = {beta:g}: duality gap of the minimum, independent formulas",
            duality_gap(final.equation, measure),
            0.0,
            1e-12,
        ),
        Quantity(
            f"β = {beta:g}: E at the end above the minimum, beside that of {count} "
            "particles",
            float(found.run.energies[-1]) - final.minimum.energy,
            expected,
            2 / count,
            key=f"excess_{beta:g}",
            shows="condition",
        ),
    ]


@styled
def _figure(all_found: Sequence[Final]) -> Figure:
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


def _draw_energies(ax: Any, all_found: Sequence[Final]) -> None:
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
