"""Panels on the circle (figures 1, 3, 5, 6 and 8): the density beside particles, and their rows.

For each setting the density on two grids, and particles from the uniform measure: W1 between
them at equal times, and counts of clusters against time.  ``mfpde.concentration`` knows exact
atoms where they are, and cells to a cell: two atoms about to merge are two basins for the one and
one for the other.  Numbers of basins are therefore compared after all measures have been put on
the same cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import mfpde
from mfpde.measures.measure import AnyMeasure, as_measure
from mfpde.plotting.palette import ATOM, DENSITY
from mfpde.runs.run import Run
from validation.characteristics import Cloud
from validation.claim import Quantity
from validation.figures import circle_atoms, drawing
from validation.figures.settings import (
    TIME_STEP,
    TURN,
    Setting,
    angles,
    at,
    basins,
    density_run,
    particle_run,
    spacing,
    threshold_counts,
)
from validation.independent import Problem, cells_of, energy, problem_of

Array = NDArray[np.float64]

EARLY = (1.0, 2.0)
MIDDLE = {False: 100.0, True: 20.0}
"""A save on the way, in full and quick forms."""
CELLS, FEW = 1024, 2000
MANY = {False: 10_000, True: 2000}
SECOND_ORDER = 1.0
"""Before clustering W1 of the grid's state is this times h^2 at most: between 512 and 1024
cells it changes by 0.2 h^2 at t = 1 and 0.7 h^2 at t = 2."""
SPIKE = 0.25
"""Cells by which W1 of a spike is known: all of a cell's mass is at its centre on the grid,
and h/4 away from it on average in truth."""
COARSE_SPIKE = 0.5
"""The same on half the cells, where two spikes that are born side by side share some."""
EXACT_PLACE = 1e-6
"""An exact atom's place is no cell's: a share 2/n of the masses is on the wrong side of each
edge, and they pull the atom by 1e-4 at most."""
LAST = 1e8
"""When runs end that go on from the last save until clusters merge."""


@dataclass(frozen=True, eq=False)
class CirclePanel:
    """A setting: the density on two grids, and particles, many early and few to the end.

    They are compared at ``times``; the runs may have more saves, for the pictures.
    """

    setting: Setting
    run: Run
    coarse: Run
    many: Run
    few: Run
    times: Array

    @property
    def equation(self) -> mfpde.MeanFieldEquation:
        """The equation of the setting."""
        return self.setting.equation

    @property
    def problem(self) -> Problem:
        """The same for independent formulas."""
        return problem_of(self.setting.equation)

    @property
    def width(self) -> float:
        """Width of a cell of the finer grid."""
        return spacing(self.run)

    @property
    def end(self) -> float:
        """The last time."""
        return float(self.times[-1])

    @cached_property
    def counts(self) -> Array:
        """Basins with an atom at the times."""
        return self._counts(self.run)

    @cached_property
    def particle_counts(self) -> Array:
        """Basins of the particles' own velocity, the particles as a density."""
        return self._counts(self.few)

    def _counts(self, run: Run) -> Array:
        states = [on_cells(at(run, time)) for time in self.times]
        return np.array([len(basins(state, self.equation)) for state in states], float)

    @cached_property
    def polished(self) -> mfpde.PolishedAtoms:
        """The atoms of the last state after Newton's method."""
        report = mfpde.concentration(self.run.final, self.equation)
        return mfpde.polish(self.equation, report.clusters)

    @cached_property
    def minimum(self) -> mfpde.Minimum:
        """The certified minimum of E."""
        return mfpde.minimize(self.equation, mfpde.Circle(256))


def solve_panel(
    setting: Setting,
    times: Array,
    drawn: Array | None = None,
    *,
    quick: bool,
    time_step: float,
) -> CirclePanel:
    """Run a setting, compared at ``times`` and saved at ``drawn`` too.

    Clusters go on as exact atoms once they are narrower than a cell.
    """
    saved = times if drawn is None else drawn
    return CirclePanel(
        setting,
        run=density_run(setting, CELLS, saved),
        coarse=density_run(setting, CELLS // 2, times),
        many=particle_run(setting, MANY[quick], EARLY),
        few=particle_run(setting, FEW, saved, time_step=time_step),
        times=np.concatenate([[0.0], times]),
    )


def trajectories(
    settings: Sequence[Setting], *, t_end: float, quick: bool
) -> list[CirclePanel]:
    """Run all settings to ``t_end``, with saves that are denser early on."""
    saves, drawn = (6, 20) if quick else (28, 140)
    stated = [time for time in (*EARLY, MIDDLE[quick]) if time < t_end]
    times = np.union1d(stated, np.geomspace(0.5, t_end, saves))
    all_times = np.union1d(times, np.geomspace(0.5, t_end, drawn))
    step = 0.25 if quick else TIME_STEP
    return [
        solve_panel(s, times, all_times, quick=quick, time_step=step) for s in settings
    ]


def solve_to_the_end(setting: Setting, times: Array, *, quick: bool) -> CirclePanel:
    """Run a setting to rest, where particles need fewer steps."""
    return solve_panel(setting, times, quick=quick, time_step=0.5 if quick else 0.25)


def quantisation_error(count: int) -> float:
    """W1 between a measure on the circle and its ``count`` quantiles: pi / (2 count).

    Each stands for its share of the mass, and is on average a quarter of the share's length
    away from it; the lengths add up to 2 pi.
    """
    return TURN / (4 * count)


def on_cells(measure: AnyMeasure, size: int = CELLS) -> mfpde.Density:
    """The density of a measure on ``size`` cells.

    Particles of equal mass stand for quantiles: their distribution function is linear
    between them.  An atom beside a density is shared by the two nearest cells of its grid.
    """
    if not isinstance(measure, mfpde.Atoms):
        whole = as_measure(measure)
        return _with_atoms(whole.density, whole.atoms)
    grid = mfpde.Circle(size)
    order = np.argsort(angles(measure.points))
    where, masses = angles(measure.points)[order], measure.masses[order]
    shares = np.cumsum(masses) - masses / 2
    around = np.concatenate([where - TURN, where, where + TURN])
    distribution = np.concatenate([shares - 1, shares, shares + 1])
    centres, half = angles(grid.points), TURN / (2 * size)
    upper, lower = (np.interp(centres + s, around, distribution) for s in (half, -half))
    return mfpde.Density(grid, np.maximum(upper - lower, 0.0) / grid.areas)


def _with_atoms(density: mfpde.Density, atoms: mfpde.Atoms) -> mfpde.Density:
    grid, size = density.geometry, len(density.values)
    turned = angles(atoms.points) - angles(grid.points)[0]
    places = np.mod(turned * size / TURN, size)
    left = np.floor(places).astype(int)
    right_share = places - left
    added = np.bincount(left % size, atoms.masses * (1 - right_share), minlength=size)
    added += np.bincount((left + 1) % size, atoms.masses * right_share, minlength=size)
    return mfpde.Density(grid, density.values + added / grid.areas)


# Rows ----------------------------------------------------------------------------------------


def witnessed(panel: CirclePanel) -> Iterator[Quantity]:
    """W1 at equal times, and counts at all saves.

    A cluster appears or merges between two saves, in either run: so counts may differ at
    one of them.
    """
    name, saves = str(panel.setting), len(panel.times)
    count = len(panel.many.final.points)
    for time in EARLY:
        yield Quantity(
            f"{name}: W1 to {count} particles at t = {time:g}, in cells",
            mfpde.wasserstein(at(panel.run, time), at(panel.many, time)) / panel.width,
            quantisation_error(count) / panel.width,
            SECOND_ORDER * panel.width,
            "at most",
        )
    for run, grid, known in (
        (panel.run, "", SPIKE),
        (panel.coarse, " on half the cells", COARSE_SPIKE),
    ):
        distances = [
            mfpde.wasserstein(at(run, t), at(panel.few, t)) for t in panel.times
        ]
        yield Quantity(
            f"{name}: largest W1{grid} to {FEW} particles at {saves} saves to "
            f"t = {panel.end:g}, in cells",
            max(distances) / spacing(run),
            quantisation_error(FEW) / spacing(run),
            known,
            "at most",
        )
    row = f"{name}: saves, of {saves}, with another number of basins than {FEW} particles have"
    yield Quantity(row, (panel.counts != panel.particle_counts).sum(), 0.0, 1.0)


def basins_at_the_end(panel: CirclePanel) -> Quantity:
    """Number of basins in the last state, beside that of the particles."""
    row = (
        f"{panel.setting}: basins at t = {panel.end:g}, beside those of {FEW} particles"
    )
    return Quantity(row, panel.counts[-1], panel.particle_counts[-1], 0.0)


def dead_mass(panel: CirclePanel, time: float, *, name: str, key: str) -> Quantity:
    """Mass inside of the dead zone beside that of the particles.

    Either edge cuts one cell and one particle's share.
    """
    density, particles = (
        circle_atoms.dead_mass(panel.problem, at(run, time))
        for run in (panel.run, panel.few)
    )
    known = 2 / FEW + density * panel.width / (TURN / 4)
    return Quantity(name, density, particles, known, key=key, shows="condition")


def at_rest(
    panel: CirclePanel, prefix: str = "", *, order: str = "strict", **about: Any
) -> Iterator[Quantity]:
    """The atoms of the end: at rest, stable, and with the particles' masses."""
    problem, polished = panel.problem, panel.polished
    atoms = polished.atoms
    places, masses = angles(atoms.points), atoms.masses
    sampled = circle_atoms.gather(panel.few.final, atoms.points).masses
    row = f"{prefix}atoms that rest, beside basins of {FEW} particles at t = {panel.end:g}"
    yield Quantity(row, len(atoms), panel.particle_counts[-1], 0.0, **about)
    yield Quantity(
        f"{prefix}largest |grad F| at the polished atoms, independent formulas",
        np.abs(circle_atoms.velocity(problem, (places, masses), places)).max(),
        0.0,
        1e-14,
    )
    row = f"{prefix}way to the polished atoms, in cells"
    yield Quantity(row, polished.moved / panel.width, 0.0, SPIKE)
    yield Quantity(
        f"{prefix}{order}: smallest eigenvalue of Hess E, independent formulas, beside the "
        "package's",
        circle_atoms.shift_rates(problem, atoms).min(),
        -polished.shift_rates.real.max(),
        1e-6,
    )
    row = f"{prefix}split-stable: smallest F'' at the atoms, independent formulas"
    yield Quantity(
        row, circle_atoms.split_rates(problem, atoms).min(), 0.0, 0.0, "at least"
    )
    row = f"{prefix}masses at the end, largest difference from {FEW} particles"
    yield Quantity(row, np.abs(sampled - masses).max(), 0.0, 2 / FEW)


def above_the_minimum(
    panel: CirclePanel, prefix: str = "", *, key: str
) -> Iterator[Quantity]:
    """The minimum by independent formulas, and how far above it the flow ends.

    Levels of F differ by less than 1, and two edges of each basin cut a particle's share.
    """
    problem, minimum = panel.problem, panel.minimum
    expected = energy(problem, *cells_of(panel.few.final))
    row = f"{prefix}duality gap of the minimum, independent formulas"
    yield Quantity(row, circle_atoms.duality_gap(problem, minimum.measure), 0.0, 1e-12)
    yield Quantity(
        f"{prefix}E at the end above the minimum, beside that of {FEW} particles",
        panel.run.energies[-1] - minimum.energy,
        expected - energy(problem, *cells_of(minimum.measure)),
        2 / FEW,
        key=key,
        shows="condition",
    )


def locked(panel: CirclePanel) -> Quantity:
    """The heaviest cluster's distance to the maximum of V, where pulls of others leave it.

    In ascent the neurons pull to where V is large, attention to where mass is.  Other clusters,
    at rest or nearly, pull the atom away from the maximum by their force over -V''.  The expected
    distance is that of the point near the maximum at which forces of all other clusters of the
    particles balance that of the neurons.
    """
    setting, problem = panel.setting, panel.problem
    (top,) = circle_atoms.strict_maxima(problem)
    found = angles(basins(panel.run.final, panel.equation).points)
    place = found[np.argmax(np.cos(found - top))] if len(found) else np.inf
    return Quantity(
        f"{setting.softmax}β = {setting.beta:g}, t = {panel.end:g}: distance of the nearest "
        "atom to the maximum of V, beside where the particles' pulls leave it",
        abs(place - top),
        abs(circle_atoms.resting_place(problem, panel.few.final, top) - top),
        EXACT_PLACE,
        key=f"locked_{setting.beta:g}",
    )


def late_merge(panel: CirclePanel) -> Iterator[Quantity]:
    """The first merge after the last save, and how many atoms are left at ``LAST``.

    Forces over the distance D are e^{-beta (1 - cos D)}: half a cell at either end changes
    the logarithm of the time by beta h at most.
    """
    beta, few = panel.setting.beta, panel.few.final
    late = mfpde.solve(
        panel.equation,
        panel.run.final,
        start_time=panel.end,
        t_end=LAST,
        save_at=np.geomspace(panel.end, LAST, 20),
        atoms="exact",
    )
    times = [event.time for event in late.events if event.kind == "merge"]
    cloud = Cloud(panel.end, few.points, few.masses)
    first, left = circle_atoms.merges(panel.problem, cloud, LAST)
    prefix = f"{panel.setting.softmax}β = {beta:g}"
    yield Quantity(
        f"{prefix}: time of the first merge (1e-6 rad) after t = {panel.end:g}",
        min(times, default=np.inf),
        first,
        beta * panel.width,
        relative=True,
        key=f"merge_{beta:g}",
        shows="condition",
    )
    row = f"{prefix}: atoms at t = {LAST:.0e}"
    yield Quantity(
        row, len(late.final.atoms), left, 0.0, key=f"left_{beta:g}", shows="condition"
    )


def measured_rate(setting: Setting, cells: int, mode: int, *, after: float) -> float:
    """Rate of a mode of attention alone about the uniform measure, by its growth ``after`` it.

    Other modes are of the order of its square, and the scheme is of second order.
    """
    amplitude, grid = 1e-4, mfpde.Circle(cells)
    wave = np.cos(mode * angles(grid.points))
    start = mfpde.Density(grid, (1 + amplitude * wave) / grid.areas.sum())
    run = mfpde.solve(setting.equation, start, t_end=after)
    left = 2 * float(run.final.density.masses @ wave)
    return float(np.log(left / amplitude)) / after


# Picture -------------------------------------------------------------------------------------


def trajectories_figure(panels: Sequence[CirclePanel], title: str) -> Figure:
    """A column for each beta: density map, particle paths on the landscape, counts."""
    ratios = [1.3, 1.3, 1.0]
    figure, rows = drawing.new_page(
        3, len(panels), (8.6, 7.0), height_ratios=ratios, sharex="col"
    )
    for panel, (above, middle, below) in zip(panels, rows.T, strict=True):
        densities = [on_cells(state) for state in panel.run.states]
        mesh = drawing.draw_in_time(above, panel.run.times, densities)
        above.set_title(f"β = {panel.setting.beta:g} (a guess)")
        drawing.draw_paths(middle, panel.few)
        drawing.shade_landscape(middle, panel.equation, "y")
        rule = threshold_counts(panel.run, panel.setting.beta)
        look: dict[str, Any] = {"where": "post", "color": "0.45", "lw": 0.9}
        below.step(panel.run.times, rule, label="density, threshold rule", **look)
        look |= {"color": DENSITY, "lw": 1.6}
        below.step(panel.times, panel.counts, label="density, basins", **look)
        look = {"color": ATOM, "ms": 2.5, "label": "particles, basins"}
        below.plot(panel.times, panel.particle_counts, "o", **look)
        drawing.count_axis(below)
        drawing.logarithmic_time(below, panel.run.times)
    figure.colorbar(mesh, ax=list(rows[0]), label="log10 density", aspect=15)
    names = ("density: angle", "particles: angle", "clusters")
    for ax, name in zip(rows[:, 0], names, strict=True):
        ax.set_ylabel(name)
    return drawing.finish_page(figure, title)
