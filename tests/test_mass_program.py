"""The best masses on given points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfpde.stationary.mass_program import best_masses


def random_problem(seed, count):
    """A Gaussian kernel matrix on random points of the sphere, and a potential."""
    draws = np.random.default_rng(seed)
    points = draws.standard_normal((count, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    beta = draws.choice([20.0, 100.0])
    kernel = np.exp(beta * (points @ points.T - 1)) / beta
    return kernel, draws.standard_normal(count) * 0.1 / beta


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 60))
def test_best_masses_leave_no_point_below_the_level(seed, count):
    kernel, potential = random_problem(seed, count)
    start = np.zeros(count)
    start[seed % count] = 1.0
    masses = best_masses(kernel, potential, start)
    assert masses.min() >= 0
    assert masses.sum() == pytest.approx(1.0, abs=1e-14)
    field = kernel @ masses + potential
    level = float(masses @ field)
    assert field.min() >= level - 1e-13
    np.testing.assert_allclose(field[masses > 0], level, rtol=0, atol=1e-13)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 30), depth=st.floats(0, 300))
def test_masses_lie_at_the_bottom_of_a_potential_of_any_depth(seed, count, depth):
    kernel, potential = random_problem(seed, count)
    start = np.full(count, 1.0 / count)
    masses = best_masses(kernel, 10.0**depth * (potential - 1.0), start)
    assert masses.min() >= 0
    assert masses.sum() == pytest.approx(1.0, abs=1e-14)
    if depth > 20:
        assert masses[np.argmin(potential)] == 1.0
