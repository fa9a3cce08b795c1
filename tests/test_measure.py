"""Measures and the circle's grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mfpde
from validation.circle_cases import density_of, poisson


@given(num_cells=st.integers(16, 400))
@settings(deadline=None, max_examples=30)
def test_circle_grid(num_cells: int) -> None:
    circle = mfpde.Circle(num_cells)
    np.testing.assert_allclose(np.linalg.norm(circle.points, axis=1), 1.0)
    assert circle.areas.sum() == pytest.approx(2 * np.pi)
    assert circle.points.shape == (num_cells, 2)
    assert circle.dimension == 2
    np.testing.assert_allclose(circle.points.sum(axis=0), 0, atol=1e-12)


@given(seed=st.integers(0, 1000), num_cells=st.sampled_from([32, 33, 200]))
@settings(deadline=None, max_examples=30)
def test_moments_synthesis_and_gradient(seed: int, num_cells: int) -> None:
    """Moments are sums over cells; a band-limited field comes back, with its slope."""
    generator = np.random.default_rng(seed)
    circle = mfpde.Circle(num_cells)
    degree = circle.max_degree
    masses = generator.random(num_cells)
    waves = np.exp(-1j * np.outer(np.arange(degree + 1), circle.angles))
    moments = circle.moments(masses, degree)
    np.testing.assert_allclose(moments, waves @ masses, atol=1e-12)
    np.testing.assert_allclose(
        circle.atom_moments(circle.points, masses, degree), moments, atol=1e-12
    )
    coefficients = generator.standard_normal(degree + 1) + 0j
    coefficients[1:] += 1j * generator.standard_normal(degree)
    values = circle.synthesis(coefficients)
    np.testing.assert_allclose(
        values, circle.field_at(coefficients, circle.points).values, atol=1e-11
    )
    assert circle.pairing(coefficients, moments) == pytest.approx(values @ masses)
    slopes = np.einsum(
        "ni,ni->n",
        circle.field_at(coefficients, circle.points).gradients,
        circle.tangents[0],
    )
    np.testing.assert_allclose(circle.gradient(coefficients)[0], slopes, atol=1e-9)


def test_heat_flow_is_positive_conservative_and_a_semigroup() -> None:
    circle = mfpde.Circle(128)
    masses = np.zeros(128)
    masses[40] = 1.0
    for time in (1e-6, 1e-3, 0.1, 10.0):
        flowed = circle.heat_flow(masses, time)
        assert flowed.min() >= 0
        assert flowed.sum() == pytest.approx(1.0, abs=1e-15)
    twice = circle.heat_flow(circle.heat_flow(masses, 0.02), 0.03)
    np.testing.assert_allclose(twice, circle.heat_flow(masses, 0.05), atol=1e-15)


def test_interpolation_keeps_mass_and_sign_and_is_spectral_for_smooth_data() -> None:
    coarse, fine = mfpde.Circle(64), mfpde.Circle(192)
    smooth = density_of(coarse, poisson(coarse.angles, 0.3))
    finer = smooth.interpolated(fine)
    np.testing.assert_allclose(finer.values, poisson(fine.angles, 0.3), atol=1e-9)
    values = np.zeros(64)
    values[[3, 4, 30]] = 1.0, 5.0, 2.0
    rough = density_of(coarse, values)
    finer = rough.interpolated(fine)
    assert finer.total_mass == pytest.approx(1.0, abs=1e-14)
    assert finer.values.min() >= 0
    assert mfpde.wasserstein(rough, finer) < coarse.spacing


def test_perturbed_uniform_has_its_amplitude_and_seed() -> None:
    circle = mfpde.Circle(256)
    density = mfpde.perturbed_uniform(circle, 0.2, seed=4)
    relative = density.values * 2 * np.pi - 1
    assert np.abs(relative).max() == pytest.approx(0.2, rel=1e-12)
    again = mfpde.perturbed_uniform(circle, 0.2, seed=4)
    np.testing.assert_array_equal(density.values, again.values)
    assert (
        np.abs(density.values - mfpde.perturbed_uniform(circle, 0.2, 5).values).max()
        > 0.01
    )


def test_measures_are_closed_for_writing() -> None:
    circle = mfpde.Circle(64)
    density = mfpde.uniform(circle)
    with pytest.raises(ValueError, match="read-only"):
        density.values[0] = 2
    with pytest.raises(AttributeError):
        density.values = np.ones(64)  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        circle.points[0] = 0


def test_total_mass_counts_density_and_atoms() -> None:
    circle = mfpde.Circle(64)
    half = mfpde.Density(circle, mfpde.uniform(circle).values / 2)
    measure = mfpde.Measure(half, mfpde.Atoms([[0.0, 1.0], [1.0, 0.0]], [0.3, 0.2]))
    assert measure.total_mass == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("value", [1e308, 1e-320, 5e-324, 3.0])
def test_values_of_any_size_are_normalised_to_mass_one(value: float) -> None:
    """Sums that overflow, or numbers that hold few digits, change nothing."""
    for grid in (mfpde.Circle(64), mfpde.Sphere(32), mfpde.Zonal(5, 64)):
        density = mfpde.Density(grid, np.full(grid.shape, value)).normalized()
        expected = mfpde.uniform(grid)
        assert density.total_mass == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_allclose(density.values, expected.values, rtol=1e-14)
    peak = np.zeros(64)
    peak[3:5] = value, value / 4
    found = mfpde.Density(mfpde.Circle(64), peak).normalized()
    assert found.total_mass == pytest.approx(1.0, abs=1e-14)


def test_a_density_of_no_mass_cannot_be_normalised() -> None:
    with pytest.raises(ValueError, match="total mass 0"):
        mfpde.Density(mfpde.Circle(16), np.zeros(16)).normalized()
