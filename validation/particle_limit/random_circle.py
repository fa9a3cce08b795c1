r"""Random particles on the circle: W1 to the density falls as n^(-1/2).

At t = 0, from the uniform density, sqrt(n) W1 tends in law to 2 pi int |B - med B| with a
Brownian bridge B (the distance on a circle takes the best constant, the median), which is
simulated here without any particle: its mean is the expected constant (finite n changes it
by a share of order 1/n), and the deviation of its logarithm says beforehand how far a mean
slope over the seeds may be off.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

import mfpde
from validation.charts import level_line, log_log, panels, rate_line, show_legend
from validation.claim import Claim, Quantity
from validation.particle_limit.problems import Problem, problems
from validation.rates import MeanSlope, mean_slope, slope_deviation

Array = NDArray[np.float64]

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


def bridge_distances() -> Array:
    """2 pi int |B - med B| for simulated Brownian bridges, (BRIDGES,)."""
    steps = np.random.default_rng(1).standard_normal((BRIDGES, POINTS))
    walks = np.cumsum(steps, axis=1) / np.sqrt(POINTS)
    bridges = walks - walks[:, -1:] * np.arange(1, POINTS + 1) / POINTS
    medians = np.median(bridges, axis=1, keepdims=True)
    return np.asarray(2 * np.pi * np.abs(bridges - medians).mean(axis=1))


def distances(
    problem: Problem, sizes: tuple[int, ...], *, seeds: Sequence[int], cells: int
) -> Array:
    """W1 to the density at t = 3 (seeds, sizes)."""
    density = problem.density(cells)
    start = problem.start(mfpde.Circle(cells))
    return np.array(
        [
            [
                mfpde.wasserstein(
                    density, problem.moved(mfpde.sampled(start, n, seed + n), TIME_STEP)
                )
                for n in sizes
            ]
            for seed in seeds
        ]
    )


def interval_row(estimate: MeanSlope, allowed: float) -> Quantity:
    """Student's interval of the slope beside the one that the bridge's spread gives.

    The deviation of a deviation over n seeds is (2 (n - 1))^(-1/2) of it.
    """
    expected = allowed / DEVIATIONS * float(student.ppf(0.975, estimate.count - 1))
    return Quantity(
        "start, uniform: half of the slope's 95 % interval",
        estimate.half_width(),
        expected,
        float(DEVIATIONS / np.sqrt(2 * (estimate.count - 1))),
        relative=True,
    )


def start_distances(sizes: tuple[int, ...], seeds: Sequence[int]) -> Array:
    """W1 of the uniform density to random points of it (seeds, sizes)."""
    uniform = mfpde.uniform(mfpde.Circle(64))
    return np.array(
        [
            [
                mfpde.wasserstein(uniform, mfpde.sampled(uniform, n, seed + n))
                for n in sizes
            ]
            for seed in seeds
        ]
    )


def main(quick: bool = False) -> dict[str, object]:
    """Slopes with their confidence intervals, and the constant at the start."""
    sizes = tuple(2**k for k in (range(6, 10) if quick else range(8, 15)))
    seeds, cells = (6, 256) if quick else (20, 1024)
    limit = bridge_distances()
    allowed = (
        DEVIATIONS * slope_deviation(sizes, float(np.log(limit).std())) / np.sqrt(seeds)
    )
    # Seeds of their own for every row, so that no two errors share their points.
    own = [range(row * 10**7, row * 10**7 + seeds * 10**5, 10**5) for row in range(4)]
    found = {"start, uniform": start_distances(sizes, own[0])}
    for problem, row in zip(problems(), own[1:], strict=True):
        found[problem.name] = distances(problem, sizes, seeds=row, cells=cells)
    quantities = []
    for name, errors in found.items():
        estimate = mean_slope(sizes, errors)
        label = f"{name}: slope over n, {seeds} seeds"
        quantities.append(Quantity(label, estimate.mean, -0.5, allowed))
        if name == "start, uniform":
            quantities.append(interval_row(estimate, allowed))
    constants = found["start, uniform"] * np.sqrt(sizes)
    spread = limit.std() * np.sqrt(1 / constants.size + 1 / len(limit))
    quantities.append(
        Quantity(
            "start, uniform: mean of sqrt(n) W1 against the Brownian bridge",
            float(constants.mean()),
            float(limit.mean()),
            float(DEVIATIONS * spread + limit.mean() / sizes[0]),
        )
    )
    return {
        "quantities": quantities,
        "figures": {"random_circle": figure(sizes, found, float(limit.mean()))},
    }


def figure(sizes: tuple[int, ...], found: dict[str, Array], constant: float) -> object:
    """W1 over n with the spread of the seeds; sqrt(n) W1 beside it."""
    drawn, (left, right) = panels(2)
    means = {name: (sizes, errors.mean(axis=0)) for name, errors in found.items()}
    log_log(left, means, xlabel="particles n", ylabel="W1 to the density [rad]")
    for line, errors in zip(left.lines, found.values(), strict=True):
        low, high = np.quantile(errors, [0.1, 0.9], axis=0)
        left.fill_between(sizes, low, high, color=line.get_color(), alpha=0.12, lw=0)
    rate_line(
        left,
        sizes,
        start=0.55 * means["start, uniform"][1][0],
        rate=-0.5,
        label="n^(−1/2)",
    )
    show_legend(left)
    scaled = {name: (sizes, np.sqrt(sizes) * y) for name, (_, y) in means.items()}
    log_log(right, scaled, xlabel="particles n", ylabel="√n W1, mean of the seeds")
    right.set_yscale("linear")
    right.set_ylim(bottom=0.0)
    level_line(right, constant, label="Brownian bridge")
    show_legend(right, right.lines[-1:])
    return drawn
