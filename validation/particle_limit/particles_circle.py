r"""Particles on the circle: W1 to the density falls as n^(-1/2), from quantiles as n^(-1).

Random, at t = 0 from the uniform density, sqrt(n) W1 tends in law to 2 pi int |B - med B|
with a Brownian bridge B (the distance on a circle takes the best constant, the median), which
is simulated here without any particle: its mean is the expected constant (finite n changes it
by a share of order 1/n), and the deviation of its logarithm says beforehand how far a mean
slope over the seeds may be off.

A quantised particle starts at the median of the 1/n of the mass that it stands for.  The flow
keeps the order of points on a circle, so that it stays the median of its piece, and with pieces
of lengths w_i W1 = sum_i w_i / (4 n) (1 + O(1/n^2)) = (2 pi) / (4 n), without holes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation.circle_problems import BESIDE_PARTICLES, Problem
from validation.claim import Claim, Findings, Quantity, equal
from validation.drawing import log_log, panels, rate_line, show_legend
from validation.rates import mean_slope, slope, slope_deviation

CLAIM = Claim(
    "Particles tend to the density: random as n^(-1/2), quantised as n^(-1) (S¹)",
    "mean-field limit, eq. (2.5); the constants are derived in the script",
    "W1 between the density and n particles that start at independent random points falls "
    "as n^(-1/2), at the start and after the nonlinear flow; at the start from the uniform "
    "density sqrt(n) W1 has the mean of 2π∫|B − med B|, B a Brownian bridge. From the "
    "quantiles (i + 1/2)/n W1 falls as 1/n, and n W1 tends to π/2 at every time, for smooth "
    "and for kinked densities.",
)
BRIDGES, POINTS = 2000, 1024
DEVIATIONS = 3.0
TIME_STEPS = {"random": 0.25, "quantised": 0.1}
VARIATION = 100.0
UNIFORM = "start, uniform"


def bridge_distances() -> NDArray[np.float64]:
    """2 pi int |B - med B| for simulated Brownian bridges, (BRIDGES,)."""
    steps = np.random.default_rng(1).standard_normal((BRIDGES, POINTS))
    walks = np.cumsum(steps, axis=1) / np.sqrt(POINTS)
    bridges = walks - walks[:, -1:] * np.arange(1, POINTS + 1) / POINTS
    medians = np.median(bridges, axis=1, keepdims=True)
    return np.asarray(2 * np.pi * np.abs(bridges - medians).mean(axis=1))


def compare_quantised(problem: Problem, quick: bool) -> Iterator[Quantity]:
    """Slope and constant of particles that start at quantiles."""
    sizes = tuple(2**k for k in (range(4, 8) if quick else range(5, 15)))
    cells, finer = 256 if quick else 4096, slice(len(sizes) // 2, None)
    density, start = problem.density(cells), problem.start(4 * sizes[-1])
    floor = mfpde.wasserstein(density, problem.label_density(cells, cells))
    starts = [mfpde.quantized(start, n) for n in sizes]
    moved = [problem.move(atoms, time_step=TIME_STEPS["quantised"]) for atoms in starts]
    errors = [mfpde.wasserstein(density, atoms) for atoms in moved]
    ends = np.array(sizes[finer])[[0, -1]]
    # The density's own error, and the change of the density over one piece.
    shares = ends * floor / (np.pi / 2) + VARIATION / ends**2
    name, found = f"{problem.name}, quantised: ", slope(sizes[finer], errors[finer])
    allowed = 2 * shares.max() / np.log(ends[1] / ends[0])
    yield equal(f"{name}slope over the finer half", found, -1.0, allowed)
    name, found = f"{name}n W1 at n = {sizes[-1]}", sizes[-1] * errors[-1]
    yield equal(name, found, np.pi / 2, shares[-1], relative=True)


@CLAIM
def main(quick: bool = False) -> Findings:
    sizes = tuple(2**k for k in (range(6, 10) if quick else range(8, 15)))
    seeds, cells = (6, 256) if quick else (20, 1024)
    limit = bridge_distances()
    spread = slope_deviation(sizes, float(np.log(limit).std()))
    uniform = mfpde.uniform(mfpde.Circle(64))
    cases = {UNIFORM: (uniform, uniform, lambda atoms, **_: atoms)}
    for problem in BESIDE_PARTICLES:
        ends = problem.start(cells), problem.density(cells)
        cases[problem.name] = (*ends, problem.move)
    found, step = {}, {"time_step": TIME_STEPS["random"]}
    for row, (name, (start, end, move)) in enumerate(cases.items()):
        # Seeds of their own for every row, so that no two errors share their points.
        own = range(row * 10**7, row * 10**7 + seeds * 10**5, 10**5)
        found[name] = np.array(
            [
                [
                    mfpde.wasserstein(end, move(mfpde.sampled(start, n, s + n), **step))
                    for n in sizes
                ]
                for s in own
            ]
        )
        mean, _ = mean_slope(sizes, found[name])
        allowed = DEVIATIONS * spread / np.sqrt(seeds)
        yield equal(f"{name}: slope over n, {seeds} seeds", mean, -0.5, allowed)
    constants = found[UNIFORM] * np.sqrt(sizes)
    spread = limit.std() * np.sqrt(1 / constants.size + 1 / len(limit))
    allowed = DEVIATIONS * spread + limit.mean() / sizes[0]
    name = f"{UNIFORM}: mean of sqrt(n) W1 against the Brownian bridge"
    yield equal(name, constants.mean(), limit.mean(), allowed)
    for problem in BESIDE_PARTICLES:
        yield from compare_quantised(problem, quick)
    figure, (ax,) = panels(1, width=5)
    means = {name: (sizes, errors.mean(axis=0)) for name, errors in found.items()}
    log_log(ax, means, xlabel="particles n", ylabel="W1 to the density [rad]")
    line = limit.mean() / np.sqrt(sizes[0])
    rate_line(ax, sizes, start=line, rate=-0.5, label="Brownian bridge")
    show_legend(ax)
    yield "random", figure
