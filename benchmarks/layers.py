"""Time of a run of 24 layers over that of one run of the same length, medians in turns.

The layers are the same equation: once the same object, and once an object for each layer,
for which everything that belongs to an equation on a grid is set up anew.  On the sphere the one
run names the scheme that layers have.
"""

from __future__ import annotations

from functools import partial

from results_table import in_turns

import mfpde

LAYERS, DEPTH = 24, 12.0
REPETITIONS = 9
GRIDS = (
    mfpde.Circle(256),
    mfpde.Circle(1024),
    mfpde.Sphere(48),
    mfpde.Sphere(64),
    mfpde.Sphere(96),
)


def main() -> None:
    """Print a row for each grid."""
    print("geometry                          one [s]   24 layers   24 equations")
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
        transport = "spectral_donor_blended" if geometry.dimension == 3 else None
        options = {"t_end": DEPTH, "save_at": [DEPTH], "transport": transport}
        works = [partial(mfpde.solve, case, start, **options) for case in cases]
        one, shared, own = (timing.median for timing in in_turns(works, REPETITIONS))
        print(
            f"{geometry!r:32} {one:8.3f} {shared / one:11.2f} {own / one:14.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
