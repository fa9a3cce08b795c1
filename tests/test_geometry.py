"""Laws of every grid: cells, moments, fields and their slopes, heat flow, finer grids."""

from __future__ import annotations

import numpy as np
import pytest
from random_points import random_points
from scipy.special import gamma, sph_harm_y

import mfpde
from mfpde import Circle, Density, Sphere, Zonal
from validation.circle_cases import poisson
from validation.zonal_cases import moved_by_linear_potential, uniform_masses

FLAT = [Circle(32), Circle(33), Circle(200)]
ROUND = [Sphere(32), Sphere(50), Sphere(64), Sphere(64, 160)]
ZONAL = [Zonal(3, 64), Zonal(5, 128), Zonal(64, 192), Zonal(2048, 1024)]


def on_each(*grids: mfpde.geometry.Geometry):
    return pytest.mark.parametrize("grid", grids, ids=repr)


def atoms_of(grid, count: int = 10, seed: int = 0):
    """Points and masses anywhere, at both poles and beside one."""
    points = random_points(count, grid.dimension, seed)
    points[:2] = [[1.0], [-1.0]] * np.eye(grid.dimension)[-1]
    points[2] = points[1] + 1e-5 * points[3]
    points[2] /= np.linalg.norm(points[2])
    return points, np.random.default_rng(seed).random(count) + 0.1


def at_cells(grid, masses):
    return grid.points.reshape(-1, grid.dimension), masses.ravel()


@on_each(*FLAT, *ROUND, *ZONAL)
def test_cells_cover_the_sphere_and_have_orthonormal_frames(grid) -> None:
    d = grid.dimension
    # In high dimension the surface is no number, and areas are shares of it.
    has_shares = grid.axis is not None and grid.areas_are_shares
    assert has_shares == (d == 2048)
    whole = 1.0 if has_shares else 2 * np.pi ** (d / 2) / gamma(d / 2)
    assert grid.areas.sum() == pytest.approx(whole, rel=1e-12)
    frame = np.stack([*grid.tangents, grid.points])
    gram = np.einsum("a...i,b...i->...ab", frame, frame)
    exact = np.broadcast_to(np.eye(len(frame)), gram.shape)
    np.testing.assert_allclose(gram, exact, atol=1e-14)


@on_each(*ROUND)
def test_rings_contain_their_centres_and_divide_into_groups(grid) -> None:
    faces = grid.rings.face_colatitudes
    assert (faces[:-1] < grid.colatitudes).all()
    assert (grid.colatitudes < faces[1:]).all()
    heights = 2 * np.pi * -np.diff(np.cos(faces))
    np.testing.assert_allclose(heights, grid.areas.sum(axis=1), atol=1e-13)
    assert (grid.nlon % grid.rings.group_sizes == 0).all()


@pytest.mark.parametrize("nlat", [32, 128, 512])
def test_weights_are_those_of_gauss_also_near_the_poles(nlat) -> None:
    """Exact for ((1 + z) / 2)^(2 nlat - 1), most of which lies on the first rings."""
    rings = Sphere(nlat).rings
    degree = 2 * nlat - 1
    values = np.cos(rings.colatitudes / 2) ** (2 * degree)
    assert rings.weights @ values == pytest.approx(2 / (degree + 1), rel=1e-13)


@on_each(*ZONAL)
def test_zonal_area_shares_are_incomplete_beta_functions(grid) -> None:
    exact = uniform_masses(grid.dimension, grid.face_angles)
    np.testing.assert_allclose(grid.area_shares, exact, atol=1e-14)


# Moments and fields ---------------------------------------------------------------------------


@on_each(*FLAT, Sphere(64))
def test_moments_are_sums_of_conjugate_harmonics(grid) -> None:
    """Of atoms anywhere, and of cells."""
    points, masses = atoms_of(grid)
    degree = min(30, grid.max_degree)
    x, y, z = (*points.T, np.zeros(len(points)))[:3]
    if isinstance(grid, Circle):
        waves = np.exp(1j * np.outer(np.arange(degree + 1), np.arctan2(y, x)))
    else:
        orders = np.concatenate([np.full(degree + 1 - m, m) for m in range(degree + 1)])
        places = np.arctan2(np.hypot(x, y), z), np.arctan2(y, x)
        l, m = grid.degrees(degree)[:, np.newaxis], orders[:, np.newaxis]
        waves = np.sqrt(4 * np.pi) * sph_harm_y(l, m, *places)
    found = grid.atom_moments(points, masses, degree)
    np.testing.assert_allclose(found, waves.conj() @ masses, atol=1e-11)
    masses = np.random.default_rng(1).random(grid.shape)
    sums = grid.atom_moments(*at_cells(grid, masses), grid.max_degree)
    found = grid.moments(masses, grid.max_degree)
    np.testing.assert_allclose(found, sums, atol=1e-11 * np.sqrt(masses.size))


@on_each(*ZONAL)
def test_the_uniform_density_has_no_zonal_moments(grid) -> None:
    moments = grid.moments(mfpde.uniform(grid).masses, 8)
    np.testing.assert_allclose(moments, np.eye(9)[0], atol=1e-14)


@on_each(*FLAT, *ROUND, *ZONAL[:3])
def test_fields_on_the_grid_are_those_at_points_and_gradients_their_slopes(
    grid,
) -> None:
    """Slopes along great circles, at the poles too."""
    degree = 12 if grid.axis is None else 5
    points, masses = atoms_of(grid)
    moments = grid.atom_moments(points, masses, degree)
    values, slopes = grid.field_at(moments, grid.points)
    size = np.abs(values).max()
    np.testing.assert_allclose(grid.synthesis(moments), values, atol=1e-12 * size)
    gradient = np.einsum("a...,a...i->...i", grid.gradient(moments), grid.tangents)
    np.testing.assert_allclose(gradient, slopes, atol=1e-11 * np.abs(slopes).max())
    if grid.axis is None:
        held = np.random.default_rng(1).random(grid.shape)
        paired = grid.pairing(moments, grid.moments(held, degree))
        assert paired == pytest.approx((values * held).sum())
    headings = random_points(len(points), grid.dimension, 4)
    headings -= np.einsum("ni,ni->n", headings, points)[:, np.newaxis] * points
    headings /= np.linalg.norm(headings, axis=1, keepdims=True)
    ahead, behind = (
        grid.field_at(moments, np.cos(s) * points + np.sin(s) * headings).values
        for s in (1e-5, -1e-5)
    )
    found = np.einsum("ni,ni->n", grid.field_at(moments, points).gradients, headings)
    np.testing.assert_allclose(
        found, (ahead - behind) / 2e-5, rtol=1e-6, atol=1e-6 * size
    )


@on_each(Circle(64), Sphere(64))
@pytest.mark.parametrize("degree", [0, 1, 2, 5, 9])
def test_points_are_evaluated_one_by_one_whatever_their_number(grid, degree) -> None:
    points, masses = atoms_of(grid, 19, degree)
    moments = grid.atom_moments(points, masses, degree)
    alone = [grid.atom_moments(points[[k]], masses[[k]], degree) for k in range(19)]
    np.testing.assert_allclose(moments, sum(alone), atol=1e-13 * degree + 1e-14)
    values, gradients = grid.field_at(moments, points)
    for count in (0, 1, 7, 8, 9, 16):
        some = grid.field_at(moments, points[:count])
        np.testing.assert_array_equal(some[0], values[:count])
        np.testing.assert_array_equal(some[1], gradients[:count])


# Heat, and finer grids ------------------------------------------------------------------------


@on_each(Circle(128), Sphere(64), *ZONAL)
def test_heat_keeps_mass_and_sign_and_the_uniform_density(grid) -> None:
    uniform = mfpde.uniform(grid).masses
    np.testing.assert_allclose(grid.heat_flow(uniform, 0.1), uniform, atol=1e-13)
    for share in (0.0, 0.3, 0.95):
        masses = np.zeros(grid.shape)
        masses.ravel()[int(share * masses.size)] = 1.0
        for time in (1e-6, 1e-3, 2 * grid.spacing**2, 1.0):
            flowed = grid.heat_flow(masses, time)
            assert flowed.min() >= 0
            assert flowed.sum() == pytest.approx(1.0, abs=1e-13)
    if isinstance(grid, Sphere):
        time = 2 * grid.spacing**2
        flowed = grid.heat_flow(masses, time)
        mean = np.linalg.norm(np.einsum("ij,ijk->k", flowed, grid.points))
        assert mean == pytest.approx(np.exp(-2 * time), abs=3e-3)


@pytest.mark.parametrize(
    ("grid", "per_time", "rounding"),
    [(Circle(128), 6e-4, 1e-15), (Sphere(64), 3e-4, 1e-9), (Zonal(5, 128), 3e-3, 1e-5)],
)
def test_heat_damps_each_degree_at_its_rate(grid, per_time, rounding) -> None:
    """And twice the flow is that of the sum of both times."""
    start = smooth_density(grid).masses
    l = grid.degrees(6)
    rates, before = l * (l + grid.dimension - 2), grid.moments(start, 6)
    for time in (1e-3, 0.05):
        found = grid.moments(grid.heat_flow(start, time), 6)
        expected = before * np.exp(-time * rates)
        np.testing.assert_allclose(found, expected, atol=per_time * time)
    twice = grid.heat_flow(grid.heat_flow(start, 0.02), 0.03)
    np.testing.assert_allclose(twice, grid.heat_flow(start, 0.05), atol=rounding)


def smooth_density(grid) -> Density:
    """Resolved by 64 cells; on zonal grids what a linear potential makes of the uniform one."""
    if grid.axis is not None:
        origins = moved_by_linear_potential(grid.face_angles, 0.5)
        masses = uniform_masses(grid.dimension, origins)
        return Density(grid, masses / grid.areas / masses.sum())
    if isinstance(grid, Circle):
        return Density(grid, poisson(grid.angles, 0.3)).normalized()
    return Density.from_function(
        grid, lambda x: np.exp(3 * x[..., 0]) + x[..., 2] ** 2 + x[..., 1] + 2
    )


@pytest.mark.parametrize(
    ("grid", "finer", "error"),
    [(Circle(64), Circle(192), 1e-8), (Sphere(64), Sphere(96), 1e-12)]
    + [
        (Zonal(d, n), Zonal(d, 3 * n), 2e-3)
        for d, n in ((3, 64), (64, 64), (2048, 362))
    ],
)
def test_finer_grids_keep_mass_and_sign_and_what_is_smooth(grid, finer, error) -> None:
    found, exact = smooth_density(grid).interpolated(finer), smooth_density(finer)
    assert np.abs(found.masses - exact.masses).sum() < error
    values = np.zeros(grid.shape)
    values.ravel()[[0, 3, 4, values.size // 2]] = 4.0, 1.0, 5.0, 2.0
    rough = Density(grid, values).normalized()
    for one in (found, rough.interpolated(finer)):
        assert one.values.min() >= 0
        assert one.total_mass == pytest.approx(1.0, abs=1e-13)
    if isinstance(grid, Circle):
        assert mfpde.wasserstein(rough, rough.interpolated(finer)) < grid.spacing
