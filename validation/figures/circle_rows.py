"""Kinds of rows on the circle: agreement with particles, atoms that rest, merges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import mfpde
from validation.characteristics import Cloud
from validation.claim import Quantity, vanishes
from validation.figures import circle_atoms
from validation.figures.on_circle import EARLY, FEW, CirclePanel
from validation.figures.settings import TURN, Setting, angles, at, basins, spacing
from validation.figures.sphere_atoms import low_moments, stationary_rates
from validation.independent import cells_of, energy

SECOND_ORDER = 0.25
"""Grids of width h leave h^2/4 in a smooth mean: between 512 and 1024 cells W1 of the state
changes by 0.2 h^2 at t = 1.  n particles leave n^-2."""
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
    name, saves = str(panel.setting), len(panel.times)
    ours, theirs = (low_moments(at(run, EARLY)) for run in (panel.run, panel.few))
    yield vanishes(
        f"{name}: moments of degrees 1 and 2 at t = {EARLY:g}, largest difference to {FEW} "
        "particles",
        ours - theirs,
        SECOND_ORDER * panel.width**2 + FEW**-2,
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
    _, sampled = circle_atoms.gather(panel.few.final, atoms.points)
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
        stationary_rates(problem, atoms)[0],
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
