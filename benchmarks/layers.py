"""Time of a run of 24 layers over that of one run of the same length, densities and particles.

The layers are the same equation: once the same object, and once an object for each layer.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import mfpde

LAYERS, DEPTH = 24, 12.0


def seconds(run: Callable[[], mfpde.Run], repeats: int = 5) -> float:
    """Smallest time of a call."""
    run()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    print("geometry                          one [s]   24 layers   24 equations")
    for geometry in (mfpde.Circle(256), mfpde.Circle(2048), mfpde.Sphere(48)):
        neurons = mfpde.Perceptron.random(2, geometry.dimension, seed=1)
        terms = (mfpde.Attention(4.0), neurons)

        def equation(terms: tuple = terms) -> mfpde.MeanFieldEquation:
            return mfpde.MeanFieldEquation(*terms, direction="ascent")

        start = mfpde.perturbed_uniform(geometry, 0.3)
        same = equation()
        share = DEPTH / LAYERS
        cases = (
            same,
            mfpde.Layers([(same, share)] * LAYERS),
            mfpde.Layers([(equation(), share) for _ in range(LAYERS)]),
        )
        one, shared, own = (
            seconds(
                lambda c=case, s=start: mfpde.solve(c, s, t_end=DEPTH, save_at=[DEPTH])
            )
            for case in cases
        )
        print(
            f"{geometry!r:32} {one:8.3f} {shared / one:11.2f} {own / one:14.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
