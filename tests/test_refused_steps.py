"""How the time loop comes back to a step size that was refused."""

from __future__ import annotations

import numpy as np

import mfpde
from mfpde.refused_steps import StepBelowRefused


def test_the_way_back_to_a_refused_step_is_slow_at_first_and_then_fast() -> None:
    below = StepBelowRefused()
    below.accept()
    assert below.step == np.inf
    below.refuse(2.0)
    tried = [below.step]
    for _ in range(30):
        below.accept()
        tried.append(below.step)
    assert all(step < 2.0 for step in tried[:5])
    assert tried[10] > 4.0
    assert tried[30] > 2e3
    for _ in range(10000):
        below.accept()
    assert below.step == np.inf


def test_late_descent_on_the_sphere_refuses_few_steps() -> None:
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(8.0),
        mfpde.Perceptron.random(5, 3, seed=7),
        direction="descent",
    )
    start = mfpde.uniform(mfpde.Sphere(32))
    run = mfpde.solve(equation, start, t_end=60.0, save_at=[60.0])
    assert 0 < run.statistics["rejected"] < run.statistics["steps"] / 15
