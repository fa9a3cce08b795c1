r"""Figure 1: descent with two ReLU neurons on the circle, from the uniform measure.

The paper shows histograms at three times, the final state without the perceptron, and both
energies.  Its beta is not printed; here beta = 5.  Beside the particles stands the density.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import mfpde
from mfpde.plotting.palette import ATOM, DENSITY, OKABE_ITO
from mfpde.runs.run import Run
from validation.claim import Claim, Quantity
from validation.figures import circle_atoms, circle_rows, drawing
from validation.figures import on_circle as circle
from validation.figures.on_circle import FEW, CirclePanel
from validation.figures.settings import PANELS, at, density_run
from validation.independent import cells_of, energy

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
CUT = 100.0
MODES = (1, 2, 3)


def main(quick: bool = False) -> dict[str, Any]:
    (setting,) = PANELS["1"].settings(quick)
    late = 900.0 if quick else 2000.0
    spread = np.geomspace(0.05, late, 12 if quick else 45)
    times = np.union1d([circle.EARLY, 2.0, 20.0, CUT], spread)
    panel = circle.solve_to_the_end(setting, times, quick=quick)
    alone = density_run(
        setting.without_perceptron(), circle.CELLS, (late,), atoms="grid"
    )
    quantities = [
        *circle_rows.witnessed(panel),
        *_energies(panel),
        *_without_perceptron(panel, alone),
        *circle_rows.above_the_minimum(panel, key="excess"),
        *_levels(panel),
        *_leaking(panel),
        *circle_rows.at_rest(
            panel, order="of second order", key="rest", shows="condition"
        ),
    ]
    return {"quantities": quantities, "figures": {"figure_01": _figure(panel, alone)}}


def _energies(panel: CirclePanel) -> Iterator[Quantity]:
    """E at all saves, and its fall.

    Particles are quantiles of the density, to first order their F is the same on average;
    two edges of a basin cut a particle's share, over levels of F that differ by less than 1.
    """
    energies = panel.run.energies
    beside = [energy(panel.problem, *cells_of(state)) for state in panel.few.states]
    row = f"largest difference of E from {FEW} particles, independent formulas"
    yield Quantity(row, np.abs(energies - beside).max(), 0.0, 2 / FEW)
    row = f"fall of E to the end, beside that of {FEW} particles"
    yield Quantity(row, energies[0] - energies[-1], beside[0] - beside[-1], 2 / FEW)


def _without_perceptron(panel: CirclePanel, alone: Run) -> Iterator[Quantity]:
    """Attention alone: the uniform measure stays, and perturbations of it die out."""
    setting = panel.setting.without_perceptron()
    (eigenvalue,) = mfpde.theory.eigenvalues(setting.beta, 2, [0])
    row = "without perceptron: E of the uniform measure, beside lambda_0 / (2 beta)"
    yield Quantity(row, alone.energies[-1], eigenvalue / (2 * setting.beta), 1e-13)
    rates = mfpde.theory.growth_rates(setting.beta, 2, MODES, direction="descent")
    for mode, rate in zip(MODES, rates, strict=True):
        yield Quantity(
            f"without perceptron: rate of mode {mode} about the uniform measure",
            circle_rows.measured_rate(setting, circle.CELLS, mode, after=20.0),
            rate,
            1e-3,
            relative=True,
        )


def _levels(panel: CirclePanel) -> Iterator[Quantity]:
    """Atoms of the minimum, and how much levels of F differ where the flow ends.

    Atoms of the minimum lighter than 1e-4 are not counted.
    """
    atoms, measure = panel.polished.atoms, panel.minimum.measure
    masses = measure.masses if isinstance(measure, mfpde.Atoms) else np.empty(0)
    yield Quantity(
        "atoms of the minimum, beside those that rest",
        (masses > 1e-4).sum(),
        panel.particle_counts[-1] + 1,
        0.0,
        "at least",
        key="fewest",
        shows="condition",
    )
    gathered = circle_atoms.gather(panel.few.final, atoms.points)
    yield Quantity(
        f"difference of the levels of F of the atoms that rest, beside {FEW} particles",
        np.ptp(circle_atoms.levels(panel.problem, *cells_of(atoms))),
        np.ptp(circle_atoms.levels(panel.problem, *gathered)),
        4 / FEW,
        key="level",
        shows="condition",
    )


def _leaking(panel: CirclePanel) -> Iterator[Quantity]:
    """How far from the end the state at t = 100 is."""
    which = int(np.argmin(np.abs(panel.times - CUT)))
    yield Quantity(
        f"basins at t = {CUT:g}, beside those of {FEW} particles",
        panel.counts[which],
        panel.particle_counts[which],
        0.0,
        key="early",
        shows="condition",
    )
    name = f"mass inside of the dead zone at t = {CUT:g}, beside {FEW} particles"
    yield circle_rows.dead_mass(panel, CUT, name=name, key="dead")
    density, particles = (
        mfpde.wasserstein(at(run, CUT), run.final) / panel.width
        for run in (panel.run, panel.few)
    )
    yield Quantity(
        f"W1 from t = {CUT:g} to the end, in cells, beside {FEW} particles",
        density,
        particles,
        2 * (circle_rows.SPIKE + circle_rows.quantisation_error(FEW) / panel.width),
    )


def _figure(panel: CirclePanel, alone: Run) -> Figure:
    run, few, equation = panel.run, panel.few, panel.equation
    figure, (upper, lower) = drawing.new_page(2, 3, (8.4, 5.4))
    for ax, time in zip(upper, (2.0, 20.0, panel.end), strict=True):
        drawing.draw_histograms(ax, at(run, time), at(few, time), landscape=equation)
        ax.set_title(f"t = {time:g}")
    drawing.draw_histograms(lower[0], alone.final)
    lower[0].set_title(f"no perceptron, t = {alone.final_time:g}")
    for ax in (upper[0], lower[0]):
        ax.set_ylabel("mass per bin")
    ax = lower[1]
    ax.plot(run.times, run.energies, color=DENSITY)
    ax.plot(few.times, few.energies, "o", ms=2.5, color=ATOM)
    level, green = alone.energies[-1], OKABE_ITO["green"]
    ax.axhline(level, color=green, lw=1.0, label="E, no perceptron")
    ax.axhline(panel.minimum.energy, color="black", lw=0.8, ls="--", label="E, minimum")
    drawing.logarithmic_time(ax, run.times)
    ax.set(ylabel="E", title="energy E (particles: dots)")
    drawing.draw_potential(lower[2], equation)
    lower[2].set_title("landscape of the perceptron")
    return drawing.finish_page(figure, f"S¹, {panel.setting} (a guess), shifted kernel")
