r"""Lost in the middle
==================

A causal mask with ALiBi reads the first and the last tokens best.

All tokens of a context start alike, and the last one reads.  S(s) says how much of the token at
the position s it still knows at the time t (arXiv 2605.09213).  The mask favours early tokens, as
their changes travel through all that come after; ALiBi favours late ones.  Until t_crit the
profile is a U with its least in the middle, from there on it falls all along.  About the uniform
density it is known in closed form, whose times are e times those of that paper at beta = 1.  The
same holds where nothing is uniform: softmax, a perceptron beside it, and a start with two heaps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde

SOURCES = np.linspace(0.005, 1.0, 200)
PAPER_TIMES = np.array([0.5, 1.0, 1.5, 2.0, 3.0])
TIMES = np.array([0.5, 1.0, 1.5, 2.0, 2.5, 3.0])


def two_heaps(points: np.ndarray) -> np.ndarray:
    """A density with a larger heap at angle 0 and a smaller one beside pi."""
    x, y = points[..., 0], points[..., 1]
    return np.asarray(1 + 0.4 * x + 0.5 * x**2 + 0.2 * x * y)


def main(num_cells: int = 128) -> dict[str, Any]:
    uniform = mfpde.theory.retrieval_profile(
        1.0, sources=SOURCES, times=np.e * PAPER_TIMES, alibi=[0.0, 1.0]
    )
    network = mfpde.MeanFieldEquation(
        mfpde.Attention(1.0, normalized=True),
        mfpde.Perceptron([[0.6, 0.8], [0.2, -0.5]], [0.15, -0.2], "tanh"),
        direction="ascent",
    )
    start = mfpde.Density.from_function(mfpde.Circle(num_cells), two_heaps)
    uneven = mfpde.retrieval_profile(
        network, start, sources=SOURCES, times=TIMES, alibi=[0.0, 1.0]
    )
    for name, profile in (("uniform", uniform), ("two heaps", uneven)):
        print(f"{name}: least at s = {profile.minimum[1].round(3)},")
        print(f"    U until t_crit = {profile.critical_times[1]:.6g}")
    return {"uniform": uniform, "uneven": uneven}


if __name__ == "__main__":
    result = main()
    figure = result["uniform"].plot()
    beyond = result["uneven"].plot()
