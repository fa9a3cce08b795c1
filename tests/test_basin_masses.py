"""Masses of basins on S^2: exactly known ones, and points followed by another method."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mfpde
from mfpde.measures.sampling import quantized

TILT = np.array([0.5, 0.4, -0.3])


def rotation(seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]


def quadratic(turn, rates):
    """V = sum_k rates_k (turn_k.x)^2 / 2: basins are the halves about +- turn_0."""
    neurons = mfpde.Perceptron(turn, rates, "linear")
    return mfpde.MeanFieldEquation(neurons, direction="ascent")


def half_masses(turn, width):
    """Masses about +- turn_0 of (1 + tilt.x) exp(-(turn_2.x / width)^2 / 2)."""
    z, weights = np.polynomial.legendre.leggauss(400)
    weights = weights * np.exp(-((z / width) ** 2) / 2)
    mean = 2 / np.pi * (weights @ np.sqrt(1 - z**2)) / weights.sum()
    return {side: 0.5 + side * (TILT @ turn[0]) * mean / 2 for side in (1, -1)}


def tilted(sphere, turn, width):
    return mfpde.Density.from_function(
        sphere, lambda x: (1 + x @ TILT) * np.exp(-((x @ turn[2] / width) ** 2) / 2)
    )


# From nearly even to a ring two cells wide of the coarsest grid, along which s F is flat.
SHAPES = [([1.0, 0.6, 0.0], 50.0), ([1.0, 0.9, 0.0], 0.15)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("rates", "width"), SHAPES)
def test_masses_of_basins_are_those_of_their_halves(rates, width, seed) -> None:
    """Edges oblique to the grid: eight directions leave some thousandths beyond them."""
    turn = rotation(seed)
    exact, equation = half_masses(turn, width), quadratic(turn, rates)
    particles = mfpde.Atoms(
        quantized(tilted(mfpde.Sphere(32), turn, width), 3000).points
    )
    sides = np.sign(particles.points @ turn[0])
    inside = {side: particles.masses[sides == side].sum() for side in (1, -1)}
    for measure, masses in (
        (tilted(mfpde.Sphere(32), turn, width), exact),
        (tilted(mfpde.Sphere(128), turn, width), exact),
        (particles, inside),
    ):
        report = mfpde.concentration(measure, equation)
        assert len(report.regions) == 2
        for region in report.regions:
            side = int(np.sign(region.position @ turn[0]))
            assert region.mass == pytest.approx(masses[side], abs=1e-2)


def test_basins_are_those_of_paths_followed_in_small_steps() -> None:
    """Five neurons in descent with kinks, and a ridge along which nearly nothing moves."""
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(8.0), mfpde.Perceptron.random(5, 3, seed=7), direction="descent"
    )
    start = mfpde.Atoms(quantized(mfpde.uniform(mfpde.Sphere(32)), 400).points)
    atoms = mfpde.solve_particles(equation, start, t_end=6.0, time_step=0.1).final
    assert isinstance(atoms, mfpde.Atoms)
    regions = mfpde.concentration(atoms, equation).regions

    def velocity(_, flat):
        points = flat.reshape(-1, 3)
        unit = points / np.linalg.norm(points, axis=1, keepdims=True)
        return equation.velocity(atoms, unit).ravel()

    paths = solve_ivp(
        velocity, (0.0, 1000.0), atoms.points.ravel(), rtol=1e-6, atol=1e-8
    )
    ends = paths.y[:, -1].reshape(-1, 3)
    places = np.stack([region.position for region in regions])
    nearest = (ends @ places.T).argmax(axis=1)
    masses = np.bincount(nearest, weights=atoms.masses)
    assert len(regions) == 2
    np.testing.assert_allclose([r.mass for r in regions], masses, atol=1e-2)
