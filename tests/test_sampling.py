"""Laws of random and of deterministic atoms that stand for a measure."""

import numpy as np
import pytest

from mfpde.circle_distribution import TURN, CircularDistribution
from mfpde.geometry import Circle
from mfpde.geometry.circle import angles_of, points_at
from mfpde.measure import Atoms, Density, Measure, uniform
from mfpde.sampling import quantized, sampled
from mfpde.wasserstein import wasserstein


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
    atoms = quantized(uniform(Circle(32)), 7)
    np.testing.assert_allclose(angles_of(atoms.points), TURN * (np.arange(7) + 0.5) / 7)
    # Each atom serves an arc of length 2 pi / n: the mean distance is a quarter of it.
    assert wasserstein(atoms, uniform(Circle(32))) == pytest.approx(TURN / 28)


def test_quantized_equal_atoms_are_themselves():
    angles = np.array([0.1, 0.7, 2.0, 5.0, 6.2])
    atoms = Atoms(points_at(angles))
    np.testing.assert_allclose(angles_of(quantized(atoms, 5).points), angles)
    np.testing.assert_allclose(
        angles_of(quantized(atoms, 15).points), np.repeat(angles, 3)
    )


def test_quantized_of_a_measure_puts_an_atoms_share_on_it(bump):
    atom = Atoms(points_at(np.array([2.0])), [0.25])
    measure = Measure(Density(bump.geometry, 0.75 * bump.values), atom)
    quantiles = angles_of(quantized(measure, 400).points)
    assert np.sum(np.abs(quantiles - 2.0) < 1e-12) == pytest.approx(100, abs=1)


def test_sampled_converges_like_one_over_root_n(bump):
    sizes = np.array([64, 256, 1024, 4096])
    errors = [
        np.mean([wasserstein(sampled(bump, n, seed), bump) for seed in range(30)])
        for n in sizes
    ]
    assert rate(sizes, errors) == pytest.approx(0.5, abs=0.1)


def test_sampled_passes_the_kolmogorov_smirnov_test(bump):
    n = 20_000
    distribution = CircularDistribution.of(bump)
    levels = distribution.cdf(np.sort(angles_of(sampled(bump, n, seed=3).points)))
    distance = np.abs(levels - (np.arange(n) + 0.5) / n).max()
    assert distance < 1.95 / np.sqrt(n)  # exceeded with probability 1e-3


def test_sampled_atoms_fall_on_the_atoms_with_their_shares():
    atoms = Atoms(points_at(np.array([1.0, 4.0])), [0.3, 0.9])
    drawn = angles_of(sampled(atoms, 10_000, seed=1).points)
    hits = np.isclose(drawn, 1.0)
    np.testing.assert_allclose(drawn[~hits], 4.0)
    assert hits.mean() == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / 10_000))


def test_same_seed_same_points_other_seed_other_points(bump):
    first, again, other = sampled(bump, 10), sampled(bump, 10, 0), sampled(bump, 10, 1)
    np.testing.assert_array_equal(first.points, again.points)
    assert not np.isclose(first.points, other.points).any()


@pytest.mark.parametrize("make", [sampled, quantized])
def test_points_share_the_total_mass_equally(make, bump):
    doubled = Density(bump.geometry, 2 * bump.values)
    atoms = make(doubled, 8)
    assert atoms.points.shape == (8, 2)
    np.testing.assert_allclose(atoms.masses, 0.25)


@pytest.mark.parametrize("make", [sampled, quantized])
def test_errors_name_the_value_and_the_way_out(make, bump):
    with pytest.raises(ValueError, match="n = 0 must be a whole number of at least 1"):
        make(bump, 0)
    with pytest.raises(ValueError, match=r"circle only.* d = 3: use a Circle"):
        make(Atoms(np.eye(3)), 4)
    with pytest.raises(ValueError, match="total mass = 0 must be above 0"):
        make(Density(Circle(16), np.zeros(16)), 4)
    with pytest.raises(ValueError, match="must be a Density, Atoms or a Measure"):
        make([1.0, 2.0], 4)


def test_seed_must_be_a_number_so_that_nothing_is_hidden(bump):
    with pytest.raises(ValueError, match="seed = None must be a whole number"):
        sampled(bump, 4, seed=None)
