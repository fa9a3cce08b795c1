r"""Problems on the circle on which all methods are compared, and the methods.

Measured are the moments mu_k = int e^{-ik theta} rho, k <= 8, and W1 from the distribution
functions, which makes sense for the negative values of a spectral code too.  The reference is
that of many weighted labels: their own moments, and their density at a method's own points
(at 16384 points for particles).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation.filtered_spectral import SpectralProblem, angles, filtered_spectral

Array = NDArray[np.float64]

STRENGTH, PHASE = 0.3, 1.0
MODES = 8
COMPARED_AT = 2048
CELLS_PER_WIDTH = 40.0
PARTICLES_COMPARED_AT = 16384
RTOLS = {"semi_lagrangian": 1e-7, "donor_blended": 1e-6}


@dataclass(frozen=True)
class SmoothProblem:
    """Attention with V = strength cos(theta - 1), start (1 + 0.3 cos(theta - 2)) / 2 pi."""

    name: str
    beta: float
    direction: str
    t_end: float
    strength: float = STRENGTH
    normalized: bool = False

    @property
    def equation(self) -> mfpde.MeanFieldEquation:
        """The equation in mfpde's terms."""
        axis = self.strength * np.array([np.cos(PHASE), np.sin(PHASE)])
        potential = mfpde.Potential(
            lambda x: x @ axis, lambda x: np.broadcast_to(axis, x.shape), dimension=2
        )
        attention = mfpde.Attention(self.beta, normalized=self.normalized)
        return mfpde.MeanFieldEquation(attention, potential, direction=self.direction)

    @property
    def spectral(self) -> SpectralProblem:
        """The same for the filtered pseudo-spectral code."""
        return SpectralProblem(
            self.beta,
            1 if self.direction == "ascent" else -1,
            lambda x: -self.strength * np.sin(x - PHASE),
            normalized=self.normalized,
        )

    def start(self, count: int) -> mfpde.Density:
        """Start on ``count`` cells."""
        circle = mfpde.Circle(count)
        values = (1 + 0.3 * np.cos(circle.angles - 2.0)) / (2 * np.pi)
        return mfpde.Density(circle, values)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method gave: mass at points, least density (NaN without one), seconds.

    ``atoms`` are the labels that the density was made from, whose moments are better.
    """

    points: Array
    masses: Array
    least: float
    seconds: float = np.nan
    atoms: mfpde.Atoms | None = None

    def moments(self) -> NDArray[np.complex128]:
        """mu_0 .. mu_8."""
        k = np.arange(MODES + 1)
        points, masses = self.points, self.masses
        if self.atoms is not None:
            points = np.arctan2(self.atoms.points[:, 1], self.atoms.points[:, 0])
            masses = self.atoms.masses
        return np.asarray(np.exp(-1j * np.outer(k, points)) @ masses)


def density_run(problem: SmoothProblem, cells: int, transport: str) -> Outcome:
    """The density solver with a transport scheme, steps fine enough for its space error."""
    start = problem.start(cells)
    began = time.perf_counter()
    run = mfpde.solve(
        problem.equation,
        start,
        t_end=problem.t_end,
        save_at=[problem.t_end],
        transport=transport,
        rtol=RTOLS.get(transport, 1e-4),
    )
    seconds = time.perf_counter() - began
    values = run.final.density.values
    circle = run.final.geometry
    return Outcome(circle.angles, values * circle.spacing, float(values.min()), seconds)


def spectral_step(problem: SmoothProblem, count: int) -> float:
    """Time step that keeps RK4 stable: |v| dt k_max <= 2.5, at most 0.05."""
    fastest = 1.0 + problem.strength
    return float(min(0.05, 2.5 / (fastest * count / 2)))


def spectral_run(problem: SmoothProblem, count: int) -> Outcome:
    """Filtered pseudo-spectral RK4."""
    values = problem.start(count).values
    step = spectral_step(problem, count)
    began = time.perf_counter()
    found = filtered_spectral(problem.spectral, values, t_end=problem.t_end, step=step)
    seconds = time.perf_counter() - began
    return Outcome(
        angles(count), found * (2 * np.pi / count), float(found.min()), seconds
    )


def particle_run(problem: SmoothProblem, count: int) -> Outcome:
    """Quantised particles, spectral sums."""
    start = mfpde.quantized(problem.start(max(count, 256)), count)
    return _moved(problem, start, {"time_step": 0.1})


def random_run(problem: SmoothProblem, count: int) -> Outcome:
    """Random particles, spectral sums."""
    start = mfpde.sampled(problem.start(256), count, 0)
    return _moved(problem, start, {"time_step": 0.1})


def _moved(problem: SmoothProblem, start: mfpde.Atoms, options: dict) -> Outcome:
    began = time.perf_counter()
    run = mfpde.solve_particles(problem.equation, start, t_end=problem.t_end, **options)
    seconds = time.perf_counter() - began
    points = run.final.points
    return Outcome(
        np.arctan2(points[:, 1], points[:, 0]), run.final.masses, np.nan, seconds
    )


def moved_labels(problem: SmoothProblem, count: int) -> mfpde.Atoms:
    """Weighted labels at the end."""
    run = mfpde.solve_particles(
        problem.equation,
        problem.start(count),
        t_end=problem.t_end,
        method="labels",
        rtol=1e-11,
        atol=1e-13,
    )
    return run.final


def label_run(problem: SmoothProblem, count: int) -> Outcome:
    """Weighted labels: their density at the centres of 2048 cells."""
    began = time.perf_counter()
    labels = moved_labels(problem, count)
    found = Reference(labels).at(COMPARED_AT)
    return replace(found, seconds=time.perf_counter() - began, atoms=labels)


@dataclass(frozen=True, eq=False)
class Reference:
    """The outcome of many labels, to be compared with."""

    labels: mfpde.Atoms

    def at(self, cells: int) -> Outcome:
        """Density at the centres of ``cells`` cells."""
        circle = mfpde.Circle(cells)
        density = mfpde.label_density(self.labels, circle, at_centers=True)
        least = float(density.values.min())
        return Outcome(circle.angles, density.masses, least, atoms=self.labels)

    def errors(self, outcome: Outcome) -> tuple[float, float]:
        """Errors of the moments up to 8, and W1 (NaN if it is narrower than the cells)."""
        exact = self.at(COMPARED_AT)
        off = np.abs(outcome.moments() - exact.moments()).max()
        is_density = not np.isnan(outcome.least)
        cells = len(outcome.points) if is_density else PARTICLES_COMPARED_AT
        narrow = cells < CELLS_PER_WIDTH * self.largest
        return float(off), np.nan if narrow else distance(outcome, self.at(cells))

    @property
    def largest(self) -> float:
        """Largest density at 2048 points."""
        return float(self.at(COMPARED_AT).masses.max() * COMPARED_AT / (2 * np.pi))


METHODS: dict[str, Callable[[SmoothProblem, int], Outcome]] = {
    "random particles": random_run,
    "quantised particles": particle_run,
    "labels": label_run,
    "filtered spectral": spectral_run,
    **{
        scheme: lambda problem, n, scheme=scheme: density_run(problem, n, scheme)
        for scheme in ("donor_blended", "semi_lagrangian")
    },
}


def distance(one: Outcome, other: Outcome) -> float:
    """W1 of masses at points of the circle, of either sign, of mass 1 each."""
    points = np.mod(np.concatenate([one.points, other.points]), 2 * np.pi)
    masses = np.concatenate(
        [one.masses / one.masses.sum(), -other.masses / other.masses.sum()]
    )
    order = np.argsort(points)
    points, cumulated = points[order], np.cumsum(masses[order])
    gaps = np.diff(points, append=points[0] + 2 * np.pi)
    # The best constant is a median of the difference, weighted by lengths.
    ranked = np.argsort(cumulated)
    half = np.searchsorted(np.cumsum(gaps[ranked]), np.pi)
    return float(np.abs(cumulated - cumulated[ranked[half]]) @ gaps)


SMOOTH = (
    SmoothProblem("ascent, β = 4, t = 3", 4.0, "ascent", 3.0),
    SmoothProblem("descent, β = 8, t = 3", 8.0, "descent", 3.0),
    SmoothProblem("softmax ascent, β = 8, t = 1", 8.0, "ascent", 1.0, normalized=True),
)
LATER = SmoothProblem("ascent, β = 4, t = 6", 4.0, "ascent", 6.0)
UNRESOLVED = SmoothProblem("ascent, β = 4, t = 12", 4.0, "ascent", 12.0)
SCHEMES = ("donor_blended", "semi_lagrangian")


def promised_error(scheme: str, cells: int, largest: float) -> float:
    """10 rtol for the schemes of higher order, else h^2 over the width of the density.

    Parameters
    ----------
    scheme, cells
        The scheme and its grid.
    largest
        Largest density rho; the width is 1 / (2 rho).
    """
    if scheme in RTOLS:
        return 10 * RTOLS[scheme]
    return (2 * np.pi / cells) ** 2 * 2 * largest
