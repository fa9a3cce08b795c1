r"""Figure 1: descent with two ReLU neurons on the circle, from the uniform measure.

The paper shows histograms at three times, the final state without the perceptron, and both
energies.  Its beta is not printed; here beta = 5.  Beside the particles stands the density.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import mfpde
from mfpde.plotting.palette import ATOM, DENSITY, OKABE_ITO
from mfpde.runs.run import Run
from validation.claim import Claim, Quantity
from validation.figures.at_rest import independent_energy, levels
from validation.figures.figure_01_alone import without_perceptron
from validation.figures.figure_05 import dead_mass
from validation.figures.final_states import (
    FinalState,
    minimum_quantities,
    resting_quantities,
    solve_to_the_end,
)
from validation.figures.panels import (
    draw_histograms,
    draw_potential,
    landscape_legend,
    logarithmic_time,
    new_figure,
    styled,
)
from validation.figures.paper_runs import TURN, Setting, at, spacing
from validation.figures.trajectories import (
    EARLY,
    SPIKE,
    Trajectories,
    quantisation_error,
    witnessed,
)

CLAIM = Claim(
    title="Descent on the circle: with a perceptron the uniform measure becomes atoms",
    source="Figure 1",
    statement=(
        "With two ReLU neurons (seed 777, beta = 5, a guess) descent from the uniform "
        "measure ends in atoms and lowers E; without them the uniform measure is stable."
    ),
    condition=(
        "Histograms that look final are not: at t = 100 there are {early:word} basins with "
        "an atom, but a share of {dead:.2g} of the mass lies inside of the dead zone, where "
        "no neuron is active, and leaks. At the end {rest:word} atoms rest, of second "
        "order, with an energy {excess:.2g} above the certified minimum, which has "
        "{fewest:word}: each basin keeps its own level of F, and these differ by "
        "{level:.2g}."
    ),
    at_guessed_beta=True,
)
SETTING = Setting(5.0, "descent", "relu")
CUT = 100.0
FINDS_ATOMS = 1e-4
"""Lighter atoms of the minimum are not counted."""


def main(quick: bool = False) -> dict[str, Any]:
    late = 900.0 if quick else 2000.0
    spread = np.geomspace(0.05, late, 12 if quick else 45)
    times = np.union1d([*EARLY, 20.0, CUT], spread)
    final = solve_to_the_end(SETTING, times, quick=quick)
    found = final.found
    alone, of_alone = without_perceptron(SETTING, found.cells, late)
    quantities = [
        *witnessed(found),
        *_energies(found),
        *of_alone,
        *minimum_quantities(final, key="excess"),
        *_levels(final),
        *_leaking(found),
        *resting_quantities(
            final, order="of second order", key="rest", shows="condition"
        ),
    ]
    figure = _figure(found, alone, final.minimum)
    return {"quantities": quantities, "figures": {"figure_01": figure}}


def _energies(found: Trajectories) -> list[Quantity]:
    """E at all saves, and its fall.

    Particles are quantiles of the density, to first order their F is the same on average;
    two edges of a basin cut a particle's share, over levels of F that differ by less than 1.
    """
    run, count = found.run, len(found.few.final.points)
    beside = [independent_energy(SETTING.equation, s) for s in found.few.states]
    return [
        Quantity(
            f"largest difference of E from {count} particles, independent formulas",
            float(np.abs(run.energies - beside).max()),
            0.0,
            2 / count,
        ),
        Quantity(
            f"fall of E to the end, beside that of {count} particles",
            float(run.energies[0] - run.energies[-1]),
            beside[0] - beside[-1],
            2 / count,
        ),
    ]


def _levels(final: FinalState) -> list[Quantity]:
    """Atoms of the minimum, and how much levels of F differ where the flow ends."""
    masses = np.asarray(getattr(final.minimum.measure, "masses", np.empty(0)))
    return [
        Quantity(
            "atoms of the minimum, beside those that rest",
            float((masses > FINDS_ATOMS).sum()),
            float(final.found.particle_counts[-1]) + 1,
            0.0,
            "at least",
            key="fewest",
            shows="condition",
        ),
        Quantity(
            f"difference of the levels of F of the atoms that rest, beside {final.count} "
            "particles",
            float(np.ptp(levels(SETTING.equation, final.polished.atoms))),
            float(np.ptp(levels(SETTING.equation, final.particles_as_atoms))),
            4 / final.count,
            key="level",
            shows="condition",
        ),
    ]


def _leaking(found: Trajectories) -> list[Quantity]:
    """How far from the end the state at t = 100 is."""
    run, few, width = found.run, found.few, spacing(found.run)
    count = len(few.final.points)
    which = int(np.argmin(np.abs(run.times - CUT)))
    density = dead_mass(SETTING, run.states[which])
    cut = mfpde.wasserstein(at(run, CUT), run.final)
    known = 2 * (SPIKE * width + quantisation_error(count))
    return [
        Quantity(
            f"basins at t = {CUT:g}, beside those of {count} particles",
            float(found.counts[which]),
            float(found.particle_counts[which]),
            0.0,
            key="early",
            shows="condition",
        ),
        Quantity(
            f"mass inside of the dead zone at t = {CUT:g}, beside {count} particles",
            density,
            dead_mass(SETTING, at(few, CUT)),
            2 / count + density * width / (TURN / 4),
            key="dead",
            shows="condition",
        ),
        Quantity(
            f"W1 from t = {CUT:g} to the end, in cells, beside {count} particles",
            cut / width,
            mfpde.wasserstein(at(few, CUT), few.final) / width,
            known / width,
        ),
    ]


@styled
def _figure(found: Trajectories, alone: Run, minimum: mfpde.Minimum) -> Figure:
    run, few = found.run, found.few
    figure = new_figure(8.4, 5.4)
    upper, lower = figure.subplots(2, 3)
    equation = SETTING.equation
    for ax, time in zip(upper, (2.0, 20.0, float(run.times[-1])), strict=True):
        draw_histograms(ax, at(run, time), at(few, time), landscape=equation)
        ax.set_title(f"t = {time:g}")
        ax.set_xlabel("angle")
    upper[0].set_ylabel("mass per bin")
    draw_histograms(lower[0], alone.final)
    lower[0].set_title(f"no perceptron, t = {alone.final_time:g}")
    lower[0].set_ylabel("mass per bin")
    lower[0].set_xlabel("angle")
    _draw_energies(lower[1], found, alone=alone, minimum=minimum)
    draw_potential(lower[2], equation)
    lower[2].set_title("landscape of the perceptron")
    lower[2].set_xlabel("angle")
    histograms, _ = upper[0].get_legend_handles_labels()
    energies, _ = lower[1].get_legend_handles_labels()
    figure.legend(
        handles=[*histograms, *energies[2:], *landscape_legend(equation)],
        loc="outside lower center",
        ncols=5,
        fontsize=7.5,
    )
    figure.suptitle(f"S¹, {SETTING} (a guess), shifted kernel")
    return figure


def _draw_energies(
    ax: Any, found: Trajectories, *, alone: Run, minimum: mfpde.Minimum
) -> None:
    run, few = found.run, found.few
    ax.plot(run.times, run.energies, color=DENSITY, label="density")
    ax.plot(few.times, few.energies, "o", ms=2.5, color=ATOM, label="particles")
    level = float(alone.energies[-1])
    ax.axhline(level, color=OKABE_ITO["green"], lw=1.0, label="E, no perceptron")
    ax.axhline(minimum.energy, color="black", lw=0.8, ls="--", label="E, minimum")
    logarithmic_time(ax, run.times)
    ax.set_ylabel("E")
    ax.set_title("energy E")


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
