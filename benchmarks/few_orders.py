"""What harmonics of few orders win against the transform of all orders.

    python benchmarks/few_orders.py

Times of moments and gradient by shtns, over those by matrix products, both in one process,
alternating; medians and quartiles of 21 pairs, on grids and for degrees of attention.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import mfpde
from mfpde.geometry.few_orders import FewOrdersTransform
from mfpde.geometry.spherical_transform import SphericalTransform

PAIRS = 21


def seconds(transform, masses: np.ndarray, repetitions: int) -> float:
    began = time.perf_counter()
    for _ in range(repetitions):
        transform.gradient(transform.moments(masses))
    return time.perf_counter() - began


def compared(make: Callable[[], tuple], masses: np.ndarray, repetitions: int) -> None:
    few, whole = make()
    for transform in (few, whole):
        seconds(transform, masses, 2)
    ratios = [
        seconds(whole, masses, repetitions) / seconds(few, masses, repetitions)
        for _ in range(PAIRS)
    ]
    low, middle, high = np.percentile(ratios, [25, 50, 75])
    print(f"{middle:.2f} (quartiles {low:.2f} {high:.2f})")


def main() -> None:
    print("time of all orders / time of few orders, moments and gradient together")
    for rings, repetitions in ((32, 400), (64, 200), (128, 60), (256, 15)):
        sphere = mfpde.Sphere(rings)
        masses = mfpde.perturbed_uniform(sphere, 0.2).masses
        for beta in (1.0, 5.0, 15.0):
            equation = mfpde.MeanFieldEquation(
                mfpde.Attention(beta), direction="ascent"
            )
            try:
                degree = equation.on(sphere).degree
            except ValueError:
                continue
            print(f"{rings:4d} rings, beta {beta:4g}, degree {degree:3d}: ", end="")
            shape = (*sphere.shape, degree)
            compared(
                lambda s=shape: (FewOrdersTransform(*s), SphericalTransform(*s)),
                masses,
                repetitions,
            )


if __name__ == "__main__":
    main()
