"""A constant in the output of a perceptron, activations as networks have them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from random_points import random_points
from scipy.special import expit

import mfpde
from mfpde.commands.command_line import main
from mfpde.settings.settings import read_settings
from mfpde.terms.activations import ACTIVATIONS
from mfpde.terms.external import tangential

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
    added = tangential(np.broadcast_to(constant, points.shape), points)
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


def linear_twin(equation_of):
    """The equation with an output bias, and the one with a potential in its place."""
    bias = mfpde.Potential(
        lambda x: x @ CONSTANT,
        lambda x: np.broadcast_to(CONSTANT, x.shape),
        dimension=3,
    )
    return equation_of(neurons(3, output_bias=CONSTANT)), equation_of(neurons(3), bias)


def test_runs_particles_and_polished_atoms_are_those_of_a_linear_potential():
    own, twin = linear_twin(
        lambda *terms: mfpde.MeanFieldEquation(
            mfpde.Attention(4.0), *terms, direction="ascent"
        )
    )
    start = mfpde.perturbed_uniform(mfpde.Sphere(32), 0.3)
    runs = [mfpde.solve(e, start, t_end=0.3, atoms="exact") for e in (own, twin)]
    assert mfpde.wasserstein(runs[0].final, runs[1].final) < 1e-4
    cloud = mfpde.Atoms(random_points(5, 3))
    ends = [mfpde.solve_particles(e, cloud, t_end=40.0).final for e in (own, twin)]
    np.testing.assert_allclose(ends[0].points, ends[1].points, atol=1e-6)
    rests = [mfpde.polish(e, ends[0], merge_within=1e-4) for e in (own, twin)]
    assert rests[0].converged
    assert np.abs(own.velocity(rests[0].atoms)).max() < 1e-13
    np.testing.assert_allclose(rests[0].split_rates, rests[1].split_rates, atol=1e-7)


@pytest.mark.parametrize("geometry", [mfpde.Circle(128), mfpde.Sphere(32)], ids=str)
def test_minimum_and_maximum_are_global(geometry):
    """No measure and no point drawn at random is beyond what is certified."""
    d = geometry.dimension
    attention = mfpde.Attention(4.0)
    perceptron = neurons(d, activation="relu", output_bias=CONSTANT[:d])
    equation = mfpde.MeanFieldEquation(attention, perceptron, direction="descent")
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
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(2.0), perceptron, direction="ascent"
    )
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
    equation = mfpde.MeanFieldEquation(mfpde.Attention(2.0), along, direction="ascent")
    run = mfpde.solve(equation, mfpde.uniform(zonal), t_end=0.2)
    assert run.final.density.masses @ zonal.points[:, -1] > 0.1
    across = mfpde.Perceptron([zonal.axis], [0.5], output_bias=np.eye(5)[0])
    wrong = mfpde.MeanFieldEquation(across, direction="ascent")
    with pytest.raises(ValueError, match="output_bias is not parallel to the axis"):
        mfpde.solve(wrong, mfpde.uniform(zonal), t_end=0.1)


def test_settings_files_and_stores_keep_it(tmp_path):
    (tmp_path / "run.toml").write_text(
        'geometry = { kind = "circle", cells = 64 }\n'
        "attention = { beta = 2.0 }\n"
        'equation = { direction = "ascent" }\n'
        'start = { kind = "uniform" }\n'
        "solve = { t_end = 0.2 }\n"
        "[perceptron]\n"
        'directions = [[1.0, 0.0]]\nweights = [0.5]\nactivation = "silu"\n'
        "output_bias = [0.0, 2.0]\n"
    )
    store = tmp_path / "run.zarr"
    assert main(["run", str(tmp_path / "run.toml"), "--out", str(store)]) == 0
    there = mfpde.load(store).equation.perceptrons[0]
    np.testing.assert_array_equal(there.output_bias, [0.0, 2.0])
    assert there.activation.name == "silu"
    # Along the axis of a zonal grid it is a number.
    (tmp_path / "zonal.toml").write_text(
        'geometry = { kind = "zonal", dimension = 4, cells = 64 }\n'
        "attention = { beta = 2.0 }\n"
        'equation = { direction = "ascent" }\n'
        'start = { kind = "uniform" }\n'
        "solve = { t_end = 0.2 }\n"
        "perceptron = { directions = [1.0], weights = [0.5], output_bias = -0.4 }\n"
    )
    (term,) = read_settings(tmp_path / "zonal.toml").single_equation().perceptrons
    np.testing.assert_array_equal(term.output_bias, [0.0, 0.0, 0.0, -0.4])


@pytest.mark.parametrize(
    ("constant", "message"),
    [
        ([1.0], r"output_bias of shape \(1,\) must have shape \(3,\)"),
        ([1.0, np.nan, 0.0], "output_bias"),
        ([1e60, 0.0, 0.0], r"output_bias\[0\] = 1e\+60 must be at most"),
    ],
)
def test_what_is_no_constant_is_refused(constant, message):
    with pytest.raises(ValueError, match=message):
        neurons(3, output_bias=constant)


def test_a_callable_alone_is_enough_for_vector_weights():
    """They have no potential, so that no primitive of sigma is needed."""
    points = random_points(30, 3)
    own = neurons(3, vector=True, activation=np.tanh)
    np.testing.assert_allclose(
        own.drift(points), neurons(3, vector=True, activation="tanh").drift(points)
    )
    equation = mfpde.MeanFieldEquation(own, direction="ascent")
    run = mfpde.solve(equation, mfpde.uniform(mfpde.Sphere(32)), t_end=0.1)
    assert run.final.total_mass == pytest.approx(1.0)
    pickle.loads(pickle.dumps(own)).drift(points)
    with pytest.raises(ValueError, match=r"or a pair \(sigma, Phi\)"):
        neurons(3, activation=np.tanh)


def test_weights_as_torch_stores_them_are_named():
    with pytest.raises(ValueError, match=r"torch's Linear.*give weights\.T"):
        mfpde.Perceptron(np.ones((5, 3)), np.ones((3, 5)))


def test_silu_is_its_formula_with_its_primitive():
    silu = ACTIVATIONS["silu"]
    z = np.linspace(-30.0, 30.0, 1201)
    np.testing.assert_allclose(silu.sigma(z), z * expit(z), rtol=1e-14)
    nodes, weights = np.polynomial.legendre.leggauss(80)
    inner = (nodes + 1) / 2 * z[:, np.newaxis]
    integral = z / 2 * ((inner * expit(inner)) @ weights)
    np.testing.assert_allclose(silu.primitive(z), integral, rtol=1e-12)
    # All digits near 0, no overflow far out.
    np.testing.assert_allclose(silu.primitive(np.array(1e-8)), 2.5e-17, rtol=1e-8)
    far = silu.primitive(np.array([-800.0, 800.0]))
    np.testing.assert_allclose(
        far, [np.pi**2 / 12, 320_000 - np.pi**2 / 12], rtol=1e-14
    )
    step = 1e-5
    slopes = (silu.sigma(z + step) - silu.sigma(z - step)) / (2 * step)
    np.testing.assert_allclose(silu.derivative(z), slopes, atol=1e-9)
    assert silu.bounds.steepest == pytest.approx(
        silu.derivative(np.linspace(2, 3, 9999)).max()
    )
