"""Random layers of short duration: two tokens under a noise that they share."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation.claim import Claim, Quantity
from validation.drawing import panels
from validation.exact_facts.drawn import FORMULA_LINE, PARTICLES, legend_below
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


def make_layers(linear: float, depth: float) -> Any:
    """Return the function that draws the layers."""
    count = round(depth / DURATION)

    def drawn(rng: np.random.Generator) -> mfpde.Layers:
        return mfpde.Layers(
            (layer(rng.standard_normal(4) / np.sqrt(DURATION), linear), DURATION)
            for _ in range(count)
        )

    return drawn


def layer(noise: np.ndarray, linear: float) -> mfpde.MeanFieldEquation:
    """V of degree two, (cos 2t, sin 2t)/2, and of degree one, each with two of the numbers.

    Neurons with linear activation and a bias: w ((a.x)^2 / 2 + b a.x).
    """
    size, axis = np.hypot(*noise[:2]), np.arctan2(noise[1], noise[0]) / 2
    rows = np.array([[np.cos(axis), np.sin(axis)], [-np.sin(axis), np.cos(axis)]])
    weights = size * np.array([1.0, -1.0])
    biases = linear * (rows @ noise[2:]) / weights
    neurons = mfpde.Perceptron(rows, weights, "linear", biases=biases)
    return mfpde.MeanFieldEquation(neurons, direction="ascent")


def pair(angle: float) -> mfpde.Atoms:
    """Two tokens of mass 1/2."""
    points = [[1.0, 0.0], [np.cos(angle), np.sin(angle)]]
    return mfpde.Atoms(np.array(points), [0.5, 0.5])


def main(quick: bool = False) -> dict[str, Any]:
    runs = 24 if quick else 400
    times = np.array([0.5, 1.0, 2.0])
    quantities, drawn = [], {}
    for linear, angle in ((0.0, ANGLE), (0.5, ANGLE), (0.5, np.pi)):
        found = mfpde.ensemble(
            make_layers(linear, times[-1]),
            pair(angle),
            runs=runs,
            seed=5,
            save_at=times,
            time_step=DURATION,
            lyapunov=False,
        )
        exact = two_tokens.mean_statistic(angle, linear, interval=INTERVAL, count=20)
        for k, time in enumerate(times):
            expected = exact[round(time / INTERVAL)]
            quantities.append(
                Quantity(
                    f"gamma = {linear:g}, from {angle:.3g}, t = {time:g}: mean of "
                    f"(1 - x.x')/4 over {runs} runs",
                    found.average("two_token").mean[k],
                    expected,
                    ERRORS * found.average("two_token").error[k],
                    subject="formula",
                )
            )
        drawn[linear, angle] = found, exact
    ends = drawn[0.0, ANGLE][0].two_token[:, -1] > 0.25
    share = ANGLE / np.pi
    spread = np.sqrt(share * (1 - share) / runs)
    quantities.append(
        Quantity(
            f"gamma = 0: share of {runs} pairs that end antipodal",
            ends.mean(),
            share,
            ERRORS * spread,
            subject="formula",
        )
    )
    depth = 2.0 if quick else 4.0
    fewer = 4 if quick else 24
    for linear in (0.0, 1.0):
        found = mfpde.ensemble(
            make_layers(linear, depth),
            pair(ANGLE),
            runs=fewer,
            seed=2,
            time_step=DURATION,
            save_at=[depth],
        )
        quantities.append(
            Quantity(
                f"gamma = {linear:g}: mean Lyapunov exponent of {fewer} runs",
                found.average("lyapunov").mean,
                two_tokens.lyapunov(linear),
                ERRORS * found.average("lyapunov").error,
                subject="formula",
            )
        )
    sizes = np.array([0.1, 0.01, 0.001])
    phases = np.array([two_tokens.mean_antipodal_phase(size) for size in sizes])
    # A pi/(4 gamma) with A = pi/2, up to a logarithm.
    quantities.append(
        Quantity(
            "gamma times the mean antipodal phase, gamma = 0.001",
            float(sizes[-1] * phases[-1]),
            np.pi**2 / 8,
            0.01,
            subject="formula",
        )
    )
    figure, (left, right) = panels(2)
    for found, exact in drawn.values():
        left.plot(INTERVAL * np.arange(len(exact)), exact, **FORMULA_LINE)
        left.errorbar(
            times,
            found.average("two_token").mean,
            found.average("two_token").error,
            color=PARTICLES,
            ls="none",
            marker="o",
        )
    left.set(
        title="Two tokens, shared noise", xlabel="t", ylabel="mean of (1 − x·x′)/4"
    )
    right.loglog(sizes, phases, **FORMULA_LINE, label="formula")
    right.loglog(sizes, np.pi**2 / 8 / sizes, ls=":", color="grey", label="π²/(8γ)")
    right.set(title="Mean antipodal phase", xlabel="γ", ylabel="time")
    legend_below(right)
    return {"quantities": quantities, "figures": {"tokens": figure}}
