"""Faults of a solver, of which ``python -m validation.saboteurs`` shows who notices them."""

import numpy as np
import pytest
from equations import ascent

import mfpde
from validation.saboteurs import FAULTS, sabotage

CIRCLE = mfpde.Circle(128)
NEURONS = mfpde.Perceptron([[1.0, 0.0], [0.0, 1.0]], [0.5, -0.3])
EQUATION = ascent(4.0, NEURONS)
START = mfpde.perturbed_uniform(CIRCLE, 0.3, seed=1)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_changes_the_run_and_nothing_else(fault) -> None:
    times = {"t_end": 3.0, "save_at": [0.0, 3.0]}
    sound = mfpde.solve(EQUATION, START, **times)
    particles = mfpde.solve_particles(EQUATION, START, t_end=1.0, count=50)
    solve = mfpde.solve
    with sabotage(fault):
        run = mfpde.solve(EQUATION, START, **times)
        others = mfpde.solve_particles(EQUATION, START, t_end=1.0, count=50)
    assert mfpde.solve is solve
    np.testing.assert_array_equal(others.final.points, particles.final.points)
    assert run.equation is EQUATION
    final, before = (r.final.density.values for r in (run, sound))
    assert np.array_equal(final, before) == (fault.name == "energy")
    assert not np.allclose(run.energies, sound.energies, rtol=0, atol=1e-15)
    first = run.states[0].density.values
    np.testing.assert_array_equal(first, START.values)
