r"""One setting at many beta: density, particles, and the paper's own protocol (figures 9, 11, 12).

On S^1 particles have basins of their own velocity, as the density has; on S^2 they are linked.
Single linkage at the paper's distance finds fewer clusters than there are basins for d = 2: it
chains along the tail between two of them.  In d > 3 no grid can follow, so that particles by
independent formulas stand alone, and what they come to rest at is compared with stationary atoms
of the package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import linregress
from scipy.stats import t as student

import mfpde
from mfpde.runs.run import Run
from validation.characteristics import moved
from validation.claim import Quantity, equal, mark, vanishes
from validation.figures import atoms
from validation.figures.on_sphere import lattice
from validation.figures.paper_protocol import (
    LEAST_MASS,
    PARTICLES,
    START_SEED,
    TURN,
    PaperRun,
    linked_groups,
    paper_run,
    uniform_points,
)
from validation.figures.settings import (
    Setting,
    angles,
    at,
    basins,
    density_run,
    particle_run,
    spacing,
)
from validation.independent import cells_of, problem_of

Array = NDArray[np.float64]

EARLY: Final = 2.0
"""A time at which mass still gathers, before the first atoms: it shows what moves it."""
ON_SPHERE: Final = 600
"""Particles on S^2 beside the density."""
BEFORE: Final = 100.0
"""A time at which tails still arrive in d > 3."""
GIVE_UP: Final = 6000.0
IN_DIMENSION: Final = 300
"""Particles of the protocol in d > 2; a third of the paper's."""
AT_REST: Final = 1e-3
"""At the stop speeds are 1e-4 at most: e-foldings at a rate of 0.1 and more leave this."""


class Slope(NamedTuple):
    """Slope in sqrt(beta) by least squares, and half its interval of 95 %."""

    value: float
    half: float


def fit_slope(betas: Sequence[float], values: Any) -> Slope:
    """Fit a line in sqrt(beta); equal values have no interval."""
    fit = linregress(np.sqrt(betas), values)
    factor = student.ppf(0.975, max(len(betas) - 2, 1))
    return Slope(float(fit.slope), float(factor * np.nan_to_num(fit.stderr)))


class AtBeta(NamedTuple):
    """What is read off a setting at one beta; pairs are of the density and of particles.

    Parameters
    ----------
    counts
        Basins that hold an atom; of particles on S^2 linked clusters.
    heavy_counts
        On S^1 basins of 1 % and more, forming or not: verdicts on what has half formed differ
        with the number of particles.
    heaviest
        Mass of the heaviest cluster of the paper's width, and what grid and particles leave open.
    early
        Largest difference of the moments of degrees 1 and 2 at ``EARLY``, and what is left open.
    """

    run: Run
    counts: tuple[int, int]
    heavy_counts: tuple[int, int]
    heaviest: tuple[float, float, float]
    early: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Sweep:
    """A setting at increasing beta: what is read off, and the protocol's runs."""

    setting: Setting
    points: Mapping[float, AtBeta]
    paper: Mapping[float, PaperRun]

    @cached_property
    def counts(self) -> Array:
        """Basins with an atom (2, beta), of the density and of particles."""
        return np.array([point.counts for point in self.points.values()], float).T

    @property
    def slopes(self) -> tuple[Slope, Slope, Slope]:
        """Of the basins of the density, of those of particles, and of the paper's counts."""
        ours, theirs = (fit_slope(list(self.points), found) for found in self.counts)
        rule = [run.count for run in self.paper.values()]
        return ours, theirs, fit_slope(list(self.paper), rule)

    def above(self, least: float) -> Sweep:
        """Only beta from ``least`` on."""
        points = {beta: point for beta, point in self.points.items() if beta >= least}
        paper = {beta: run for beta, run in self.paper.items() if beta >= least}
        return Sweep(self.setting, points, paper)

    def heaviest_row(self, name: str) -> Quantity:
        """The heaviest mass against that of particles, at the beta where they differ most."""
        found = [point.heaviest for point in self.points.values()]
        worst = max(found, key=lambda pair: abs(pair[0] - pair[1]) / pair[2])
        return equal(
            f"{name}, against particles, at the beta where they differ most", *worst
        )

    def rows(self) -> Iterator[Quantity]:
        """Moments early, numbers of clusters and heaviest masses late, at any beta."""
        points = self.points.values()
        moving = max(
            (point.early for point in points), key=lambda pair: pair[0] / pair[1]
        )
        row = f"moments of degrees 1 and 2 at t = {EARLY:g}, largest difference to particles"
        yield vanishes(f"{row} at any beta", *moving)
        kind = {2: "basins of 1 % and more", 3: "clusters"}[self.setting.dimension]
        apart = np.diff([point.heavy_counts for point in points])
        row = f"numbers of {kind}, largest difference to particles at any beta"
        yield vanishes(row, apart, 0.0)
        yield self.heaviest_row("heaviest mass within the paper's distance")


def sweep(
    setting: Setting,
    sizes: Mapping[float, int],
    times: Sequence[float],
    *,
    protocol: Sequence[float] = (),
    give_up: float = 0.0,
    count: int = PARTICLES,
) -> Sweep:
    """Run a setting at each beta of ``sizes``, on so many cells or rings, from uniform starts.

    The density is saved at ``times``; particles are compared with it at ``EARLY``, which has
    to be one of them, and at the last.  At the beta of ``protocol`` the paper's is run with
    ``count`` particles.
    """
    points, paper = {}, {}
    read = {2: _read_circle, 3: _read_sphere}[setting.dimension]
    for beta, size in sizes.items():
        at_beta = replace(setting, beta=beta)
        if beta in protocol:
            start = uniform_points(count, setting.dimension)
            problem = problem_of(at_beta.equation)
            paper[beta] = paper_run(problem, start, give_up=give_up)
        points[beta] = read(at_beta, density_run(at_beta, size, times))
    return Sweep(setting, points, paper)


def _read_circle(setting: Setting, run: Run) -> AtBeta:
    times, equation = (EARLY, run.final_time), setting.equation
    _, early, late = particle_run(setting, PARTICLES, times, time_step=0.25).states
    both, cell = (run.final, late), spacing(run) ** 2
    regions = [mfpde.concentration(state, equation).regions for state in both]
    heaviest = (heaviest_window(state, setting.reach) for state in both)
    return AtBeta(
        run,
        tuple(len(basins(state, equation)) for state in both),
        tuple(sum(r.mass >= LEAST_MASS for r in found) for found in regions),
        (*heaviest, 2 / PARTICLES + cell),
        (atoms.moments_apart(at(run, EARLY), early), PARTICLES**-2 + cell),
    )


def _read_sphere(setting: Setting, run: Run) -> AtBeta:
    times, problem = (EARLY, run.final_time), problem_of(setting.equation)
    early, late = moved(problem, lattice(ON_SPHERE), times)
    centres, reach = basins(run.final, setting.equation).points, setting.reach
    held = atoms.cores(run.final, centres, reach), atoms.particle_cores(late, reach)
    counts, cell = tuple(len(found) for found in held), spacing(run) ** 2
    heaviest = (found.masses.max(initial=0.0) for found in held)
    apart = atoms.moments_apart(at(run, EARLY), early)
    known = (*heaviest, ON_SPHERE**-0.75 + cell), (apart, 1 / ON_SPHERE + cell)
    return AtBeta(run, counts, counts, *known)


def heaviest_window(measure: Any, width: float) -> float:
    """Largest mass in an arc of this length that begins at a cell, an atom or a particle."""
    points, masses = cells_of(measure)
    where = angles(points)
    order = np.argsort(where)
    where, masses = where[order], masses[order]
    sums = np.concatenate([[0.0], np.cumsum(np.tile(masses, 2))])
    twice = np.concatenate([where, where + TURN])
    ends = np.searchsorted(twice, where + width, side="right")
    return float((sums[ends] - sums[np.arange(len(where))]).max())


# More than three dimensions --------------------------------------------------------------------


class InDimension(NamedTuple):
    """The paper's protocol for a setting, by single linkage in every dimension.

    Masses are those of the clusters, heaviest first, at the stop and at ``BEFORE``.
    """

    setting: Setting
    paper: PaperRun
    masses: Array
    masses_before: Array

    @property
    def number(self) -> int:
        """Clusters of 1 % and more at the stop."""
        return int((self.masses >= LEAST_MASS).sum())

    @property
    def speed(self) -> float:
        """The largest speed of a particle at the end."""
        return float(self.paper.end.speeds(problem_of(self.setting.equation)).max())


def in_dimension(setting: Setting, *, seed: int = START_SEED) -> InDimension:
    """Run the protocol from a sample, up to its stop and to ``BEFORE``."""
    start = uniform_points(IN_DIMENSION, setting.dimension, seed)
    problem, masses = problem_of(setting.equation), []
    found = paper_run(problem, start, give_up=GIVE_UP, see=(BEFORE,))
    for cloud in (found.end, found.seen[BEFORE]):
        groups = linked_groups(cloud.points, setting.reach)
        masses.append(-np.sort([-cloud.masses[held].sum() for held in groups]))
    return InDimension(setting, found, *masses)


def stationary_rows(found: InDimension) -> list[Quantity]:
    """What the particles rest at is a stationary state of the package's equation."""
    setting = found.setting
    theirs = atoms.particle_cores(found.paper.end, setting.reach)
    polished = mfpde.polish(setting.equation, theirs)
    apart = atoms.nearest_angles(theirs.points, polished.atoms.points)
    # What still moves at the stop, and strays that belong to no cluster of 1 %.
    known = (found.speed + 1 - theirs.masses.sum()) * setting.reach + AT_REST
    row = "places of the particles' clusters at the stop, from polished atoms"
    rows = [
        *atoms.rest_rows(problem_of(setting.equation), polished, "strict"),
        vanishes(row, apart, known),
    ]
    return mark(rows, under=f"d = {setting.dimension}, {setting}: ")
