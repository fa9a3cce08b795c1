r"""Synchronisation by noise
========================

Tokens that share random layers come together.

Layers of length tau with independent random quadratic potentials of size tau^(-1/2) tend, as tau
falls, to the Stratonovich equation dX = P_X dQ X with a noise Q that all tokens share.  Such a
field is odd, and two tokens end aligned or antipodal: on the circle the angle between them is a
martingale, so that they end antipodal with probability D/pi from the angle D.  With a random
linear potential of size gamma beside it any two tokens meet.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import mfpde

DURATION, ANGLE = 0.1, np.pi / 2


class SharedNoise:
    """Random layers: quadratic potentials, and linear ones of size ``linear``."""

    def __init__(self, linear: float, depth: float) -> None:
        self.linear = linear
        self.count = round(depth / DURATION)

    def __call__(self, rng: np.random.Generator) -> mfpde.Layers:
        """Draw the layers."""
        drawn = [(self.layer(rng), DURATION) for _ in range(self.count)]
        return mfpde.Layers(drawn)

    def layer(self, rng: np.random.Generator) -> mfpde.MeanFieldEquation:
        """V = x.Qx/2 + b.x: on the circle a random field of degree two and one of degree one.

        Neurons with linear activation have V = w ((a.x)^2 / 2 + bias a.x).
        """
        first, second, *along = rng.standard_normal(4) / np.sqrt(DURATION)
        form = np.array([[first, second], [second, -first]])
        weights, vectors = np.linalg.eigh(form)
        biases = self.linear * (np.array(along) @ vectors) / weights
        neurons = mfpde.Perceptron(vectors.T, weights, "linear", biases=biases)
        return mfpde.MeanFieldEquation(neurons, direction="ascent")


def two_tokens(angle: float = ANGLE) -> mfpde.Atoms:
    """Two tokens of mass 1/2 at this angle from each other."""
    angles = np.array([0.0, angle])
    points = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return mfpde.Atoms(points, [0.5, 0.5])


def main(runs: int = 16, depth: float = 4.0) -> dict[str, Any]:
    result: dict[str, Any] = {}
    figure = Figure(figsize=(8.0, 3.2), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for linear in (0.0, 1.0):
        found = mfpde.ensemble(
            SharedNoise(linear, depth),
            two_tokens(),
            runs=runs,
            seed=11,
            time_step=DURATION / 4,
        )
        # Two tokens of mass 1/2: 0 where they are aligned, 1/2 where they are antipodal.
        ends = found.two_token[:, -1]
        result[f"apart_{linear:g}"] = float(np.minimum(ends, 0.5 - ends).mean())
        result[f"antipodal_{linear:g}"] = float((ends > 0.25).mean())
        result[f"exponent_{linear:g}"] = found.average("lyapunov").mean
        print(f"linear part {linear:g}: {found}")
        print(f"    antipodal at the end: {np.mean(ends > 0.25):.2f}")
        ax = axes[int(linear)]
        ax.plot(found.times, found.two_token.T, color="C0", alpha=0.4, lw=0.8)
        ax.plot(found.times, found.two_token.mean(axis=0), "k", label="mean")
        ax.set(title=f"linear part {linear:g}", xlabel="depth")
    axes[0].set_ylabel("0: aligned, 1/2: antipodal")
    axes[0].legend()
    result["figure"] = figure
    return result


if __name__ == "__main__":
    figure = main()["figure"]
    mfpde.save_figure(figure, "results/synchronisation_by_noise.pdf")
