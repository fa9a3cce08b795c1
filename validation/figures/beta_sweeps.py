r"""One setting at many beta: density, particles, and the paper's own protocol (Figure 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

import mfpde
from mfpde.measures.measure import AnyMeasure
from mfpde.runs.run import Run
from validation.figures.independent_particles import Cloud, equal_masses, moved
from validation.figures.paper_protocol import (
    PARTICLES,
    PaperRun,
    cluster_distance,
    paper_run,
    uniform_points,
)
from validation.figures.paper_runs import (
    LEAST_MASS,
    TURN,
    Setting,
    angles,
    at,
    basins,
    density_run,
    particle_run,
)
from validation.figures.sphere_runs import cluster_centres, cores, low_moments
from validation.independent import cells_of, problem_of

Array = NDArray[np.float64]

CONFIDENCE: Final = 0.95
EARLY: Final = 2.0
"""A time at which mass still gathers, before the first atoms: it shows what moves it."""
ON_SPHERE: Final = 600
"""Particles on S^2 beside the density."""


@dataclass(frozen=True, eq=False)
class Slope:
    """Slope in sqrt(beta) by least squares, and half its interval of 95 %."""

    value: float
    half: float

    @classmethod
    def of(cls, betas: Sequence[float], values: Array) -> Slope:
        """Fit a line in sqrt(beta)."""
        roots = np.sqrt(betas)
        design = np.stack([np.ones_like(roots), roots], axis=1)
        solution, *_ = np.linalg.lstsq(design, values, rcond=None)
        freedom = max(len(roots) - 2, 1)
        variance = float(((values - design @ solution) ** 2).sum()) / freedom
        covariance = variance * np.linalg.inv(design.T @ design)
        factor = float(student.ppf((1 + CONFIDENCE) / 2, freedom))
        return cls(float(solution[1]), factor * float(np.sqrt(covariance[1, 1])))


@dataclass(frozen=True, eq=False)
class AtBeta:
    """A setting at one beta: density, particles at ``EARLY`` and the end, and the protocol."""

    setting: Setting
    run: Run
    particles: mfpde.Atoms | Cloud
    early: mfpde.Atoms | Cloud
    paper: PaperRun | None

    @property
    def reach(self) -> float:
        """Width of the paper's clusters."""
        return cluster_distance(self.setting.beta, self.setting.dimension)

    @cached_property
    def count(self) -> int:
        """Basins of the density that hold an atom."""
        return len(basins(self.run.final, self.setting.equation))

    @cached_property
    def all_count(self) -> int:
        """On S^1 basins of 1 % and more, forming or not, of the density."""
        if self.setting.dimension != 2:
            return self.count
        return _heavy_regions(self.run.final, self.setting.equation)

    @cached_property
    def all_particle_count(self) -> int:
        """The same of the particles: verdicts on what has half formed differ with N."""
        if self.setting.dimension != 2:
            return self.particle_count
        return _heavy_regions(self.particles, self.setting.equation)  # type: ignore[arg-type]

    @cached_property
    def heaviest(self) -> float:
        """Mass of the density's heaviest cluster, of the paper's width."""
        if self.setting.dimension == 2:
            return heaviest_window(self.run.final, self.reach)
        centres = basins(self.run.final, self.setting.equation).points
        return _heaviest(cores(self.run.final, centres, self.reach))

    @cached_property
    def particle_count(self) -> int:
        """Clusters of the particles: basins of their velocity on S^1, linked ones on S^2."""
        if isinstance(self.particles, mfpde.Atoms):
            return len(basins(self.particles, self.setting.equation))
        return len(cluster_centres(self.particles, self.reach))

    @cached_property
    def particle_heaviest(self) -> float:
        """Mass of the particles' heaviest cluster, of the paper's width."""
        if self.setting.dimension == 2:
            return heaviest_window(self.particles, self.reach)
        centres = cluster_centres(self.particles, self.reach)
        return _heaviest(cores(self.particles, centres, self.reach))

    @cached_property
    def early_difference(self) -> float:
        """Largest difference of the moments of degrees 1 and 2 at ``EARLY``."""
        density = low_moments(at(self.run, EARLY))
        return float(np.abs(density - low_moments(self.early)).max())

    @property
    def early_error(self) -> float:
        """What particles at quantiles or on a lattice, and a grid, leave in moments."""
        if self.setting.dimension == 2:
            return len(self.early.masses) ** -2 + self.grid_error
        return 1 / ON_SPHERE + self.grid_error

    @property
    def mass_error(self) -> float:
        """What the particles leave open in a mass: two of them, or N^(-3/4) on S^2."""
        if self.setting.dimension == 2:
            return 2 / len(self.particles.masses)
        return ON_SPHERE**-0.75

    @property
    def grid_error(self) -> float:
        """h^2: what a grid of width h leaves open in the mass of an atom."""
        return float(self.run.final.geometry.spacing) ** 2  # type: ignore[union-attr]


@dataclass(frozen=True, eq=False)
class Sweep:
    """A setting at increasing beta."""

    setting: Setting
    points: list[AtBeta]

    @property
    def betas(self) -> list[float]:
        """All beta."""
        return [point.setting.beta for point in self.points]

    @property
    def counts(self) -> Array:
        """Basins of the density with an atom."""
        return np.array([point.count for point in self.points], float)

    @property
    def particle_counts(self) -> Array:
        """Clusters of the particles at the same time."""
        return np.array([point.particle_count for point in self.points], float)

    @property
    def paper(self) -> list[tuple[float, PaperRun]]:
        """The protocol's runs by beta."""
        return [(p.setting.beta, p.paper) for p in self.points if p.paper]

    @property
    def paper_counts(self) -> Array:
        """The paper's counts where it stops."""
        return np.array([run.count for _, run in self.paper], float)

    @property
    def slope(self) -> Slope:
        """Of the density's basins."""
        return Slope.of(self.betas, self.counts)

    @property
    def paper_slope(self) -> Slope:
        """Of the paper's counts."""
        return Slope.of([beta for beta, _ in self.paper], self.paper_counts)

    def above(self, least: float) -> Sweep:
        """Only beta from ``least`` on."""
        kept = [p for p in self.points if p.setting.beta >= least]
        return Sweep(self.setting, kept)


@dataclass(frozen=True)
class Protocol:
    """At which beta the paper's protocol is run, when it is given up, and its particles."""

    betas: Sequence[float]
    give_up: float
    particles: int

    def run(self, setting: Setting) -> PaperRun | None:
        """The run of a setting, or None at other beta."""
        if setting.beta not in self.betas:
            return None
        start = uniform_points(self.particles, setting.dimension)
        return paper_run(problem_of(setting.equation), start, give_up=self.give_up)


def sweep(
    setting: Setting,
    sizes: dict[float, int],
    times: Sequence[float],
    *,
    protocol: Protocol,
) -> Sweep:
    """Run a setting at each beta of ``sizes``, on so many cells or rings, from uniform starts.

    The density is saved at ``times``; particles are compared with it at ``EARLY``, which has
    to be one of them, and at the last.
    """
    points = []
    for beta, size in sizes.items():
        at_beta = replace(setting, beta=beta)
        run = density_run(at_beta, size, times, atoms="exact")
        early, late = _particles(at_beta, (EARLY, times[-1]))
        points.append(AtBeta(at_beta, run, late, early, protocol.run(at_beta)))
    return Sweep(setting, points)


def _particles(
    setting: Setting, times: tuple[float, float]
) -> list[mfpde.Atoms] | list[Cloud]:
    if setting.dimension == 2:
        run = particle_run(setting, PARTICLES, times, time_step=0.25)
        return [state for state in run.states[1:] if isinstance(state, mfpde.Atoms)]
    lattice = mfpde.quantized(mfpde.uniform(setting.grid(32)), ON_SPHERE)
    return moved(problem_of(setting.equation), equal_masses(lattice.points), times)


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


def _heaviest(found: mfpde.Atoms) -> float:
    return float(found.masses.max(initial=0.0))


def _heavy_regions(measure: AnyMeasure, equation: mfpde.MeanFieldEquation) -> int:
    regions = mfpde.concentration(measure, equation).regions
    return sum(region.mass >= LEAST_MASS for region in regions)
