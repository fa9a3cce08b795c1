"""Clouds: points with a given mean and covariance."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_points import random_points

from mfpde import Atoms, Attention, MeanFieldEquation
from mfpde.geometry.arcs import logarithms, moved_to, tangent_frames
from mfpde.measures.clouds import (
    cloud_points,
    join_clusters,
    means_and_covariances,
    moments_about,
)

DIMENSIONS = st.integers(2, 5)
SEEDS = st.integers(0, 10_000)
WIDTHS = st.floats(1e-7, 0.2)


def random_covariances(generator, positions, width):
    result = []
    for basis in tangent_frames(positions):
        factor = width * generator.standard_normal((len(basis), len(basis)))
        result.append(basis.T @ factor @ factor.T @ basis)
    return np.array(result)


@settings(deadline=None)
@given(DIMENSIONS, SEEDS, WIDTHS)
def test_a_cloud_has_its_mean_and_covariance(dimension, seed, width):
    generator = np.random.default_rng(seed)
    positions = random_points(3, dimension, generator)
    covariances = random_covariances(generator, positions, width)
    points = cloud_points(positions, covariances)
    assert points.shape == (3, 2 * (dimension - 1), dimension)
    assert np.linalg.norm(points, axis=2) == pytest.approx(1, abs=1e-14)
    means, found = means_and_covariances(points)
    # Widths come from squares of distances that are known to 1e-16.
    reach = 20 * np.sqrt(np.abs(covariances).max())
    if reach < 3:
        assert np.abs(means - positions).max() <= 1e-14
        assert np.abs(found - covariances).max() <= 1e-14 * reach + 1e-30


@settings(deadline=None)
@given(DIMENSIONS, SEEDS, st.floats(1e-7, 0.05))
def test_any_cloud_has_a_regular_form(dimension, seed, width):
    generator = np.random.default_rng(seed)
    size = 2 * (dimension - 1)
    centres = random_points(2, dimension, generator)
    steps = 0.3 * width * generator.standard_normal((2, size, dimension))
    points = centres[:, np.newaxis] + steps
    points /= np.linalg.norm(points, axis=2, keepdims=True)
    before = means_and_covariances(points)
    after = means_and_covariances(cloud_points(*before))
    assert np.abs(before[0] - after[0]).max() <= 1e-13
    # The tangent plane is that of the mean to a high power of the width, and atoms are
    # narrow.
    assert np.abs(before[1] - after[1]).max() <= 1e-8 * width**2 + 1e-15 * width


def test_a_point_stays_a_point():
    points = np.repeat(np.eye(3)[:, np.newaxis], 4, axis=1)
    regular = cloud_points(*means_and_covariances(points))
    assert (np.ptp(regular, axis=1) == 0).all()


@settings(deadline=None)
@given(DIMENSIONS, SEEDS)
def test_logarithm_and_exponential_are_inverse(dimension, seed):
    generator = np.random.default_rng(seed)
    start, ends = np.split(random_points(5, dimension, generator), [1])
    start = start[0]
    steps = logarithms(start, ends)
    # The direction is that of end - (start.end) start, of length sin: rounding over sin.
    sines = np.linalg.norm(ends - np.outer(ends @ start, start), axis=1)
    assert (np.abs(steps @ start) * sines).max() <= 5e-15
    for step, end in zip(steps, ends, strict=True):
        # Towards the antipode every direction leads to the same point.
        assume(start @ end > -0.9)
        assert moved_to(start, step) == pytest.approx(end, abs=1e-13)


@settings(deadline=None)
@given(DIMENSIONS, SEEDS, WIDTHS)
def test_joining_keeps_mass_mean_and_covariance(dimension, seed, width):
    generator = np.random.default_rng(seed)
    centre = random_points(1, dimension, generator)[0]
    points = centre + 0.1 * width * generator.standard_normal((12, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    masses = generator.uniform(0.1, 1, 12)
    parts = slice(None, 7), slice(7, None)
    first, other = (moments_about(centre, points[p], masses[p]) for p in parts)
    both = join_clusters(first, other)
    mass, mean, covariance = moments_about(centre, points, masses)
    assert both[0] == pytest.approx(mass, rel=1e-14)
    # Tangent planes at different points of the cloud differ in third order.
    assert np.abs(both[1] - mean).max() <= 2 * width**3 + 1e-15
    assert np.abs(both[2] - covariance).max() <= 2 * width**3 + 1e-20


def test_atoms_with_a_width_act_as_their_clouds():
    equation = MeanFieldEquation(Attention(4.0), direction="ascent")
    covariance = np.diag([0.01, 0.04, 0.0])
    wide = Atoms([[0, 0, 1]], [1.0], [covariance])
    spread = Atoms(
        [moved_to(np.eye(3)[2], np.sqrt(2) * s * w * e) for s in (1, -1) for w, e in
         ((0.1, np.eye(3)[0]), (0.2, np.eye(3)[1]))],
        np.full(4, 0.25),
    )  # fmt: skip
    points = np.eye(3)
    assert equation.energy(wide) == pytest.approx(equation.energy(spread), rel=1e-14)
    assert equation.velocity(wide, points) == pytest.approx(
        equation.velocity(spread, points), abs=1e-14
    )
