r"""Random particles on the circle: W1 to the density falls as n^(-1/2).

At t = 0, from the uniform density, sqrt(n) W1 tends in law to 2 pi int |B - med B| with a
Brownian bridge B (the distance on a circle takes the best constant, the median), which is
simulated here without any particle: its mean is the expected constant (finite n changes it
by a share of order 1/n), and the deviation of its logarithm says beforehand how far a mean
slope over the seeds may be off.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation.charts import log_log, panels, rate_line, show_legend
from validation.claim import Claim, Findings, equal
from validation.particle_limit.problems import problems
from validation.rates import mean_slope, slope_deviation

CLAIM = Claim(
    "Random particles tend to the density as n^(-1/2) (S¹)",
    "mean-field limit, eq. (2.5)",
    "W1 between the density and n particles that start at independent random points falls "
    "as n^(-1/2), at the start and after the nonlinear flow; at the start from the uniform "
    "density sqrt(n) W1 has the mean of 2π∫|B − med B|, B a Brownian bridge.",
)
BRIDGES, POINTS = 2000, 1024
DEVIATIONS = 3.0
TIME_STEP = 0.25
UNIFORM = "start, uniform"


def bridge_distances() -> NDArray[np.float64]:
    """2 pi int |B - med B| for simulated Brownian bridges, (BRIDGES,)."""
    steps = np.random.default_rng(1).standard_normal((BRIDGES, POINTS))
    walks = np.cumsum(steps, axis=1) / np.sqrt(POINTS)
    bridges = walks - walks[:, -1:] * np.arange(1, POINTS + 1) / POINTS
    medians = np.median(bridges, axis=1, keepdims=True)
    return np.asarray(2 * np.pi * np.abs(bridges - medians).mean(axis=1))


@CLAIM
def main(quick: bool = False) -> Findings:
    sizes = tuple(2**k for k in (range(6, 10) if quick else range(8, 15)))
    seeds, cells = (6, 256) if quick else (20, 1024)
    limit = bridge_distances()
    spread = slope_deviation(sizes, float(np.log(limit).std()))
    uniform = mfpde.uniform(mfpde.Circle(64))
    cases = {UNIFORM: (uniform, uniform, lambda atoms, **_: atoms)}
    for problem in problems():
        ends = problem.start(cells), problem.density(cells)
        cases[problem.name] = (*ends, problem.move)
    found = {}
    for row, (name, (start, end, move)) in enumerate(cases.items()):
        # Seeds of their own for every row, so that no two errors share their points.
        own = range(row * 10**7, row * 10**7 + seeds * 10**5, 10**5)
        samples = [[mfpde.sampled(start, n, seed + n) for n in sizes] for seed in own]
        found[name] = np.array(
            [
                [mfpde.wasserstein(end, move(one, time_step=TIME_STEP)) for one in line]
                for line in samples
            ]
        )
        slope = mean_slope(sizes, found[name]).mean
        allowed = DEVIATIONS * spread / np.sqrt(seeds)
        yield equal(f"{name}: slope over n, {seeds} seeds", slope, -0.5, allowed)
    constants = found[UNIFORM] * np.sqrt(sizes)
    spread = limit.std() * np.sqrt(1 / constants.size + 1 / len(limit))
    allowed = DEVIATIONS * spread + limit.mean() / sizes[0]
    name = f"{UNIFORM}: mean of sqrt(n) W1 against the Brownian bridge"
    yield equal(name, constants.mean(), limit.mean(), allowed)
    figure, (ax,) = panels(1, width=5)
    means = {name: (sizes, errors.mean(axis=0)) for name, errors in found.items()}
    log_log(ax, means, xlabel="particles n", ylabel="W1 to the density [rad]")
    line = limit.mean() / np.sqrt(sizes[0])
    rate_line(ax, sizes, start=line, rate=-0.5, label="Brownian bridge")
    show_legend(ax)
    yield "random_circle", figure
