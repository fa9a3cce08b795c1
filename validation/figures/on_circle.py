"""Panels on the circle (figures 1, 3, 5, 6 and 8): the density beside particles, kinds of rows.

``mfpde.concentration`` knows exact atoms where they are, and cells to a cell: two atoms about to
merge are two basins for the one and one for the other.  Numbers of basins are therefore compared
after all measures have been put on the same cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import mfpde
from mfpde.measures.measure import AnyMeasure, as_measure
from mfpde.plotting.palette import ATOM, DENSITY
from validation.characteristics import Cloud
from validation.claim import Quantity, at_least, at_most, equal, mark, vanishes
from validation.figures import atoms, drawing, settings
from validation.figures.paper_protocol import PARTICLES, TIME_STEP, TURN, clusters
from validation.figures.settings import Panel, Setting, angles, at, basins
from validation.independent import cells_of, energy
from validation.theorems.witness import duality_gap

Array = NDArray[np.float64]

EARLY = 1.0
MIDDLE = {False: 100.0, True: 20.0}
"""A save on the way, in full and quick forms."""
CELLS, FEW = 1024, 2000
SECOND_ORDER = 0.25
"""Grids of width h leave h^2/4 in a smooth mean: between 512 and 1024 cells W1 of the state
changes by 0.2 h^2 at t = 1.  n particles leave n^-2."""
SPIKE = 0.25
"""Cells by which W1 of a spike is known: all of a cell's mass is at its centre on the grid,
and h/4 away from it on average in truth."""
EXACT_PLACE = 1e-6
"""An exact atom's place is no cell's: a share 2/n of the masses is on the wrong side of each
edge, and they pull the atom by 1e-4 at most."""
CUT = 100.0
"""When histograms look final."""
LAST = 1e8
"""When runs end that go on from the last save until clusters merge."""


class CirclePanel(Panel):
    """A setting on the circle."""

    @cached_property
    def counts(self) -> tuple[Array, Array]:
        """Basins with an atom at the times, of the density and of particles."""
        found = [
            [len(basins(on_cells(at(run, time)), self.equation)) for time in self.times]
            for run in (self.run, self.few)
        ]
        return np.array(found[0]), np.array(found[1])


def solve_on_circle(
    setting: Setting, times: Array, saved: Array | None = None, *, time_step: float
) -> CirclePanel:
    """Run a setting, compared at ``times`` and saved at more if they are given.

    Clusters go on as exact atoms once they are narrower than a cell.
    """
    saved = times if saved is None else saved
    run = settings.density_run(setting, CELLS, saved)
    few = settings.particle_run(setting, FEW, saved, time_step=time_step)
    return CirclePanel(setting, run, few, [0.0, *times])


def trajectories(
    chosen: Sequence[Setting], *, t_end: float, quick: bool
) -> list[CirclePanel]:
    """Run all settings to ``t_end``, with saves that are denser early on."""
    saves, drawn, step = (6, 20, 0.25) if quick else (28, 140, TIME_STEP)
    stated = [time for time in (EARLY, 2.0, MIDDLE[quick]) if time < t_end]
    times = np.union1d(stated, np.geomspace(0.5, t_end, saves))
    saved = np.union1d(times, np.geomspace(0.5, t_end, drawn))
    return [solve_on_circle(s, times, saved, time_step=step) for s in chosen]


def on_cells(measure: AnyMeasure) -> mfpde.Density:
    """The density of a measure on ``CELLS`` cells.

    Particles of equal mass stand for quantiles: their distribution function is linear between
    them.  An atom beside a density is shared by the two nearest cells of its grid.
    """
    grid = mfpde.Circle(CELLS)
    if not isinstance(measure, mfpde.Atoms):
        whole = as_measure(measure)
        places = angles(whole.atoms.points) - angles(grid.points)[0]
        left, share = np.divmod(np.mod(places, TURN) * CELLS / TURN, 1)
        added = np.zeros(CELLS)
        np.add.at(added, left.astype(int) % CELLS, whole.atoms.masses * (1 - share))
        np.add.at(added, (left.astype(int) + 1) % CELLS, whole.atoms.masses * share)
        return mfpde.Density(grid, whole.density.values + added / grid.areas)
    order = np.argsort(angles(measure.points))
    where, masses = angles(measure.points)[order], measure.masses[order]
    shares = np.cumsum(masses) - masses / 2
    around = np.concatenate([where - TURN, where, where + TURN])
    distribution = np.concatenate([shares - 1, shares, shares + 1])
    half = np.pi / CELLS
    ends = (
        np.interp(angles(grid.points) + s, around, distribution) for s in (half, -half)
    )
    return mfpde.Density(grid, np.maximum(np.subtract(*ends), 0.0) / grid.areas)


# Rows ----------------------------------------------------------------------------------------


def quantisation_error(count: int) -> float:
    """W1 between a measure on the circle and its ``count`` quantiles: pi / (2 count).

    Each stands for its share of the mass, and is on average a quarter of the share's length
    away from it; the lengths add up to 2 pi.
    """
    return TURN / (4 * count)


def witnessed(panel: CirclePanel) -> Iterator[Quantity]:
    """Moments early, W1 and counts at all saves.

    A cluster appears or merges between two saves, in either run: so counts may differ at
    one of them.
    """
    saves = len(panel.times)
    yield panel.moments_row(EARLY, SECOND_ORDER * panel.width**2 + FEW**-2)
    states = [(at(panel.run, time), at(panel.few, time)) for time in panel.times]
    largest = max(mfpde.wasserstein(*pair) for pair in states) / panel.width
    row = (
        f"largest W1 to {FEW} particles at {saves} saves to t = {panel.end:g}, in cells"
    )
    yield at_most(row, largest, quantisation_error(FEW) / panel.width, SPIKE)
    ours, theirs = panel.counts
    row = f"saves, of {saves}, with another number of basins than {FEW} particles have"
    yield vanishes(row, (ours != theirs).sum(), 1.0)


def basins_at_the_end(panel: CirclePanel) -> Quantity:
    """Number of basins in the last state, beside that of the particles."""
    ours, theirs = panel.counts
    row = f"basins at t = {panel.end:g}, beside those of {FEW} particles"
    return equal(row, ours[-1], theirs[-1], 0.0)


def dead_mass(panel: CirclePanel, time: float, key: str) -> Quantity:
    """Mass inside of the dead zone beside that of the particles.

    Either edge cuts one cell and one particle's share.
    """
    runs = panel.run, panel.few
    both = [atoms.dead_mass(panel.problem, at(run, time)) for run in runs]
    known = 2 / FEW + both[0] * panel.width / (TURN / 4)
    row = (
        f"mass inside of the dead zone at t = {time:g}, beside that of {FEW} particles"
    )
    return equal(row, *both, known, key=key, shows="condition")


def at_rest(
    panel: CirclePanel, order: str = "strict", **about: Any
) -> Iterator[Quantity]:
    """The atoms of the end: at rest, stable, and with the particles' masses."""
    problem, found = panel.problem, panel.polished.atoms
    row = f"atoms that rest, beside basins of {FEW} particles at t = {panel.end:g}"
    yield equal(row, len(found), panel.counts[1][-1], 0.0, **about)
    yield from atoms.rest_rows(problem, panel.polished, order)
    row = "way to the polished atoms, in cells"
    yield vanishes(row, panel.polished.moved / panel.width, SPIKE)
    row = "split-stable: smallest F'' at the atoms, independent formulas"
    yield at_least(row, atoms.split_rates(problem, found).min(), 0.0)
    _, sampled = atoms.gather(panel.few.final, found.points)
    row = f"masses at the end, largest difference from {FEW} particles"
    yield vanishes(row, sampled - found.masses, 2 / FEW)


def above_the_minimum(panel: CirclePanel, key: str) -> Iterator[Quantity]:
    """The minimum by independent formulas, and how far above it the flow ends.

    Levels of F differ by less than 1, and two edges of each basin cut a particle's share.
    """
    problem, minimum = panel.problem, panel.minimum
    gap = duality_gap(panel.equation, minimum.measure)
    yield vanishes("duality gap of the minimum, independent formulas", gap, 1e-12)
    ends = panel.few.final, minimum.measure
    theirs, least = (energy(problem, *cells_of(end)) for end in ends)
    ours = panel.run.energies[-1] - minimum.energy
    row = f"E at the end above the minimum, beside that of {FEW} particles"
    yield equal(row, ours, theirs - least, 2 / FEW, key=key, shows="condition")


def locked(panel: CirclePanel) -> Quantity:
    """The heaviest cluster's distance to the maximum of V, where pulls of others leave it.

    In ascent the neurons pull to where V is large, attention to where mass is.  Other clusters,
    at rest or nearly, pull the atom away from the maximum by their force over -V''.  The expected
    distance is that of the point near the maximum at which forces of all other clusters of the
    particles balance that of the neurons.
    """
    (top,) = atoms.strict_maxima(panel.problem)
    found = angles(panel.atoms.points)
    place = found[np.argmax(np.cos(found - top))] if len(found) else np.inf
    known = atoms.resting_place(panel.problem, panel.few.final, top)
    row = (
        f"t = {panel.end:g}: distance of the nearest atom to the maximum of V, beside where "
        "the particles' pulls leave it"
    )
    return equal(row, abs(place - top), abs(known - top), EXACT_PLACE)


def late_merge(panel: CirclePanel) -> Iterator[Quantity]:
    """The first merge after the last save, and how many atoms are left at ``LAST``.

    Forces over the distance D are e^{-beta (1 - cos D)}: half a cell at either end changes
    the logarithm of the time by beta h at most.
    """
    beta, few = panel.setting.beta, panel.few.final
    times = {"start_time": panel.end, "t_end": LAST}
    late = mfpde.solve(panel.equation, panel.run.final, **times, atoms="exact")
    found = [event.time for event in late.events if event.kind == "merge"]
    cloud = Cloud(panel.end, few.points, few.masses)
    first, left = atoms.merges(panel.problem, cloud, LAST)
    row = f"time of the first merge (1e-6 rad) after t = {panel.end:g}"
    known = {"relative": True, "key": f"merge_{beta:g}", "shows": "condition"}
    yield equal(row, min(found, default=np.inf), first, beta * panel.width, **known)
    known = {"key": f"left_{beta:g}", "shows": "condition"}
    yield equal(f"atoms at t = {LAST:.0e}", len(late.final.atoms), left, 0.0, **known)


def ascent_rows(panel: CirclePanel) -> Iterator[Quantity]:
    """Agreement with particles, locking to the maximum of V, and the end of the plateau.

    Several clusters are left from beta = 5 on, and rest for decades of time.
    """
    setting = panel.setting
    agreement = [*witnessed(panel), basins_at_the_end(panel)]
    yield from mark(agreement, under=f"{setting}: ")
    prefix = f"{setting.softmax}β = {setting.beta:g}"
    yield from mark([locked(panel)], under=f"{prefix}, ")
    if setting.beta >= 5.0:
        yield from mark(late_merge(panel), under=f"{prefix}: ")


# Pictures ------------------------------------------------------------------------------------


def trajectories_figure(panels: Sequence[CirclePanel], title: str) -> Figure:
    """A column for each beta: the density and paths of particles, and counts."""
    columns = [(_space_time(panel), _counts(panel)) for panel in panels]
    rows = list(zip(*columns, strict=True))
    return drawing.draw_page(title, rows, size=(8.6, 5.8))


def mass_panel(panel: CirclePanel, time: float) -> drawing.Draw:
    """Masses of the density and of the particles at a time, and the landscape above."""
    both = {"particles": at(panel.few, time), "density": at(panel.run, time)}
    title = f"β = {panel.setting.beta:g}, t = {time:g}"
    return drawing.masses(title, both, equation=panel.equation, xlabel="angle")


def _space_time(panel: CirclePanel) -> drawing.Draw:
    times, states, edges = panel.run.times, panel.run.states, np.linspace(0, TURN, 257)
    columns = []
    for where, held in map(drawing.around, states[1:]):
        columns.append(np.histogram(where, edges, weights=held)[0] / edges[1])
    few = [state.points[:: FEW // 60] for state in panel.few.states]
    paths = np.unwrap(angles(np.array(few)), axis=0)
    # Where particles wind around the circle, another copy of their path comes into view.
    paths = np.concatenate([paths + shift for shift in TURN * np.arange(-2, 3)], axis=1)
    thin = {"color": ATOM, "lw": 0.3}
    return drawing.density_map(
        f"β = {panel.setting.beta:g} (a guess)",
        (times, edges),
        np.array(columns).T,
        (-3.0, 1.0),
        {"": (panel.few.times, paths, thin)},
        xscale="log",
        xlim=times[[1, -1]],
        ylabel="angle",
        **{"y" + name: value for name, value in drawing.ANGLES.items()},
    )


def _counts(panel: CirclePanel) -> drawing.Draw:
    states = [mfpde.quantized(state, PARTICLES) for state in panel.run.states]
    rule = [len(clusters(state.points, panel.setting.reach)) for state in states]
    steps, (ours, theirs) = {"drawstyle": "steps-post", "marker": ""}, panel.counts
    lines = {
        "density, threshold rule": (panel.run.times, rule, steps | {"color": "0.45"}),
        "density, basins": (panel.times, ours, steps | {"color": DENSITY, "lw": 1.6}),
        "particles, basins": (panel.times, theirs, drawing.DOTS),
    }
    axes = {"xscale": "log", "xlim": panel.run.times[[1, -1]], "xlabel": "time"}
    return drawing.curves("", lines, ylabel="clusters", **axes)
