"""Heads of attention with matrices: logits beta x.Dy, values V y."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from equations import ascent
from hypothesis import given, settings
from hypothesis import strategies as st
from random_points import atoms_alone, atoms_at, random_points

import mfpde
from mfpde import Atoms, Attention, Circle, MeanFieldEquation, Sphere
from validation.characteristics import Cloud, moved
from validation.independent import cells_of, first_variation, problem_of
from validation.independent import gradient as gradient_of

CIRCLE, SPHERE = Circle(512), Sphere(64)


def head_equation(bilinear, value=None, *, beta=3.0, direction="descent", **kwargs):
    head = Attention(beta, bilinear=bilinear, value=value, **kwargs)
    return MeanFieldEquation(head, direction=direction)


def smooth_density(geometry, seed):
    centres = random_points(3, geometry.dimension, seed)
    return mfpde.Density.from_function(
        geometry, lambda x: 1 + sum(np.exp(2 * (x @ centre)) for centre in centres)
    )


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    sphere=st.booleans(),
    normalized=st.booleans(),
    singular=st.booleans(),
    gradient=st.booleans(),
    beta=st.sampled_from([0.0, 0.1, 1.0, 4.0, 8.0]),
)
def test_velocity_is_that_of_direct_quadrature(
    seed, sphere, normalized, singular, gradient, beta
):
    generator = np.random.default_rng(seed)
    geometry = SPHERE if sphere else CIRCLE
    dimension = geometry.dimension
    bilinear, value = generator.standard_normal((2, dimension, dimension))
    if singular:
        bilinear[:, 0] = 0.0
    bilinear *= 1.2 / np.linalg.norm(bilinear, 2)
    if gradient:
        value = 0.7 * bilinear
    density = smooth_density(geometry, seed)
    points = random_points(20, dimension, generator)
    equation = head_equation(bilinear, value, beta=beta, normalized=normalized)
    cells = cells_of(density)
    expected = gradient_of(problem_of(equation), *cells, at=points)
    size = max(1.0, np.abs(value).max())
    assert np.abs(equation.velocity(density, points) + expected).max() < 1e-10 * size
    particles = equation.velocity(Atoms(*cells), points)
    assert np.abs(particles + expected).max() < 1e-10 * size
    at_centres = equation.velocity(density)
    again = equation.velocity(density, geometry.points)
    assert np.abs(at_centres - again).max() < 1e-10 * size


@pytest.mark.parametrize("geometry", [CIRCLE, SPHERE], ids=str)
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize(("beta", "length"), [(1.0, 0.5), (4.0, 7.0), (0.5, 30.0)])
def test_a_source_weight_is_a_density_times_its_exponential(
    geometry, normalized, beta, length
):
    generator = np.random.default_rng(7)
    bilinear = generator.standard_normal((geometry.dimension, geometry.dimension))
    weight = length * random_points(1, geometry.dimension, 3)[0]
    density = smooth_density(geometry, 5)
    points = random_points(20, geometry.dimension, generator)
    centres, masses = cells_of(density)
    weighted = masses * np.exp(centres @ weight - length)
    given = {"beta": beta, "bilinear": bilinear, "normalized": normalized}
    equation = head_equation(source=weight, direction="ascent", **given)
    plain = problem_of(head_equation(**given))
    drift = gradient_of(plain, centres, weighted, at=points)
    potential = first_variation(plain, centres, weighted, at=points)
    for measure in (density, Atoms(centres, masses)):
        found = equation.velocity(measure, points)
        np.testing.assert_allclose(found, drift, atol=2e-10, rtol=0)
        found = equation.first_variation(measure, points)
        np.testing.assert_allclose(found, potential, atol=1e-10, rtol=1e-9)
    assert not equation.has_energy


@pytest.mark.parametrize(
    ("axis", "turns"), [([0.0, 0.0, 1.5], 1), ([1.5, 0.0, 0.0], 0)]
)
def test_states_turn_about_a_source_weight_alone(axis, turns):
    """Newton's method has the derivatives right: it ends at a state of rest."""
    matrix = np.diag([1.0, 1.0, 0.4])
    head = Attention(2.0, True, bilinear=matrix, source=axis)
    bowl = mfpde.Perceptron.quadratic(np.diag([0.0, 0.0, 0.5]))
    equation = MeanFieldEquation(head, bowl, direction="descent")
    atoms = Atoms(random_points(3, 3, 4))
    end = mfpde.solve_particles(equation, atoms, t_end=60.0).final
    rest = mfpde.polish(equation, end, max_move=0.5)
    assert rest.converged
    assert rest.symmetry_dimension == turns
    assert "source" in repr(equation)
    assert head != Attention(2.0, True, bilinear=matrix)


@pytest.mark.parametrize("normalized", [False, True])
def test_factors_stand_for_their_products(normalized):
    left, right, out, values = np.random.default_rng(2).standard_normal((4, 24, 3))
    points, weight = random_points(40, 24), random_points(1, 24, 6)[0]
    common = {"normalized": normalized, "source": weight, "beta": 0.7}
    pairs = head_equation((left, right.T), (out, values.T), **common)
    whole = head_equation(left @ right.T, out @ values.T, **common)
    atoms = Atoms(points)
    expected = whole.velocity(atoms)
    size = np.abs(expected).max()
    assert np.abs(pairs.velocity(atoms) - expected).max() < 1e-13 * size
    one, other = pairs.heads[0], whole.heads[0]
    assert one.shift == pytest.approx(other.shift, rel=1e-13)
    assert one.strength == pytest.approx(other.strength, rel=1e-13)
    # The gradient form is recognised by its products.
    assert head_equation((left, right.T), 2 * left @ right.T).has_first_variation
    assert not pairs.has_first_variation
    assert replace(one, beta=0.7) == one == other
    assert one != replace(one, source=None)


def test_softmax_of_particles_has_no_largest_beta():
    """At large beta a token sees the one with the largest logit alone."""
    points, matrix = random_points(50, 8), np.eye(8) + 0.1
    equation = head_equation(matrix, beta=1e7, normalized=True, direction="ascent")
    nearest = points[(points @ matrix @ points.T).argmax(axis=1)] @ matrix.T
    expected = nearest - (nearest * points).sum(axis=1, keepdims=True) * points
    assert np.abs(equation.velocity(Atoms(points)) - expected).max() < 1e-12
    # Of the shifted kernel nothing is left: |D| is that of one direction alone.
    assert abs(equation.energy(Atoms(points))) < 1e-12
    equation = head_equation(np.eye(2), beta=1e7, normalized=True)
    with pytest.raises(ValueError, match="no series above 1000"):
        equation.on(CIRCLE)


def test_two_exact_atoms_move_as_their_equation_says():
    bilinear = np.array([[1.0, 0.4], [-0.2, 0.6]])
    value = np.array([[0.5, -0.3], [0.8, 0.9]])
    atoms = atoms_at([0.3, 1.5], [0.4, 0.6])
    start = atoms_alone(CIRCLE, atoms)
    equation = head_equation(
        bilinear, value, beta=2.0, normalized=True, direction="ascent"
    )
    cloud = Cloud(0.0, atoms.points, atoms.masses)
    (end,) = moved(problem_of(equation), cloud, [1.0], time_step=0.01)
    run = mfpde.solve(equation, start, t_end=1.0, atoms="exact")
    assert np.abs(run.final.atoms.points - end.points).max() < 1e-8
    particles = mfpde.solve_particles(equation, start.atoms, t_end=1.0, rtol=1e-11)
    assert np.abs(particles.final.points - end.points).max() < 1e-8


def test_energy_exists_for_symmetric_gradient_heads_and_rises_in_ascent():
    bilinear = np.array([[1.0, 0.3], [0.3, -0.5]])
    equation = head_equation(bilinear, 0.7 * bilinear, direction="ascent")
    assert equation.has_energy
    assert equation.energy_is_lyapunov
    run = mfpde.solve(equation, smooth_density(Circle(256), 5), t_end=5.0)
    assert (np.diff(run.energies) > -1e-12).all()
    # dE/dt = int |v|^2 dmu at the start.
    density = smooth_density(CIRCLE, 5)
    points = Atoms(CIRCLE.points, density.masses)
    step = 1e-4
    moved = mfpde.solve_particles(equation, points, t_end=step).final
    rise = (equation.energy(moved) - equation.energy(points)) / step
    speed = (equation.velocity(density) ** 2).sum(axis=-1)
    assert rise == pytest.approx(density.masses @ speed, rel=1e-3)
    assert equation.energy(points) == pytest.approx(equation.energy(density), 1e-12)


@pytest.mark.parametrize(
    ("bilinear", "value", "has_first_variation"),
    [
        ([[1.0, 0.2], [0.0, 1.0]], None, True),
        ([[1.0, 0.2], [0.0, 1.0]], [[1.0, 0.0], [0.0, 2.0]], False),
        ([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 2.0]], False),
    ],
)
def test_without_energy_what_needs_one_is_refused(bilinear, value, has_first_variation):
    equation = head_equation(bilinear, value)
    uniform = mfpde.uniform(Circle(128))
    assert not equation.has_energy
    assert equation.energy(uniform) is None
    assert equation.has_first_variation is has_first_variation
    if not has_first_variation:
        with pytest.raises(ValueError, match="if value is a multiple of bilinear"):
            equation.first_variation(uniform)
    with pytest.raises(ValueError, match=r"Attention alone|needs an energy"):
        mfpde.maximize(ascent(*equation.terms))


def test_a_state_turns_only_by_rotations_that_leave_the_equation_as_it_is():
    value = np.array([[1.0, -0.1], [0.1, 0.8]])
    atoms = Atoms([[1.0, 0.0], [-0.6, 0.8]], [0.5, 0.5])
    equation = head_equation(np.diag([1.0, 0.4]), value, direction="ascent")
    run = mfpde.solve_particles(equation, atoms, t_end=300.0)
    found = mfpde.polish(equation, run.final, max_move=0.5)
    assert found.symmetry_dimension == 0
    assert (found.angular_velocity == 0).all()
    assert found.converged
