"""Terms: spectra against Bessel functions, primitives and gradients against differences."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from equations import ascent, descent
from hypothesis import given, settings
from hypothesis import strategies as st
from random_points import random_points
from scipy.linalg import expm
from scipy.special import expit

import mfpde
from mfpde.terms.activations import ACTIVATIONS


@pytest.mark.parametrize("beta", [0.1, 5.0, 1000.0])
def test_kernel_is_its_series_up_to_the_band_limit(beta: float) -> None:
    angles = np.linspace(0, np.pi, 200)
    degrees = np.arange(mfpde.Exponential(beta).band_limit(2) + 1)
    weights = np.where(degrees == 0, 1.0, 2.0) * mfpde.theory.eigenvalues(
        beta, 2, degrees
    )
    series = np.cos(np.outer(angles, degrees)) @ weights
    np.testing.assert_allclose(series, np.exp(beta * (np.cos(angles) - 1)), atol=1e-14)


def test_spectrum_is_log_safe_in_high_dimension() -> None:
    values = mfpde.theory.eigenvalues(5.0, 2048, range(41))
    assert values[0] > 0
    assert (np.diff(values) < 0).all()
    # In high dimension points are nearly orthogonal: lambda_0 -> e^-beta e^(beta^2/2d).
    assert values[0] == pytest.approx(np.exp(-5 + 25 / 4096), rel=1e-4)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_primitive_has_the_activation_as_derivative(name: str) -> None:
    activation = ACTIVATIONS[name]
    z = np.linspace(-4, 4, 401) + 1e-3
    step = 1e-5
    slope = (activation.primitive(z + step) - activation.primitive(z - step)) / (
        2 * step
    )
    np.testing.assert_allclose(slope, activation.sigma(z), atol=1e-9)
    assert activation.primitive(np.zeros(1))[0] == pytest.approx(0.0, abs=1e-16)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_slopes_are_derivatives_of_the_activation_on_either_side(name: str) -> None:
    activation = ACTIVATIONS[name]
    z = np.linspace(-4, 4, 401)
    for side, slope in zip((-1, 1), activation.slopes(z), strict=True):
        step = 1e-5 * side
        # One-sided, of second order.
        ahead, beyond = activation.sigma(z + step), activation.sigma(z + 2 * step)
        expected = (4 * ahead - beyond - 3 * activation.sigma(z)) / (2 * step)
        np.testing.assert_allclose(slope, expected, atol=1e-9)
    pair = (activation.sigma, activation.primitive)
    unknown = mfpde.Perceptron([[1.0, 0.0]], [1.0], pair).activation
    assert unknown.name == "custom"
    z = z[np.abs(z) > 1e-3]
    np.testing.assert_allclose(
        unknown.slopes(z)[0], activation.slopes(z)[0], atol=1e-10
    )


@given(
    seed=st.integers(0, 10_000),
    dimension=st.integers(2, 6),
    name=st.sampled_from(sorted(ACTIVATIONS)),
)
@settings(deadline=None, max_examples=40)
def test_perceptron_drift_is_the_gradient_of_its_potential(
    seed: int, dimension: int, name: str
) -> None:
    generator = np.random.default_rng(seed)
    perceptron = mfpde.Perceptron(
        generator.standard_normal((4, dimension)),
        generator.standard_normal(4),
        name,
        biases=generator.standard_normal(4),
    )
    x = generator.standard_normal(dimension)
    x /= np.linalg.norm(x)
    drift = perceptron.drift(x)
    assert drift @ x == pytest.approx(0.0, abs=1e-12)
    heading = generator.standard_normal(dimension)
    heading -= (heading @ x) * x
    heading /= np.linalg.norm(heading)
    t = 1e-5
    ahead = perceptron.value(np.cos(t) * x + np.sin(t) * heading)
    behind = perceptron.value(np.cos(t) * x - np.sin(t) * heading)
    # Second order away from a kink of sigma, first order in t on one.
    assert (ahead - behind) / (2 * t) == pytest.approx(drift @ heading, abs=3e-4)


def test_vector_weights_along_the_directions_are_the_gradient_case(
    rng: np.random.Generator,
) -> None:
    directions = rng.standard_normal((3, 2))
    weights = rng.standard_normal(3)
    scalar = mfpde.Perceptron(directions, weights, "gelu")
    vector = mfpde.Perceptron(directions, weights[:, None] * directions, "gelu")
    points = mfpde.Circle(64).points
    np.testing.assert_allclose(scalar.drift(points), vector.drift(points), atol=1e-14)
    assert not vector.is_gradient


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_points_of_another_dimension_are_refused(dimension: int) -> None:
    perceptron = mfpde.Perceptron.random(4, dimension, seed=0)
    one = np.eye(dimension)[0].tolist()
    assert perceptron.value(one) == perceptron.value(np.array([one]))[0]
    assert perceptron.drift(one).shape == (dimension,)
    for wrong in (np.ones((2 * dimension, dimension + 1)), np.ones(2 * dimension), 1.0):
        for method in (perceptron.value, perceptron.drift, perceptron.preactivations):
            with pytest.raises(ValueError, match=rf"points .* {dimension} entries"):
                method(wrong)


def test_random_perceptron_repeats_the_authors_weights() -> None:
    perceptron = mfpde.Perceptron.random(2, 2, seed=777)
    np.testing.assert_allclose(
        perceptron.directions,
        [
            [-0.9967456002240224, 0.0806114658969388],
            [-0.6198538201675943, -0.784717300448792],
        ],
        rtol=1e-15,
    )
    np.testing.assert_allclose(
        perceptron.weights, [0.6324575844117477, -0.4696753890279187], rtol=1e-15
    )


def test_potential_works_in_every_dimension_it_can_be_called_in() -> None:
    matrix = np.array([[1.0, 0.3], [0.3, -0.5]])
    quadratic = mfpde.Potential(
        lambda x: 0.5 * np.einsum("...i,ij,...j->...", x, matrix, x),
        lambda x: x @ matrix,
    )
    quadratic.check_dimension(2)
    with pytest.raises(ValueError, match="cannot be called with points in dimension 3"):
        quadratic.check_dimension(3)


@pytest.mark.parametrize("beta", [0.0, 0.01, 1.0, 5.0, 100.0, 1000.0])
@pytest.mark.parametrize("normalized", [False, True])
def test_spectral_fields_are_the_direct_sums(
    beta: float, normalized: bool, rng: np.random.Generator
) -> None:
    circle = mfpde.Circle(600)
    density = mfpde.perturbed_uniform(circle, 0.7, seed=3)
    atoms = mfpde.Atoms(circle.points, density.masses)
    equation = ascent(mfpde.Attention(beta, normalized=normalized))
    points = mfpde.Circle(37).points
    np.testing.assert_allclose(
        equation.first_variation(density, points),
        equation.first_variation(atoms, points),
        rtol=1e-12,
        atol=1e-13,
    )
    np.testing.assert_allclose(
        equation.velocity(density), equation.velocity(atoms), atol=3e-13
    )
    assert equation.energy(density) == pytest.approx(equation.energy(atoms), rel=1e-12)


@pytest.mark.parametrize("beta", [5e-324, 1e-300, 1e-100, 1e-20, 1e-9])
@pytest.mark.parametrize("geometry", [mfpde.Circle(64), mfpde.Zonal(5, 64)])
def test_the_smallest_beta_is_its_limit(beta, geometry) -> None:
    start = mfpde.perturbed_uniform(geometry, amplitude=0.3, seed=3)
    velocities = [
        ascent(mfpde.Attention(value)).velocity(start) for value in (beta, 0.0)
    ]
    np.testing.assert_allclose(*velocities, atol=2e-9)


CONSTANT = np.array([0.3, -0.5, 0.2])


def neurons(dimension, *, vector=False, activation="gelu", **given):
    generator = np.random.default_rng(dimension)
    shape = (4, dimension) if vector else (4,)
    return mfpde.Perceptron(
        generator.standard_normal((4, dimension)),
        generator.standard_normal(shape),
        activation,
        biases=generator.standard_normal(4),
        **given,
    )


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("dimension", [2, 3, 6])
def test_it_adds_its_tangential_part_to_the_drift(dimension, vector):
    constant, points = np.arange(1.0, dimension + 1), random_points(20, dimension)
    plain = neurons(dimension, vector=vector)
    biased = neurons(dimension, vector=vector, output_bias=constant)
    added = constant - (points @ constant)[:, np.newaxis] * points
    drift = plain.drift(points) + added
    np.testing.assert_allclose(biased.drift(points), drift, atol=1e-13)
    if not vector:
        value = plain.value(points) + points @ constant
        np.testing.assert_allclose(biased.value(points), value, atol=1e-13)
        # Value and drift are the same potential's.
        mfpde.Potential(biased.value, biased.drift, dimension=dimension)
    assert "output bias" in repr(biased)
    assert "output bias" in biased.description
    assert "output bias" not in repr(plain)
    np.testing.assert_allclose(biased.scaled(2.0).drift(points), 2 * drift, atol=1e-12)


def test_attention_is_what_its_numbers_say() -> None:
    matrix = np.array([[1.0, 2.0], [0.0, 1.0]])
    head = mfpde.Attention(2.0, bilinear=matrix)
    assert head == mfpde.Attention(2.0, bilinear=matrix.copy())
    assert head != mfpde.Attention(3.0, bilinear=matrix)
    assert head != mfpde.Attention(2.0, bilinear=matrix.T)


@pytest.mark.parametrize("dimension", [2, 3, 6])
def test_quadratic_drift_moves_points_by_its_exponential(dimension):
    """x' = P_x M x is solved by e^(tM) x / |e^(tM) x|; a constant drift has x.b/|b| = tanh."""
    root = np.random.default_rng(1).standard_normal((dimension, dimension))
    matrix, points = root + root.T, random_points(9, dimension)
    term = mfpde.Perceptron.quadratic(matrix)
    potential = np.einsum("ni,ij,nj->n", points, matrix, points) / 2
    np.testing.assert_allclose(term.value(points), potential, atol=1e-13)
    atoms, tight = mfpde.Atoms(points), {"t_end": 0.4, "rtol": 1e-11, "atol": 1e-13}
    moved = mfpde.solve_particles(ascent(term), atoms, **tight).final.points
    expected = points @ expm(0.4 * matrix)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(moved, expected, atol=1e-9)

    vector = root[0]
    drift, length = mfpde.Perceptron.constant(vector), np.linalg.norm(vector)
    np.testing.assert_allclose(drift.value(points), points @ vector, atol=1e-14)
    moved = mfpde.solve_particles(ascent(drift), atoms, **tight).final.points
    heights = np.arctanh(points @ vector / length) + 0.4 * length
    np.testing.assert_allclose(moved @ vector / length, np.tanh(heights), atol=1e-9)


@pytest.mark.parametrize("geometry", [mfpde.Circle(128), mfpde.Sphere(32)], ids=str)
def test_minimum_and_maximum_are_global(geometry):
    """No measure and no point drawn at random is beyond what is certified."""
    d = geometry.dimension
    attention = mfpde.Attention(4.0)
    perceptron = neurons(d, activation="relu", output_bias=CONSTANT[:d])
    equation = descent(attention, perceptron)
    found = mfpde.minimize(equation, geometry)
    assert 0 <= found.gap < 1e-11
    points = random_points(5000, d)
    generator = np.random.default_rng(1)
    for k in range(100):
        rival = mfpde.Atoms(points[3 * k : 3 * k + 3], generator.dirichlet(np.ones(3)))
        assert equation.energy(rival) >= found.lower_bound
    best = mfpde.maximize(equation)
    values = perceptron.value(points)
    assert values.max() <= best.potential + 1e-9
    assert best.potential - values.max() < 0.05 * np.ptp(values)
    np.testing.assert_allclose(perceptron.value(best.points), best.potential)


def test_rotations_that_turn_the_constant_are_no_symmetry():
    perceptron = mfpde.Perceptron([[0.0, 0.0, 1.0]], [1.0], output_bias=[1.0, 0.0, 0.0])
    equation = ascent(mfpde.Attention(2.0), perceptron)
    start = mfpde.Atoms(random_points(1, 3))
    end = mfpde.solve_particles(equation, start, t_end=60.0).final
    rest = mfpde.polish(equation, end)
    assert rest.converged
    assert rest.symmetry_dimension == 0


def test_on_a_zonal_grid_it_is_along_the_axis():
    zonal = mfpde.Zonal(5, 128)
    along = mfpde.Perceptron(
        [zonal.axis], [0.5], biases=[0.2], output_bias=0.7 * zonal.axis
    )
    equation = ascent(mfpde.Attention(2.0), along)
    run = mfpde.solve(equation, mfpde.uniform(zonal), t_end=0.2)
    assert run.final.density.masses @ zonal.points[:, -1] > 0.1


def test_a_callable_alone_is_enough_for_vector_weights():
    """They have no potential, so that no primitive of sigma is needed."""
    points = random_points(30, 3)
    own = neurons(3, vector=True, activation=np.tanh)
    np.testing.assert_allclose(
        own.drift(points), neurons(3, vector=True, activation="tanh").drift(points)
    )
    equation = ascent(own)
    run = mfpde.solve(equation, mfpde.uniform(mfpde.Sphere(32)), t_end=0.1)
    assert run.final.total_mass == pytest.approx(1.0)
    pickle.loads(pickle.dumps(own)).drift(points)


def tanh_gelu(z):
    return z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))) / 2


FORMULAS = {"silu": lambda z: z * expit(z), "gelu_tanh": tanh_gelu}


@pytest.mark.parametrize("name", FORMULAS)
def test_it_is_its_formula_with_its_primitive(name):
    activation, formula = ACTIVATIONS[name], FORMULAS[name]
    z, atol = np.linspace(-30.0, 30.0, 1201), 0.0 if name == "silu" else 2e-15
    np.testing.assert_allclose(activation.sigma(z), formula(z), rtol=1e-14, atol=atol)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    integral = z / 2 * (formula((nodes + 1) / 2 * z[:, np.newaxis]) @ weights)
    np.testing.assert_allclose(activation.primitive(z), integral, rtol=1e-12, atol=atol)
    steepest = activation.derivative(np.linspace(1, 3, 9999)).max()
    assert activation.bounds.steepest == pytest.approx(steepest)


def test_primitive_of_silu_keeps_its_digits():
    silu = ACTIVATIONS["silu"]
    # All digits near 0, no overflow far out.
    np.testing.assert_allclose(silu.primitive(np.array(1e-8)), 2.5e-17, rtol=1e-8)
    far = silu.primitive(np.array([-800.0, 800.0]))
    np.testing.assert_allclose(
        far, [np.pi**2 / 12, 320_000 - np.pi**2 / 12], rtol=1e-14
    )
