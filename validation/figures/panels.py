r"""Figures 1 and 3 to 8: panels of the table in ``settings``, on the circle and on the sphere.

Their betas are not printed, and those here are guesses.  The paper shows histograms and clusters
of particles; beside particles stands the density.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mfpde
from validation.claim import Claim, Findings, Quantity, at_least, equal, mark, vanishes
from validation.figures import atoms, drawing
from validation.figures import on_circle as circle
from validation.figures import on_sphere as sphere
from validation.figures.on_circle import CUT, FEW, CirclePanel
from validation.figures.paper_protocol import paper_run
from validation.figures.settings import Panel, at, basins, panels_of
from validation.independent import cells_of, energy, first_variation

LATER = 150.0
"""Long after the end of runs on the sphere."""
REST_TIMES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, CUT, 200.0, 500.0, 1000.0, 2000.0)


@Claim(
    title="Descent on the circle: with a perceptron the uniform measure becomes atoms",
    source="Figure 1",
    statement=(
        "With two ReLU neurons (seed 777, beta = 5, a guess) descent from the uniform "
        "measure ends in atoms and lowers E."
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
def figure_01(quick: bool = False) -> Findings:
    (setting,) = panels_of("1", quick)
    late, saves, step = (900.0, 12, 0.5) if quick else (2000.0, 45, 0.25)
    times = np.union1d([circle.EARLY, 2.0, 20.0, CUT], np.geomspace(0.05, late, saves))
    panel = circle.solve_on_circle(setting, times, time_step=step)
    yield from mark(circle.witnessed(panel), under=f"{setting}: ")
    beside = [energy(panel.problem, *cells_of(state)) for state in panel.few.states]
    # Particles are quantiles of the density, to first order their F is the same on average; two
    # edges of a basin cut a particle's share, over levels of F that differ by less than 1.
    row = f"largest difference of E from {FEW} particles, independent formulas"
    yield vanishes(row, panel.run.energies - beside, 2 / FEW)
    yield from circle.above_the_minimum(panel, "excess")
    yield from _levels(panel)
    yield from _leaking(panel)
    about = {"key": "rest", "shows": "condition"}
    yield from circle.at_rest(panel, "of second order", **about)
    green, ends = {"color": "green", "marker": ""}, panel.run.times[[1, -1]]
    energies = {
        "E of the density": (panel.run.times, panel.run.energies, drawing.PLAIN),
        "E of particles": (panel.few.times, panel.few.energies, drawing.DOTS),
        "E, minimum": (ends, [panel.minimum.energy] * 2, green),
    }
    axes = {"xscale": "log", "xlim": ends, "xlabel": "time", "ylabel": "E"}
    drawn = [circle.mass_panel(panel, time) for time in (2.0, 20.0, CUT, panel.end)]
    drawn.append(drawing.curves("energy", energies, **axes))
    drawn.append(drawing.potential_curve(panel.equation))
    title = f"S¹, {setting} (a guess), shifted kernel (strips: V, > 0 green)"
    figure = drawing.draw_page(title, [drawn[:3], drawn[3:]], size=(8.4, 5.4))
    yield "figure_01", figure


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
    cut = [counts[list(panel.times).index(CUT)] for counts in panel.counts]
    row = f"basins at t = {CUT:g}, beside those of {FEW} particles"
    yield equal(row, *cut, 0.0, key="early", shows="condition")
    yield circle.dead_mass(panel, CUT, "dead")
    runs = panel.run, panel.few
    apart = [mfpde.wasserstein(at(run, CUT), run.final) / panel.width for run in runs]
    known = 2 * (circle.SPIKE + circle.quantisation_error(FEW) / panel.width)
    row = f"W1 from t = {CUT:g} to the end, in cells, beside {FEW} particles"
    yield equal(row, *apart, known)


@Claim(
    title="Ascent on the circle with ReLU: clusters at three beta",
    source="Figure 3, Proposition 3.7 (i)",
    statement=(
        "Ascent from the uniform measure gathers it in few clusters, more at large beta "
        "(the three beta are guesses); one is locked to the only maximum of V. Density and "
        "particles agree at all times. A merge is a distance of 1e-6 rad: log(h / 1e-6) / M later "
        "than one of a cell h, where attention alone pulls the mass M of two clusters together."
    ),
    condition=(
        "Counts are those of plateaus, at a stated time, and on the way to one atom, the "
        "maximiser. Of the clusters of t = 300 the first pair merges, to within a microradian, at "
        "t = {merge_5:.1e} at beta = 5, and at t = {merge_25:.1e} at beta = 25: at t = 1e8 there "
        "are {left_5:word} and {left_25:word}."
    ),
    at_guessed_beta=True,
)
def figure_03(quick: bool = False) -> Findings:
    panels = yield from _ascent("3", quick)
    if not quick:
        first, last = (panel.counts[0][-1] for panel in (panels[0], panels[-1]))
        row = "basins at the end, β = 25 beyond β = 1"
        yield at_least(row, last - first, 1.0)
    title = "S¹, ascent, ReLU, shifted kernel"
    yield "figure_03", circle.trajectories_figure(panels, title)


def _ascent(figure: str, quick: bool) -> Findings:
    """Rows of ascent to t = 300; the panels are returned."""
    t_end, chosen = 60.0 if quick else 300.0, panels_of(figure, quick)
    panels = circle.trajectories(chosen, t_end=t_end, quick=quick)
    for panel in panels:
        yield from circle.ascent_rows(panel)
    return panels


@Claim(
    title="Ascent on the sphere: few clusters",
    source="Figure 4",
    statement=(
        "Ascent on S^2 with three neurons (seed 111) gathers the uniform measure in few "
        "clusters; density and particles agree early and late (the betas 5 and 25 are our "
        "choice: formulas are missing in the text that we have)."
    ),
    condition=(
        "Counts are those of a stated time: clusters in ascent are metastable. With GeLU "
        "neurons at beta = 25 there are {count_gelu_25:word} at t = 40 and {later:word} at "
        "t = 150."
    ),
    at_guessed_beta=True,
)
def figure_04(quick: bool = False) -> Findings:
    panels = [sphere.solve_on_sphere(s, quick=quick) for s in panels_of("4", quick)]
    for panel in panels:
        yield from mark(sphere.sphere_rows(panel), under=f"{panel.setting}: ")
    if not quick:
        yield from mark([_later(panels[-1])], under=f"{panels[-1].setting}: ")
    title = "S², ascent, shifted kernel (β: our choice)"
    yield "figure_04", sphere.sphere_figure(panels, title)


def _later(panel: Panel) -> Quantity:
    """Clusters long after, beside those of the paper's protocol from a lattice of points."""
    equation, start = panel.equation, sphere.lattice(sphere.PARTICLES[0])
    times = {"start_time": panel.end, "t_end": LATER}
    run = mfpde.solve(equation, panel.run.final, **times, atoms="exact")
    given = {"give_up": LATER, "see": (LATER,)}
    witness = paper_run(panel.problem, start.points, **given).seen[LATER]
    theirs = len(atoms.particle_cores(witness, panel.setting.reach))
    count = f"{len(start.points)} particles by independent formulas"
    row, about = f"atoms at t = {LATER:g}, against clusters of {count}", "condition"
    ours = len(basins(run.final, equation))
    return equal(row, ours, theirs, 0.0, key="later", shows=about)


@Claim(
    title="Descent on the circle with ReLU: atoms at three beta",
    source="Figure 5",
    statement=(
        "Descent from the uniform measure gathers what the neurons see in atoms (the three "
        "beta are guesses); density and particles agree at all times."
    ),
    condition=(
        "Where no neuron is active mass spreads by repulsion and leaks slowly into the "
        "atoms: at beta = 5 the inside of that dead zone holds a share of {dead_end:.2g} of the "
        "mass at t = 300. Counts at t = 300 are those of a stated time, not of the limit "
        "(Figure 1)."
    ),
    at_guessed_beta=True,
)
def figure_05(quick: bool = False) -> Findings:
    settings, t_end = panels_of("5", quick), 60.0 if quick else 300.0
    panels = circle.trajectories(settings, t_end=t_end, quick=quick)
    for panel in panels:
        rows = [*circle.witnessed(panel), circle.basins_at_the_end(panel)]
        if panel.setting.beta == 5.0:
            rows.append(circle.dead_mass(panel, t_end, "dead_end"))
        yield from mark(rows, under=f"{panel.setting}: ")
    title = "S¹, descent, ReLU, shifted kernel"
    yield "figure_05", circle.trajectories_figure(panels, title)


@Claim(
    title="Descent on the circle with GeLU: final states are stable atoms",
    source="Figure 6, Theorem 3.2",
    statement=(
        "Descent from the uniform measure ends in finitely many atoms at a strict "
        "second-order point, with the masses that particles have: GeLU neurons push everywhere, "
        "so that the flow comes to rest."
    ),
    condition=(
        "The states are no global minimisers: the energy is above the certified minimum, by "
        "{excess_1:.2g} at beta = 1, {excess_5:.2g} at beta = 5 and {excess_25:.2g} at "
        "beta = 25."
    ),
    at_guessed_beta=True,
)
def figure_06(quick: bool = False) -> Findings:
    times, step = np.array(REST_TIMES[: 9 if quick else 11]), 0.5 if quick else 0.25
    panels = [
        circle.solve_on_circle(setting, times, time_step=step)
        for setting in panels_of("6", quick)
    ]
    betas = [panel.setting.beta for panel in panels]
    for beta, panel in zip(betas, panels, strict=True):
        above = circle.above_the_minimum(panel, f"excess_{beta:g}")
        rows = [*circle.at_rest(panel), *above]
        yield from mark(circle.witnessed(panel), under=f"{panel.setting}: ")
        yield from mark(rows, under=f"β = {beta:g}: ")
    energies = {
        "E at the end": (betas, [p.run.energies[-1] for p in panels]),
        "E, minimum": (betas, [p.minimum.energy for p in panels], drawing.DASHED),
    }
    upper = [circle.mass_panel(panel, CUT) for panel in panels]
    lower = [circle.mass_panel(panel, panel.end) for panel in panels]
    upper.append(drawing.curves("energies", energies, xlabel="β", ylabel="E"))
    lower.append(drawing.potential_curve(panels[0].equation))
    title = "S¹, descent, GeLU, shifted kernel (strips: V, > 0 green)"
    yield "figure_06", drawing.draw_page(title, [upper, lower], size=(9.4, 5.4))


@Claim(
    title="Descent on the sphere: two atoms that rest",
    source="Figure 7",
    statement=(
        "Descent on S^2 with three neurons (seed 111) gathers the uniform measure in two "
        "atoms at a second-order point, with the masses that particles have (the betas 5 and "
        "25 are our choice: formulas are missing in the text that we have)."
    ),
    condition=(
        "The state is no global minimiser: each basin keeps its own level of F. At beta = 25 "
        "its energy is {excess_relu_25:.2g} (ReLU) and {excess_gelu_25:.2g} (GeLU) above the "
        "certified minimum."
    ),
    at_guessed_beta=True,
)
def figure_07(quick: bool = False) -> Findings:
    panels = [sphere.solve_on_sphere(s, quick=quick) for s in panels_of("7", quick)]
    for panel in panels:
        rows = [*sphere.sphere_rows(panel), *sphere.rest_rows(panel)]
        yield from mark(rows, under=f"{panel.setting}: ")
    title = "S², descent, shifted kernel (β: our choice)"
    yield "figure_07", sphere.sphere_figure(panels, title)


@Claim(
    title="Softmax attention: clusters on the circle, and the sphere",
    source="Figure 8",
    statement=(
        "With softmax attention, ascent from the uniform measure gathers it in few "
        "clusters, as without normalisation (the three beta are guesses). Density and "
        "particles agree at all saves: ascent to t = 300, descent with ReLU and GeLU to "
        "t = 30, and both on the sphere to t = 40 (the text speaks of softmax in all settings). "
        "A merge is a distance of 1e-6 rad: log(h / 1e-6) later than one of a cell h, where the "
        "pair is alone."
    ),
    condition=(
        "Counts are those of plateaus, at a stated time. Of the clusters of t = 300 the "
        "first pair merges, to within a microradian, at t = {merge_5:.1e} at beta = 5, and at "
        "t = {merge_25:.1e} at beta = 25: at t = 1e8 there are {left_5:word} and "
        "{left_25:word}."
    ),
    at_guessed_beta=True,
)
def figure_08(quick: bool = False) -> Findings:
    panels, title = (yield from _ascent("8", quick)), "S¹, softmax, {}, shifted kernel"
    figure = circle.trajectories_figure(panels, title.format("ascent, ReLU"))
    yield "figure_08", figure
    t_end, settings = 10.0 if quick else 30.0, panels_of("8, descent", quick)
    descents = circle.trajectories(settings, t_end=t_end, quick=quick)
    for panel in descents:
        yield from mark(circle.witnessed(panel), under=f"{panel.setting}: ")
    for neurons in dict.fromkeys(panel.setting.neurons for panel in descents):
        shown = [panel for panel in descents if panel.setting.neurons == neurons]
        figure = circle.trajectories_figure(shown, title.format(f"descent, {neurons}"))
        yield f"figure_08_descent_{neurons.lower()}", figure
    balls = [
        sphere.solve_on_sphere(s, quick=quick) for s in panels_of("8, sphere", quick)
    ]
    for ball in balls:
        yield from mark(sphere.moments_rows(ball), under=f"S², {ball.setting}: ")
    title = "S², softmax, β = 5 (a guess), shifted kernel"
    yield "figure_08_sphere", sphere.sphere_figure(balls, title)
