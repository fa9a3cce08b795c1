r"""Figure 1: descent with two ReLU neurons on the circle, from the uniform measure.

The paper shows histograms at three times, the final state without the perceptron, and both
energies.  Its beta is not printed; here beta = 5.  Beside the particles stands the density.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import mfpde
from mfpde.run import Run
from validation.claim import Claim, Quantity
from validation.figures.panels import (
    draw_histograms,
    draw_potential,
    logarithmic_time,
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
from validation.figures.trajectories import SECOND_ORDER, SPIKE, quantisation_error

CLAIM = Claim(
    title="Descent on the circle: with a perceptron the uniform measure becomes atoms",
    source="Figure 1",
    statement=(
        "With two ReLU neurons (seed 777, beta = 5) descent from the uniform measure ends "
        "in atoms and lowers E; without them the uniform measure stays, the minimiser."
    ),
    condition=(
        "Histograms that look final are not: at t = 100 there are two clusters, but a "
        "fifth of the mass lies where no neuron is active and still leaks. The atoms that "
        "rest (five, of second order and split-stable) are there from t = 1000 on, and "
        "their energy is above the certified minimum, which has more atoms: each basin "
        "keeps its own level of F."
    ),
)
SETTING = Setting(5.0, "descent", "relu")
LATE_TIME_STEP = 0.5
STEEPEST = 2.2
"""|grad F| <= 1 + sum |w_j| |a_j| = 2.1 for these weights: how far E follows W1."""


def main(quick: bool = False) -> dict[str, Any]:
    cells, count, few, late = (
        (256, 1000, 150, 600.0) if quick else (1024, 10_000, 1000, 2000.0)
    )
    early = (2.0, 5.0, 10.0, 20.0)
    all_times = (0.5, 1.0, *early, 50.0, 100.0, 200.0, 500.0, late)
    particles = particle_run(SETTING, count, early)
    panel = particle_run(
        SETTING, few, all_times, seed=PAPER_START_SEED, time_step=LATE_TIME_STEP
    )
    coarse = density_run(SETTING, cells // 2, early)
    run = density_run(SETTING, cells, early)
    followed = density_run(SETTING, cells, all_times, atoms="exact")
    alone = density_run(SETTING.without_perceptron(), cells, (late,))
    bound = mfpde.minimize(SETTING.equation, mfpde.Circle(256))
    quantities = [
        *_against_particles(run, coarse, particles),
        *_energies(run, followed, alone=alone, bound=bound),
        *_rest(followed, panel),
    ]
    runs = {"followed": followed, "alone": alone, "panel": panel}
    return {"quantities": quantities, "figures": {"figure_01": _figure(runs, bound)}}


def _against_particles(run: Run, coarse: Run, particles: Run) -> list[Quantity]:
    """Equal times.  Before clustering and after it places hold to half a cell."""
    width = spacing(run)
    found = {
        t: mfpde.wasserstein(at(run, t), at(particles, t)) for t in (2.0, 5.0, 20.0)
    }
    quantities = [
        Quantity(
            f"W1 to {len(particles.final.points)} particles at t = {t:g}, in cells",
            value / width,
            quantisation_error(len(particles.final.points)) / width,
            SECOND_ORDER * width if t < 5 else SPIKE,
            "at most",
        )
        for t, value in found.items()
    ]
    on_coarse = mfpde.wasserstein(at(coarse, 20.0), at(particles, 20.0))
    return [
        *quantities,
        Quantity(
            "W1 at t = 20 over that on half the cells (first order: 1/2)",
            found[20.0] / on_coarse,
            0.75,
            0.0,
            "at most",
        ),
        Quantity(
            "energy at t = 20 against particles",
            float(run.energies[-1]),
            float(particles.energies[-1]),
            STEEPEST * 0.5 * width,
        ),
    ]


def _energies(
    run: Run, followed: Run, *, alone: Run, bound: mfpde.Minimum
) -> list[Quantity]:
    eigenvalue = mfpde.theory.eigenvalues(SETTING.beta, 2, [0])[0]
    uniform = alone.states[0].density.values
    return [
        Quantity(
            "largest rise of E between saves, grid",
            float(np.diff(run.energies).max()),
            0.0,
            1e-10,
            "at most",
        ),
        Quantity(
            "E at the last save above the certified minimum",
            float(followed.energies[-1]),
            bound.lower_bound,
            0.0,
            "at least",
        ),
        Quantity("certified gap of the minimum", bound.gap, 1e-12, 0.0, "at most"),
        Quantity(
            "without perceptron: E of the uniform measure, lambda_0 / (2 beta)",
            float(alone.energies[-1]),
            float(eigenvalue) / (2 * SETTING.beta),
            1e-13,
        ),
        Quantity(
            "without perceptron: largest change of the density",
            float(np.abs(alone.final.density.values - uniform).max()),
            0.0,
            1e-12,
        ),
    ]


def _rest(followed: Run, panel: Run) -> list[Quantity]:
    """The end: atoms, polished; and how far from it the state at t = 100 is."""
    report = mfpde.concentration(followed.final, SETTING.equation)
    polished = mfpde.polish(SETTING.equation, report.atoms)
    width = spacing(followed)
    cut = mfpde.wasserstein(at(followed, 100.0), followed.final)
    masses = polished.atoms.masses
    sampled = share_near(panel.final, polished.atoms.points)
    error = np.sqrt(masses * (1 - masses) / len(panel.final.points))
    return [
        Quantity("atoms that rest", len(report.atoms), len(polished.atoms), 0.0),
        Quantity(
            "relative residual of the polished atoms",
            polished.relative_residual,
            1e-14,
            0.0,
            "at most",
        ),
        Quantity(
            "way to the polished atoms, in cells",
            polished.moved / width,
            0.5,
            0.0,
            "at most",
        ),
        Quantity("of second order (1: yes)", polished.is_second_order, 1.0, 0.0),
        Quantity("split-stable (1: yes)", polished.is_split_stable, 1.0, 0.0),
        Quantity(
            f"masses against {len(panel.final.points)} sampled particles, in standard errors",
            float((np.abs(sampled - masses) / error).max()),
            3.0,
            0.0,
            "at most",
        ),
        # Either state is known to half a cell, so that a whole one is motion.
        Quantity(
            "W1 from t = 100 to the end, in cells: not at rest",
            cut / width,
            1.0,
            0.0,
            "at least",
        ),
    ]


@styled
def _figure(runs: dict[str, Run], bound: mfpde.Minimum) -> Figure:
    followed, alone, panel = runs["followed"], runs["alone"], runs["panel"]
    figure = new_figure(8.4, 4.8)
    upper, lower = figure.subplots(2, 3)
    for ax, time in zip(upper, (2.0, 20.0, float(followed.times[-1])), strict=True):
        draw_histograms(ax, at(followed, time), at(panel, time))
        ax.set_title(f"t = {time:g}")
    upper[0].set_ylabel("mass per bin")
    upper[0].legend(loc="lower left")
    draw_histograms(lower[0], alone.final)
    lower[0].set_title(f"no perceptron, t = {alone.final_time:g}")
    lower[0].set_ylabel("mass per bin")
    lower[0].set_xlabel("angle")
    _draw_energies(lower[1], runs, bound)
    draw_potential(lower[2], SETTING.equation)
    lower[2].set_title("landscape of the perceptron")
    lower[2].set_xlabel("angle")
    figure.suptitle(f"S¹, {SETTING}, shifted kernel")
    return figure


def _draw_energies(ax: Any, runs: dict[str, Run], bound: mfpde.Minimum) -> None:
    followed, panel = runs["followed"], runs["panel"]
    ax.plot(followed.times, followed.energies, color="#0072B2", label="density")
    ax.plot(panel.times, panel.energies, "o", ms=3, color="#D55E00", label="particles")
    level = float(runs["alone"].energies[-1])
    ax.axhline(level, color="#009E73", lw=1.0, label="no perceptron")
    ax.axhline(bound.energy, color="black", lw=0.8, ls="--", label="minimum E*")
    logarithmic_time(ax, followed.times)
    ax.legend(loc="center right")
    ax.set_title("energy E")


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
