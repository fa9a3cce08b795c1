"""Maximisers of E: the paper's explicit cases, brute force, continua."""

from __future__ import annotations

import numpy as np
import pytest
from equations import ascent
from random_points import random_points

import mfpde


def best_of(directions, weights, activation="relu"):
    return mfpde.maximize(
        ascent(3.0, mfpde.Perceptron(directions, weights, activation))
    )


def climbed(perceptron, dimension, seed):
    """Best value of V by a random search: independent of everything else."""
    points = random_points(4000, dimension, seed)
    points = points[np.argsort(-perceptron.value(points))[:40]]
    generator, step = np.random.default_rng(seed), 0.2
    for _ in range(250):
        trial = points + step * generator.standard_normal(points.shape)
        trial /= np.linalg.norm(trial, axis=1, keepdims=True)
        better = perceptron.value(trial) > perceptron.value(points)
        points = np.where(better[:, None], trial, points)
        step *= 0.95
    return float(perceptron.value(points).max())


@pytest.mark.parametrize("dimension", [2, 3, 4])
@pytest.mark.parametrize(
    ("activation", "seeds", "largest_gap"),
    [("relu", 67, 1e-12)]
    + [(kind, 5, 1e-11) for kind in ("gelu", "tanh", "leaky_relu")],
)
def test_random_potentials_agree_with_brute_force(
    dimension, activation, seeds, largest_gap
):
    for seed in range(seeds):
        perceptron = mfpde.Perceptron.random(
            1 + seed % 5, dimension, seed=seed, activation=activation
        )
        found = mfpde.maximize(ascent(3.0, perceptron))
        best = climbed(perceptron, dimension, seed)
        assert best <= found.potential + (1e-13 if seeds > 5 else found.gap)
        assert best >= found.potential - 1e-7
        assert found.gap <= largest_gap
        if activation == "relu":
            values = perceptron.value(found.points)
            np.testing.assert_allclose(values, found.potential, atol=1e-12)


def test_the_gap_has_the_rounding_of_large_values():
    one, million = (
        best_of([[1, 0.5], [-0.3, 0.8]], [size, 2 * size], "gelu")
        for size in (1.0, 1e6)
    )
    apart = abs(million.potential - 1e6 * one.potential)
    assert max(apart, 2e-16 * million.potential) <= million.gap


@pytest.mark.parametrize(
    ("weights", "lengths"),
    [
        ([1.0, -0.2, -0.3], [1.0, -2.0, 0.5]),
        ([-0.5, 0.4, -0.3], [1.0, -2.0, 0.5]),
        ([-1.0, -0.2, -0.3], [1.0, -2.0, 0.5]),
        ([-1.0], [1.0]),
    ],
)
def test_parallel_neurons(weights, lengths):
    """Of one neuron below 0 every point of the dead half is a maximiser."""
    axis, lengths = np.array([0.0, 0.6, 0.8]), np.array(lengths)
    found = best_of(lengths[:, None] * axis, weights)
    along = [
        sum(w * a**2 for w, a in zip(weights, lengths, strict=True) if side * a > 0)
        for side in (1, -1)
    ]
    assert 2 * found.potential == pytest.approx(max(*along, 0.0), abs=1e-14)
    if max(along) > 0:
        side = 1 - 2 * int(np.argmax(along))
        np.testing.assert_allclose(found.points, [side * axis], atol=1e-12)
        assert found.is_unique
    elif len(weights) > 1:
        np.testing.assert_allclose(found.points @ axis, 0, atol=1e-12)
        assert found.dimensions.tolist() == [1]
    else:
        assert (found.points @ axis < 0).all()
        assert found.dimensions.tolist() == [2]


@pytest.mark.parametrize(
    "weights", [[1.0, 2.0, -1.0], [2.0, 2.0, -1.0], [2.0, 2.0, 2.0], [-1.0, 0.5, 0.2]]
)
def test_orthogonal_neurons(weights):
    found = best_of(np.eye(3), weights)
    largest = max(weights)
    top = np.array(weights) == largest
    assert 2 * found.potential == pytest.approx(largest)
    assert found.dimensions.tolist() == [top.sum() - 1]
    np.testing.assert_allclose(found.points[:, ~top], 0, atol=1e-12)
    assert (found.points[:, top] >= -1e-12).all()


@pytest.mark.parametrize("seed", range(5))
def test_positive_neurons(seed):
    generator = np.random.default_rng(seed)
    rows, weights = generator.random((5, 4)), generator.random(5)
    found = best_of(rows, weights)
    _, sizes, axes = np.linalg.svd(np.sqrt(weights)[:, None] * rows)
    assert 2 * found.potential == pytest.approx(sizes[0] ** 2)
    np.testing.assert_allclose(found.points, [np.abs(axes[0])], atol=1e-9)


def test_energies_of_all_measures_are_below_the_largest():
    equation = ascent(3.0, mfpde.Perceptron.random(4, 3, seed=2))
    found = mfpde.maximize(equation)
    at_best = equation.energy(mfpde.Atoms(found.points[:1]))
    assert at_best == pytest.approx(found.energy, abs=1e-14)
    for seed in range(20):
        generator = np.random.default_rng(seed)
        points = random_points(3, 3, seed)
        points = found.points[0] + 0.1 * generator.random() * points
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        assert equation.energy(mfpde.Atoms(points)) <= found.energy


def test_a_ring_of_maximisers_is_a_continuum():
    # V = Phi(z) - Phi(2 z) / 4 + ... of one tanh neuron is even: both ends of its axis.
    axis = [0.0, 0.6, 0.8]
    two, ring = (best_of([axis], [weight], "tanh") for weight in (1.0, -1.0))
    assert len(two.points) == 2
    assert not two.dimensions.any()
    assert ring.dimensions.tolist() == [1]
    np.testing.assert_allclose(ring.points @ axis, 0, atol=1e-8)


def test_more_cells_than_can_be_counted_are_refused(monkeypatch):
    monkeypatch.setattr("mfpde.stationary.maximization.MOST_CELLS", 1000)
    with pytest.raises(ValueError, match="neurons have more than 1000 cells"):
        mfpde.maximize(ascent(3.0, mfpde.Perceptron.random(40, 6, seed=0)))
