r"""Problems on the circle on which all methods are compared, and the methods.

Measured are the moments mu_k = int e^{-ik theta} rho, k <= 8, and W1 from the distribution
functions, which makes sense for the negative values of a spectral code too.  The reference is
that of many weighted labels: their own moments, and their density at a method's own points
(at 16384 points for particles).

The second witness is the code one writes first, filtered pseudo-spectral RK4 in numpy and scipy:

    d rho_k / dt = -i k (rho v)_k,   v = s (A[rho]' + V'),   A_k = 2 pi lambda_k rho_k / beta

with products at n equispaced points and, after each step, the exponential filter
exp(-36 (2 |k| / n)^8) instead of a 2/3 rule.  It is spectrally accurate while the density is
smooth; once it is not, the density turns negative while its low modes stay good for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import ive

import mfpde
from validation.circle_cases import angles_of, cosine_potential

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

STRENGTH, PHASE = 0.3, 1.0
MODES = 8
COMPARED_AT, PARTICLES_COMPARED_AT = 2048, 16384
CELLS_PER_WIDTH = 40.0
RTOLS = {"donor_blended": 1e-6, "semi_lagrangian": 1e-7}
"""Relative tolerances in time of the schemes, of which errors are 10 times at most."""


@dataclass(frozen=True)
class SmoothProblem:
    """Attention with V = 0.3 cos(theta - 1), start (1 + 0.3 cos(theta - 2)) / 2 pi."""

    name: str
    beta: float
    direction: str
    t_end: float
    normalized: bool = False

    @property
    def equation(self) -> mfpde.MeanFieldEquation:
        """The equation in mfpde's terms."""
        return mfpde.MeanFieldEquation(
            mfpde.Attention(self.beta, normalized=self.normalized),
            cosine_potential(STRENGTH, PHASE),
            direction=self.direction,
        )

    def start(self, count: int) -> mfpde.Density:
        """Start on ``count`` cells."""
        circle = mfpde.Circle(count)
        values = (1 + 0.3 * np.cos(circle.angles - 2.0)) / (2 * np.pi)
        return mfpde.Density(circle, values)

    def spectral_step(self, count: int) -> float:
        """Time step that keeps RK4 stable: |v| dt k_max <= 2.5, at most 0.05."""
        return float(min(0.05, 2.5 / ((1.0 + STRENGTH) * count / 2)))


SMOOTH = (
    SmoothProblem("ascent, β = 4, t = 3", 4.0, "ascent", 3.0),
    SmoothProblem("descent, β = 8, t = 3", 8.0, "descent", 3.0),
    SmoothProblem("softmax ascent, β = 8, t = 1", 8.0, "ascent", 1.0, normalized=True),
)
LATER = SmoothProblem("ascent, β = 4, t = 6", 4.0, "ascent", 6.0)
UNRESOLVED = SmoothProblem("ascent, β = 4, t = 12", 4.0, "ascent", 12.0)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method gave: masses of equal cells at their centres, or of particles.

    ``atoms`` are the labels that the density was made from, whose moments are better.
    """

    angles: Array
    masses: Array
    has_cells: bool = True
    atoms: mfpde.Atoms | None = None

    @property
    def density(self) -> Array:
        """Values at the cells."""
        return self.masses * len(self.masses) / (2 * np.pi)

    def moments(self) -> Complex:
        """mu_0 .. mu_8."""
        angles, masses = self.angles, self.masses
        if self.atoms is not None:
            angles, masses = angles_of(self.atoms.points), self.atoms.masses
        return np.asarray(np.exp(-1j * np.outer(np.arange(MODES + 1), angles)) @ masses)


# Methods -------------------------------------------------------------------------------------


def density_run(transport: str, problem: SmoothProblem, cells: int) -> Outcome:
    """The density solver with a transport scheme, steps fine enough for its space error."""
    run = mfpde.solve(
        problem.equation,
        problem.start(cells),
        t_end=problem.t_end,
        save_at=[problem.t_end],
        transport=transport,
        rtol=RTOLS[transport],
    )
    return Outcome(run.final.geometry.angles, run.final.density.masses)


def spectral_run(problem: SmoothProblem, count: int) -> Outcome:
    """Filtered pseudo-spectral RK4."""
    start = problem.start(count)
    angles, k = start.geometry.angles, np.arange(count // 2 + 1)
    sign = 1 if problem.direction == "ascent" else -1
    symbol = 2 * np.pi * ive(k, problem.beta) / problem.beta
    slopes = sign * 1j * k * symbol
    slopes[-1] *= count % 2
    external = -sign * STRENGTH * np.sin(angles - PHASE)

    def rate(c: Complex) -> Complex:
        velocity = np.fft.irfft(slopes * c, count)
        if problem.normalized:
            velocity /= problem.beta * np.fft.irfft(symbol * c, count)
        return -1j * k * np.fft.rfft(np.fft.irfft(c, count) * (velocity + external))

    steps = int(np.ceil(problem.t_end / problem.spectral_step(count) - 1e-9))
    dt = problem.t_end / steps
    cut = np.exp(-36 * (k / (count // 2)) ** 8)
    c = np.fft.rfft(start.values)
    for _ in range(steps):
        k1 = rate(c)
        k2 = rate(c + dt / 2 * k1)
        k3 = rate(c + dt / 2 * k2)
        k4 = rate(c + dt * k3)
        c = cut * (c + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    return Outcome(angles, np.fft.irfft(c, count) * (2 * np.pi / count))


def particle_run(problem: SmoothProblem, count: int, *, drawn: bool = False) -> Outcome:
    """Quantised or random particles, spectral sums."""
    if drawn:
        start = mfpde.sampled(problem.start(256), count, 0)
    else:
        start = mfpde.quantized(problem.start(max(count, 256)), count)
    run = mfpde.solve_particles(
        problem.equation, start, t_end=problem.t_end, time_step=0.1
    )
    return Outcome(angles_of(run.final.points), run.final.masses, has_cells=False)


def label_run(problem: SmoothProblem, count: int) -> Outcome:
    """Weighted labels: their density at the centres of 2048 cells."""
    return Reference(problem, count).at(COMPARED_AT)


METHODS: dict[str, Callable[[SmoothProblem, int], Outcome]] = {
    "random particles": partial(particle_run, drawn=True),
    "quantised particles": particle_run,
    "labels": label_run,
    "filtered spectral": spectral_run,
    **{scheme: partial(density_run, scheme) for scheme in RTOLS},
}


# The reference -------------------------------------------------------------------------------


class Reference:
    """The outcome of ``count`` labels, to be compared with."""

    def __init__(self, problem: SmoothProblem, count: int) -> None:
        run = mfpde.solve_particles(
            problem.equation,
            problem.start(count),
            t_end=problem.t_end,
            method="labels",
            rtol=1e-12,
            atol=1e-14,
        )
        self.labels = run.final

    def at(self, cells: int) -> Outcome:
        """Density at the centres of ``cells`` cells."""
        circle = mfpde.Circle(cells)
        density = mfpde.label_density(self.labels, circle, at_centers=True)
        return Outcome(circle.angles, density.masses, atoms=self.labels)

    def errors(self, outcome: Outcome) -> tuple[float, float]:
        """Errors of the moments up to 8, and W1 (NaN if it is narrower than the cells)."""
        exact = self.at(COMPARED_AT)
        off = np.abs(outcome.moments() - exact.moments()).max()
        cells = len(outcome.angles) if outcome.has_cells else PARTICLES_COMPARED_AT
        narrow = cells < CELLS_PER_WIDTH * exact.density.max()
        return float(off), np.nan if narrow else distance(outcome, self.at(cells))


def distance(one: Outcome, other: Outcome) -> float:
    """W1 of masses at points of the circle, of either sign, of mass 1 each."""
    angles = np.mod(np.concatenate([one.angles, other.angles]), 2 * np.pi)
    masses = np.concatenate(
        [one.masses / one.masses.sum(), -other.masses / other.masses.sum()]
    )
    order = np.argsort(angles)
    angles, cumulated = angles[order], np.cumsum(masses[order])
    gaps = np.diff(angles, append=angles[0] + 2 * np.pi)
    # The best constant is a median of the difference, weighted by lengths.
    ranked = np.argsort(cumulated)
    half = np.searchsorted(np.cumsum(gaps[ranked]), np.pi)
    return float(np.abs(cumulated - cumulated[ranked[half]]) @ gaps)
