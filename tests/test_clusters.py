"""Clusters without a velocity: counts, masses and gaps that are known, in any dimension."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ortho_group

import mfpde
from validation.verdict_shapes import on_circle, unit


def cap(centre: np.ndarray, count: int, radius: float, rng) -> np.ndarray:
    """Points within ``radius`` of a centre."""
    away = rng.standard_normal((count, len(centre)))
    away -= np.outer(away @ centre, centre)
    lengths = radius * rng.random((count, 1))
    return np.cos(lengths) * centre + np.sin(lengths) * unit(away)


def caps(dimension: int, rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points in three caps, their masses, and the cap of each."""
    axes = np.eye(dimension)
    centres = [axes[0], axes[1], -axes[0]]
    points = np.concatenate(
        [cap(c, n, 0.2, rng) for c, n in zip(centres, (60, 25, 15), strict=True)]
    )
    cap_of = np.repeat([0, 1, 2], [60, 25, 15])
    shares = rng.uniform(0.5, 1.5, 100)
    masses = np.array([0.5, 0.3, 0.2])[cap_of]
    return points, masses * shares / np.bincount(cap_of, shares)[cap_of], cap_of


@pytest.mark.parametrize("dimension", [2, 3, 64])
def test_caps_are_found_with_their_masses(dimension, rng) -> None:
    points, masses, cap_of = caps(dimension, rng)
    found = mfpde.clusters(points, 2 * masses)
    assert found.count == len(found) == 3
    np.testing.assert_allclose(found.masses, [1.0, 0.6, 0.4], rtol=1e-12)
    np.testing.assert_array_equal(found.labels, cap_of)
    assert found.scattered == 0
    for k in range(3):
        inside = cap_of == k
        centre = unit(masses[inside] @ points[inside])
        np.testing.assert_allclose(found.centres[k], centre, atol=1e-12)
        radius = np.arccos((points[inside] @ centre).min())
        assert found.radii[k] == pytest.approx(radius, abs=1e-9)
    angles = np.arccos(np.clip(points @ points.T, -1, 1))
    apart = cap_of[:, np.newaxis] != cap_of
    assert found.gap[1] == pytest.approx(angles[apart].min(), abs=1e-9)
    assert found.gap[0] < found.angle < found.gap[1]


@pytest.mark.parametrize(
    ("angle", "count", "gap"),
    [
        (None, 2, (0.05, 0.92)),
        (0.045, 3, (0.04, 0.05)),
        (0.5, 2, (0.05, 0.92)),
        (np.pi, 1, (0.92, np.pi)),
    ],
)
def test_components_and_gaps_are_those_of_the_angle(angle, count, gap) -> None:
    """Without one it is the middle of the widest gap."""
    found = mfpde.clusters(on_circle(0.0, 0.05, 0.08, 1.0, 1.01, 1.05), angle=angle)
    assert found.count == count
    assert found.gap == pytest.approx(gap, abs=1e-12)
    assert found.angle == pytest.approx(angle or (0.05 + 0.92) / 2, abs=1e-12)
    counts = found.counts([0.005, 0.035, 0.05, 0.919, 0.921, np.pi])
    assert counts.tolist() == [6, 4, 2, 2, 1, 1]


def test_merges_at_the_same_angle_are_one_change() -> None:
    """Two clusters merge while two light points become one: there are three all along."""
    pair = on_circle(0.0, 0.3)
    points = np.zeros((5, 5))
    points[:2, :2] = points[2:4, 2:4] = pair
    points[4, 4] = 1.0
    found = mfpde.clusters(points, [0.3, 0.3, 0.005, 0.005, 0.39], angle=0.1)
    assert found.count == 3
    assert found.gap == pytest.approx((0.0, np.pi / 2), abs=1e-12)


@pytest.mark.parametrize("dimension", [3, 64])
def test_it_is_a_function_of_the_measure_in_any_coordinates(dimension, rng) -> None:
    """Their order is none of it, and points that coincide are one of their mass."""
    points, masses, _ = caps(dimension, rng)
    one, turn = mfpde.clusters(points, masses), ortho_group.rvs(dimension, 1, 1)
    order, share = np.divmod(rng.permutation(2 * len(points)), 2)
    halves = np.array([0.4, 0.6])[share] * masses[order]
    other = mfpde.clusters(mfpde.Atoms((points @ turn)[order], halves))
    assert other.count == one.count
    np.testing.assert_allclose(other.masses, one.masses, rtol=1e-12)
    np.testing.assert_allclose(other.gap, one.gap, rtol=1e-12)
    np.testing.assert_allclose(other.centres, one.centres @ turn, atol=1e-12)
    np.testing.assert_array_equal(other.labels, one.labels[order])


@pytest.mark.parametrize(
    ("points", "count", "widest"),
    [
        (np.eye(1, 5), 1, np.pi),
        (np.eye(64), 64, np.pi / 2),
        (np.array([[1.0, 0.0], [-1.0, 0.0]]), 2, np.pi),
        (on_circle(*np.pi / 12 * np.arange(24)), 24, np.pi / 12),
    ],
)
def test_points_at_the_same_distance_are_each_a_cluster(points, count, widest) -> None:
    """Points that coincide are not a link of length zero, as of a sample."""
    for times in (1, 7):
        found = mfpde.clusters(np.repeat(points, times, axis=0))
        assert found.count == count
        assert found.gap == pytest.approx((0.0, widest), abs=1e-12)
        assert found.radii == pytest.approx(0.0, abs=1e-7)
        assert found.masses == pytest.approx(1 / count)
        rank = np.linalg.matrix_rank(points)
        assert found.effective_number == pytest.approx(rank)


@pytest.mark.parametrize(("dimension", "count"), [(2, 200), (3, 300), (64, 200)])
def test_uniform_samples_and_single_heaps_are_not_split(dimension, count, rng) -> None:
    spread = mfpde.clusters(unit(rng.standard_normal((count, dimension))))
    assert spread.count == 1
    assert spread.radii[0] > np.pi / 4
    heap = unit(np.eye(dimension)[0] + 0.05 * rng.standard_normal((count, dimension)))
    assert mfpde.clusters(heap).count == 1


def test_a_blob_among_points_that_are_far_apart_is_one_cluster(rng) -> None:
    blob = cap(np.eye(64)[0], 160, 0.2, rng)
    found = mfpde.clusters(np.concatenate([blob, unit(rng.standard_normal((96, 64)))]))
    assert found.count == 1
    assert found.masses[0] == pytest.approx(160 / 256)
    assert found.scattered == pytest.approx(96 / 256)
    assert (found.labels == 0).sum() == 160


def test_a_cluster_of_a_sample_holds_a_twentieth_of_it(rng) -> None:
    heap = cap(np.eye(3)[0], 188, 0.05, rng)
    for count, clusters in ((12, 2), (8, 1)):
        other = cap(np.eye(3)[1], count, 0.05, rng)
        found = mfpde.clusters(np.concatenate([heap, other]))
        assert found.count == clusters


@pytest.mark.parametrize("dimension", [3, 64])
@pytest.mark.parametrize("seed", range(5))
def test_stray_points_change_no_count(dimension, seed) -> None:
    rng = np.random.default_rng(seed)
    points, _, cap_of = caps(dimension, rng)
    strays = unit(rng.standard_normal((4, dimension)))
    found = mfpde.clusters(np.concatenate([points[::2], strays]))
    assert found.count == 3
    np.testing.assert_array_equal(found.labels[:50], cap_of[::2])


def test_bumps_of_a_density_are_clusters() -> None:
    circle = mfpde.Circle(256)
    density = mfpde.bumps(
        circle, angles=[0.5, 2.0, 4.0], widths=0.08, masses=[0.5, 0.3, 0.2]
    )
    found = mfpde.clusters(density)
    assert found.count == 3
    np.testing.assert_allclose(found.masses, [0.5, 0.3, 0.2], atol=8e-3)
    np.testing.assert_allclose(
        found.centres, on_circle(0.5, 2.0, 4.0), atol=circle.spacing / 4
    )
    assert 0 < found.scattered < 0.02
    assert found.masses.sum() + found.scattered == pytest.approx(1.0, abs=1e-12)
    # Two bumps 1.5 apart, of half-widths that fall below half of the mean near 2.3 widths.
    assert found.gap[1] == pytest.approx(1.5 - 2 * 2.5 * 0.08, abs=0.1)
    assert found.labels.shape == (256,)
    turned = mfpde.clusters(mfpde.Density(circle, np.roll(density.values, 57)))
    np.testing.assert_allclose(turned.masses, found.masses, rtol=1e-12)
    np.testing.assert_allclose(turned.gap, found.gap, rtol=1e-9)


def test_bumps_on_the_sphere_are_found_wherever_they_are() -> None:
    sphere = mfpde.Sphere(48)
    shares, centres = [0.5, 0.3, 0.2], np.eye(3)
    for turn in (np.eye(3), ortho_group.rvs(3, random_state=3)):
        density = mfpde.bumps(
            sphere, centres=centres @ turn, widths=60.0**-0.5, masses=shares
        )
        found = mfpde.clusters(density)
        assert found.count == 3
        np.testing.assert_allclose(found.masses, shares, atol=1e-2)
        np.testing.assert_allclose(found.centres, centres @ turn, atol=2e-2)


@pytest.mark.parametrize(
    "geometry", [mfpde.Circle(512), mfpde.Sphere(32), mfpde.Zonal(64, 128)]
)
def test_a_uniform_density_is_one_cluster_without_a_centre(geometry) -> None:
    found = mfpde.clusters(mfpde.uniform(geometry))
    assert found.count == 1
    assert found.scattered == 0
    assert np.isnan(found.centres).all()
    assert found.radii == pytest.approx([np.pi])
    assert found.effective_number == pytest.approx(geometry.dimension, rel=1e-3)
    rippled = mfpde.perturbed_uniform(geometry, 0.3, seed=1)
    assert mfpde.clusters(rippled).count == 1


def test_atoms_beside_a_density_are_clusters_of_their_own() -> None:
    circle = mfpde.Circle(256)
    bump = mfpde.bumps(circle, angles=[0.5], widths=0.08)
    atoms = mfpde.Atoms(on_circle(2.0, 2.2, 4.0), [0.3, 0.1, 0.02])
    whole = mfpde.Measure(mfpde.Density(circle, 0.58 * bump.values), atoms)
    found = mfpde.clusters(whole, angle=0.1)
    assert found.count == 4
    np.testing.assert_allclose(found.masses, [0.58, 0.3, 0.1, 0.02], atol=6e-3)
    assert found.labels[256:].tolist() == [1, 2, 3]
    assert mfpde.clusters(whole, angle=0.3).count == 3


def test_a_thin_background_does_not_chain_bumps_together() -> None:
    circle = mfpde.Circle(512)
    bumps = mfpde.bumps(circle, angles=[1.0, 4.0], widths=0.1)
    thin = mfpde.Density(circle, 0.9 * bumps.values + 0.1 / (2 * np.pi))
    found = mfpde.clusters(thin)
    assert found.count == 2
    np.testing.assert_allclose(found.masses, 0.45 + 0.1 * 0.45 / (2 * np.pi), atol=0.01)
    assert found.scattered == pytest.approx(0.1 * (1 - 0.9 / (2 * np.pi)), abs=0.02)


def test_rings_about_an_axis_are_told_apart() -> None:
    zonal = mfpde.Zonal(64, 256)
    heights = np.abs(zonal.points @ zonal.axis)
    values = np.exp(300 * (heights - 1))
    found = mfpde.clusters(mfpde.Density(zonal, values).normalized())
    assert found.count == 2
    np.testing.assert_allclose(found.masses, 0.5, atol=0.02)
    np.testing.assert_allclose(np.abs(found.centres @ zonal.axis), 1.0, atol=1e-12)


def test_very_many_points_are_taken_together(rng) -> None:
    points = np.concatenate(
        [cap(c, 15_000, 0.3, rng) for c in (np.eye(3)[0], np.eye(3)[2])]
    )
    found = mfpde.clusters(points)
    assert found.count == 2
    np.testing.assert_array_equal(
        found.labels, np.repeat(found.labels[[0, -1]], 15_000)
    )
    # The angle of twice the diagonal of a box, 0.01 wide.
    assert found.resolution == pytest.approx(2 * np.arcsin(0.01 * np.sqrt(3)))
    with pytest.raises(ValueError, match="give a sample"):
        mfpde.clusters(unit(rng.standard_normal((10_001, 8))))


@pytest.mark.parametrize(("dimension", "number"), [(64, 3), (384, 5), (3, 2)])
def test_separate_caps_are_counted_by_silhouettes(dimension, number, rng) -> None:
    """And by the effective number, where they are small; points at random are none."""
    cap_of = np.repeat(np.arange(number), 40)
    away = rng.standard_normal((len(cap_of), dimension)) / np.sqrt(dimension)
    points, narrow = (unit(np.eye(dimension)[cap_of] + s * away) for s in (0.4, 1e-3))
    turn = ortho_group.rvs(dimension, random_state=1)
    for given in (points, points @ turn):
        found = mfpde.clusters(given)
        assert found.silhouettes.count == number
        assert mfpde.adjusted_rand(found.silhouettes.labels, cap_of) == 1
        assert np.nanargmax(found.silhouettes.scores) == number - 2
    shares = np.repeat(np.arange(1, number + 1), 40) / (20 * number * (number + 1))
    entropy = -sum(p * np.log(p) for p in 40 * shares[::40])
    effective = mfpde.clusters(narrow, 2 * shares).effective_number
    assert effective == pytest.approx(np.exp(entropy), rel=1e-4)
    assert mfpde.clusters(unit(away)).silhouettes.count == 0
    assert mfpde.clusters(points[:40]).silhouettes.count == 1


def test_silhouettes_are_means_over_points(rng) -> None:
    """Two clusters of which the loops of the definition are written out, with masses."""
    points = np.concatenate([cap(np.eye(3)[i], 6, 0.5, rng) for i in range(2)])
    masses = rng.integers(1, 4, 12) / 2
    cap_of = np.repeat([0, 1], 6)
    angles, expected = np.arccos(np.clip(points @ points.T, -1, 1)), 0.0
    for x in range(12):
        own = (cap_of == cap_of[x]) & (np.arange(12) != x)
        a = np.average(angles[x, own], weights=masses[own])
        b = np.average(
            angles[x, cap_of != cap_of[x]], weights=masses[cap_of != cap_of[x]]
        )
        expected += masses[x] / masses.sum() * (b - a) / max(a, b)
    found = mfpde.clusters(points, masses).silhouettes
    assert found.scores[0] == pytest.approx(expected, abs=1e-12)


def test_blob_and_stray_points(rng) -> None:
    """The heaviest component's mass over the angle tells of a blob that k-means does not see."""
    blob = cap(np.eye(64)[0], 50, 0.2, rng)
    found = mfpde.clusters(np.concatenate([blob, np.eye(64)[1:51]]))
    heaviest = found.largest_masses([0.0, 0.5, 1.4, np.pi])
    assert heaviest == pytest.approx([0.01, 0.5, 0.5, 1])
    assert found.silhouettes.count == 0


def test_agreement_of_partitions() -> None:
    """The formula by pairs, and partitions that are equal, crossed, or all of one class."""
    one, other = [0, 0, 1, 1, 2], [0, 0, 1, 2, 2]
    # One common pair; 2 and 2 of 10, so that .4 are expected.
    assert mfpde.adjusted_rand(one, other) == pytest.approx((1 - 0.4) / (2 - 0.4))
    assert mfpde.adjusted_rand([3, 3, 1], [0, 0, 7]) == 1
    assert mfpde.adjusted_rand([0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(-0.5)
    assert mfpde.adjusted_rand([0, 0], [1, 1]) == 1
    with pytest.raises(ValueError, match="must both be"):
        mfpde.adjusted_rand([0, 1], [0, 1, 2])
