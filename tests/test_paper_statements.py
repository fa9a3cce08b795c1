"""Statements of the paper that no other test holds, each by numbers of another kind.

``docs/formula_to_code.md`` says which test is about which statement.
"""

from __future__ import annotations

import numpy as np
import pytest
from equations import ascent, descent
from hypothesis import given, settings
from hypothesis import strategies as st
from random_points import random_points
from scipy.special import iv

import mfpde
from mfpde import theory
from validation import circle_cases
from validation.figures.paper_protocol import cluster_distance, clusters
from validation.references.ring import ring_angle
from validation.stable_states import random_descent, weak_neurons
from validation.theorems.theorem_3_3 import circle_at
from validation.theorems.witness import residual

CIRCLE = mfpde.Circle(256)
ANGLES = 2 * np.pi * np.arange(256) / 256
INDEFINITE = np.array([[0.9, 0.4], [0.4, -0.5]])


# Atoms: Theorems 3.1 to 3.3, Remarks 3.4, 5.4 and 5.5


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "gelu", "tanh"])
@pytest.mark.parametrize("beta", [2.0, 6.0, 12.0])
def test_minimisers_on_the_circle_are_atoms_at_rest(activation, beta) -> None:
    """Neurons of weights 1 or so; grad F by sums that share no code with the package."""
    directions = circle_cases.points_at([0.2, 2.4, 4.1])
    biased = mfpde.Perceptron(
        directions, [-0.8, 0.6, -0.5], activation, biases=[0.4, -0.3, 0.1]
    )
    drawn = [
        random_descent(beta, 2, 1.0, seed=seed, activation=activation)
        for seed in range(3)
    ]
    for equation in (*drawn, descent(beta, biased)):
        found = mfpde.minimize(equation, CIRCLE)
        assert found.kind == "atoms"
        assert residual(equation, found.atoms) < 1e-13


def test_a_density_at_rest_is_not_strictly_stable_and_atoms_are() -> None:
    """Theorem 3.2: where psi mu is of degree n the Hessian of a density tends to 0."""
    beta = 3.0
    neuron = mfpde.Perceptron([[0.6, 0.8]], [0.02], "linear")
    equation = descent(beta, neuron)
    found = mfpde.minimize(equation, CIRCLE)
    assert found.kind == "density"
    angles, masses = CIRCLE.angles, found.measure.masses

    def coercivity(degree: int) -> float:
        speeds, step = np.cos(degree * angles) / (masses * len(masses)), 1e-3
        energies = [
            equation.energy(
                mfpde.Atoms(circle_cases.points_at(angles + t * speeds), masses)
            )
            for t in (-step, 0.0, step)
        ]
        return float(np.diff(energies, 2)[0] / step**2 / (masses @ speeds**2))

    falling = np.array([coercivity(degree) for degree in (2, 6, 8, 10)])
    assert (falling[1:] < falling[:-1] / 5).all()
    assert 0 < falling[-1] < 1e-3 * falling[0]
    strong = random_descent(beta, 2, 1.0, seed=1, activation="tanh")
    polished = mfpde.polish(strong, mfpde.minimize(strong, CIRCLE).atoms)
    assert polished.is_strict
    assert polished.hessian_eigenvalues.min() > 0.01


@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_random_neurons_hold_no_fixed_ring_at_rest_whatever_their_weights(
    activation, rng
) -> None:
    """Theorem 3.3 (ii), (iii): mu is fixed first; with GeLU two atoms are held."""
    attention = descent(20.0)
    ring = circle_at(ring_angle(20.0, -0.3))

    def left(points: circle_cases.Array) -> float:
        measure = mfpde.Atoms(points)
        force = -attention.velocity(measure, points).ravel()
        neurons = mfpde.Perceptron(random_points(4, 3, rng), np.ones(4), activation)
        alone = [
            mfpde.Perceptron([row], [1.0], activation).drift(points).ravel()
            for row in neurons.directions
        ]
        columns = np.stack(alone, axis=1)
        weights = np.linalg.lstsq(columns, -force, rcond=1e-13)[0]
        return float(np.linalg.norm(columns @ weights + force) / np.linalg.norm(force))

    assert min(left(ring) for _ in range(30)) > 1e-4
    if activation == "gelu":
        assert max(left(ring[[0, 100]]) for _ in range(30)) < 1e-8


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("matrix", [None, INDEFINITE], ids=["identity", "B"])
@pytest.mark.parametrize("toward", [ascent, descent])
def test_a_density_ends_in_atoms_at_rest(normalized, matrix, toward) -> None:
    """Proposition 6.1, Remarks 3.4 (ii) and 6.2: ReLU, with softmax and with a matrix B."""
    rows = circle_cases.points_at(0.2 + 2 * np.pi * np.arange(3) / 3)
    factor = 0.5 if toward is ascent else -2.0
    neurons = mfpde.Perceptron(rows, factor * np.array([1.0, 0.9, 0.8]))
    equation = toward(5.0, neurons, normalized=normalized, bilinear=matrix)
    if normalized and matrix is None:
        assert theory.non_degeneracy(equation).holds
    run = mfpde.solve(equation, mfpde.uniform(CIRCLE), t_end=200.0, atoms="exact")
    assert run.final.density.total_mass <= 1e-7
    assert residual(equation, run.final.atoms) <= 1e-12


# Hessians and critical points: (2.9), (5.16)


def test_polished_atoms_of_softmax_are_critical_for_log_z_and_v(rng) -> None:
    """(2.9): grad(log Z + (beta/2) v) = 0 at the atoms, from Z and V alone."""
    beta = 4.0
    neurons = mfpde.Perceptron(random_points(3, 2, rng), [0.5, 0.7, 0.4], "gelu")
    equation = ascent(beta, neurons, normalized=True)
    run = mfpde.solve(equation, mfpde.uniform(CIRCLE), t_end=100.0, atoms="exact")
    found = mfpde.polish(equation, run.final.atoms)
    assert found.converged
    angles = circle_cases.angles_of(found.atoms.points)

    def height(at: circle_cases.Array) -> circle_cases.Array:
        kernel = circle_cases.kernel_on_circle(beta, at[:, np.newaxis] - angles)
        potential = neurons.value(circle_cases.points_at(at))  # V = v / 2
        return np.log(kernel @ found.atoms.masses) + beta * potential

    slopes = (height(angles + 1e-5) - height(angles - 1e-5)) / 2e-5
    np.testing.assert_allclose(slopes, 0, atol=1e-9)
    beside = (height(angles + 0.1 + 1e-5) - height(angles + 0.1 - 1e-5)) / 2e-5
    assert np.abs(beside).min() > 1e-3


# The kernel: Lemmas 5.1 and 5.3, Remark 5.2


@pytest.mark.parametrize("beta", [0.3, 5.0, 50.0])
def test_derivatives_of_the_kernel_are_the_papers(beta) -> None:
    """(5.7), (5.9); the package's W' and W'' of u = cos t make K'', bounds hold K'''."""
    t, kernel, cosines = ANGLES, mfpde.Exponential(beta), np.cos(ANGLES)
    values = circle_cases.kernel_on_circle(beta, t)
    second = beta * values * (beta * np.sin(t) ** 2 - cosines)
    third = 1 + 3 * beta * cosines - (beta * np.sin(t)) ** 2
    third *= beta * values * np.sin(t)
    modes = 1j * np.arange(len(t) // 2 + 1)
    for order, expected, tolerance in (
        (2, second, 1e-9 * beta),
        (3, third, 1e-9 + 1e-11 * beta**2),
    ):
        by_fourier = np.fft.irfft(np.fft.rfft(values) * modes**order, len(t))
        np.testing.assert_allclose(by_fourier, expected, atol=tolerance)
    of_package = kernel.bend(cosines) * np.sin(t) ** 2 - kernel.slope(cosines) * cosines
    np.testing.assert_allclose(beta * of_package, second, atol=1e-12 * beta)
    largest = np.abs(third).max() / beta
    assert largest <= kernel.third_derivative <= 1.5 * largest + 1


@given(beta=st.floats(0.6, 1000.0))
def test_published_constants_of_concavity_hold(beta) -> None:
    """(5.5) at eps = 1/2 and (5.6), from beta = 0.6 on; for other eps at large beta."""
    found = theory.kernel_curvature(beta)
    assert found.inward >= 0.5 * (1 - 0.25) * np.exp(-0.125)
    assert found.outward <= 2 * np.exp(-1.5)
    assert theory.kernel_curvature(0.3).outward > 2 * np.exp(-1.5)
    for eps in (0.1, 0.25, 0.75, 0.9):
        inside = np.linspace(0, eps * theory.concavity_angle(1000.0), 500)
        largest = circle_cases.curvature(1000.0, inside).max()
        assert largest <= -0.5 * (1 - eps**2) * np.exp(-(eps**2) / 2)


@given(seed=st.integers(0, 2**31), dimension=st.integers(2, 5))
@settings(deadline=None, max_examples=20)
def test_the_interaction_is_even_exactly_for_symmetric_measures(
    seed, dimension
) -> None:
    """Lemma 5.1 (ii)."""
    rng = np.random.default_rng(seed)
    points, at = random_points(3, dimension, rng), random_points(40, dimension, rng)
    field = descent(3.0).first_variation
    both = mfpde.Atoms(np.concatenate([points, -points]))
    np.testing.assert_allclose(field(both, at), field(both, -at), atol=1e-15)
    uneven = mfpde.Atoms(both.points, np.array([0.3, *np.full(5, 0.14)]))
    assert np.abs(field(uneven, at) - field(uneven, -at)).max() > 1e-4


def test_with_a_matrix_the_interaction_is_injective_iff_it_is_invertible() -> None:
    """Remark 5.2: Gram matrices exp(beta x.By) of points, of full rank or not."""
    points = circle_cases.points_at(2 * np.pi * np.arange(8) / 8 + 0.3)

    def rank(matrix: circle_cases.Array) -> int:
        field = descent(5.0, bilinear=matrix).first_variation
        columns = [field(mfpde.Atoms([point]), points) for point in points]
        return int(np.linalg.matrix_rank(np.stack(columns), tol=1e-9))

    assert rank(np.eye(2)) == rank(INDEFINITE) == 8
    # Two points with the same first coordinate look the same.
    points = np.concatenate([points[:4], points[:4] * [1, -1]])
    assert rank(INDEFINITE) == 8
    assert rank(np.diag([1.0, 0.0])) == 4


# Concentration: (3.2), Corollary 3.6, (6.1), (6.2), Proposition 3.7 (ii)


@pytest.mark.parametrize("beta", [1.0, 9.0, 40.0])
def test_a_cluster_is_as_wide_as_half_the_angle_of_concavity(beta) -> None:
    equation = descent(beta, weak_neurons(np.array([0.02, -0.01])))
    angle = np.arccos((np.sqrt(1 + 4 * beta**2) - 1) / (2 * beta))
    bound = theory.anti_concentration_bound(equation)
    assert bound.diameter == pytest.approx(angle / 2, rel=1e-12)
    for arcs, mass in (([6.2], 0.3), ([0.5, 1.1], 0.07), ([0.01], 0.9)):
        windows = sum(np.ceil(length / (angle / 2)) for length in arcs)
        expected = max(1.0, bound.published / mass) * windows
        found = theory.cluster_count_bound(equation, mass, arcs=arcs)
        assert found == np.floor(expected)


def test_the_odd_part_of_v_is_the_matrix_of_non_degeneracy(rng) -> None:
    """(6.2): v(x) - v(-x) = x^T D_C x on C, constant iff D_C is a multiple of I."""
    neurons = mfpde.Perceptron(random_points(4, 3, rng), rng.standard_normal(4))
    found = theory.non_degeneracy(ascent(3.0, neurons, normalized=True))
    points = random_points(4000, 3, rng)
    odd = 2 * (neurons.value(points) - neurons.value(-points))
    signs = np.sign(points @ neurons.directions.T)
    for row, deviation in zip(found.signs, found.deviations, strict=True):
        inside = (signs == row).all(axis=1)
        if inside.sum() < 20:
            continue
        x = points[inside]
        products = np.stack(
            [x[:, i] * x[:, j] for i in range(3) for j in range(i, 3)], axis=1
        )
        fitted = np.linalg.lstsq(products, odd[inside], rcond=None)[0]
        matrix = np.zeros((3, 3))
        matrix[np.triu_indices(3)] = fitted
        roots = np.linalg.eigvalsh((matrix + matrix.T) / 2)
        assert np.abs(roots - roots.mean()).max() == pytest.approx(deviation, abs=1e-8)
    equal = mfpde.Perceptron(np.eye(2), [0.7, 0.7])
    x = np.abs(CIRCLE.points)
    np.testing.assert_allclose(2 * (equal.value(x) - equal.value(-x)), 0.7, atol=1e-15)


@pytest.mark.parametrize("weights", [(0.4, -0.3), (0.4, 0.1), (0.3, 0.3)])
def test_no_density_has_the_z_of_a_component_unless_it_is_constant(weights) -> None:
    """(6.1): log Z + (beta/2) x^T M x is constant for no density, but where M = c I."""
    beta, neurons = 3.0, mfpde.Perceptron(np.eye(2), weights, "linear")
    # exp(-beta V) = e^-c exp(z cos 2 theta): its moments of degree 2k are Bessel functions.
    values = np.exp(-beta * neurons.value(CIRCLE.points))
    moments = np.abs(np.fft.rfft(values))[:81:2] / len(values)
    z, k = beta * (weights[1] - weights[0]) / 4, np.arange(41)
    expected = values.mean() / iv(0, z) * abs(iv(k, z))
    np.testing.assert_allclose(moments, expected, atol=1e-14)
    if weights[0] == weights[1]:
        equation = descent(beta, neurons, normalized=True)
        assert np.abs(equation.velocity(mfpde.uniform(CIRCLE))).max() < 1e-12
    else:
        # Coefficients of a density do not grow without bound.
        ratios = expected / iv(2 * k, beta)
        assert ratios[40] > 1e3 * ratios[0]


def test_energy_is_strictly_convex(rng) -> None:
    equation = random_descent(4.0, 3, 1.0, seed=2, activation="relu")
    for _ in range(20):
        one, other = (random_points(5, 3, rng) for _ in range(2))
        both = mfpde.Atoms(np.concatenate([one, other]))
        ends = [equation.energy(mfpde.Atoms(points)) for points in (one, other)]
        assert equation.energy(both) < np.mean(ends) - 1e-5


def test_the_minimiser_has_the_symmetries_of_the_neurons() -> None:
    """The reflection at the neurons' common line leaves each of them as it is."""
    axis = circle_cases.points_at(0.7)
    neurons = mfpde.Perceptron([axis, -0.8 * axis], [-0.5, -0.4])
    found = mfpde.minimize(descent(10.0, neurons), CIRCLE)
    assert found.kind == "atoms"
    mirrored = circle_cases.points_at(1.4 - circle_cases.angles_of(found.atoms.points))
    reflected = mfpde.Atoms(mirrored, found.atoms.masses)
    assert mfpde.wasserstein(found.measure, reflected) < 1e-9


def test_the_papers_rule_counts_windows_on_the_circle_and_chains_on_spheres() -> None:
    assert cluster_distance(25.0, 2) == pytest.approx(0.1)
    assert cluster_distance(0.01, 3) == pytest.approx(np.pi / 6)
    angles = np.array([0.0, 0.06, 0.12, 0.18, 1.0])
    windows = clusters(circle_cases.points_at(angles), 0.1)
    # The largest gap is before 0; a window of 0.1 holds two of the chain.
    assert [held.tolist() for held in windows] == [[0, 1], [2, 3], [4]]
    on_sphere = np.column_stack([circle_cases.points_at(angles), np.zeros(5)])
    assert [len(held) for held in clusters(on_sphere, 0.1)] == [4, 1]
