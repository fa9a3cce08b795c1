"""A step that was refused leaves no trace in the solution, and no limit for ever."""

from __future__ import annotations

import numpy as np
import pytest

import mfpde
from mfpde.runs.step_control import StepControl, adapt


@pytest.mark.parametrize("refused", [1e-3, 2.0])
def test_the_step_after_a_refused_one_is_shorter_and_the_limit_ends(
    refused: float,
) -> None:
    accepted, control = adapt(StepControl(), refused, 1.0, is_cut=False)
    assert accepted
    assert control.ceiling == np.inf
    accepted, control = adapt(control, refused, 10.0, is_cut=False)
    assert not accepted
    assert control.step < refused
    limits = []
    while control.ceiling < np.inf:
        limits.append(control.ceiling)
        _, control = adapt(control, control.step, 0.1, is_cut=False)
    assert (np.diff(limits) > 0).all()


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
