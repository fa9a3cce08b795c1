"""Masses of basins on S^2: exactly known ones, and points followed by another method."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import mfpde
from mfpde.detection.paths import linear_flows
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


ANGLES = st.floats(0.0, np.pi)
SPEEDS = st.floats(1e-9, 1.0)


def symmetric(rates, angle):
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return turn, turn @ np.diag(rates) @ turn.T


@given(
    rates=st.tuples(
        st.floats(0.1, 3.0), st.floats(-3.0, 3.0).filter(lambda r: abs(r) > 1e-12)
    ),
    angle=ANGLES,
    speeds=st.tuples(SPEEDS, st.floats(-1.0, 1.0)),
)
def test_steps_lie_on_the_paths_of_the_linearised_field(rates, angle, speeds) -> None:
    """Along eigenvectors u = v (e^(r t) - 1) / r, with one t; a half to one reach long.

    A speed of 0 is one of 1e-16 after the turn, and grows as e^(r t) too: up to e^15.
    """
    turn, gradient = symmetric(rates, angle)
    (step,) = linear_flows((turn @ speeds)[None], gradient[None], 0.1)
    along = turn.T @ step
    time = np.log1p(rates[0] * along[0] / speeds[0]) / rates[0]
    assert time > 0
    assume(rates[1] * time < 15)
    expected = speeds[1] * np.expm1(rates[1] * time) / rates[1]
    assert along[1] == pytest.approx(expected, rel=1e-6, abs=1e-9)
    lengths = np.hypot(
        *(v * np.expm1(r * 2 * time) / r for v, r in zip(speeds, rates, strict=True))
    )
    assert np.linalg.norm(step) <= 0.1 < lengths * (1 + 1e-6)


@given(
    rates=st.tuples(st.floats(-3.0, -0.1), st.floats(-3.0, -0.1)),
    angle=ANGLES,
    speeds=st.tuples(st.floats(-5e-3, 5e-3), SPEEDS.map(lambda v: 5e-3 * v)),
)
def test_steps_end_at_the_zero_that_the_flow_ends_at(rates, angle, speeds) -> None:
    turn, gradient = symmetric(rates, angle)
    velocity = turn @ speeds
    (step,) = linear_flows(velocity[None], gradient[None], 0.1)
    np.testing.assert_allclose(gradient @ step, -velocity, rtol=0, atol=1e-14)
