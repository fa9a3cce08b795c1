r"""One setting at many beta: density, particles, and the paper's own protocol (figures 9, 11, 12).

On S^1 particles have basins of their own velocity, as the density has; on S^2 they are linked.
Single linkage at the paper's distance finds fewer clusters than there are basins for d = 2: it
chains along the tail between two of them.  In d > 3 no grid can follow, so that particles by
independent formulas stand alone, and what they come to rest at is compared with stationary atoms
of the package.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

import mfpde
from mfpde.measures.measure import AnyMeasure
from mfpde.runs.run import Run
from validation.characteristics import Cloud, equal_masses, moved
from validation.claim import Quantity
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
from validation.figures.sphere_atoms import cores, low_moments, particle_cores
from validation.independent import cells_of, gradient, problem_of

Array = NDArray[np.float64]

CONFIDENCE: Final = 0.95
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


def fit_slope(betas: Sequence[float], values: Sequence[float] | Array) -> Slope:
    """Fit a line in sqrt(beta)."""
    roots = np.sqrt(betas)
    design = np.stack([np.ones_like(roots), roots], axis=1)
    solution, *_ = np.linalg.lstsq(design, values, rcond=None)
    freedom = max(len(roots) - 2, 1)
    variance = float(((values - design @ solution) ** 2).sum()) / freedom
    covariance = variance * np.linalg.inv(design.T @ design)
    factor = float(student.ppf((1 + CONFIDENCE) / 2, freedom))
    return Slope(float(solution[1]), factor * float(np.sqrt(covariance[1, 1])))


class AtBeta(NamedTuple):
    """What is read off a setting at one beta; pairs are of the density and of particles.

    Parameters
    ----------
    counts
        Basins that hold an atom; of particles on S^2 linked clusters.
    heavy_counts
        On S^1 basins of 1 % and more, forming or not: verdicts on what has half formed differ
        with the number of particles.
    heaviest, mass_error
        Mass of the heaviest cluster of the paper's width; what grid and particles leave open.
    early_difference, early_error
        Largest difference of the moments of degrees 1 and 2 at ``EARLY``; what they leave open.
    """

    beta: float
    run: Run
    counts: tuple[int, int]
    heavy_counts: tuple[int, int]
    heaviest: tuple[float, float]
    mass_error: float
    early_difference: float
    early_error: float
    paper: PaperRun | None

    @property
    def mass_excess(self) -> float:
        """Difference of the heaviest masses in units of what is allowed."""
        return abs(self.heaviest[0] - self.heaviest[1]) / self.mass_error


@dataclass(frozen=True, eq=False)
class Sweep:
    """A setting at increasing beta."""

    setting: Setting
    points: list[AtBeta]

    @property
    def betas(self) -> list[float]:
        """All beta."""
        return [point.beta for point in self.points]

    @property
    def counts(self) -> Array:
        """Basins with an atom (beta, 2), of the density and of particles."""
        return np.array([point.counts for point in self.points], float)

    @property
    def paper(self) -> dict[float, PaperRun]:
        """The protocol's runs by beta."""
        return {point.beta: point.paper for point in self.points if point.paper}

    @property
    def slopes(self) -> tuple[Slope, Slope, Slope]:
        """Of the basins of the density, of those of particles, and of the paper's counts."""
        ours, theirs = (fit_slope(self.betas, values) for values in self.counts.T)
        rule = [float(run.count) for run in self.paper.values()]
        return ours, theirs, fit_slope(list(self.paper), rule)

    def above(self, least: float) -> Sweep:
        """Only beta from ``least`` on."""
        return Sweep(self.setting, [p for p in self.points if p.beta >= least])

    def heaviest_row(self, name: str) -> Quantity:
        """The heaviest mass against that of particles, at the beta where they differ most."""
        worst = max(self.points, key=lambda point: point.mass_excess)
        name = f"{name}, against particles, at the beta where they differ most"
        return Quantity(name, *worst.heaviest, worst.mass_error)


def sweep(
    setting: Setting,
    sizes: dict[float, int],
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
    points = []
    for beta, size in sizes.items():
        at_beta, paper = replace(setting, beta=beta), None
        if beta in protocol:
            start = uniform_points(count, setting.dimension)
            paper = paper_run(problem_of(at_beta.equation), start, give_up=give_up)
        run = density_run(at_beta, size, times)
        read = _read_circle if setting.dimension == 2 else _read_sphere
        points.append(read(at_beta, run, paper))
    return Sweep(setting, points)


def _read_circle(setting: Setting, run: Run, paper: PaperRun | None) -> AtBeta:
    times, equation = (EARLY, run.final_time), setting.equation
    _, early, late = particle_run(setting, PARTICLES, times, time_step=0.25).states
    both, cell = (run.final, late), spacing(run) ** 2
    regions = [mfpde.concentration(state, equation).regions for state in both]
    return AtBeta(
        setting.beta,
        run,
        tuple(len(basins(state, equation)) for state in both),
        tuple(sum(r.mass >= LEAST_MASS for r in found) for found in regions),
        tuple(heaviest_window(state, setting.reach) for state in both),
        2 / len(late.masses) + cell,
        _early_difference(run, early),
        len(early.masses) ** -2 + cell,
        paper,
    )


def _read_sphere(setting: Setting, run: Run, paper: PaperRun | None) -> AtBeta:
    lattice = mfpde.quantized(mfpde.uniform(mfpde.Sphere(32)), ON_SPHERE)
    times, problem = (EARLY, run.final_time), problem_of(setting.equation)
    early, late = moved(problem, equal_masses(lattice.points), times)
    centres = basins(run.final, setting.equation).points
    cell, reach = spacing(run) ** 2, setting.reach
    held = cores(run.final, centres, reach), particle_cores(late, reach)
    counts = tuple(len(atoms) for atoms in held)
    return AtBeta(
        setting.beta,
        run,
        counts,
        counts,
        tuple(atoms.masses.max(initial=0.0) for atoms in held),
        ON_SPHERE**-0.75 + cell,
        _early_difference(run, early),
        1 / ON_SPHERE + cell,
        paper,
    )


def _early_difference(run: Run, particles: AnyMeasure | Cloud) -> float:
    moments = low_moments(at(run, EARLY)) - low_moments(particles)
    return float(np.abs(moments).max())


def heaviest_window(measure: AnyMeasure | Cloud, width: float) -> float:
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

    @property
    def widest(self) -> float:
        """Largest angle between the first and another particle of a cluster at the end."""
        points = self.paper.end.points
        groups = linked_groups(points, self.setting.reach)
        chords = [
            np.linalg.norm(points[k] - points[k[0]], axis=1).max() for k in groups
        ]
        return 2 * float(np.arcsin(max(chords) / 2))


def in_dimension(setting: Setting, *, seed: int = START_SEED) -> InDimension:
    """Run the protocol from a sample, up to its stop and to ``BEFORE``."""
    start = uniform_points(IN_DIMENSION, setting.dimension, seed)
    problem = problem_of(setting.equation)
    found = paper_run(problem, start, give_up=GIVE_UP, see=(BEFORE,))
    clouds = (found.end, found.seen[BEFORE])
    return InDimension(
        setting, found, *(_linked_masses(c, setting.reach) for c in clouds)
    )


def _linked_masses(cloud: Cloud, distance: float) -> Array:
    groups = linked_groups(cloud.points, distance)
    return np.sort(np.array([cloud.masses[held].sum() for held in groups]))[::-1]


def stationary_rows(found: InDimension) -> Iterator[Quantity]:
    """What the particles rest at is a stationary state of the package's equation."""
    setting = found.setting
    name = f"d = {setting.dimension}, {setting}"
    atoms = particle_cores(found.paper.end, setting.reach)
    points, masses = cells_of(mfpde.polish(setting.equation, atoms).atoms)
    force = gradient(problem_of(setting.equation), points, masses, at=points)
    chords = np.linalg.norm(points[:, np.newaxis] - atoms.points, axis=-1)
    lost = 1 - float(atoms.masses.sum())
    row = f"{name}: |grad F| at polished atoms with the particles' masses, by independent formulas"
    yield Quantity(row, np.abs(force).max(), 0.0, 1e-12)
    # What still moves at the stop, and strays that belong to no cluster of 1 %.
    yield Quantity(
        f"{name}: places of the particles' clusters at the stop, from polished atoms",
        chords.min(axis=1).max(),
        0.0,
        (found.speed + lost) * setting.reach + AT_REST,
    )
