r"""Figure 1: descent with two ReLU neurons on the circle, from the uniform measure.

The paper shows histograms at three times, the final state without the perceptron, and both
energies.  Its beta is not printed; here beta = 5.  Beside the particles stands the density.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import mfpde
from mfpde.plotting.palette import ATOM, DENSITY, OKABE_ITO
from mfpde.runs.run import Run
from validation.claim import Claim, Quantity
from validation.figures.at_rest import (
    duality_gap,
    independent_energy,
    largest_speed,
    least_shift_rate,
    least_split_rate,
    levels,
)
from validation.figures.figure_01_alone import without_perceptron
from validation.figures.figure_05 import dead_mass
from validation.figures.panels import (
    draw_histograms,
    draw_potential,
    landscape_legend,
    logarithmic_time,
    new_figure,
    styled,
)
from validation.figures.paper_runs import (
    TURN,
    Setting,
    at,
    density_run,
    particle_run,
    share_near,
    spacing,
)
from validation.figures.trajectories import (
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
SIZES = {False: (1024, 2000, 0.25, 2000.0), True: (1024, 2000, 0.5, 900.0)}
"""Cells, particles, their time step, and the end."""
FINDS_ATOMS = 1e-4
"""Lighter atoms of the minimum are not counted."""


@dataclass(frozen=True, eq=False)
class Rest:
    """The end, its atoms polished, and the certified minimum beside it."""

    found: Trajectories
    minimum: mfpde.Minimum

    @cached_property
    def polished(self) -> mfpde.PolishedAtoms:
        """The atoms of the last state after Newton's method."""
        report = mfpde.concentration(self.found.run.final, SETTING.equation)
        return mfpde.polish(SETTING.equation, report.clusters)

    @cached_property
    def at_the_end(self) -> mfpde.Atoms:
        """The particles of each basin at their centre of mass."""
        particles = self.found.few.final
        places = self.polished.atoms.points
        near = np.argmax(particles.points @ places.T, axis=1)
        masses = np.bincount(near, particles.masses, minlength=len(places))
        sums = [particles.points[near == k].sum(axis=0) for k in range(len(places))]
        return mfpde.Atoms(np.stack([s / np.linalg.norm(s) for s in sums]), masses)


def main(quick: bool = False) -> dict[str, Any]:
    cells, count, step, late = SIZES[quick]
    times = np.union1d([2.0, 20.0, CUT], np.geomspace(0.05, late, 12 if quick else 45))
    early = (1.0, 2.0)
    times = np.union1d(times, early)
    found = Trajectories(
        SETTING,
        run=density_run(SETTING, cells, times, atoms="exact"),
        coarse=density_run(SETTING, cells // 2, times, atoms="exact"),
        many=particle_run(SETTING, 2000 if quick else 10_000, early),
        few=particle_run(SETTING, count, times, time_step=step),
        times=np.concatenate([[0.0], times]),
    )
    rest = Rest(found, mfpde.minimize(SETTING.equation, mfpde.Circle(256)))
    alone, of_alone = without_perceptron(SETTING, cells, late)
    quantities = [
        *witnessed(found),
        *_energies(found),
        *of_alone,
        *_minimum(rest),
        *_leaking(found),
        *_resting(rest),
    ]
    figure = _figure(found, alone, rest.minimum)
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


def _minimum(rest: Rest) -> list[Quantity]:
    """The minimum by independent formulas, and how far above it the flow ends.

    Where F' = 0 and levels of F differ by less than 1, E follows shares of the mass: two
    edges of each basin cut a particle's share.
    """
    measure, found = rest.minimum.measure, rest.found
    count = len(found.few.final.points)
    expected = independent_energy(SETTING.equation, found.few.final)
    expected -= independent_energy(SETTING.equation, measure)
    masses = np.asarray(getattr(measure, "masses", np.empty(0)))
    known = 2 / count
    return [
        Quantity(
            "duality gap of the minimum, independent formulas",
            duality_gap(SETTING.equation, measure),
            0.0,
            1e-12,
        ),
        Quantity(
            f"E at the end above the minimum, beside that of {count} particles",
            float(found.run.energies[-1]) - rest.minimum.energy,
            expected,
            known,
            key="excess",
            shows="condition",
        ),
        Quantity(
            "atoms of the minimum, beside those that rest",
            float((masses > FINDS_ATOMS).sum()),
            float(found.particle_counts[-1]) + 1,
            0.0,
            "at least",
            key="fewest",
            shows="condition",
        ),
        Quantity(
            f"difference of the levels of F of the atoms that rest, beside {count} "
            "particles",
            float(np.ptp(levels(SETTING.equation, rest.polished.atoms))),
            float(np.ptp(levels(SETTING.equation, rest.at_the_end))),
            2 * known,
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


def _resting(rest: Rest) -> list[Quantity]:
    """The atoms of the end: at rest, stable, and with the particles' masses."""
    found, polished = rest.found, rest.polished
    atoms, count = polished.atoms, len(found.few.final.points)
    sampled = share_near(found.few.final, atoms.points)
    end = f"t = {found.run.times[-1]:g}"
    return [
        Quantity(
            f"atoms that rest, beside basins of {count} particles at {end}",
            float(len(atoms)),
            float(found.particle_counts[-1]),
            0.0,
            key="rest",
            shows="condition",
        ),
        Quantity(
            "largest |grad F| at the polished atoms, independent formulas",
            largest_speed(SETTING.equation, atoms),
            0.0,
            1e-14,
        ),
        Quantity(
            "way to the polished atoms, in cells",
            polished.moved / spacing(found.run),
            0.0,
            SPIKE,
        ),
        Quantity(
            "of second order: smallest eigenvalue of Hess E, independent formulas, beside "
            "the package's",
            least_shift_rate(SETTING.equation, atoms),
            -float(polished.shift_rates.real.max()),
            1e-6,
        ),
        Quantity(
            "split-stable: smallest F'' at the atoms, independent formulas",
            least_split_rate(SETTING.equation, atoms),
            0.0,
            0.0,
            "at least",
        ),
        Quantity(
            f"masses at the end, largest difference from {count} particles",
            float(np.abs(sampled - atoms.masses).max()),
            0.0,
            2 / count,
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
