"""Gap and cost of ``mfpde.minimize`` over spheres, activations, betas and weights.

The last cases are hard: few or weak neurons leave most of the sphere nearly free, where F is
flat and the minimiser has many atoms or none.

For each case: kind, certified gap, and the CPU time, also as a multiple of one product of two
1000 x 1000 matrices on the same core, measured beside it.

    python -m benchmarks.minimize_cases [--quick]
"""

from __future__ import annotations

import argparse
import time
from itertools import product

import numpy as np

import mfpde

BETAS = (1.0, 5.0, 10.0, 25.0, 50.0)
SCALES = (0.1, 0.3, 1.0, 3.0)
SEEDS = (0, 1)
# Activation, beta, scale, seed and number of neurons on S^2.
HARD = (
    ("relu", 25.0, 0.1, 3, 3),
    ("gelu", 5.0, 0.2, 3, 3),
    ("relu", 1.0, 0.03, 2, 10),
    ("relu", 10.0, 0.03, 2, 3),
    ("gelu", 25.0, 0.1, 3, 3),
    ("relu", 10.0, 0.1, 2, 3),
    ("gelu", 5.0, 0.05, 2, 10),
)


def case_equation(dimension, activation, *, beta, scale, seed, units=None):
    perceptron = mfpde.Perceptron.random(
        units or 2 * dimension,
        dimension,
        seed=seed,
        scale=scale,
        activation=activation,
    )
    return mfpde.MeanFieldEquation(
        mfpde.Attention(beta), perceptron, direction="descent"
    )


def unit_of_time():
    matrix = np.random.default_rng(0).standard_normal((1000, 1000))
    times = []
    for _ in range(3):
        start = time.process_time()
        matrix @ matrix
        times.append(time.process_time() - start)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed only")
    seeds = SEEDS[:1] if parser.parse_args().quick else SEEDS
    cases = [
        (d, name, beta, scale, seed, 2 * d)
        for d, name, beta, scale, seed in product(
            (2, 3), ("relu", "gelu"), BETAS, SCALES, seeds
        )
    ]
    geometries = {2: mfpde.Circle(256), 3: mfpde.Sphere(64)}
    for d, geometry in geometries.items():  # compiled before the clock runs
        equation = case_equation(d, "gelu", beta=1.0, scale=0.1, seed=0)
        mfpde.minimize(equation, geometry)
    print(
        "sphere activation beta scale seed neurons kind     pieces      gap  seconds"
        "  units"
    )
    found = [timed(geometries, case) for case in cases]
    hard = [timed(geometries, (3, *case)) for case in HARD]
    for name, rows in (("cases", found), ("hard cases", hard)):
        gaps, seconds = zip(*rows, strict=True)
        print(
            f"{len(rows)} {name}: largest gap {max(gaps):.1e}, longest {max(seconds):.2f} s"
        )


def timed(geometries, case):
    """Gap and seconds of a case, printed."""
    d, name, beta, scale, seed, units = case
    equation = case_equation(d, name, beta=beta, scale=scale, seed=seed, units=units)
    unit = unit_of_time()
    start = time.process_time()
    found = mfpde.minimize(equation, geometries[d])
    taken = time.process_time() - start
    pieces = len(found.measure) if isinstance(found.measure, mfpde.Atoms) else 0
    print(
        f"S{d - 1:<5d} {name:10s} {beta:4g} {scale:5g} {seed:4d} {units:7d} "
        f"{found.kind:8s} {pieces:6d} {found.gap:8.1e} {taken:8.3f} {taken / unit:6.1f}",
        flush=True,
    )
    return found.gap, taken


if __name__ == "__main__":
    main()
