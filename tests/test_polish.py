"""Polished atoms: exact states, spectra against formulas and differences, symmetries."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_points import random_atoms
from scipy.optimize import brentq

import mfpde
from mfpde.geometry.arcs import geodesic_moves, tangent_frames
from mfpde.stationary.derivatives import field_derivatives
from mfpde.terms import ExternalTerm
from validation.circle_cases import Array, cosine_potential

ACTIVATIONS = ["relu", "leaky_relu", "gelu", "tanh", "linear", "custom"]
USERS_OWN = (lambda z: np.sin(z) + z**3, lambda z: 1 - np.cos(z) + z**4 / 4)


def on_circle(angles: Array, masses: Array | None = None) -> mfpde.Atoms:
    return mfpde.Atoms(np.stack([np.cos(angles), np.sin(angles)], axis=1), masses)


def nudged(atoms: mfpde.Atoms, size: float, seed: int = 0) -> mfpde.Atoms:
    """Atoms displaced at random, by about ``size`` in each direction."""
    rng = np.random.default_rng(seed)
    steps = size * rng.standard_normal((len(atoms), atoms.dimension - 1))
    frames = tangent_frames(atoms.points)
    return mfpde.Atoms(geodesic_moves(atoms.points, frames, steps), atoms.masses)


def random_rotation(rng: np.random.Generator, dimension: int) -> Array:
    return np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]


def neuron(weight: float, dimension: int = 2) -> mfpde.Perceptron:
    return mfpde.Perceptron(np.eye(1, dimension), [weight])


def polished(
    *terms: mfpde.Attention | ExternalTerm, atoms: mfpde.Atoms, direction: str
) -> mfpde.PolishedAtoms:
    return mfpde.polish(mfpde.MeanFieldEquation(*terms, direction=direction), atoms)


# Equispaced atoms: every rate in closed form.


def equispaced_rates(count: int, beta: float) -> Array:
    """Rates in ascent of n equal equispaced atoms, q = 0 (the rotation) to n - 1."""
    t = 2 * np.pi * np.arange(1, count) / count
    kernel = np.exp(beta * (np.cos(t) - 1))
    bend = kernel * (beta * np.sin(t) ** 2 - np.cos(t))
    modes = np.arange(count)[:, np.newaxis]
    return (bend * (1 - np.cos(modes * t))).sum(axis=1) / count


@pytest.mark.parametrize(
    ("count", "beta"),
    [(3, 0.0), (3, 1.0), (5, 5.0), (5, 25.0), (8, 100.0), (7, 350.0), (60, 1000.0)],
)
@pytest.mark.parametrize("direction", ["ascent", "descent"])
def test_equispaced_atoms_have_the_rates_of_the_formula(
    count: int, beta: float, direction: str
) -> None:
    angles = 0.3 + 2 * np.pi * np.arange(count) / count
    start = nudged(on_circle(angles), 0.02 / (count + np.sqrt(beta)))
    found = polished(mfpde.Attention(beta), atoms=start, direction=direction)
    assert found.converged
    sign = 1 if direction == "ascent" else -1
    expected = np.sort(equispaced_rates(count, beta)[1:])
    np.testing.assert_allclose(np.sort(sign * found.shift_rates), expected, rtol=2e-11)
    assert found.symmetry_dimension == 1
    assert found.hessian_eigenvalues is not None
    np.testing.assert_allclose(
        found.hessian_eigenvalues, np.sort([0.0, *expected]), rtol=2e-11
    )
    gaps = np.diff(np.unwrap(np.arctan2(*found.atoms.points.T[::-1])))
    np.testing.assert_allclose(gaps, 2 * np.pi / count, atol=1e-13)


def test_tiny_forces_are_balanced_to_rounding_of_their_own_size() -> None:
    """At beta = 25 neighbours push with 1e-8: the residual is 1e-14 of that, not of 1."""
    start = nudged(on_circle(2 * np.pi * np.arange(5) / 5), 1e-3)
    found = polished(mfpde.Attention(25.0), atoms=start, direction="ascent")
    force = np.exp(25 * (np.cos(2 * np.pi / 5) - 1)) * np.sin(2 * np.pi / 5) / 5
    assert found.residual <= 1e-14 * force
    assert not found.is_second_order
    assert found.second_order_margin == pytest.approx(
        -equispaced_rates(5, 25.0).max(), rel=1e-10
    )


def test_newton_converges_quadratically() -> None:
    start = nudged(on_circle(2 * np.pi * np.arange(5) / 5), 1e-4)
    found = polished(mfpde.Attention(5.0), atoms=start, direction="ascent")
    assert found.iterations <= 3
    assert 1e-5 < found.moved < 1e-3


def test_softmax_divides_the_rates_of_a_symmetric_state() -> None:
    """Z is the same at all equispaced atoms, and stationary there."""
    beta, count = 6.0, 4
    t = 2 * np.pi * np.arange(count) / count
    total = np.exp(beta * (np.cos(t) - 1)).mean()
    found = polished(
        mfpde.Attention(beta, normalized=True),
        atoms=nudged(on_circle(t), 1e-3),
        direction="ascent",
    )
    expected = np.sort(equispaced_rates(count, beta)[1:]) / total
    np.testing.assert_allclose(np.sort(found.shift_rates.real), expected, rtol=1e-10)
    assert found.hessian_eigenvalues is None
    assert "Jacobian, not of a Hessian" in str(found)


# One neuron: the ladder of splittings.


def halves(angle: float) -> mfpde.Atoms:
    return on_circle(np.array([-angle, angle]))


def half_angle(weight: float, beta: float) -> float:
    return float(np.arccos(1 + np.log(abs(weight)) / beta) / 2)


def beside_a_neuron(
    atoms: mfpde.Atoms, weight: float, beta: float, **options: str
) -> mfpde.PolishedAtoms:
    """Atoms in descent, polished, with one ReLU neuron of this weight along the first axis."""
    attention = mfpde.Attention(beta, **options)  # type: ignore[arg-type]
    one = neuron(weight, atoms.dimension)
    return polished(attention, one, atoms=atoms, direction="descent")


@pytest.mark.parametrize("beta", [10.0, 30.0, 300.0])
@pytest.mark.parametrize("weight", [-0.9, -0.5, -0.1])
def test_one_neuron_holds_two_atoms_at_the_angle_of_the_formula(
    beta: float, weight: float
) -> None:
    exact = halves(half_angle(weight, beta))
    found = beside_a_neuron(nudged(exact, 0.01 / np.sqrt(beta)), weight, beta)
    assert found.residual <= 1e-14
    np.testing.assert_allclose(found.atoms.points, exact.points, atol=1e-14)
    assert found.is_strict
    assert found.symmetry_dimension == 0


@pytest.mark.parametrize("dimension", [2, 3, 5, 64])
def test_one_atom_splits_at_weight_one(dimension: int) -> None:
    axis = mfpde.Atoms(np.eye(1, dimension))

    def at(weight: float) -> mfpde.PolishedAtoms:
        return beside_a_neuron(nudged(axis, 1e-3), weight, 20.0)

    split = brentq(lambda w: at(w).split_margin, -1.3, -0.8, xtol=1e-12)
    assert split == pytest.approx(-1.0, abs=1e-8)
    assert at(-1 - 1e-8).is_split_stable
    assert not at(-1 + 1e-8).is_split_stable
    # As a whole the atom stays: its tangent space holds shifts only.
    assert at(-1 + 1e-8).is_strict
    np.testing.assert_allclose(at(-0.7).atoms.points, axis.points, atol=1e-14)


@pytest.mark.parametrize("beta", [10.0, 30.0, 1000.0])
def test_two_atoms_split_at_the_weight_of_the_formula(beta: float) -> None:
    def condition(u: float) -> float:
        return float(np.exp(-beta * u) * (beta * (2 * u - u**2) + 1 - u) - 1)

    # One root is u = 0, the other near 1.256 / beta.
    exact = -np.exp(-beta * brentq(condition, 0.5 / beta, 2 / beta, xtol=1e-16))

    def at(weight: float) -> mfpde.PolishedAtoms:
        start = nudged(halves(half_angle(weight, beta)), 1e-3 / np.sqrt(beta))
        return beside_a_neuron(start, weight, beta)

    split = brentq(lambda w: at(w).split_margin, 1.2 * exact, 0.8 * exact, xtol=1e-12)
    assert split == pytest.approx(exact, abs=1e-8)
    assert at(exact * (1 + 1e-7)).is_split_stable
    assert not at(exact * (1 - 1e-7)).is_split_stable
    assert at(exact * (1 - 1e-7)).is_strict


@pytest.mark.parametrize("as_potential", [False, True])
@pytest.mark.parametrize("dimension", [3, 5])
def test_two_atoms_beside_an_axis_turn_freely_around_it(
    dimension: int, as_potential: bool
) -> None:
    """The rotations about the axis move the plane of both: d - 2 modes."""
    beta, weight = 10.0, -0.5
    circle = halves(half_angle(weight, beta)).points
    points = np.zeros((2, dimension))
    points[:, :2] = circle
    term: ExternalTerm = neuron(weight, dimension)
    if as_potential:
        # The same away from the kink, from the user's own functions.
        term = mfpde.Potential(
            lambda x: weight * x[..., 0] ** 2 / 2,
            lambda x: weight * x[..., :1] * np.eye(1, dimension)[0],
            dimension=dimension,
        )
    found = polished(
        mfpde.Attention(beta),
        term,
        atoms=nudged(mfpde.Atoms(points), 1e-3),
        direction="descent",
    )
    assert found.residual <= 1e-14
    assert found.is_second_order
    # Of a user's potential it is not known that it has an axis.
    free = found.neutral_dimension if as_potential else found.symmetry_dimension
    assert free == dimension - 2
    assert found.neutral_dimension + found.symmetry_dimension == dimension - 2
    # Free to spread around the axis, they dissolve into a ring.
    assert not found.is_split_stable
    cosine = float(found.atoms.points[0] @ found.atoms.points[1])
    assert cosine == pytest.approx(1 + np.log(-weight) / beta, abs=1e-12)


# The Hessian of the energy.


@pytest.mark.parametrize("dimension", [2, 3, 5])
@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("kernel", ["shifted", "unshifted"])
def test_hessian_is_the_second_derivative_of_the_energy(
    dimension: int, name: str, kernel: str
) -> None:
    rng = np.random.default_rng(dimension)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(3.0, kernel=kernel),  # type: ignore[arg-type]
        mfpde.Attention(0.0),
        mfpde.Perceptron(
            rng.standard_normal((3, dimension)),
            rng.standard_normal(3),
            USERS_OWN if name == "custom" else name,
            biases=0.3 * rng.standard_normal(3),
        ),
        mfpde.Potential(lambda x: np.exp(x[..., 0]), exponential_gradient),
        direction="descent",
    )
    atoms = random_atoms(4, dimension, rng)
    field = field_derivatives(equation, atoms.points, atoms.masses)
    size = 4 * (dimension - 1)
    hessian = field.jacobian.reshape(size, size)
    hessian = np.repeat(atoms.masses, dimension - 1)[:, np.newaxis] * hessian
    assert np.abs(hessian - hessian.T).max() <= 1e-11 * np.abs(hessian).max()
    for _ in range(4):
        step = rng.standard_normal(size)
        step /= np.linalg.norm(step)
        difference = second_difference(equation, atoms, step)
        scale = np.abs(hessian).max()
        assert difference == pytest.approx(step @ hessian @ step, abs=1e-8 * scale)


def exponential_gradient(x: Array) -> Array:
    return np.exp(x[..., :1]) * np.eye(1, x.shape[-1])[0]


def second_difference(
    equation: mfpde.MeanFieldEquation, atoms: mfpde.Atoms, step: Array
) -> float:
    """Second derivative of E along geodesics, fourth order in the step."""
    h, frames = 2e-3, tangent_frames(atoms.points)
    energies = []
    for k in (-2, -1, 0, 1, 2):
        steps = (k * h * step).reshape(len(atoms), -1)
        moved = geodesic_moves(atoms.points, frames, steps)
        energy = equation.energy(mfpde.Atoms(moved, atoms.masses))
        assert energy is not None
        energies.append(energy)
    return float(np.array([-1, 16, -30, 16, -1]) @ energies / (12 * h**2))


@given(
    seed=st.integers(0, 2**31),
    dimension=st.sampled_from([2, 3, 5]),
    beta=st.sampled_from([0.0, 1e-3]) | st.floats(0.1, 40.0),
    normalized=st.booleans(),
    vector_weights=st.booleans(),
)
@settings(deadline=None, max_examples=25)
def test_jacobian_and_own_gradient_are_derivatives_of_the_velocity(
    *, seed: int, dimension: int, beta: float, normalized: bool, vector_weights: bool
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((2, dimension) if vector_weights else 2)
    directions = rng.standard_normal((2, dimension))
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(beta, normalized=normalized),
        mfpde.Perceptron(directions, weights, "gelu", biases=rng.standard_normal(2)),
        direction="descent",
    )
    atoms = random_atoms(4, dimension, rng)
    frames = tangent_frames(atoms.points)
    field = field_derivatives(equation, atoms.points, atoms.masses)

    def gradient(of: mfpde.Atoms, at: mfpde.Atoms) -> Array:
        vectors = -equation.velocity(of, at.points)
        return np.einsum("nai,ni->na", frames, vectors)

    np.testing.assert_allclose(gradient(atoms, atoms), field.gradient, atol=1e-13)
    h = 1e-4
    steps = rng.standard_normal((4, dimension - 1))
    ahead, behind = (
        mfpde.Atoms(geodesic_moves(atoms.points, frames, e * h * steps), atoms.masses)
        for e in (1, -1)
    )
    tolerance = 1e-5 * (1 + field.scales.max())
    change = (gradient(ahead, ahead) - gradient(behind, behind)) / (2 * h)
    expected = np.einsum("iajb,jb->ia", field.jacobian, steps)
    np.testing.assert_allclose(change, expected, atol=tolerance)
    change = (gradient(atoms, ahead) - gradient(atoms, behind)) / (2 * h)
    expected = np.einsum("iab,ib->ia", field.own_gradients, steps)
    np.testing.assert_allclose(change, expected, atol=tolerance)


# Atoms that runs have ended with.

GELU_CIRCLE = mfpde.Perceptron(
    [
        [-0.9967456002240224, 0.0806114658969388],
        [-0.6198538201675943, -0.784717300448792],
    ],
    [0.6324575844117477, -0.4696753890279187],
    "gelu",
)


def in_descent(beta: float, perceptron: mfpde.Perceptron) -> mfpde.MeanFieldEquation:
    return mfpde.MeanFieldEquation(
        mfpde.Attention(beta), perceptron, direction="descent"
    )


def assert_stable(found: mfpde.PolishedAtoms, *, closer_than: float) -> None:
    assert found.converged, str(found)
    assert found.residual <= 1e-14
    assert found.relative_residual <= 1e-14
    assert found.moved < closer_than
    speeds = np.linalg.norm(found.equation.velocity(found.atoms), axis=1)
    assert speeds.max() <= 1e-14
    assert found.is_second_order
    assert found.is_split_stable


@pytest.mark.parametrize("beta", [5.0, 25.0])
def test_atoms_of_particles_in_descent_on_the_circle_are_stable(beta: float) -> None:
    equation = in_descent(beta, GELU_CIRCLE)
    start = mfpde.quantized(mfpde.uniform(mfpde.Circle(256)), 100)
    run = mfpde.solve_particles(equation, start, t_end=1000.0)
    found = mfpde.polish(equation, run.final, merge_within=1e-3)
    assert_stable(found, closer_than=1e-4)
    assert len(found.atoms) == 3
    assert found.merged == 97
    assert found.is_strict


def test_atoms_of_a_density_in_descent_on_the_circle_are_stable() -> None:
    equation = in_descent(5.0, GELU_CIRCLE)
    run = mfpde.solve(equation, mfpde.uniform(mfpde.Circle(512)), t_end=100.0)
    report = mfpde.concentration(run.final, equation)
    found = mfpde.polish(equation, report.clusters)
    # The grid knows their places to a cell, but for what still moves.
    assert_stable(found, closer_than=2 * np.pi / 512)
    np.testing.assert_allclose(found.atoms.masses, [a.mass for a in report.clusters])


@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_atoms_of_a_density_in_descent_on_the_sphere_are_stable(
    activation: str,
) -> None:
    drawn = mfpde.Perceptron.random(3, 3, seed=111, activation=activation)
    equation = in_descent(5.0, drawn)
    sphere = mfpde.Sphere(48)
    run = mfpde.solve(equation, mfpde.uniform(sphere), t_end=40.0)
    found = mfpde.polish(equation, mfpde.concentration(run.final, equation).atoms)
    assert_stable(found, closer_than=np.pi / 48)


def test_atoms_of_particles_in_descent_on_the_sphere_are_stable() -> None:
    drawn = mfpde.Perceptron.random(3, 3, seed=111, activation="gelu")
    equation = in_descent(5.0, drawn)
    start = mfpde.quantized(mfpde.uniform(mfpde.Sphere(48)), 80)
    run = mfpde.solve_particles(equation, start, t_end=150.0)
    found = mfpde.polish(equation, run.final, merge_within=1e-3)
    assert_stable(found, closer_than=1e-5)
    assert len(found.atoms) == 2


def test_atoms_in_descent_in_dimension_64_are_stable() -> None:
    """Two particles along orthogonal strong neurons, then polished."""
    rng = np.random.default_rng(3)
    drawn = mfpde.Perceptron(
        np.linalg.qr(rng.standard_normal((64, 2)))[0].T, [-1.5, -1.4]
    )
    equation = in_descent(2.0, drawn)
    towards = drawn.directions + 0.02 * rng.standard_normal((2, 64))
    start = mfpde.Atoms(towards / np.linalg.norm(towards, axis=1, keepdims=True))
    run = mfpde.solve_particles(equation, start, t_end=10.0)
    found = mfpde.polish(equation, run.final)
    assert_stable(found, closer_than=1e-2)
    assert found.is_strict


# Maxima, symmetry, conventions.


@pytest.mark.parametrize("dimension", [2, 3, 5, 64])
def test_an_atom_at_the_maximum_of_a_linear_potential_is_strict(dimension: int) -> None:
    """V = a.x has the Hessian -|a| at a / |a|."""
    axis = 0.7 * np.eye(1, dimension)[0]
    potential = mfpde.Potential(
        lambda x: x @ axis,
        lambda x: np.broadcast_to(axis, x.shape),
        dimension=dimension,
    )
    found = polished(
        mfpde.Attention(9.0),
        potential,
        atoms=nudged(mfpde.Atoms(np.eye(1, dimension)), 1e-3),
        direction="ascent",
    )
    assert found.residual <= 1e-14
    np.testing.assert_allclose(found.shift_rates, -0.7, rtol=1e-10)
    np.testing.assert_allclose(found.split_rates, -1.7, rtol=1e-10)
    assert found.is_strict
    assert found.is_split_stable
    assert found.hessian_eigenvalues is not None
    np.testing.assert_allclose(found.hessian_eigenvalues, -0.7, rtol=1e-10)


def test_the_minimum_is_polished_too_and_called_unstable_in_ascent() -> None:
    found = polished(
        mfpde.Attention(9.0),
        cosine_potential(0.7),
        atoms=nudged(on_circle(np.array([np.pi])), 1e-3),
        direction="ascent",
    )
    assert found.converged
    assert not found.is_second_order
    assert found.strict_margin == pytest.approx(-0.7)


@pytest.mark.parametrize(
    ("count", "dimension"), [(1, 2), (1, 5), (2, 3), (3, 3), (4, 3), (3, 64), (6, 5)]
)
def test_rotations_of_a_simplex_are_counted(count: int, dimension: int) -> None:
    """The orbit of n <= d + 1 equiangular points under SO(d), by the dimension formula."""
    centred = np.eye(count) - 1 / count
    corners = np.linalg.qr(np.linalg.svd(centred)[0])[0][:, : count - 1].T @ centred
    points = np.zeros((count, dimension))
    points[:, : max(count - 1, 1)] = corners.T if count > 1 else 1.0
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    found = polished(
        mfpde.Attention(2.0),
        atoms=nudged(mfpde.Atoms(points), 1e-3),
        direction="descent",
    )
    span = max(count - 1, 1)
    fixing = (dimension - span) * (dimension - span - 1) // 2
    assert found.converged
    assert found.symmetry_dimension == dimension * (dimension - 1) // 2 - fixing
    assert found.is_second_order
    assert found.second_order_margin == 0
    assert found.neutral_dimension == 0


@given(
    seed=st.integers(0, 2**31),
    dimension=st.sampled_from([2, 3, 5]),
    normalized=st.booleans(),
)
@settings(deadline=None, max_examples=25)
def test_polishing_commutes_with_rotations(
    *, seed: int, dimension: int, normalized: bool
) -> None:
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((3, dimension))
    weights = rng.standard_normal(3)
    turn = random_rotation(rng, dimension)
    # Any stationary state will do: push one atom up to a maximum of V by ascent.
    start = directions[np.argmax(weights)]
    results = []
    for rotation in (np.eye(dimension), turn):
        perceptron = mfpde.Perceptron(directions @ rotation.T, weights, "tanh")
        equation = mfpde.MeanFieldEquation(
            mfpde.Attention(4.0, normalized=normalized), perceptron, direction="ascent"
        )
        point = rotation @ start / np.linalg.norm(start)
        results.append(
            mfpde.polish(equation, mfpde.Atoms(point[np.newaxis]), max_move=2.0)
        )
    first, second = results
    assert first.converged == second.converged
    if first.converged:
        np.testing.assert_allclose(
            second.atoms.points, first.atoms.points @ turn.T, atol=1e-11
        )
        np.testing.assert_allclose(second.shift_rates, first.shift_rates, atol=1e-10)
        np.testing.assert_allclose(second.split_rates, first.split_rates, atol=1e-10)


def test_kernel_conventions_are_the_same_state_at_scaled_rates() -> None:
    beta, weight = 10.0, -0.5
    atoms = nudged(halves(half_angle(weight, beta)), 1e-3)
    shifted = beside_a_neuron(atoms, weight, beta)
    scaled = weight * np.exp(beta)
    unshifted = beside_a_neuron(atoms, scaled, beta, kernel="unshifted")
    np.testing.assert_allclose(unshifted.atoms.points, shifted.atoms.points, atol=1e-14)
    for name in ("shift_rates", "split_rates"):
        np.testing.assert_allclose(
            getattr(unshifted, name), np.exp(beta) * getattr(shifted, name), rtol=1e-11
        )


def test_vector_weights_along_the_directions_give_the_same_rates() -> None:
    rng = np.random.default_rng(5)
    directions = np.linalg.qr(rng.standard_normal((3, 3)))[0][:2]
    weights = np.array([-1.2, -1.4])
    atoms = nudged(mfpde.Atoms(directions), 0.01)
    scalar, vector = (
        polished(
            mfpde.Attention(3.0),
            mfpde.Perceptron(directions, w),
            atoms=atoms,
            direction="descent",
        )
        for w in (weights, weights[:, np.newaxis] * directions)
    )
    assert scalar.converged
    assert vector.converged
    np.testing.assert_allclose(vector.atoms.points, scalar.atoms.points, atol=1e-14)
    np.testing.assert_allclose(
        np.sort(vector.shift_rates.real), np.sort(scalar.shift_rates), rtol=1e-11
    )
    np.testing.assert_allclose(vector.split_rates, scalar.split_rates, rtol=1e-11)
    assert scalar.hessian_eigenvalues is not None
    assert vector.hessian_eigenvalues is None


@pytest.mark.parametrize(("weight", "rate"), [(-0.5, 0.0), (0.5, 0.5)])
def test_at_a_kink_the_less_stable_side_counts(weight: float, rate: float) -> None:
    """An atom across a ReLU neuron: V'' is w on one side and 0 on the other."""
    found = polished(
        mfpde.Attention(4.0),
        neuron(weight),
        atoms=on_circle(np.array([np.pi / 2])),
        direction="ascent",
    )
    np.testing.assert_allclose(found.shift_rates, [rate], atol=1e-15)
    assert found.is_second_order == (weight < 0)
    assert not found.is_strict


def test_an_atom_in_a_dead_zone_is_neutral() -> None:
    found = beside_a_neuron(on_circle(np.array([3.0])), -2.0, 4.0)
    assert found.neutral_dimension == 1
    assert found.symmetry_dimension == 0
    assert found.is_second_order
    assert not found.is_strict


# What is united, what is refused, what is said.


def test_coinciding_atoms_are_united() -> None:
    angle = half_angle(-0.5, 10.0)
    double = on_circle(
        np.array([-angle, angle, angle, angle + 1e-10]), np.array([0.5, 0.2, 0.2, 0.1])
    )
    found = beside_a_neuron(double, -0.5, 10.0)
    assert found.merged == 2
    np.testing.assert_allclose(np.sort(found.atoms.masses), [0.5, 0.5])
    np.testing.assert_allclose(
        np.sort(found.atoms.points[:, 1]), np.sin([-angle, angle]), atol=1e-14
    )


def test_a_start_without_a_state_beside_it_is_not_called_polished() -> None:
    equation = mfpde.MeanFieldEquation(mfpde.Attention(4.0), direction="ascent")
    found = mfpde.polish(equation, on_circle(np.array([0.0, 1.0])))
    assert not found.converged
    assert not found.is_second_order
    assert not found.is_strict
    assert not found.is_split_stable
    assert "NOT polished" in str(found)
    # They attract each other: Newton's first step goes further than a start may be wrong.
    assert "further than it may" in found.message
    assert "allow more by max_move" in found.message


def test_an_atom_that_may_not_move_so_far_is_named() -> None:
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(4.0), cosine_potential(1.0), direction="ascent"
    )
    start = on_circle(np.array([0.3]))
    refused = mfpde.polish(equation, start, max_move=0.1)
    assert not refused.converged
    assert "atom 0 moved by" in refused.message
    assert "(0.1)" in refused.message
    allowed = mfpde.polish(equation, start, max_move=0.5)
    assert allowed.converged
    assert allowed.moved == pytest.approx(0.3, abs=1e-12)


def test_the_table_holds_positions_masses_and_margins() -> None:
    angle = half_angle(-0.5, 10.0)
    found = beside_a_neuron(halves(angle), -0.5, 10.0)
    text = str(found)
    assert f"{angle / np.pi:.9f}" in text
    assert f"{found.split_margin:.4e}" in text
    assert "K = exp(beta (x.y - 1))" in text
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.residual = 0.0  # type: ignore[misc]


PAIR = on_circle(np.array([0.0, 2.0]))
MANY = on_circle(np.linspace(0, 6, 4100))


@pytest.mark.parametrize(
    ("atoms", "options", "message"),
    [
        (mfpde.Atoms.none(2), {}, "there are none"),
        ((), {}, "there are none"),
        (mfpde.uniform(mfpde.Circle(64)), {}, r"must be Atoms.*concentration"),
        (PAIR, {"max_move": 0.0}, r"max_move = 0"),
        (PAIR, {"merge_within": -1.0}, r"merge_within = -1"),
        (MANY, {}, r"4100 coordinates, at most 4000.*merge_with"),
    ],
)
def test_wrong_arguments_are_refused(atoms, options, message) -> None:
    equation = mfpde.MeanFieldEquation(mfpde.Attention(4.0), direction="ascent")
    with pytest.raises(ValueError, match=message):
        mfpde.polish(equation, atoms, **options)


def test_equations_without_stationary_atoms_are_refused() -> None:
    noisy = mfpde.MeanFieldEquation(
        mfpde.Attention(4.0), direction="ascent", diffusion=0.1
    )
    with pytest.raises(ValueError, match=r"diffusion = 0.1.*dissolve"):
        mfpde.polish(noisy, PAIR)
    with pytest.raises(ValueError, match=r"3 entries.*must have 2"):
        polished(neuron(1.0, 3), atoms=PAIR, direction="ascent")
