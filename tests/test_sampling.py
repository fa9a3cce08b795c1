"""Laws of random and of deterministic atoms that stand for a measure."""

import numpy as np
import pytest
from random_points import atoms_at, random_points
from scipy.spatial import cKDTree

import mfpde
from mfpde import Atoms, Circle, Density, Sphere, Zonal, quantized, sampled, wasserstein
from mfpde.measures import join_clusters, moments_about
from validation.circle_cases import angles_of, points_at
from validation.verdict_shapes import unit

TURN = 2 * np.pi


@pytest.fixture(scope="module")
def bump():
    return Density.from_function(Circle(256), lambda points: np.exp(2 * points[..., 0]))


def rate(sizes, errors):
    return -np.polyfit(np.log(sizes), np.log(errors), 1)[0]


@pytest.mark.parametrize("order", [1, 2])
def test_quantized_converges_like_one_over_n(bump, order):
    sizes = np.array([25, 50, 100, 200])
    errors = [wasserstein(quantized(bump, n), bump, order=order) for n in sizes]
    assert rate(sizes, errors) == pytest.approx(1.0, abs=0.1)


def test_quantized_uniform_is_equally_spaced_and_the_best_there_is():
    atoms = quantized(mfpde.uniform(Circle(32)), 7)
    np.testing.assert_allclose(
        np.mod(angles_of(atoms.points), TURN), TURN * (np.arange(7) + 0.5) / 7
    )
    # Each atom serves an arc of length 2 pi / n: the mean distance is a quarter of it.
    assert wasserstein(atoms, mfpde.uniform(Circle(32))) == pytest.approx(TURN / 28)


def test_quantized_atoms_of_the_circle_are_quantiles_whatever_their_order(rng):
    angles = TURN * (np.arange(60) + 0.5) / 60
    chosen = quantized(atoms_at(rng.permutation(angles)), 7).points
    expected = angles[(60 * (np.arange(7) + 0.5) / 7).astype(int)]
    np.testing.assert_allclose(chosen, points_at(expected), atol=1e-12)


def test_sampled_converges_like_one_over_root_n(bump):
    sizes = np.array([64, 256, 1024, 4096])
    errors = [
        np.mean([wasserstein(sampled(bump, n, seed), bump) for seed in range(30)])
        for n in sizes
    ]
    assert rate(sizes, errors) == pytest.approx(0.5, abs=0.1)


AXIS = np.array([0.6, 0.0, 0.8])
SHARPNESS = 4.0
MEAN_COSINE = 1 / np.tanh(SHARPNESS) - 1 / SHARPNESS


@pytest.fixture(scope="module")
def cap():
    """A von Mises-Fisher density, whose mean is (coth k - 1/k) a."""
    return Density.from_function(Sphere(64), lambda x: np.exp(SHARPNESS * (x @ AXIS)))


def fibonacci_lattice(n):
    number = np.arange(n)
    z = 1 - (2 * number + 1) / n
    flat = points_at(2 * np.pi * np.mod(number * (np.sqrt(5) - 1) / 2, 1))
    return np.column_stack([np.sqrt(1 - z**2)[:, np.newaxis] * flat, z])


@pytest.mark.parametrize("n", [1, 10, 1001])
def test_quantized_uniform_sphere_is_the_fibonacci_lattice(n):
    points = quantized(mfpde.uniform(Sphere(32)), n).points
    np.testing.assert_allclose(points, fibonacci_lattice(n), atol=1e-12)


def test_quantized_sphere_has_the_moments_of_the_density(cap):
    sizes = np.array([100, 400, 1600, 6400])
    means = [m.masses @ m.points for m in (quantized(cap, n) for n in sizes)]
    errors = np.linalg.norm(np.array(means) - MEAN_COSINE * AXIS, axis=1)
    assert (errors < 0.35 / sizes**0.8).all()


def test_points_stay_in_the_cells_that_have_mass():
    sphere = Sphere(32)
    values = np.zeros(sphere.shape)
    values[3, 0] = values[20, 5] = values[-1, -1] = 1.0
    density = Density(sphere, values).normalized()
    for atoms in (quantized(density, 500), sampled(density, 500)):
        theta = np.arccos(atoms.points[:, 2])
        rows = np.searchsorted(sphere.rings.face_colatitudes, theta) - 1
        columns = np.arctan2(atoms.points[:, 1], atoms.points[:, 0])
        columns = np.round(columns / sphere.longitude_step).astype(int) % 64
        masses = np.zeros(sphere.shape)
        np.add.at(masses, (rows, columns), atoms.masses)
        assert masses[values > 0].sum() == pytest.approx(1.0)
        np.testing.assert_allclose(masses, density.masses, atol=0.1)


ZONAL = Zonal(3, 32)


@pytest.mark.parametrize(
    ("grid", "places"),
    [
        (Circle(256), points_at([2.0, 5.0])),
        (Sphere(64), np.array([AXIS, -AXIS])),
        (ZONAL, ZONAL.points_at(np.array([1.0, 2.5]))),
    ],
    ids=["S1", "S2", "zonal"],
)
def test_atoms_beside_a_density_keep_their_shares(grid, places):
    """In a measure of mass 1.2; those of a zonal measure are rings, evenly so."""
    density = Density.from_function(grid, lambda x: np.exp(2 * x[..., -1]))
    atoms = Atoms(places, [0.3, 0.1])
    measure = mfpde.Measure(Density(grid, 0.8 * density.values), atoms)
    for drawn, slack in (
        (quantized(measure, 1000), 1e-3),
        (quantized(measure, 7), 1 / 7),
        (sampled(measure, 10_000, seed=1), 4 * np.sqrt(0.25 * 0.75 / 10_000)),
    ):
        for place, mass in zip(places, measure.atoms.masses, strict=True):
            apart = drawn.points - place
            if grid is ZONAL:
                apart = apart @ grid.axis[:, np.newaxis]
            is_there = (np.abs(apart) < 1e-12).all(axis=1)
            assert is_there.mean() == pytest.approx(mass / 1.2, abs=slack)
            if grid is ZONAL and len(drawn) == 1000:
                assert np.abs(drawn.points[is_there, :2].mean(axis=0)).max() < 0.02


@pytest.mark.parametrize("dimension", [3, 7])
def test_equal_atoms_of_any_dimension_are_themselves(dimension, rng):
    atoms = Atoms(random_points(12, dimension, rng))
    for n in (12, 36):
        new = quantized(atoms, n)
        assert wasserstein(new, atoms) < 1e-12
    drawn = sampled(atoms, 50).points
    assert (cKDTree(atoms.points).query(drawn)[0] < 1e-12).all()


@pytest.mark.parametrize("dimension", [3, 4, 64])
@pytest.mark.parametrize("make", [quantized, sampled])
def test_zonal_points_have_the_polar_angles_and_even_directions(dimension, make):
    n = 2000
    zonal = Zonal(dimension, 200)
    density = Density.from_function(zonal, lambda x: np.exp(3 * x[..., -1]))
    points = make(density, n).points
    assert points.shape == (n, dimension)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0, atol=1e-14)
    faces, cumulated = zonal.face_angles[1:-1], np.cumsum(density.masses)[:-1]
    angles = np.arccos(points[:, -1])
    shares = (angles[:, np.newaxis] <= faces).mean(axis=0)
    across = unit(points[:, :-1])
    if make is quantized:
        assert np.abs(shares - cumulated).max() <= 0.5 / n + 1e-12
        assert np.linalg.norm(points[:, :-1].mean(axis=0)) < 1e-3
    else:
        assert np.abs(shares - cumulated).max() < 1.95 / np.sqrt(n)
        assert np.linalg.norm(across.mean(axis=0)) < 3 / np.sqrt(n)
    covariance = across.T @ across / n
    even = np.eye(dimension - 1) / (dimension - 1)
    assert np.abs(covariance - even).max() < 4 / np.sqrt(n) / np.sqrt(dimension - 1)


@pytest.mark.parametrize("dimension", [2, 3])
def test_samples_and_quanta_have_the_covariance(dimension: int) -> None:
    """Of an atom with principal axes that are not those of the coordinates."""
    widths = (0.03, 0.01)[: dimension - 1]
    frame = np.linalg.qr(np.random.default_rng(0).standard_normal([dimension] * 2))[0]
    covariance = (frame[1:].T * np.square(widths)) @ frame[1:]
    atom = Atoms(frame[:1], [1.0], [covariance])
    for drawn, accuracy in (
        (quantized(atom, 640), 1e-2),
        (sampled(atom, 4000, seed=2), 0.1),
    ):
        steps = drawn.points @ frame[1:].T
        covariance = steps.T @ steps / len(steps)
        assert covariance == pytest.approx(
            np.diag(np.square(widths)), rel=accuracy, abs=accuracy * widths[-1] ** 2
        )


@pytest.mark.parametrize("dimension", [2, 3])
def test_two_clusters_joined_are_that_of_all_their_points(dimension, rng):
    """Masses, means and covariances, those of flat space but for cubes of the widths."""
    points = rng.standard_normal((40, dimension)) * 1e-3
    points[20:, 0] += 3e-3
    points[:, -1] = 1.0
    points = unit(points)
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
