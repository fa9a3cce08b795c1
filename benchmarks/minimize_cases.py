"""Gap and cost of ``mfpde.minimize`` over spheres, activations, betas and weights.

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


def case_equation(dimension, activation, *, beta, scale, seed):
    perceptron = mfpde.Perceptron.random(
        2 * dimension, dimension, seed=seed, scale=scale, activation=activation
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
    geometries = {2: mfpde.Circle(256), 3: mfpde.Sphere(64)}
    worst_gap, longest, total = 0.0, 0.0, 0
    print("sphere activation beta scale seed kind     pieces      gap  seconds  units")
    for d, name, beta, scale, seed in product(
        (2, 3), ("relu", "gelu"), BETAS, SCALES, seeds
    ):
        equation = case_equation(d, name, beta=beta, scale=scale, seed=seed)
        unit = unit_of_time()
        start = time.process_time()
        found = mfpde.minimize(equation, geometries[d])
        taken = time.process_time() - start
        pieces = len(found.measure) if isinstance(found.measure, mfpde.Atoms) else 0
        print(
            f"S{d - 1:<5d} {name:10s} {beta:4g} {scale:5g} {seed:4d} {found.kind:8s} "
            f"{pieces:6d} {found.gap:8.1e} {taken:8.3f} {taken / unit:6.1f}",
            flush=True,
        )
        worst_gap, longest = max(worst_gap, found.gap), max(longest, taken)
        total += 1
    print(f"{total} cases: largest gap {worst_gap:.1e}, longest {longest:.2f} s")


if __name__ == "__main__":
    main()
