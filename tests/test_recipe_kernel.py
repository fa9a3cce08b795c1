"""A kernel added by its recipe: one class with ``value`` and ``slope``, in one file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import mfpde
from mfpde.arrays import FloatArray
from mfpde.stationary.certification import certificate
from mfpde.terms import PointMasses
from mfpde.theory import eigenvalues


@dataclass(frozen=True)
class Polynomial(mfpde.Kernel):
    """W(u) = c_0 + c_1 u + c_2 u^2 + ..."""

    coefficients: tuple[float, ...]

    def value(self, cosines: FloatArray) -> FloatArray:
        return np.polynomial.Polynomial(self.coefficients)(cosines)

    def slope(self, cosines: FloatArray) -> FloatArray:
        return np.polynomial.Polynomial(self.coefficients).deriv()(cosines)


CUBIC = Polynomial((0.1, 0.6, 0.3, 0.2))
NEURONS = {
    2: mfpde.Perceptron([[0.4, -0.2]], [0.5], "gelu"),
    3: mfpde.Perceptron([[0.4, -0.2, 0.1]], [0.5], "gelu"),
}


def equation(dimension: int = 2, direction: str = "ascent") -> mfpde.MeanFieldEquation:
    return mfpde.MeanFieldEquation(
        mfpde.Interaction(CUBIC), NEURONS[dimension], direction=direction
    )


def by_hand(points: FloatArray, masses: FloatArray, dimension: int) -> FloatArray:
    """The velocity at atoms, written out."""
    slopes = CUBIC.slope(points @ points.T)
    pulls = (slopes * masses) @ points + NEURONS[dimension].drift(points)
    return pulls - (pulls * points).sum(axis=1)[:, np.newaxis] * points


@pytest.mark.parametrize("dimension", [2, 3])
def test_density_particles_and_atoms_have_the_same_field(dimension) -> None:
    rng = np.random.default_rng(5)
    points = rng.normal(size=(40, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    masses = rng.dirichlet(np.ones(40))
    atoms = mfpde.Atoms(points, masses)
    exact = by_hand(points, masses, dimension)
    grid = mfpde.Circle(64) if dimension == 2 else mfpde.Sphere(32)
    both = mfpde.Measure(mfpde.Density(grid, np.zeros(grid.shape)), atoms)
    problem = equation(dimension)
    assert np.abs(problem.velocity(atoms) - exact).max() < 1e-14
    assert np.abs(problem.velocity(both, points) - exact).max() < 1e-13
    values = CUBIC.value(points @ points.T) @ masses + NEURONS[dimension].value(points)
    assert np.abs(problem.first_variation(both, points) - values).max() < 1e-13
    pairing = masses @ CUBIC.value(points @ points.T) @ masses / 2
    energy = pairing + masses @ NEURONS[dimension].value(points)
    for measure in (atoms, both):
        assert problem.energy(measure) == pytest.approx(energy, abs=1e-14)


@pytest.mark.parametrize("method", ["direct", "spectral"])
def test_two_atoms_move_as_their_equation_says(method) -> None:
    """Density (exact atoms), direct and spectral particles, and an equation of one angle."""
    shifted = mfpde.MeanFieldEquation(mfpde.Interaction(CUBIC), direction="ascent")
    angles, masses = np.array([0.3, 1.9]), np.array([0.35, 0.65])
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    # The distance obeys D' = -(m_1 + m_2) W'(cos D) sin D.
    found = solve_ivp(
        lambda _, d: -CUBIC.slope(np.cos(d)) * np.sin(d),
        (0, 1),
        [1.6],
        rtol=1e-12,
        atol=1e-13,
    )
    distance = found.y[0, -1]
    start = mfpde.Atoms(points, masses)
    particles = mfpde.solve_particles(
        shifted, start, t_end=1.0, method=method, rtol=1e-8, atol=1e-10
    )
    grid = mfpde.Circle(128)
    whole = mfpde.Measure(mfpde.Density(grid, np.zeros(grid.shape)), start)
    run = mfpde.solve(shifted, whole, t_end=1.0, atoms="exact")
    for end in (particles.final.points, run.final.atoms.points):
        assert np.arccos(end[0] @ end[1]) == pytest.approx(distance, abs=1e-8)


def test_a_density_moves_as_its_particles_do() -> None:
    grid = mfpde.Circle(256)
    start = mfpde.perturbed_uniform(grid, 0.3, seed=1)
    run = mfpde.solve(equation(), start, t_end=1.0)
    particles = mfpde.solve_particles(equation(), start, t_end=1.0, count=4000)
    # Both are second order: cells of 0.025, steps of mass 2.5e-4.
    assert mfpde.wasserstein(run.final, particles.final) < 2e-3
    assert run.mass_drift < 1e-12
    assert (np.diff(run.energies) >= -1e-12).all()


def test_stationary_atoms_are_polished() -> None:
    problem = equation(3)
    places = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0], [-0.6, 0.8, 0.0]])
    start = mfpde.Atoms(places, np.array([0.5, 0.3, 0.2]))
    run = mfpde.solve_particles(problem, start, t_end=600.0, rtol=1e-8, atol=1e-10)
    found = mfpde.polish(problem, run.final)
    assert found.residual < 1e-13
    assert np.abs(by_hand(found.atoms.points, found.atoms.masses, 3)).max() < 1e-13


def test_no_certificate_without_bounds() -> None:
    problem = equation(2, "descent")
    atoms = mfpde.Atoms(np.array([[1.0, 0.0]]), np.ones(1))
    for asked in (
        lambda: certificate(problem, atoms),
        lambda: mfpde.minimize(problem, mfpde.Circle(64)),
    ):
        with pytest.raises(
            ValueError, match=r"bounds of the kernel's derivatives.*Polynomial"
        ):
            asked()


def test_what_is_known_of_attention_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="known for Attention alone"):
        _ = equation().attentions


def test_a_grid_too_coarse_is_refused() -> None:
    steep = mfpde.Interaction(Polynomial((0.0,) * 30 + (1.0,)))
    problem = mfpde.MeanFieldEquation(steep, direction="ascent")
    with pytest.raises(ValueError, match="degrees up to 30"):
        problem.on(mfpde.Circle(32))


def test_a_kernel_that_jumps_has_no_series() -> None:
    jump = mfpde.Interaction(mfpde.ZonalKernel(np.sign, np.zeros_like))
    problem = mfpde.MeanFieldEquation(jump, direction="ascent")
    with pytest.raises(ValueError, match="not smooth enough"):
        problem.on(mfpde.Circle(64))


@settings(max_examples=20, deadline=None)
@given(beta=st.floats(0.5, 30.0), dimension=st.integers(2, 8))
def test_quadrature_finds_the_spectrum_of_attention(beta, dimension) -> None:
    kernel = mfpde.ZonalKernel(
        lambda u: np.exp(beta * (u - 1)), lambda u: beta * np.exp(beta * (u - 1))
    )
    found = kernel.spectrum(dimension, 20)
    assert np.abs(found - eigenvalues(beta, dimension, range(21))).max() < 1e-13
    counted = kernel.spectrum(dimension, 20, counted=True)
    expected = beta * mfpde.Exponential(beta).spectrum(dimension, 20, counted=True)
    assert np.abs(counted - expected).max() < 1e-11
    assert kernel.sharpness == pytest.approx(beta, rel=1e-6)


@pytest.mark.parametrize("normalized", [False, True])
def test_attention_as_a_kernel_of_two_functions(normalized) -> None:
    """The general path agrees with that of attention."""
    beta = 4.0
    attention = mfpde.Attention(beta, normalized=normalized)

    class Asked(mfpde.Attention):
        """Attention whose kernel is another: a subclass is asked, everywhere."""

        @property
        def zonal_kernel(self):
            return mfpde.Exponential(2 * self.beta)

    rng = np.random.default_rng(2)
    points = rng.normal(size=(5, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    atoms = mfpde.Atoms(points, rng.dirichlet(np.ones(5)))
    general = mfpde.Interaction(
        mfpde.ZonalKernel(
            lambda u: np.exp(beta * (u - 1)) / beta, lambda u: np.exp(beta * (u - 1))
        )
    )
    first, second = (
        mfpde.MeanFieldEquation(term, NEURONS[3], direction="ascent")
        for term in (attention, general)
    )
    if not normalized:
        difference = first.velocity(atoms) - second.velocity(atoms)
        assert np.abs(difference).max() < 1e-14
        runs = [
            mfpde.solve(e, mfpde.perturbed_uniform(mfpde.Circle(96), 0.2), t_end=0.5)
            for e in (
                mfpde.MeanFieldEquation(attention, direction="ascent"),
                mfpde.MeanFieldEquation(general, direction="ascent"),
            )
        ]
        ends = [run.final.density.values for run in runs]
        assert np.abs(ends[0] - ends[1]).max() < 1e-10
    sharp = mfpde.Attention(2 * beta)
    masses = PointMasses(atoms.points, atoms.masses)
    np.testing.assert_array_equal(
        Asked(beta).pull_between_atoms(masses), sharp.pull_between_atoms(masses)
    )
