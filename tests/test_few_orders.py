"""Matrix products for few orders against shtns, and against sums over single points."""

import numpy as np
import pytest

from mfpde import Sphere
from mfpde.geometry.few_orders import FewOrdersTransform
from mfpde.geometry.spherical_transform import SphericalTransform, degrees_and_orders

# Rings too short for a whole octet, of a quarter that is odd or no multiple of 8, and pairs
# of rings of which the last block has one, two or three.
CASES = [
    (32, 32, 2),
    (32, 64, 1),
    (48, 48, 15),
    (34, 60, 16),
    (36, 72, 1),
    (100, 200, 29),
    (120, 240, 60),
    (128, 256, 29),
    (140, 288, 24),
    (150, 300, 37),
]


def random_coefficients(degree, seed=0):
    l, m = degrees_and_orders(degree)
    real, imaginary = np.random.default_rng(seed).normal(size=(2, len(l)))
    return (real + 1j * np.where(m == 0, 0.0, imaginary)) / (1 + l)


@pytest.mark.parametrize(("nlat", "nlon", "degree"), CASES)
def test_moments_are_sums_over_the_centres(nlat, nlon, degree):
    sphere = Sphere(nlat, nlon)
    masses = np.random.default_rng(0).random(sphere.shape)
    masses /= masses.sum()
    moments = FewOrdersTransform(nlat, nlon, degree).moments(masses)
    points = sphere.points.reshape(-1, 3)
    expected = sphere.atom_moments(points, masses.ravel(), degree)
    np.testing.assert_allclose(moments, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("nlat", "nlon", "degree"), CASES)
def test_fields_are_those_of_shtns(nlat, nlon, degree):
    few = FewOrdersTransform(nlat, nlon, degree)
    many = SphericalTransform(nlat, nlon, degree)
    coefficients = random_coefficients(degree)
    for name in ("synthesis", "gradient"):
        result = getattr(few, name)(coefficients)
        expected = getattr(many, name)(coefficients)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(result, expected, rtol=0, atol=2e-13 * scale)


@pytest.mark.parametrize(("nlat", "nlon", "degree"), CASES)
def test_gradient_next_to_the_poles_is_that_at_single_points(nlat, nlon, degree):
    sphere = Sphere(nlat, nlon)
    coefficients = random_coefficients(degree)
    components = FewOrdersTransform(nlat, nlon, degree).gradient(coefficients)
    for ring in (0, 1, nlat - 1):
        _, gradient = sphere.field_at(coefficients, sphere.points[ring])
        expected = np.einsum("aji,ji->aj", sphere.tangents[:, ring], gradient)
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(
            components[:, ring], expected, rtol=0, atol=2e-13 * scale
        )


def test_what_is_not_finite_stays_so():
    masses = np.ones((48, 48))
    masses[3, 5] = np.nan
    assert np.isnan(FewOrdersTransform(48, 48, 9).moments(masses)).all()


def test_moments_of_equal_halves_vanish_exactly():
    half = np.random.default_rng(0).random((24, 96))
    moments = FewOrdersTransform(48, 96, 20).moments(np.concatenate([half, half[::-1]]))
    l, m = degrees_and_orders(20)
    assert (moments[(l - m) % 2 == 1] == 0.0).all()


def test_fields_are_added_to_gradients():
    transform = FewOrdersTransform(50, 100, 12)
    coefficients = random_coefficients(12)
    added = np.random.default_rng(1).normal(size=(2, 50, 100))
    expected = transform.gradient(coefficients) + added
    for layout in (added, np.asfortranarray(added)):
        result = transform.gradient(coefficients, layout)
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-14)


def test_what_one_call_leaves_does_not_reach_the_next():
    transform = FewOrdersTransform(50, 100, 12)
    masses = np.random.default_rng(1).random((50, 100))
    expected = transform.moments(masses)
    assert np.isnan(transform.moments(np.full((50, 100), np.nan))).all()
    np.testing.assert_array_equal(transform.moments(masses), expected)
    coefficients = random_coefficients(12)
    fields = transform.synthesis(coefficients), transform.gradient(coefficients)
    transform.synthesis(np.full(len(coefficients), np.nan, dtype=complex))
    transform.gradient(np.full(len(coefficients), np.nan, dtype=complex))
    np.testing.assert_array_equal(transform.synthesis(coefficients), fields[0])
    np.testing.assert_array_equal(transform.gradient(coefficients), fields[1])
