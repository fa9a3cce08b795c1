"""Random layers of short duration: two tokens under a noise that they share."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mfpde
from validation.circle_cases import points_at
from validation.claim import Claim, Findings, equal
from validation.exact_facts.drawn import compare_curves
from validation.exact_facts.runs import ascent
from validation.references import two_tokens

CLAIM = Claim(
    title="Random layers synchronise tokens, once the antipode is left",
    source=(
        "Wong and Zakai's limit of layers of length tau with weights of size tau^(-1/2); "
        "diffusion of the angle between two tokens on S^1 (derived here)"
    ),
    statement=(
        "Random quadratic layers let two tokens end aligned or antipodal, at the angle D "
        "antipodal with probability D/pi, with the Lyapunov exponent -2. With a random linear "
        "field of size gamma beside it any two meet. The mean antipodal phase is then "
        "int_0^A (A - z)/a(pi - z) dz, which grows as A pi/(4 gamma): as a power of 1/gamma on "
        "S^1, not as its logarithm."
    ),
)
DURATION, ANGLE = 0.02, 1.2
INTERVAL = 0.1
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


@CLAIM
def main(quick: bool = False) -> Findings:
    row = partial(equal, subject="formula")
    runs, times = 24 if quick else 400, np.array([0.5, 1.0, 2.0])
    curves, steps = {}, INTERVAL * np.arange(21)
    for linear, angle in ((0.5, ANGLE), (0.5, np.pi), (0.0, ANGLE)):
        found = run_pairs(
            linear, angle, 2.0, runs=runs, seed=5, save_at=times, lyapunov=False
        )
        exact = two_tokens.mean_statistic(angle, linear, interval=INTERVAL, count=20)
        average = found.average("two_token")
        for k, time in enumerate(times):
            name = (
                f"gamma = {linear:g}, from {angle:.3g}, t = {time:g}: mean of "
                f"(1 - x.x')/4 over {runs} runs"
            )
            expected, error = exact[round(time / INTERVAL)], average.error[k]
            yield row(name, average.mean[k], expected, ERRORS * error)
        curves[f"γ = {linear:g}, from {angle:.3g}"] = times, average.mean, steps, exact
    axes = {"xlabel": "t", "ylabel": "mean of (1 − x·x′)/4"}
    yield "tokens", compare_curves(curves, **axes)
    share = ANGLE / np.pi
    antipodal = (found.two_token[:, -1] > 0.25).mean()
    name = f"gamma = 0: share of {runs} pairs that end antipodal"
    yield row(name, antipodal, share, ERRORS * np.sqrt(share * (1 - share) / runs))
    depth, fewer = (2.0, 4) if quick else (4.0, 24)
    for linear in (0.0, 1.0):
        found = run_pairs(linear, ANGLE, depth, runs=fewer, seed=2, save_at=[depth])
        average, exact = found.average("lyapunov"), two_tokens.lyapunov(linear)
        name = f"gamma = {linear:g}: mean Lyapunov exponent of {fewer} runs"
        yield row(name, average.mean, exact, ERRORS * average.error)
    # A pi/(4 gamma) with A = pi/2, up to a logarithm.
    phase = two_tokens.mean_antipodal_phase(0.001)
    name = "gamma times the mean antipodal phase, gamma = 0.001"
    yield row(name, 0.001 * phase, np.pi**2 / 8, 0.01)
