r"""Settings at many beta: the density beside particles (figure 9).

On S^1 particles have basins of their own velocity, as the density has; on S^2 they are linked.
Single linkage at the paper's distance finds fewer clusters than there are basins for d = 2: it
chains along the tail between two of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import linregress
from scipy.stats import t as student

import mfpde
from validation.characteristics import moved
from validation.claim import Quantity, equal, vanishes
from validation.figures import atoms, settings
from validation.figures.on_sphere import lattice
from validation.figures.paper_protocol import LEAST_MASS, PARTICLES, TURN
from validation.figures.settings import Setting
from validation.independent import cells_of, problem_of

Array = NDArray[np.float64]

EARLY: Final = 2.0
"""A time at which mass still gathers, before the first atoms: it shows what moves it."""
LATE: Final = 100.0
"""When counts and masses are read off."""
RINGS: Final = {0.1: 64, 1.0: 64, 5.0: 64, 15.0: 96, 25.0: 128}
"""Rings on S^2 by beta: 23 sqrt(beta) and more, which exact atoms need."""
ON_SPHERE: Final = 600
"""Particles on S^2 beside the density."""


class Slope(NamedTuple):
    """Slope in sqrt(beta) by least squares, and half its interval of 95 %."""

    value: float
    half: float


def fit_slope(betas: Sequence[float], values: Any, least: float = 0.0) -> Slope:
    """Fit a line in sqrt(beta) from ``least`` on; equal values have no interval."""
    there = np.asarray(betas) >= least
    fit = linregress(np.sqrt(betas)[there], np.asarray(values)[there])
    factor = student.ppf(0.975, max(there.sum() - 2, 1))
    return Slope(float(fit.slope), float(factor * np.nan_to_num(fit.stderr)))


class Sweep(NamedTuple):
    """A setting at increasing beta; arrays (2, beta) are of the density and of particles.

    Parameters
    ----------
    counts
        Basins that hold an atom; of particles on S^2 linked clusters.
    heavy_counts
        On S^1 basins of 1 % and more, forming or not: verdicts on what has half formed differ
        with the number of particles.
    heaviest
        Mass of the heaviest cluster of the paper's width; what grid and particles leave open is
        a third line.
    early
        Largest difference of the moments of degrees 1 and 2 at ``EARLY``, and what is left open.
    """

    setting: Setting
    betas: Sequence[float]
    counts: Array
    heavy_counts: Array
    heaviest: Array
    early: Array

    @property
    def roots(self) -> Array:
        """The square roots of beta."""
        return np.sqrt(self.betas)

    def rows(self) -> Iterator[Quantity]:
        """Moments early, numbers of clusters and heaviest masses late, at any beta."""
        apart, known = self.early
        row = f"moments of degrees 1 and 2 at t = {EARLY:g}, largest difference to particles"
        worst = self.early[:, np.argmax(apart / known)]
        yield vanishes(f"{row} at any beta", *worst)
        kind = {2: "basins of 1 % and more", 3: "clusters"}[self.setting.dimension]
        row = f"numbers of {kind}, largest difference to particles at any beta"
        yield vanishes(row, np.diff(self.heavy_counts, axis=0), 0.0)
        ours, theirs, known = self.heaviest
        worst = self.heaviest[:, np.argmax(abs(ours - theirs) / known)]
        row = "heaviest mass within the paper's distance, against particles"
        yield equal(f"{row}, at the beta where they differ most", *worst)


def sweep(setting: Setting, betas: Sequence[float], *, quick: bool) -> Sweep:
    """Run a setting at all ``betas`` from uniform starts, to ``EARLY`` and ``LATE``."""
    read = {2: _read_circle, 3: _read_sphere}[setting.dimension]
    found = [read(replace(setting, beta=beta), quick) for beta in betas]
    return Sweep(setting, betas, *(np.array(one).T for one in zip(*found, strict=True)))


def _read_circle(setting: Setting, quick: bool) -> tuple[Any, ...]:
    cells = 512 if quick or setting.beta < 7 else 1024
    run, equation = (
        settings.density_run(setting, cells, (EARLY, LATE)),
        setting.equation,
    )
    few = settings.particle_run(setting, PARTICLES, (EARLY, LATE), time_step=0.25)
    both, cell = (run.final, few.final), settings.spacing(run) ** 2
    counts = [len(settings.basins(state, equation)) for state in both]
    regions = [mfpde.concentration(state, equation).regions for state in both]
    heavy = [sum(region.mass >= LEAST_MASS for region in found) for found in regions]
    masses = [heaviest_window(state, setting.reach) for state in both]
    apart = atoms.moments_apart(*(settings.at(one, EARLY) for one in (run, few)))
    known = 2 / PARTICLES + cell, PARTICLES**-2 + cell
    return counts, heavy, [*masses, known[0]], [apart, known[1]]


def _read_sphere(setting: Setting, quick: bool) -> tuple[Any, ...]:
    rings, reach = 48 if quick else RINGS[setting.beta], setting.reach
    run = settings.density_run(setting, rings, (EARLY, LATE))
    problem, cell = problem_of(setting.equation), settings.spacing(run) ** 2
    early, late = moved(problem, lattice(ON_SPHERE), (EARLY, LATE))
    centres = settings.basins(run.final, setting.equation).points
    held = atoms.cores(run.final, centres, reach), atoms.particle_cores(late, reach)
    counts = [len(found) for found in held]
    masses = [found.masses.max(initial=0.0) for found in held]
    apart = atoms.moments_apart(settings.at(run, EARLY), early)
    known = ON_SPHERE**-0.75 + cell, 1 / ON_SPHERE + cell
    return counts, counts, [*masses, known[0]], [apart, known[1]]


def heaviest_window(measure: Any, width: float) -> float:
    """Largest mass in an arc of this length that begins at a cell, an atom or a particle."""
    points, masses = cells_of(measure)
    where = settings.angles(points)
    order = np.argsort(where)
    where, masses = where[order], masses[order]
    sums = np.concatenate([[0.0], np.cumsum(np.tile(masses, 2))])
    twice = np.concatenate([where, where + TURN])
    ends = np.searchsorted(twice, where + width, side="right")
    return float((sums[ends] - sums[np.arange(len(where))]).max())
