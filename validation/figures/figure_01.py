r"""Figure 1: descent with two ReLU neurons on the circle, from the uniform measure.

The paper shows histograms at three times, the final state without the perceptron, and both
energies.  Its beta is not printed; here beta = 5.  Beside the particles stands the density.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

import mfpde
from mfpde.runs.run import Run
from validation.claim import Claim, Findings, Quantity, at_least, equal, mark, vanishes
from validation.figures import atoms, drawing
from validation.figures import on_circle as circle
from validation.figures.on_circle import CELLS, FEW, CirclePanel
from validation.figures.settings import at, density_run, panels_of
from validation.independent import cells_of, energy, first_variation

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


@CLAIM
def main(quick: bool = False) -> Findings:
    (setting,) = panels_of("1", quick)
    late, saves, step = (900.0, 12, 0.5) if quick else (2000.0, 45, 0.25)
    times = np.union1d([circle.EARLY, 2.0, 20.0, CUT], np.geomspace(0.05, late, saves))
    panel = circle.solve_on_circle(setting, times, time_step=step)
    alone = density_run(setting.without_perceptron(), CELLS, (late,), atoms="grid")
    yield from mark(circle.witnessed(panel), under=f"{setting}: ")
    yield from _energies(panel)
    yield from mark(_alone(panel, alone), under="without perceptron: ")
    yield from circle.above_the_minimum(panel, "excess")
    yield from _levels(panel)
    yield from _leaking(panel)
    about = {"key": "rest", "shows": "condition"}
    yield from circle.at_rest(panel, "of second order", **about)
    yield "figure_01", _figure(panel, alone)


def _energies(panel: CirclePanel) -> Iterator[Quantity]:
    """E at all saves.

    Particles are quantiles of the density, to first order their F is the same on average;
    two edges of a basin cut a particle's share, over levels of F that differ by less than 1.
    """
    beside = [energy(panel.problem, *cells_of(state)) for state in panel.few.states]
    row = f"largest difference of E from {FEW} particles, independent formulas"
    yield vanishes(row, panel.run.energies - beside, 2 / FEW)


def _alone(panel: CirclePanel, alone: Run) -> Iterator[Quantity]:
    """Attention alone: the uniform measure stays, and perturbations of it die out."""
    setting = panel.setting.without_perceptron()
    (eigenvalue,) = mfpde.theory.eigenvalues(setting.beta, 2, [0])
    row = "E of the uniform measure, beside lambda_0 / (2 beta)"
    yield equal(row, alone.energies[-1], eigenvalue / (2 * setting.beta), 1e-13)
    rates = mfpde.theory.growth_rates(setting.beta, 2, MODES, direction="descent")
    for mode, rate in zip(MODES, rates, strict=True):
        found = circle.measured_rate(setting, mode, after=20.0, cells=CELLS)
        row = f"rate of mode {mode} about the uniform measure"
        yield equal(row, found, rate, 1e-3, relative=True)


def _levels(panel: CirclePanel) -> Iterator[Quantity]:
    """Atoms of the minimum, and how much levels of F differ where the flow ends.

    Atoms of the minimum lighter than 1e-4 are not counted.
    """
    _, masses = cells_of(panel.minimum.measure)
    found, more = (masses > 1e-4).sum(), panel.counts[1][-1] + 1
    row, about = "atoms of the minimum, beside those that rest", {"shows": "condition"}
    yield at_least(row, found, more, key="fewest", **about)
    ends = panel.polished.atoms, panel.few.final
    levels = []
    for points, masses in (atoms.gather(end, ends[0].points) for end in ends):
        levels.append(np.ptp(first_variation(panel.problem, points, masses, at=points)))
    row = (
        f"difference of the levels of F of the atoms that rest, beside {FEW} particles"
    )
    yield equal(row, *levels, 4 / FEW, key="level", **about)


def _leaking(panel: CirclePanel) -> Iterator[Quantity]:
    """How far from the end the state at t = 100 is."""
    cut = [counts[panel.times == CUT].item() for counts in panel.counts]
    row = f"basins at t = {CUT:g}, beside those of {FEW} particles"
    yield equal(row, *cut, 0.0, key="early", shows="condition")
    yield circle.dead_mass(panel, CUT, "dead")
    runs = panel.run, panel.few
    apart = [mfpde.wasserstein(at(run, CUT), run.final) / panel.width for run in runs]
    known = 2 * (circle.SPIKE + circle.quantisation_error(FEW) / panel.width)
    row = f"W1 from t = {CUT:g} to the end, in cells, beside {FEW} particles"
    yield equal(row, *apart, known)


def _figure(panel: CirclePanel, alone: Run) -> Figure:
    run, few, shade = panel.run, panel.few, {"equation": panel.equation}
    upper = []
    for time in (2.0, 20.0, panel.end):
        both = {"particles": at(few, time), "density": at(run, time)}
        upper.append(drawing.masses(f"t = {time:g}", both, **shade, xlabel="angle"))
    ends = run.times[[1, -1]]
    green, dashed = {"color": "green", "marker": ""}, drawing.DASHED
    energies = {
        "E of the density": (run.times, run.energies, drawing.PLAIN),
        "E of particles": (few.times, few.energies, drawing.DOTS),
        "E, no perceptron": (ends, alone.energies[[-1, -1]], green),
        "E, minimum": (ends, [panel.minimum.energy] * 2, dashed),
    }
    title, axes = f"no perceptron, t = {alone.final_time:g}", {"xscale": "log"}
    lower = [
        drawing.masses(title, {"density": alone.final}, xlabel="angle"),
        drawing.curves(
            "energy", energies, **axes, xlabel="time", ylabel="E", xlim=ends
        ),
        drawing.potential_curve(panel.equation),
    ]
    title = f"S¹, {panel.setting} (a guess), shifted kernel (strips: V, > 0 green)"
    return drawing.draw_page(title, [upper, lower], size=(8.4, 5.4))
