"""Stationary densities with diffusion: exactness, duality, symmetry, stability.

The witnesses are the field of the equation on its grid, which shares no harmonics of low
degree with Newton's method, matrices of the linearised equation, the spectrum of the uniform
state in closed form, and runs in time.
"""

from __future__ import annotations

import numpy as np
import pytest
from equations import ascent, descent

import mfpde
from mfpde.theory import eigenvalues

PAPER = mfpde.Perceptron.random(3, 3, seed=111)
FINE = mfpde.Sphere(128)
AXIS = np.array([0.6, 0.48, 0.64])


def noisy(beta, kappa, direction, *terms):
    of = ascent if direction == "ascent" else descent
    return of(beta, *terms, diffusion=kappa)


def bump(geometry, concentration=3.0):
    axis = AXIS[-geometry.dimension :]
    return mfpde.Density.from_function(
        geometry, lambda x: np.exp(concentration * x @ axis)
    )


def imbalance(state):
    """Range of s F - kappa log rho, by the field of the equation on the grid."""
    equation = state.equation
    field = equation.sign * equation.first_variation(state.density)
    return np.ptp(field - equation.diffusion * np.log(state.density.values))


@pytest.mark.parametrize("direction", ["descent", "ascent"])
@pytest.mark.parametrize("kappa", [0.1, 0.02, 0.005])
@pytest.mark.parametrize("beta", [4.0, 8.0, 16.0])
def test_the_papers_neurons_on_the_sphere(beta, kappa, direction):
    equation = noisy(beta, kappa, direction, PAPER)
    found = mfpde.stationary_density(equation, mfpde.uniform(FINE))
    assert found.converged
    assert found.residual <= 1e-13
    assert found.iterations <= 15
    assert imbalance(found) <= 1e-13
    assert found.density.total_mass == pytest.approx(1.0, abs=1e-14)
    assert found.unstable_dimension == 0
    assert found.symmetry_dimension == 0
    if direction == "descent":
        assert 0 <= found.gap <= 1e-14
    else:
        assert found.gap is None


@pytest.mark.parametrize("mass", [1.0, 0.7])
def test_no_density_is_below_the_state_of_descent(mass):
    """By more than its gap, which is that of the dual problem."""
    equation, sphere = noisy(4.0, 0.02, "descent", PAPER), mfpde.Sphere(64)
    start = mfpde.Density(sphere, mass * bump(sphere).values)
    found = mfpde.stationary_density(equation, start)
    assert found.density.total_mass == pytest.approx(mass, abs=1e-14)
    assert 0 <= found.gap <= 1e-14
    least = equation.lyapunov_function(found.density)
    for size in (0.0, 1e-6, 1e-3, 1e-2, 0.1):
        rough = np.random.default_rng(0).standard_normal(sphere.shape)
        waves = mfpde.perturbed_uniform(sphere, 0.5, seed=1).values * 4 * np.pi - 1
        for change in (rough, waves, -waves):
            values = found.density.values * np.exp(size * change)
            rival = mfpde.Density(sphere, mass * values).normalized()
            rival = mfpde.Density(sphere, mass * rival.values)
            assert equation.lyapunov_function(rival) >= least - found.gap - 1e-15


@pytest.mark.parametrize(
    ("beta", "kappa", "grid"),
    [
        (4.0, 0.02, FINE),
        (8.0, 0.005, FINE),
        (16.0, 0.001, FINE),
        (5.0, 0.02, mfpde.Circle(256)),
        (5.0, 0.02, mfpde.Circle(8192)),
    ],
)
def test_rotations_are_eigenvectors_with_eigenvalue_zero(beta, kappa, grid):
    found = mfpde.stationary_density(noisy(beta, kappa, "ascent"), bump(grid))
    assert found.residual <= 1e-13
    assert found.symmetry_dimension == grid.dimension - 1
    for mode in found.rotation_modes.T:
        assert np.linalg.norm(found.product(mode)) <= 1e-10
    assert found.unstable_dimension == 0
    assert found.strict_margin > 0.1
    if grid is not FINE:
        assert imbalance(found) <= 1e-13


@pytest.mark.parametrize(("beta", "kappa"), [(4.0, 0.02), (8.0, 0.005), (16.0, 0.001)])
def test_unstable_directions_of_the_uniform_state(beta, kappa):
    """Mu = M lambda_l / (beta kappa) with the multiplicity 2 l + 1."""
    sphere = mfpde.Sphere(64)
    found = mfpde.stationary_density(
        noisy(beta, kappa, "ascent"), mfpde.uniform(sphere)
    )
    assert found.order < 1e-14
    degrees = np.arange(1, 12)
    expected = eigenvalues(beta, 3, range(1, 12)) / (beta * kappa)
    expected = np.repeat(expected, 2 * degrees + 1)
    assert found.unstable_dimension == (expected > 1).sum() > 0
    assert found.strict_margin == pytest.approx(1 - expected.max(), rel=1e-10)
    values = found.leading
    count = int((expected > 0.5).sum())
    np.testing.assert_allclose(values[:count], expected[:count], rtol=1e-9)


@pytest.mark.parametrize("case", ["neurons", "one bump", "uniform"])
def test_counts_are_those_of_the_matrix(case):
    sphere = mfpde.Sphere(64)
    kappa = 0.001 if case == "uniform" else 0.02
    neurons = [PAPER] if case == "neurons" else []
    start = mfpde.uniform(sphere) if case == "uniform" else bump(sphere)
    found = mfpde.stationary_density(noisy(5.0, kappa, "ascent", *neurons), start)
    assert found.residual <= 1e-13
    everything = np.linalg.eigvalsh(found.hessian)
    assert np.sqrt(len(everything) + 1) % 1 == 0
    is_zero = np.abs(everything) <= 1e-10
    assert is_zero.sum() == found.symmetry_dimension
    assert found.unstable_dimension == (everything < -1e-11).sum()
    assert found.strict_margin == pytest.approx(everything[~is_zero].min(), abs=1e-9)
    assert (found.unstable_dimension > 0) == (case == "uniform")


def test_nearly_uniform_starts_leave_the_unstable_state():
    sphere = mfpde.Sphere(48)
    values = 1 + 1e-9 * sphere.points @ AXIS
    found = mfpde.stationary_density(
        noisy(4.0, 0.02, "ascent"), mfpde.Density(sphere, values).normalized()
    )
    assert found.is_second_order
    assert found.order > 0.5
