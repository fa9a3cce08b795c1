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
from mfpde.stationary.gibbs.finding import descend, needed_degree
from mfpde.stationary.gibbs.state import GibbsProblem, GibbsState
from mfpde.theory import eigenvalues

PAPER = mfpde.Perceptron.random(3, 3, seed=111)
FINE = mfpde.Sphere(128)
COARSE = mfpde.uniform(mfpde.Circle(32))
AXIS = np.array([0.6, 0.48, 0.64])


def noisy(beta, kappa, direction, *terms):
    of = ascent if direction == "ascent" else descent
    return of(beta, *terms, diffusion=kappa)


def problem_of(equation, density):
    return GibbsProblem(
        equation=equation,
        geometry=density.geometry,
        mass=density.total_mass,
        degree=needed_degree([equation], density),
    )


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
def test_the_gap_in_descent_is_that_of_the_dual_problem(mass):
    r"""Phi[rho] + Psi(c) + constant = |G(c)|^2 / 2 for every c, and 0 at the minimum."""
    beta, kappa, sphere = 4.0, 0.02, mfpde.Sphere(64)
    equation = noisy(beta, kappa, "descent", PAPER)
    start = mfpde.Density(sphere, mass * bump(sphere).values)
    problem = problem_of(equation, start)
    constant = kappa * mass * np.log(mass / (4 * np.pi))
    constant += eigenvalues(beta, 3, 0) / beta * mass**2 / 2

    def gap(state):
        return equation.lyapunov_function(state.density) + state.potential - constant

    end, _ = descend(GibbsState(problem, problem.coefficients(start)))
    assert abs(gap(end)) <= 1e-14
    generator = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1):
        change = size * problem.roots * generator.standard_normal(len(problem.roots))
        state = GibbsState(problem, end.coefficients + change)
        expected = state.size**2 / 2
        assert gap(state) == pytest.approx(expected, rel=1e-9, abs=2e-15)
        # It is a bound.
        above = equation.lyapunov_function(state.density)
        above -= equation.lyapunov_function(end.density)
        assert above <= expected + 1e-14


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
    degree = needed_degree([found.equation], found.density)
    assert len(everything) == (degree + 1) ** 2 - 1
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


@pytest.mark.parametrize(
    ("equation", "start", "message"),
    [
        (noisy(4.0, 0.0, "ascent"), COARSE, r"diffusion = 0.*polish"),
        (noisy(4.0, 0.1, "ascent"), mfpde.Atoms([[1.0, 0.0]]), "atoms dissolve"),
        (
            ascent(4.0, diffusion=0.1, normalized=True),
            COARSE,
            "unnormalised attention only",
        ),
        (noisy(400.0, 0.1, "ascent"), COARSE, "too coarse"),
        (noisy(4.0, 0.1, "ascent", PAPER), COARSE, "directions have 3 entries"),
    ],
)
def test_wrong_arguments_are_refused(equation, start, message):
    with pytest.raises(ValueError, match=message):
        mfpde.stationary_density(equation, start)
