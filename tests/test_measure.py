"""Measures and the circle's grid."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import sph_harm_y

import mfpde
from mfpde import Atoms, Circle, Density, Sphere
from mfpde.measures.clouds import join_clusters, moments_about
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
    rates = np.log(np.abs(circle.moments(twice, 3)[1:])) / -0.05
    np.testing.assert_allclose(rates, [1, 4, 9], rtol=2e-3)


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


GRID = Sphere(64)
DEGREE = 30


def random_atoms(count, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((count, 3))
    points[0] = [0, 0, 1]
    points[1] = [1e-5, -2e-6, -1]
    return Atoms(
        points / np.linalg.norm(points, axis=1, keepdims=True), rng.random(count) + 0.1
    )


def smooth_density(sphere):
    return Density.from_function(
        sphere, lambda x: np.exp(3 * x[..., 0]) + x[..., 2] ** 2 + x[..., 1] + 2
    )


@pytest.mark.parametrize(
    "sphere", [Sphere(32), Sphere(96), Sphere(50), Sphere(64, 160)], ids=repr
)
def test_cells_cover_the_sphere_and_contain_their_centres(sphere):
    assert sphere.areas.sum() == pytest.approx(4 * np.pi, rel=1e-14)
    np.testing.assert_allclose(np.linalg.norm(sphere.points, axis=-1), 1, rtol=1e-15)
    faces = sphere.rings.face_colatitudes
    assert (faces[:-1] < sphere.colatitudes).all()
    assert (sphere.colatitudes < faces[1:]).all()
    heights = 2 * np.pi * -np.diff(np.cos(faces))
    np.testing.assert_allclose(heights, sphere.areas.sum(axis=1), atol=1e-13)
    assert (sphere.nlon % sphere.rings.group_sizes == 0).all()
    frame = np.stack([*sphere.tangents, sphere.points])
    gram = np.einsum("a...i,b...i->...ab", frame, frame)
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(3), gram.shape), atol=1e-14)


@pytest.mark.parametrize("nlat", [32, 128, 512])
def test_weights_are_those_of_gauss_also_near_the_poles(nlat):
    """Exact for ((1 + z) / 2)^(2 nlat - 1), most of which lies on the first rings."""
    rings = Sphere(nlat).rings
    degree = 2 * nlat - 1
    values = np.cos(rings.colatitudes / 2) ** (2 * degree)
    assert rings.weights @ values == pytest.approx(2 / (degree + 1), rel=1e-13)


def test_moments_of_atoms_are_sums_of_conjugate_harmonics():
    atoms = random_atoms(8)
    x, y, z = atoms.points.T
    theta, phi = np.arctan2(np.hypot(x, y), z), np.arctan2(y, x)
    moments = GRID.atom_moments(atoms.points, atoms.masses, DEGREE)
    orders = np.concatenate([np.full(DEGREE + 1 - m, m) for m in range(DEGREE + 1)])
    for l, m, moment in zip(GRID.degrees(DEGREE), orders, moments, strict=True):
        harmonics = np.sqrt(4 * np.pi) * sph_harm_y(l, m, theta, phi)
        assert moment == pytest.approx(atoms.masses @ harmonics.conj(), abs=1e-11)


def test_fields_at_points_are_those_on_the_grid():
    atoms = random_atoms(5)
    moments = GRID.atom_moments(atoms.points, atoms.masses, DEGREE)
    values = GRID.synthesis(moments)
    scale = np.abs(values).max()
    np.testing.assert_allclose(
        GRID.field_at(moments, GRID.points).values, values, atol=1e-13 * scale
    )
    gradient = np.einsum("a...,a...i->...i", GRID.gradient(moments), GRID.tangents)
    np.testing.assert_allclose(
        GRID.field_at(moments, GRID.points).gradients,
        gradient,
        atol=1e-12 * np.abs(gradient).max(),
    )


@pytest.mark.parametrize("grid", [GRID, Circle(64)], ids=repr)
@pytest.mark.parametrize("degree", [0, 1, 2, 5, 9])
def test_points_are_evaluated_one_by_one_whatever_their_number(grid, degree):
    rng = np.random.default_rng(degree)
    points = rng.standard_normal((19, grid.dimension))
    points[0] = np.eye(grid.dimension)[-1]
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    masses = rng.random(19)
    moments = grid.atom_moments(points, masses, degree)
    alone = [grid.atom_moments(points[[k]], masses[[k]], degree) for k in range(19)]
    np.testing.assert_allclose(moments, sum(alone), atol=1e-13 * degree + 1e-14)
    values, gradients = grid.field_at(moments, points)
    for count in (0, 1, 7, 8, 9, 16):
        some = grid.field_at(moments, points[:count])
        np.testing.assert_array_equal(some[0], values[:count])
        np.testing.assert_array_equal(some[1], gradients[:count])


def test_gradient_is_the_slope_along_great_circles_at_the_poles_too():
    atoms = random_atoms(10, seed=3)
    moments = GRID.atom_moments(atoms.points, atoms.masses, 12)
    rng = np.random.default_rng(1)
    heading = rng.standard_normal(atoms.points.shape)
    radial = np.einsum("ni,ni->n", heading, atoms.points)
    heading -= radial[:, np.newaxis] * atoms.points
    heading /= np.linalg.norm(heading, axis=1, keepdims=True)
    step = 1e-5
    ahead, behind = (
        GRID.field_at(moments, np.cos(s) * atoms.points + np.sin(s) * heading).values
        for s in (step, -step)
    )
    slope = np.einsum(
        "ni,ni->n", GRID.field_at(moments, atoms.points).gradients, heading
    )
    np.testing.assert_allclose(
        slope, (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-5
    )


def test_heat_flow_damps_smooth_moments_exactly():
    density = smooth_density(GRID)
    before = GRID.moments(density.masses, 6)
    after = GRID.moments(GRID.heat_flow(density.masses, 0.05), 6)
    l = GRID.degrees(6)
    expected = before * np.exp(-0.05 * l * (l + 1))
    np.testing.assert_allclose(after, expected, atol=1e-4)


@pytest.mark.parametrize("cell", [(0, 0), (3, 7), (30, 50)])
def test_heat_flow_of_a_point_is_positive_and_conservative(cell):
    masses = np.zeros(GRID.shape)
    masses[cell] = 1.0
    time = 2 * GRID.spacing**2
    flowed = GRID.heat_flow(masses, time)
    assert flowed.min() >= 0
    assert flowed.sum() == pytest.approx(1, abs=1e-13)
    mean = np.linalg.norm(np.einsum("ij,ijk->k", flowed, GRID.points))
    assert mean == pytest.approx(np.exp(-2 * time), abs=3e-3)


def test_interpolation_is_spectral_for_smooth_data_and_nonnegative_for_rough():
    finer = Sphere(96)
    smooth = smooth_density(GRID).interpolated(finer)
    np.testing.assert_allclose(smooth.values, smooth_density(finer).values, atol=1e-12)
    masses = np.zeros(GRID.shape)
    masses[0, 3], masses[20, 0], masses[41, 77] = 0.2, 0.3, 0.5
    rough = Density(GRID, masses / GRID.areas).interpolated(finer)
    assert rough.values.min() >= 0
    assert rough.total_mass == pytest.approx(1, abs=1e-13)
    with pytest.raises(ValueError, match="finer geometry"):
        smooth.interpolated(GRID)


def test_without_shtns_the_message_says_how_to_install_it():
    code = (
        "import sys; sys.modules['shtns'] = None; import mfpde\n"
        "mfpde.Circle(32)\n"
        "try: mfpde.Sphere(64)\n"
        "except ImportError as e: assert 'libfftw3-dev' in str(e), e\n"
        "else: raise SystemExit(1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("dimension", [2, 3])
def test_two_clusters_joined_are_that_of_all_their_points(dimension, rng):
    """Masses, means and covariances, those of flat space but for cubes of the widths."""
    points = rng.standard_normal((40, dimension)) * 1e-3
    points[20:, 0] += 3e-3
    points[:, -1] = 1.0
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    masses = rng.random(40)
    whole, *parts = (
        moments_about(points[0], points[part], masses[part])
        for part in (slice(None), slice(20), slice(20, None))
    )
    mass, mean, covariance = join_clusters(*parts)
    assert mass == pytest.approx(whole[0], rel=1e-14)
    np.testing.assert_allclose(mean, whole[1], atol=1e-8)
    np.testing.assert_allclose(covariance, whole[2], atol=1e-8)
    flat = np.cov(points.T, aweights=masses, bias=True)
    np.testing.assert_allclose(covariance, flat, atol=1e-8)
