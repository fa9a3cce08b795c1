"""The global minimiser of descent: exact cases, duality, independent methods."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from equations import descent
from hypothesis import given, settings
from hypothesis import strategies as st
from random_points import random_points
from scipy.special import ive

import mfpde
from mfpde.geometry import geodesic_moves, tangent_frames
from mfpde.stationary.convex_energy import convex_energy
from mfpde.stationary.field_minima import flat_bounds, floor_of, largest_fall
from mfpde.stationary.sliding import best_masses
from mfpde.terms import PointMasses
from mfpde.theory import eigenvalues
from validation.circle_cases import points_at
from validation.references.ring import ring_angle
from validation.stable_states import random_descent
from validation.verdict_shapes import unit

CIRCLE = mfpde.Circle(256)
SPHERE = mfpde.Sphere(64)
AXIS = points_at(0.4)


def random_field(generator, seed, beta, activation, dimension):
    """The first variation of five atoms, with four neurons; their biases are 0 for even seeds."""
    neurons = mfpde.Perceptron(
        generator.standard_normal((4, dimension)),
        generator.standard_normal(4),
        activation,
        biases=generator.standard_normal(4) * (seed % 2),
    )
    masses = generator.random(5)
    points = random_points(5, dimension, seed + 1)
    return field_of(descent(beta, neurons), points, masses / masses.sum())


def field_of(equation, points, masses):
    """The first variation F of atoms."""
    energy = convex_energy(equation, points.shape[1], "a test")
    return energy.first_variation(PointMasses(points, masses))


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize(
    ("grid", "beta", "scale"),
    [
        *product([CIRCLE], [1.0, 5.0, 10.0, 25.0, 50.0], [0.1, 1.0, 10.0]),
        *product([SPHERE], [1.0, 10.0, 50.0], [1.0, 10.0]),
        *product([SPHERE], [5.0, 25.0], [0.1]),
    ],
)
def test_gaps_are_certified(activation, grid, beta, scale):
    """Of weak neurons on the sphere F is flat to 1e-8, and its atoms hardly determined."""
    is_flat, d = grid is SPHERE and scale < 1, grid.dimension
    seed = int(grid is SPHERE and not is_flat)
    equation = random_descent(beta, d, scale, seed=seed, activation=activation)
    found = mfpde.minimize(equation, grid)
    assert 0 <= found.gap <= 1e-12
    if is_flat:
        values = equation.first_variation(found.measure, random_points(20_000, 3, 1))
        assert values.min() >= found.certificate.floor - 1e-15
    elif grid is SPHERE:
        assert found.kind == "atoms"
        polished = mfpde.polish(equation, found.atoms)
        assert polished.is_second_order
        assert polished.moved < 1e-6
    else:
        again = mfpde.certificate(equation, found.measure)
        assert again.gap <= 2e-12
        held = equation.energy(found.measure)
        assert again.energy == pytest.approx(held, abs=1e-14)


@pytest.mark.parametrize("geometry", [CIRCLE, SPHERE])
@pytest.mark.parametrize("beta", [1.0, 10.0, 30.0])
def test_without_a_potential_the_minimiser_is_uniform(geometry, beta):
    found = mfpde.minimize(descent(beta), geometry)
    assert found.kind == "density"
    assert np.ptp(found.measure.values) < 1e-12
    uniform_energy = eigenvalues(beta, geometry.dimension, 0) / (2 * beta)
    assert found.energy == pytest.approx(uniform_energy, abs=1e-14)
    assert found.gap <= 1e-12


@pytest.mark.parametrize(
    ("geometry", "axis", "tolerance"),
    [(CIRCLE, [0.5**0.5] * 2, 1e-11), (SPHERE, [3**-0.5] * 3, 1e-11)]
    + [
        (SPHERE, [np.cos(angle), np.sin(angle), 0.0], 1e-9)
        for angle in (0.2, 0.7, 0.93, 1.3, 2.9)
    ],
)
def test_a_quadratic_potential_has_a_density_of_degree_two(geometry, axis, tolerance):
    """Rounding of V, 1e-16 or so in each degree, is none of its harmonics."""
    beta, weight, d = 3.0, 0.04, geometry.dimension
    neuron = mfpde.Perceptron([axis], [weight], activation="linear")
    found = mfpde.minimize(descent(beta, neuron), geometry)
    kappa = eigenvalues(beta, d, 2) / beta
    quadratic = weight / 2 * ((geometry.points @ axis) ** 2 - 1 / d)
    relative = found.measure.values * geometry.areas.sum()
    assert found.kind == "density"
    np.testing.assert_allclose(relative, 1 - quadratic / kappa, atol=tolerance)
    assert found.gap <= 1e-12


@pytest.mark.parametrize(
    ("beta", "weight", "least"),
    [(20.0, -0.3, 1), (20.0, -0.9, 1), (5.0, -0.3, 1), (20.0, 0.3, 3)],
)
def test_a_ring_is_recognised(beta, weight, least):
    """One of weights below 0; several of a weak repelling neuron."""
    axis = np.full(3, 3**-0.5)
    found = mfpde.minimize(descent(beta, mfpde.Perceptron([axis], [weight])), SPHERE)
    assert found.kind == "ring"
    assert found.atoms is None
    assert found.gap <= 1e-12
    assert len(found.rings.angles) >= least
    np.testing.assert_allclose(found.rings.axis, axis)
    if weight < 0:
        expected = [ring_angle(beta, weight)]
        np.testing.assert_allclose(found.rings.angles, expected, atol=1e-9)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 1000),
    beta=st.one_of(st.just(0.0), st.floats(0.0, 60.0)),
    activation=st.sampled_from(["relu", "leaky_relu", "gelu", "tanh", "linear"]),
    dimension=st.sampled_from([2, 3]),
)
def test_floors_and_expansions_are_below_the_field(
    seed, beta, *, activation, dimension
):
    """f(t) >= f + g t + H t^2 / 2 - T t^3 / 6 for t <= r, also over the neurons' kinks."""
    generator = np.random.default_rng(seed)
    field = random_field(generator, seed, beta, activation, dimension)
    tried = field.values(random_points(30_000, dimension, seed + 2))
    floor = floor_of(field, float(tried.min()), 1e-6)
    assert floor.is_tight
    # Values are known to their rounding, which certificates add: at beta = 1e-40, 1e24.
    rounding = 2 * field.bounds.rounding
    assert floor.bound <= min(tried.min(), floor.smallest) + rounding
    above = tried.min() - floor.bound
    assert above <= 1e-6 + field.bounds.third * 0.01 + rounding
    points = random_points(40, dimension, seed + 2)
    frames = tangent_frames(points)
    headings = random_points(40, dimension - 1, generator)
    room = 1e-13 + (rounding if 0 < beta < 0.01 else 0.0)
    for t in (0.02, 0.1, 0.2):
        radii = np.full(40, t)
        found = field.expansion(points, radii)
        slopes = np.einsum("na,na->n", headings, found.gradient)
        second = np.einsum("na,nab,nb->n", headings, found.hessian, headings)
        ends = field.values(geodesic_moves(points, frames, t * headings))
        beyond = ends - found.values - slopes * t - second * t**2 / 2
        assert (beyond >= -field.bounds.third * t**3 / 6 - room).all()
        fall = largest_fall(found, radii, field.bounds.third)
        assert (ends >= found.values - fall - room).all()
        # Of the quadratic part alone, and with the whole remainder.
        flat = largest_fall(found, radii, 0.0)
        assert (flat >= -slopes * t - second * t**2 / 2 - room).all()
        np.testing.assert_allclose(
            fall - flat, field.bounds.third * t**3 / 6, atol=room
        )


@pytest.mark.parametrize("grid", [CIRCLE, mfpde.Sphere(32)])
@pytest.mark.parametrize("activation", ["gelu", "tanh", "silu"])
def test_a_field_that_is_nearly_constant_has_small_derivatives(activation, grid):
    neurons = mfpde.Perceptron.random(
        3, grid.dimension, seed=4, activation=activation, scale=1e-6
    )
    cells = grid.points.reshape(-1, grid.dimension)
    field = field_of(descent(1.0, neurons), cells, mfpde.uniform(grid).masses.ravel())
    start, other = random_points(2, grid.dimension, 2)
    heading = unit(other - (other @ start) * start)
    t = np.linspace(0, 2 * np.pi, 65)[:-1]
    values = field.values(np.outer(np.cos(t), start) + np.outer(np.sin(t), heading))
    series = np.fft.rfft(values) / len(t)
    degrees = np.arange(len(series))
    third = np.fft.irfft(series * (1j * degrees) ** 3, len(t)) * len(t)
    mean = float(values.mean())
    distance, bend = flat_bounds(field, mean)
    assert np.abs(values - mean).max() <= distance
    assert np.abs(third).max() <= bend < 0.1


@pytest.mark.parametrize("activation", ["gelu", "tanh"])
def test_potentials_are_polynomials_of_the_degree_that_is_claimed(activation):
    neuron = mfpde.Perceptron([[1.2, 0.0]], [0.7], activation)
    degree = int(
        convex_energy(descent(1.0, neuron), 2, "a test").external.bounds.degree
    )

    def value(x):
        return neuron.value(points_at(np.arccos(x)))

    x = np.linspace(-1, 1, 2001)
    fitted = np.polynomial.Chebyshev.interpolate(value, degree)
    np.testing.assert_allclose(fitted(x), value(x), rtol=0, atol=1e-13)


@pytest.mark.parametrize("geometry", [CIRCLE, SPHERE])
def test_a_density_has_the_certificate_of_its_point_masses(geometry):
    """And so has one with an atom beside it."""
    d = geometry.dimension
    equation = random_descent(5.0, d, 0.5)
    density = mfpde.perturbed_uniform(geometry, 0.3, seed=1)
    spectral = mfpde.certificate(equation, density)
    points = geometry.points.reshape(-1, d)
    held = mfpde.Atoms(points, density.masses.ravel())
    assert spectral.energy == pytest.approx(equation.energy(held), abs=1e-13)
    least = equation.first_variation(held, random_points(1000, d, 0)).min()
    assert least - 2e-2 * spectral.gap - 2e-2 <= spectral.floor <= least + 1e-12
    best = mfpde.minimize(equation, geometry)
    assert spectral.energy - best.energy <= spectral.gap
    if geometry is CIRCLE:
        part = mfpde.Density(geometry, 0.7 * density.values)
        atoms = mfpde.Atoms([[1.0, 0.0]], [0.3])
        mixed = mfpde.certificate(equation, mfpde.Measure(part, atoms))
        points = np.concatenate([points, atoms.points])
        masses = np.concatenate([part.masses, atoms.masses])
        alone = mfpde.certificate(equation, mfpde.Atoms(points, masses))
        assert mixed.energy == pytest.approx(alone.energy, abs=1e-14)
        assert mixed.mean_field == pytest.approx(alone.mean_field, abs=1e-14)
        assert mixed.floor == pytest.approx(alone.floor, abs=2e-2 * alone.gap)


@pytest.mark.parametrize(
    ("neurons", "second"),
    [
        (mfpde.Perceptron([AXIS, -AXIS], [0.01, 0.01]), 0.01 / 4),
        (mfpde.Perceptron([AXIS, -2 * AXIS], [0.01, 0.0025]), 0.01 / 4),
        (
            mfpde.Perceptron([AXIS, -AXIS], [0.01, 0.01], "leaky_relu"),
            (1 + 0.01) * 0.01 / 4,
        ),
        (mfpde.Perceptron([AXIS], [0.01], biases=[-1.0]), 0.0),
    ],
    ids=["pair", "pair of other lengths", "leaky pair", "silent"],
)
def test_neurons_whose_kinks_cancel_have_a_density(neurons, second) -> None:
    """Paper, Theorem 3.1, footnote 2: V is the quadratic w_2 cos 2(t - axis) + const."""
    circle, beta = mfpde.Circle(256), 5.0
    found = mfpde.minimize(descent(beta, neurons), circle)
    assert found.kind == "density"
    assert found.gap < 1e-12
    relative = 1 - second / (ive(2, beta) / beta) * np.cos(2 * (circle.angles - 0.4))
    np.testing.assert_allclose(
        found.measure.values * 2 * np.pi, relative, rtol=0, atol=1e-11
    )


def test_a_hyperplane_that_misses_the_sphere_has_no_kink() -> None:
    for geometry in (mfpde.Circle(128), mfpde.Sphere(32)):
        axis = np.eye(geometry.dimension)[0]
        kinds = []
        for bias in (1.2, 0.8):
            neuron = mfpde.Perceptron([axis], [0.002], biases=[bias])
            kinds.append(mfpde.minimize(descent(3.0, neuron), geometry).kind)
        assert kinds[0] == "density"
        assert kinds[1] != "density"


@pytest.mark.parametrize("size", [1e-300, 1e-310, 5e-324])
def test_a_kernel_that_underflows_leaves_the_mass_to_the_potential(size) -> None:
    head = mfpde.Attention(1.0, bilinear=size * np.eye(2))
    found = mfpde.minimize(descent(head, mfpde.Perceptron([AXIS], [-0.5])), CIRCLE)
    assert 0 <= found.gap <= 1e-12
    np.testing.assert_allclose(found.atoms.points, [AXIS], atol=1e-7)


def test_best_masses_meet_the_conditions_of_their_minimum(rng):
    """F = K m + V is equal where there is mass and not less elsewhere, to rounding."""
    for _ in range(20):
        roots = rng.standard_normal((14, 9))
        kernel, potential = roots @ roots.T, 3 * rng.standard_normal(14)
        masses = best_masses(kernel, potential, np.ones(14))
        field = kernel @ masses + potential
        assert masses.sum() == pytest.approx(1, abs=1e-15)
        assert field.min() >= masses @ field - 1e-14
        assert np.ptp(field[masses > 0]) < 1e-14
