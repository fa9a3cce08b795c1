"""Clusters of particles: beside kinks, and on their way to one another."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import mfpde
from mfpde.geometry.arcs import exponential_map


def clusters_at(centres, counts, *, radius=1e-6, seed=0):
    """Equal particles scattered by ``radius`` about ``centres``."""
    rng = np.random.default_rng(seed)
    points = np.repeat(np.asarray(centres, dtype=float), counts, axis=0)
    noise = radius * rng.standard_normal(points.shape)
    noise -= np.einsum("ni,ni->n", noise, points)[:, None] * points
    return mfpde.Atoms(exponential_map(points, noise))


def on_circle(angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


@pytest.mark.parametrize("dimension", [2, 3])
def test_clusters_within_one_basin_are_told_apart(dimension: int) -> None:
    """Two clusters at distance .4 feel one attractor between them for beta = 1."""
    plane = np.linalg.qr(np.random.default_rng(1).standard_normal((dimension, 2)))[0]
    centres = on_circle(np.array([0.0, 0.4])) @ plane.T
    particles = clusters_at(centres, [70, 30])
    equation = mfpde.MeanFieldEquation(mfpde.Attention(1.0), direction="ascent")
    report = mfpde.concentration(particles, equation)
    assert report.verdict == "atoms"
    masses = sorted(region.mass for region in report.of_kinds("atom"))
    np.testing.assert_allclose(masses, [0.3, 0.7], rtol=1e-12)
    for centre in centres:
        nearest = max(region.position @ centre for region in report.regions)
        assert nearest > 1 - 1e-10


def test_a_cluster_beside_a_kink_has_its_own_basin() -> None:
    r"""An attractor and the end of its basin, both 1e-4 from a kink, to either side.

    V = c cos(x - phi) + w relu(cos x)^2 / 2 has the drift -c sin(x - phi), less w sin x cos x
    below pi/2: with phi = pi/2 + e and w = 2 c, zeros at phi and near pi/2 - e.
    """
    e, c = 1e-4, 1.0
    target = np.array([-np.sin(e), np.cos(e)])
    smooth = mfpde.Potential(
        value=lambda x: c * (x @ target),
        gradient=lambda x: np.broadcast_to(c * target, x.shape),
        dimension=2,
    )
    neuron = mfpde.Perceptron([[1.0, 0.0]], [2 * c])
    np.testing.assert_allclose(neuron.kink_angles(), [np.pi / 2, 3 * np.pi / 2])
    equation = mfpde.MeanFieldEquation(smooth, neuron, direction="ascent")
    particles = mfpde.Atoms(
        on_circle(np.array([np.pi / 2 + e, np.pi / 2 - 3 * e])), [0.6, 0.4]
    )
    report = mfpde.concentration(particles, equation)
    (held,) = [r for r in report.regions if abs(r.angle - np.pi / 2 - e) < 1e-12]
    assert held.kind == "atom"
    assert held.mass == pytest.approx(0.6)
    assert held.eigenvalues[0] == pytest.approx(-c, rel=1e-3)
    before = report.basins.edges[report.basins.edges < held.angle]
    assert before.max() == pytest.approx(np.pi / 2 - e, abs=1e-6)


def test_kinks_of_biased_neurons_lie_where_the_slope_jumps() -> None:
    rng = np.random.default_rng(3)
    neurons = mfpde.Perceptron(
        rng.standard_normal((6, 2)), rng.standard_normal(6), biases=rng.normal(size=6)
    )
    angles = neurons.kink_angles()
    assert len(angles) > 0
    step = 1e-5

    def drift(at):
        tangents = np.stack([-np.sin(at), np.cos(at)], axis=1)
        return np.einsum("ni,ni->n", neurons.drift(on_circle(at)), tangents)

    bend = (drift(angles + step) - 2 * drift(angles) + drift(angles - step)) / step
    between = (angles + np.roll(angles, -1)) / 2 + np.pi * (
        np.roll(angles, -1) < angles
    )
    smooth = drift(between + step) - 2 * drift(between) + drift(between - step)
    assert np.abs(bend).min() > 100 * np.abs(smooth / step).max()
    assert len(mfpde.Perceptron([[1.0, 0.0]], [1.0], "gelu").kink_angles()) == 0
    assert len(mfpde.Perceptron([[1.0, 0.0]], [1.0], biases=[2.0]).kink_angles()) == 0


def to_one_end(dimension):
    """A drift to one end, without attention: one basin."""
    neuron = mfpde.Perceptron(np.eye(dimension)[:1], [1.0], "linear", biases=[5.0])
    return mfpde.MeanFieldEquation(neuron, direction="ascent")


@settings(max_examples=25, deadline=None)
@given(count=st.integers(1, 5000), dimension=st.integers(2, 3), seed=st.integers(0))
def test_particles_of_a_density_are_no_clusters(count, dimension, seed) -> None:
    geometry = mfpde.Circle(64) if dimension == 2 else mfpde.Sphere(32)
    density = mfpde.uniform(geometry)
    for particles in (
        mfpde.sampled(density, count, seed),
        mfpde.quantized(density, count),
    ):
        report = mfpde.concentration(particles, to_one_end(dimension))
        assert len(report.regions) == 1


def test_a_large_cluster_is_found_at_once() -> None:
    """The work does not grow with the number of pairs."""
    centres = np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0]])
    particles = clusters_at(centres, [150_000, 50_000], radius=1e-4)
    report = mfpde.concentration(particles, to_one_end(3))
    for region, centre, mass in zip(report.regions, centres, (0.75, 0.25), strict=True):
        np.testing.assert_allclose(region.position, centre, atol=1e-5)
        assert region.mass == pytest.approx(mass)
