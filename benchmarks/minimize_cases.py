"""Gap and cost of ``mfpde.minimize`` over spheres, activations, betas, weights and neurons.

Every combination once, with weights drawn at random (the same on each run).  The last cases
are hard: few or weak neurons leave most of the sphere nearly free, where F is flat and the
minimiser has many atoms or none.

For each case: kind, certified gap, also relative to the size of the energy that ``minimize``
compares it with (1 but for large weights, where rounding of V alone comes near 1e-12), and
the CPU time, also as a multiple of one product of two 1000 x 1000 matrices on the same core,
measured beside it.

    python -m benchmarks.minimize_cases [--quick]
"""

from __future__ import annotations

import argparse
import time
from itertools import product

import numpy as np

import mfpde
from mfpde.stationary.convex_energy import convex_energy

BETAS = (1.0, 5.0, 10.0, 25.0, 50.0)
SCALES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
NEURONS = (3, 5, 10)
SEED = 0
QUICK = 6
# Activation, beta, scale, seed and number of neurons on S^2.
HARD = (
    ("relu", 25.0, 0.1, 3, 3),
    ("gelu", 5.0, 0.2, 3, 3),
    ("relu", 1.0, 0.03, 2, 10),
    ("relu", 10.0, 0.03, 2, 3),
    ("gelu", 25.0, 0.1, 3, 3),
    ("relu", 10.0, 0.1, 2, 3),
    ("gelu", 5.0, 0.05, 2, 10),
    ("gelu", 5.0, 0.1, 862, 3),
    ("gelu", 10.0, 0.03, 643, 3),
    ("relu", 25.0, 0.03, 477, 3),
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


def sampled_cases():
    """Every combination once, each with its own random seed of the weights."""
    draws = np.random.default_rng(SEED)
    combinations = product((2, 3), ("relu", "gelu"), BETAS, SCALES, NEURONS)
    return [
        (d, name, beta, scale, int(draws.integers(1000)), units)
        for d, name, beta, scale, units in combinations
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a part of the cases only")
    is_quick = parser.parse_args().quick
    cases = sampled_cases()[:: QUICK if is_quick else 1]
    geometries = {2: mfpde.Circle(256), 3: mfpde.Sphere(64)}
    for d, geometry in geometries.items():  # compiled before the clock runs
        for name in ("relu", "gelu"):
            equation = case_equation(d, name, beta=1.0, scale=0.1, seed=0)
            mfpde.minimize(equation, geometry)
    print(
        "sphere activation beta scale seed neurons kind     pieces      gap relative"
        "  seconds  units"
    )
    found = [timed(geometries, case) for case in cases]
    hard = [] if is_quick else [timed(geometries, (3, *case)) for case in HARD]
    for d in (2, 3):
        rows = [row for case, row in zip(cases, found, strict=True) if case[0] == d]
        report(f"cases on S{d - 1}", rows)
    if hard:
        report("hard cases", hard)


def report(name, rows):
    """Print what the rows (gap, relative gap, seconds) have in common."""
    gaps, relative, seconds = np.array(rows).T
    print(
        f"{len(rows)} {name}: {(seconds < 1).mean():.1%} under a second, longest "
        f"{seconds.max():.2f} s; largest gap {gaps.max():.1e}, relative "
        f"{relative.max():.1e}"
    )


def timed(geometries, case):
    """Gap, relative gap and seconds of a case, printed."""
    d, name, beta, scale, seed, units = case
    equation = case_equation(d, name, beta=beta, scale=scale, seed=seed, units=units)
    unit = unit_of_time()
    start = time.process_time()
    found = mfpde.minimize(equation, geometries[d])
    taken = time.process_time() - start
    pieces = len(found.measure) if isinstance(found.measure, mfpde.Atoms) else 0
    relative = found.gap / convex_energy(equation, d, "minimize").scale
    print(
        f"S{d - 1:<5d} {name:10s} {beta:4g} {scale:5g} {seed:4d} {units:7d} "
        f"{found.kind:8s} {pieces:6d} {found.gap:8.1e} {relative:8.1e} {taken:8.3f} "
        f"{taken / unit:6.1f}",
        flush=True,
    )
    return found.gap, relative, taken


if __name__ == "__main__":
    main()
