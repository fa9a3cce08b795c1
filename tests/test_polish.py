"""Polished atoms: exact states, spectra against formulas and differences, symmetries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from equations import ascent, descent, pull
from random_points import atoms_at, random_atoms

import mfpde
from mfpde.geometry import geodesic_moves, tangent_frames
from mfpde.stationary import field_derivatives
from validation.circle_cases import Array, cosine_potential, curvature
from validation.exact_facts.descent_ladder import half_angle

ACTIVATIONS = ["relu", "leaky_relu", "gelu", "tanh", "linear", "custom"]
USERS_OWN = (lambda z: np.sin(z) + z**3, lambda z: 1 - np.cos(z) + z**4 / 4)


def nudged(atoms: mfpde.Atoms, size: float, seed: int = 0) -> mfpde.Atoms:
    """Atoms displaced at random, by about ``size`` in each direction."""
    rng = np.random.default_rng(seed)
    steps = size * rng.standard_normal((len(atoms), atoms.dimension - 1))
    frames = tangent_frames(atoms.points)
    return mfpde.Atoms(geodesic_moves(atoms.points, frames, steps), atoms.masses)


def neuron(weight: float, dimension: int = 2) -> mfpde.Perceptron:
    return mfpde.Perceptron(np.eye(1, dimension), [weight])


# Equispaced atoms: every rate in closed form.


def equispaced_rates(count: int, beta: float) -> Array:
    """Rates in ascent of n equal equispaced atoms, q = 0 (the rotation) to n - 1."""
    t = 2 * np.pi * np.arange(1, count) / count
    modes = np.arange(count)[:, np.newaxis]
    return (curvature(beta, t) * (1 - np.cos(modes * t))).sum(axis=1) / count


@pytest.mark.parametrize(
    ("count", "beta"),
    [(3, 0.0), (3, 1.0), (5, 5.0), (5, 25.0), (8, 100.0), (7, 350.0), (60, 1000.0)],
)
@pytest.mark.parametrize("toward", [ascent, descent])
def test_equispaced_atoms_have_the_rates_of_the_formula(count, beta, toward) -> None:
    angles = 0.3 + 2 * np.pi * np.arange(count) / count
    start = nudged(atoms_at(angles), 0.02 / (count + np.sqrt(beta)))
    equation = toward(beta)
    found = mfpde.polish(equation, start)
    assert found.converged
    sign = equation.sign
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
    start = nudged(atoms_at(2 * np.pi * np.arange(5) / 5), 1e-3)
    found = mfpde.polish(ascent(25.0), start)
    force = np.exp(25 * (np.cos(2 * np.pi / 5) - 1)) * np.sin(2 * np.pi / 5) / 5
    assert found.residual <= 1e-14 * force
    assert not found.is_second_order
    assert found.second_order_margin == pytest.approx(
        -equispaced_rates(5, 25.0).max(), rel=1e-10
    )


# One neuron: the ladder of splittings.


def halves(angle: float) -> mfpde.Atoms:
    return atoms_at([-angle, angle])


def beside_a_neuron(atoms, weight: float, beta: float) -> mfpde.PolishedAtoms:
    """Atoms in descent, polished, with one ReLU neuron of this weight along the first axis."""
    return mfpde.polish(descent(beta, neuron(weight, atoms.dimension)), atoms)


@pytest.mark.parametrize("beta", [10.0, 30.0, 300.0])
@pytest.mark.parametrize("weight", [-0.9, -0.5, -0.1])
def test_one_neuron_holds_two_atoms_at_the_angle_of_the_formula(beta, weight) -> None:
    exact = halves(half_angle(-weight, beta))
    found = beside_a_neuron(nudged(exact, 0.01 / np.sqrt(beta)), weight, beta)
    assert found.residual <= 1e-14
    np.testing.assert_allclose(found.atoms.points, exact.points, atol=1e-14)
    assert found.is_strict
    assert found.symmetry_dimension == 0


@pytest.mark.parametrize("as_potential", [False, True])
@pytest.mark.parametrize("dimension", [3, 5])
def test_two_atoms_beside_an_axis_turn_freely_around_it(
    dimension, as_potential
) -> None:
    """The rotations about the axis move the plane of both: d - 2 modes."""
    beta, weight = 10.0, -0.5
    points = halves(half_angle(-weight, beta)).points @ np.eye(2, dimension)
    term: Any = neuron(weight, dimension)
    if as_potential:
        # The same away from the kink, from the user's own functions.
        term = mfpde.Potential(
            lambda x: weight * x[..., 0] ** 2 / 2,
            lambda x: weight * x[..., :1] * np.eye(1, dimension)[0],
            dimension=dimension,
        )
    found = mfpde.polish(descent(beta, term), nudged(mfpde.Atoms(points), 1e-3))
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


# Derivatives of the field, and so the Hessian of the energy.

KINDS = ["shifted", "unshifted", "softmax", "head", "vector weights"]


@pytest.mark.parametrize("dimension", [2, 3, 5])
@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beta", [1e-3, 3.0, 20.0])
def test_jacobian_and_own_gradient_are_derivatives_of_the_velocity(
    dimension, name, kind, beta
) -> None:
    rng = np.random.default_rng(dimension)
    axis = np.eye(1, dimension)[0]
    options = {"kernel": kind} if kind == "unshifted" else {}
    if kind == "head":
        square, value = rng.standard_normal((2, dimension, dimension))
        options = {"bilinear": square / np.linalg.norm(square, 2), "value": value}
    equation = descent(
        mfpde.Attention(beta, kind in ("softmax", "head"), **options),
        mfpde.Attention(0.0),
        mfpde.Perceptron(
            rng.standard_normal((3, dimension)),
            rng.standard_normal((3, dimension) if kind == "vector weights" else 3),
            USERS_OWN if name == "custom" else name,
            biases=0.3 * rng.standard_normal(3),
        ),
        mfpde.Potential(
            lambda x: np.exp(x[..., 0]), lambda x: np.exp(x[..., :1]) * axis
        ),
    )
    atoms = random_atoms(4, dimension, rng)
    frames = tangent_frames(atoms.points)
    field = field_derivatives(equation, atoms.points, atoms.masses)

    def gradient(of: mfpde.Atoms, at: mfpde.Atoms) -> Array:
        vectors = -equation.velocity(of, at.points)
        return np.einsum("nai,ni->na", frames, vectors)

    scale = np.abs(field.jacobian).max()
    np.testing.assert_allclose(
        gradient(atoms, atoms), field.gradient, atol=1e-13 * max(scale, 1.0)
    )
    if kind in ("shifted", "unshifted"):
        hessian = atoms.masses[:, None, None, None] * field.jacobian
        assert np.abs(hessian - hessian.transpose(2, 3, 0, 1)).max() <= 1e-11 * scale
    h, steps = 1e-3, rng.standard_normal((4, dimension - 1))
    steps /= np.linalg.norm(steps)
    moved = [
        mfpde.Atoms(geodesic_moves(atoms.points, frames, k * h * steps), atoms.masses)
        for k in (-2, -1, 1, 2)
    ]
    weights = np.array([1, -8, 8, -1]) / (12 * h)
    change = np.tensordot(weights, [gradient(each, each) for each in moved], 1)
    expected = np.einsum("iajb,jb->ia", field.jacobian, steps)
    np.testing.assert_allclose(change, expected, atol=1e-8 * scale)
    change = np.tensordot(weights, [gradient(atoms, each) for each in moved], 1)
    expected = np.einsum("iab,ib->ia", field.own_gradients, steps)
    np.testing.assert_allclose(change, expected, atol=1e-8 * scale)


# Maxima, symmetry, conventions.


@pytest.mark.parametrize("dimension", [2, 3, 5, 64])
def test_an_atom_at_the_maximum_of_a_linear_potential_is_strict(dimension: int) -> None:
    """V = a.x has the Hessian -|a| at a / |a|."""
    axis = 0.7 * np.eye(1, dimension)[0]
    start = nudged(mfpde.Atoms(np.eye(1, dimension)), 1e-3)
    found = mfpde.polish(ascent(9.0, pull(axis)), start)
    assert found.residual <= 1e-14
    np.testing.assert_allclose(found.shift_rates, -0.7, rtol=1e-10)
    np.testing.assert_allclose(found.split_rates, -1.7, rtol=1e-10)
    assert found.is_strict
    assert found.is_split_stable
    assert found.hessian_eigenvalues is not None
    np.testing.assert_allclose(found.hessian_eigenvalues, -0.7, rtol=1e-10)


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
    found = mfpde.polish(descent(2.0), nudged(mfpde.Atoms(points), 1e-3))
    span = max(count - 1, 1)
    fixing = (dimension - span) * (dimension - span - 1) // 2
    assert found.converged
    assert found.symmetry_dimension == dimension * (dimension - 1) // 2 - fixing
    assert found.is_second_order
    assert found.second_order_margin == 0
    assert found.neutral_dimension == 0


@pytest.mark.parametrize(
    ("angle", "weight", "toward", "rate"),
    [
        (np.pi / 2, -0.5, ascent, 0.0),
        (np.pi / 2, 0.5, ascent, 0.5),
        (3.0, -2.0, descent, 0.0),
    ],
    ids=["concave kink", "convex kink", "dead zone"],
)
def test_at_a_kink_the_less_stable_side_counts(angle, weight, toward, rate) -> None:
    """V'' of a ReLU neuron is w on one side and 0 on the other, where an atom is neutral."""
    found = mfpde.polish(toward(4.0, neuron(weight)), atoms_at([angle]))
    np.testing.assert_allclose(found.shift_rates, [rate], atol=1e-15)
    assert found.is_second_order == (rate == 0)
    assert found.neutral_dimension == int(rate == 0)
    assert found.symmetry_dimension == 0
    assert not found.is_strict


# What is united, what is refused, what is said.


def test_coinciding_atoms_are_united() -> None:
    angle = half_angle(0.5, 10.0)
    places = [-angle, angle, angle, angle + 1e-10]
    double = atoms_at(places, [0.5, 0.2, 0.2, 0.1])
    found = beside_a_neuron(double, -0.5, 10.0)
    assert found.merged == 2
    np.testing.assert_allclose(np.sort(found.atoms.masses), [0.5, 0.5])
    np.testing.assert_allclose(
        np.sort(found.atoms.points[:, 1]), np.sin([-angle, angle]), atol=1e-14
    )


def test_an_atom_that_may_not_move_so_far_is_named() -> None:
    equation = ascent(4.0, cosine_potential(1.0))
    start = atoms_at([0.3])
    refused = mfpde.polish(equation, start, max_move=0.1)
    flags = ("converged", "is_second_order", "is_strict", "is_split_stable")
    assert not any(getattr(refused, flag) for flag in flags)
    assert "NOT polished" in str(refused)
    assert "atom 0 moved by" in refused.message
    assert "(0.1)" in refused.message
    # By default a quarter of the kernel's length.
    assert "(0.125)" in mfpde.polish(equation, start).message
    allowed = mfpde.polish(equation, start, max_move=0.5)
    assert allowed.converged
    assert allowed.moved == pytest.approx(0.3, abs=1e-12)
