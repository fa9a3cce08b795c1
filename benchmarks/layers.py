"""Time of a run of 24 layers over that of one run of the same length, medians in turns.

The layers are the same equation: once the same object, and once an object for each layer,
for which everything that belongs to an equation on a grid is set up anew.  Then what labels win
over fluxes in layers on the sphere: errors of moments up to degree 8, beside those of labels on a
finer grid that an independent integrator moves, and times.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from results_table import in_turns

import mfpde
from mfpde.particles.labels import labels_of

LAYERS, DEPTH = 24, 12.0
REPETITIONS = 9
GRIDS = (
    mfpde.Circle(256),
    mfpde.Circle(1024),
    mfpde.Sphere(48),
    mfpde.Sphere(64),
    mfpde.Sphere(96),
)


RINGS, FINE_RINGS = 48, 96
DEGREE = 8


def random_layers(seed: int, count: int, duration: float, kind: str) -> mfpde.Layers:
    """Layers of attention and two random neurons, every third of them in descent."""
    pairs = []
    for number in range(count):
        neurons = mfpde.Perceptron.random(2, 3, seed=100 * seed + number)
        given = mfpde.Perceptron(neurons.directions, neurons.weights, kind)
        terms = (mfpde.Attention(5.0), given)
        direction = "ascent" if number % 3 else "descent"
        pairs.append((mfpde.MeanFieldEquation(*terms, direction=direction), duration))
    return mfpde.Layers(pairs)


def bumps(sphere: mfpde.Sphere) -> mfpde.Density:
    """A smooth start without symmetries."""
    return mfpde.Density.from_function(
        sphere, lambda x: np.exp(0.5 * x[..., 0] + x[..., 1] * x[..., 2])
    )


def print_errors() -> None:
    """Print a row for each random network."""
    print("\nnetwork                    error: labels   fluxes   ratio   time")
    coarse, fine = mfpde.Sphere(RINGS), mfpde.Sphere(FINE_RINGS)
    for seed in (1, 2, 3):
        for kind in ("gelu", "relu"):
            for count, duration in ((6, 1.0), (24, 0.3)):
                layers = random_layers(seed, count, duration, kind)
                nodes = labels_of(bumps(fine))
                last = mfpde.solve_particles(layers, nodes, save_at=[layers.depth])
                moved = last.final
                wanted = fine.atom_moments(moved.points, moved.masses, DEGREE)
                options = {"save_at": [layers.depth]}
                works = [
                    partial(
                        mfpde.solve, layers, bumps(coarse), transport=name, **options
                    )
                    for name in ("spectral_labels", "spectral_donor_blended")
                ]
                labels, fluxes = (
                    np.abs(coarse.moments(work().final.density.masses, DEGREE) - wanted)
                    for work in works
                )
                errors = labels.max(), fluxes.max()
                times = [timing.median for timing in in_turns(works, 5)]
                print(
                    f"seed {seed}, {kind}, {count:2d} layers of {duration:3.1f}"
                    f"{errors[0]:12.1e} {errors[1]:8.1e} {errors[1] / errors[0]:7.1f} "
                    f"{times[0] / times[1]:6.2f}",
                    flush=True,
                )


def main() -> None:
    """Print two rows for each grid, and one for each network on the sphere."""
    print(
        "geometry                         saved    one [s]   24 layers   24 equations"
    )
    for geometry in GRIDS:
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
        for saved, options in (("once", {"save_at": [DEPTH]}), ("default", {})):
            works = [
                partial(mfpde.solve, case, start, t_end=DEPTH, **options)
                for case in cases
            ]
            one, shared, own = (
                timing.median for timing in in_turns(works, REPETITIONS)
            )
            print(
                f"{geometry!r:32} {saved:7} {one:8.3f} {shared / one:11.2f}"
                f" {own / one:14.2f}",
                flush=True,
            )
    print_errors()


if __name__ == "__main__":
    main()
