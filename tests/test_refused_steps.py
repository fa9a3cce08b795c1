"""A step that was refused leaves no trace in the solution."""

from __future__ import annotations

import numpy as np

import mfpde


def test_a_run_that_refuses_steps_ends_as_one_of_short_steps() -> None:
    """Late descent on the sphere, where stability limits the step."""
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(8.0),
        mfpde.Perceptron.random(5, 3, seed=7),
        direction="descent",
    )
    start = mfpde.uniform(mfpde.Sphere(32))
    runs = [
        mfpde.solve(
            equation,
            start,
            t_end=20.0,
            save_every=2.0,
            max_step=step,
            transport="spectral_donor_blended",
        )
        for step in (None, 0.02)
    ]
    free, short = runs
    assert free.statistics["rejected"] > 0
    assert free.mass_drift < 3e-14
    assert free.final.density.values.min() > 0
    assert (np.diff(free.energies) < 0).all()
    # 2.4e-5 measured: an error in time may be .3 of that of the grid, of some 1e-2 here.
    difference = free.final.density.masses - short.final.density.masses
    assert np.abs(difference).sum() < 1e-4
