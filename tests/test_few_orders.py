"""Matrix products for few orders against shtns, and against sums over single points."""

import numpy as np
import pytest

from mfpde import Sphere
from mfpde.geometry.few_orders import FewOrdersTransform
from mfpde.geometry.spherical_transform import SphericalTransform, degrees_and_orders

# The last two have more pairs of rings than a block, and a ring that is no power of 2.
CASES = [(32, 32, 2), (32, 64, 1), (48, 48, 15), (140, 288, 24), (150, 300, 37)]


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
