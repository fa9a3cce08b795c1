"""What work arrays that are used again win on the sphere.

    python benchmarks/array_pool.py

Times of whole runs with new arrays, over those with arrays from the pool, both in one process,
alternating; medians and quartiles of 11 pairs.
"""

from __future__ import annotations

import time

import numpy as np

import mfpde
from mfpde.geometry.array_pool import ArrayPool

REUSED = ArrayPool.take
PAIRS = 11


def new_array(_pool: ArrayPool, *shape: int) -> np.ndarray:
    return np.empty(shape)


def main() -> None:
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(5.0),
        mfpde.Perceptron([[1.0, 0.2, 0.1]], [0.4]),
        direction="ascent",
    )
    for rings, t_end in ((64, 1.0), (128, 0.3), (256, 0.05)):
        start = mfpde.perturbed_uniform(mfpde.Sphere(rings), 0.2)

        def seconds(take, *, start=start, t_end=t_end) -> float:
            ArrayPool.take = take
            began = time.perf_counter()
            mfpde.solve(equation, start, t_end=t_end)
            return time.perf_counter() - began

        seconds(REUSED)
        ratios = [seconds(new_array) / seconds(REUSED) for _ in range(PAIRS)]
        low, middle, high = np.percentile(ratios, [25, 50, 75])
        print(
            f"{rings:4d} rings: new / reused {middle:.2f} (quartiles {low:.2f} {high:.2f})"
        )


if __name__ == "__main__":
    main()
