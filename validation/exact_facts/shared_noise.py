r"""Random layers of short duration: two tokens under a noise that they share.

A random potential of degree two and size 1, and one of degree one and size gamma, both white in
time, give dX = P_X sum_j sigma_j(X) o dW_j.  The angle D between two tokens is a martingale:

    d/dt E f(D) = E a(D) f''(D),      a(D) = (1 - cos 2D) + gamma^2 (1 - cos D),

which ends at 0 and, for gamma = 0, at pi: there with probability D_0/pi.  Near 0, a =
(2 + gamma^2/2) D^2, so that the Lyapunov exponent is -(2 + gamma^2/2).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import expm

import mfpde
from validation.circle_cases import points_at
from validation.claim import Claim, Findings, equal
from validation.drawing import compare_curves
from validation.exact_facts.runs import Array, ascent

CLAIM = Claim(
    title="Random layers synchronise tokens, once the antipode is left",
    source=(
        "Wong and Zakai's limit of layers of length tau with weights of size tau^(-1/2); "
        "diffusion of the angle between two tokens on S^1 (derived here)"
    ),
    statement=(
        "Random quadratic layers let two tokens end aligned or antipodal, at the angle D "
        "antipodal with probability D/pi, with the Lyapunov exponent -2. With a random linear "
        "field of size gamma beside it any two meet, with the exponent -(2 + gamma^2/2)."
    ),
)
DURATION, ANGLE = 0.02, 1.2
INTERVAL, CELLS = 0.1, 400
ERRORS = 3.5
"""Standard errors within which a mean over the runs must be."""


def run_pairs(linear: float, angle: float, depth: float, **options: Any) -> Any:
    """Two tokens of mass 1/2 at ``angle`` through random layers until ``depth``."""

    def draw_layers(rng: np.random.Generator) -> mfpde.Layers:
        noises = rng.standard_normal((round(depth / DURATION), 4)) / np.sqrt(DURATION)
        return mfpde.Layers((layer(noise, linear), DURATION) for noise in noises)

    start = mfpde.Atoms(points_at(np.array([0.0, angle])))
    return mfpde.ensemble(draw_layers, start, time_step=DURATION, **options)


def layer(noise: np.ndarray, linear: float) -> mfpde.MeanFieldEquation:
    """V of degree two, (cos 2t, sin 2t)/2, and of degree one, each with two of the numbers.

    Neurons with linear activation and a bias: w ((a.x)^2 / 2 + b a.x).
    """
    size, axis = np.hypot(*noise[:2]), np.arctan2(noise[1], noise[0]) / 2
    rows = points_at(axis + np.array([0.0, np.pi / 2]))
    weights = size * np.array([1.0, -1.0])
    biases = linear * (rows @ noise[2:]) / weights
    return ascent(mfpde.Perceptron(rows, weights, "linear", biases=biases))


def mean_statistic(
    angle: float, linear: float, *, interval: float, count: int
) -> Array:
    """E (1 - cos D) / 4 from ``angle``, the two-token statistic of masses 1/2.

    At the times 0, interval, ..., count times the interval, by second differences on [0, pi];
    at pi the solution is even.
    """
    angles = np.linspace(0.0, np.pi, CELLS + 1)
    step = angles[1]
    generator = np.zeros((CELLS + 1, CELLS + 1))
    rows = np.arange(1, CELLS + 1)
    at = angles[rows]
    rates = (1 - np.cos(2 * at) + linear**2 * (1 - np.cos(at))) / step**2
    generator[rows, rows - 1] = rates
    generator[rows, rows] = -2 * rates
    generator[rows[:-1], rows[:-1] + 1] = rates[:-1]
    generator[-1, -2] *= 2
    advance = expm(interval * generator)
    values = [(1 - np.cos(angles)) / 4]
    for _ in range(count):
        values.append(advance @ values[-1])
    return np.array([np.interp(angle, angles, row) for row in values])


@CLAIM
def main(quick: bool = False) -> Findings:
    row = partial(equal, subject="formula")
    runs, times = 24 if quick else 400, np.array([0.5, 1.0, 2.0])
    curves, steps = {}, INTERVAL * np.arange(21)
    for linear, angle in ((0.5, ANGLE), (0.5, np.pi), (0.0, ANGLE)):
        found = run_pairs(
            linear, angle, 2.0, runs=runs, seed=5, save_at=times, lyapunov=False
        )
        exact = mean_statistic(angle, linear, interval=INTERVAL, count=20)
        average = found.average("two_token")
        for k, time in enumerate(times):
            name = (
                f"gamma = {linear:g}, from {angle:.3g}, t = {time:g}: mean of "
                f"(1 - x.x')/4 over {runs} runs"
            )
            expected, error = exact[round(time / INTERVAL)], average.error[k]
            yield row(name, average.mean[k], expected, ERRORS * error)
        name = f"γ = {linear:g}, from {angle:.3g}"
        curves[name] = times, average.mean, steps, exact, average.error
    axes = {"xlabel": "t (bars: standard errors)", "ylabel": "mean of (1 − x·x′)/4"}
    yield "tokens", compare_curves(curves, **axes)
    share = ANGLE / np.pi
    antipodal = (found.two_token[:, -1] > 0.25).mean()
    name = f"gamma = 0: share of {runs} pairs that end antipodal"
    yield row(name, antipodal, share, ERRORS * np.sqrt(share * (1 - share) / runs))
    depth, fewer = (2.0, 4) if quick else (4.0, 24)
    for linear in (0.0, 1.0):
        found = run_pairs(linear, ANGLE, depth, runs=fewer, seed=2, save_at=[depth])
        average, exact = found.average("lyapunov"), -(2 + linear**2 / 2)
        name = f"gamma = {linear:g}: mean Lyapunov exponent of {fewer} runs"
        yield row(name, average.mean, exact, ERRORS * average.error)
