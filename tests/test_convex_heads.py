"""Heads with symmetric D: minima where D is positive semidefinite, refused elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from equations import ascent, descent
from random_points import atoms_at, random_points

import mfpde
from validation.circle_cases import points_at

CIRCLE, SPHERE = mfpde.Circle(256), mfpde.Sphere(48)


def positive_matrix(dimension: int, seed: int) -> np.ndarray:
    factor = np.random.default_rng(seed).standard_normal((dimension, dimension))
    return factor @ factor.T / dimension


def head(beta: float, matrix: object, **options: object) -> mfpde.Attention:
    return mfpde.Attention(beta, bilinear=matrix, **options)


@pytest.mark.parametrize(
    ("stretch", "integral", "coefficients"),
    [
        (
            1.3,
            1.33933398557,
            [0.53817215, 0.07754581, 0.01066962, 0.001429524, 0.00018951614],
        ),
        (0.9, 1.23656262402, [-0.21758519, 0.012218838, -0.00066866045, 3.5866634e-5]),
        (1.1, 1.29303727519, []),
    ],
)
def test_two_eigenvalues_have_the_density_of_sixty_digits(
    stretch, integral, coefficients
):
    """I = iint e^(x.Dy) dmu dmu, D = diag(1, stretch), is least at 1 + sum c_k cos 2k theta."""
    equation = descent(head(1.0, np.diag([1.0, stretch]), kernel="unshifted"))
    found = mfpde.minimize(equation, CIRCLE)
    assert found.kind == "density"
    assert 2 * found.energy == pytest.approx(integral, abs=6e-12)
    assert found.gap <= 1e-12
    relative = found.measure.values * CIRCLE.areas.sum()
    for order, exact in enumerate(coefficients, start=1):
        computed = 2 * np.mean(relative * np.cos(2 * order * CIRCLE.angles))
        # The last digit given is the eighth significant one, or the eighth decimal.
        assert computed == pytest.approx(exact, rel=2e-7, abs=5e-9 if order < 4 else 0)


@pytest.mark.parametrize("grid", [CIRCLE, SPHERE], ids=str)
def test_the_identity_is_attention_without_matrices(grid):
    dimension = grid.dimension
    neurons = mfpde.Perceptron.random(4, dimension, seed=1, scale=0.4)
    plain = descent(mfpde.Attention(6.0), neurons)
    half = descent(head(12.0, np.eye(dimension) / 2, value=np.eye(dimension)), neurons)
    known, found = (mfpde.minimize(equation, grid) for equation in (plain, half))
    assert found.energy == pytest.approx(known.energy, abs=2e-12)
    assert found.gap <= 1e-12
    for measure in (known.measure, mfpde.uniform(grid)):
        one, two = (mfpde.certificate(each, measure) for each in (half, plain))
        assert one.energy == pytest.approx(two.energy, abs=1e-13)
        assert one.gap == pytest.approx(two.gap, rel=2e-2, abs=1e-12)


@pytest.mark.parametrize("grid", [CIRCLE, SPHERE], ids=str)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_measure_is_below_the_minimum_of_several_heads(grid, seed):
    generator, dimension = np.random.default_rng(seed), grid.dimension
    equation = descent(
        head(4.0, positive_matrix(dimension, seed)),
        head(2.0, positive_matrix(dimension, seed + 7), kernel="unshifted"),
        mfpde.Attention(3.0),
        mfpde.Perceptron.random(4, dimension, seed=seed, scale=0.5),
    )
    found = mfpde.minimize(equation, grid)
    # Energies have the size of e^(beta |D|) of an unshifted head.
    scale = sum(term.strength for term in equation.interactions)
    assert 0 <= found.gap <= 1e-12 * scale
    everywhere = random_points(20_000, dimension, seed)
    values = equation.first_variation(found.measure, everywhere)
    assert values.min() >= found.certificate.floor - 1e-12 * scale
    for count in (1, 2, 5):
        points = random_points(count, dimension, seed + count)
        rival = mfpde.Atoms(points, generator.dirichlet(np.ones(count)))
        assert equation.energy(rival) >= found.lower_bound
        bound = mfpde.certificate(equation, rival)
        assert bound.lower_bound <= found.energy + 1e-12 * scale
        assert bound.gap >= equation.energy(rival) - found.energy - 1e-12 * scale
    assert equation.energy(mfpde.uniform(grid)) >= found.lower_bound


@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_a_singular_matrix_has_one_of_its_minimisers(beta):
    """Of K = W(x_1 y_1) all measures with the same law of x_1 have the same energy."""
    neuron = mfpde.Perceptron([[1.0, 0.0]], [-0.7], activation="linear")
    equation = descent(head(beta, np.diag([1.0, 0.0])), neuron)
    found = mfpde.minimize(equation, CIRCLE)
    assert found.gap <= 1e-12
    for share in (0.0, 0.3, 0.5):
        for end in points_at(np.linspace(0, np.pi, 400)):
            rival = mfpde.Atoms([end, -end], [share + 1e-9, 1 - share - 1e-9])
            assert equation.energy(rival) >= found.lower_bound


@pytest.mark.parametrize("start", [ascent, descent])
@pytest.mark.parametrize("grid", [mfpde.Circle(128), mfpde.Sphere(32)], ids=str)
def test_densities_with_diffusion_make_the_field_of_heads(start, grid):
    """kappa log rho - s F is constant, F by direct sums over the cells."""
    dimension = grid.dimension
    equation = start(
        head(3.0, positive_matrix(dimension, 4)),
        mfpde.Attention(2.0),
        mfpde.Perceptron.random(3, dimension, seed=2, scale=0.2, activation="tanh"),
        diffusion=0.3,
    )
    found = mfpde.stationary_density(equation, mfpde.uniform(grid))
    assert found.converged
    assert found.is_second_order
    points = grid.points.reshape(-1, dimension)
    cells = mfpde.Atoms(points, found.density.masses.ravel())
    field = equation.first_variation(cells, points)
    logarithms = np.log(found.density.values.ravel())
    assert np.ptp(0.3 * logarithms - equation.sign * field) < 1e-9


@pytest.mark.parametrize("parameter", ["beta", "weight_scale"])
def test_polish_and_continuation_take_an_indefinite_matrix(parameter):
    """A branch ends where Newton's method goes from its start."""

    def at(beta: float, scale: float) -> mfpde.MeanFieldEquation:
        neuron = mfpde.Perceptron([[1.0, 0.2]], [0.3 * scale], activation="tanh")
        attention = head(beta, np.diag([1.0, -0.5]))
        return ascent(attention, neuron)

    pair = atoms_at([0.3, 2.8], [0.6, 0.4])
    start = mfpde.polish(at(2.0, 1.0), pair, max_move=2.0).atoms
    values, end = [2.0, 2.6], at(2.6, 1.0)
    if parameter == "weight_scale":
        values, end = [1.0, 1.3], at(2.0, 1.3)
    branch = mfpde.continuation(at(2.0, 1.0), start, parameter=parameter, values=values)
    direct = mfpde.polish(end, start, max_move=2.0)
    assert direct.converged
    assert branch.energies[-1] == pytest.approx(end.energy(direct.atoms), abs=1e-12)
