"""Laws of particles on spheres: exact trajectories, the integrator, direct sums."""

import numpy as np
import pytest
from random_points import random_points
from scipy.integrate import solve_ivp
from scipy.stats import special_ortho_group

from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Sphere, Zonal
from mfpde.measures.measure import Atoms, Density, Measure, uniform
from mfpde.particles import solve_particles
from mfpde.terms import (
    Attention,
    Exponential,
    Perceptron,
    PointMasses,
)
from validation.references.two_atoms import merge_time

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
FIXED = {"time_step": 0.02}
WEIGHTS = [0.8, -0.5]


def random_atoms(count, dimension, seed=0):
    masses = np.random.default_rng(seed + 1).uniform(0.5, 1.5, count)
    return Atoms(random_points(count, dimension, seed), masses / masses.sum())


def ascent(*terms):
    return MeanFieldEquation(*terms, direction="ascent")


# --- direct sums ------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [2, 3, 6])
@pytest.mark.parametrize("beta", [0.1, 8.0, 1000.0])
@pytest.mark.parametrize("targets", [1, 128, 200])
def test_sums_are_those_of_matrices(dimension, beta, targets):
    atoms, points = random_atoms(300, dimension), random_points(targets, dimension, 5)
    exponents = beta * (points @ atoms.points.T - 1)
    weights = np.exp(exponents - exponents.max(axis=1, keepdims=True)) * atoms.masses
    sources = PointMasses(atoms.points, atoms.masses)
    peaks, sums, vectors = Exponential(beta).scaled_sums(points, sources)
    scale = 1e-14 * max(1.0, beta)
    # Whatever is taken out of the sums: their logarithm, and the mean of the points.
    totals = weights.sum(axis=1)
    logarithms = exponents.max(axis=1) + np.log(totals)
    np.testing.assert_allclose(peaks + np.log(sums), logarithms, atol=1e2 * scale)
    means = weights @ atoms.points / totals[:, np.newaxis]
    np.testing.assert_allclose(vectors / sums[:, np.newaxis], means, atol=1e2 * scale)


def test_sums_do_not_depend_on_blocks():
    atoms = random_atoms(700, 3)
    sources, kernel = PointMasses(atoms.points, atoms.masses), Exponential(8.0)
    whole = kernel.scaled_sums(atoms.points, sources)
    parts = kernel.scaled_sums(atoms.points[130:300], sources)
    for one, part in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one[130:300], part, rtol=1e-13, atol=1e-13)


# --- the fixed step ---------------------------------------------------


@pytest.mark.parametrize("dimension", [3, 6])
@pytest.mark.parametrize("normalized", [False, True])
def test_fixed_steps_have_order_four_and_stay_on_the_sphere(dimension, normalized):
    layer = Perceptron(np.eye(2, dimension), WEIGHTS, "gelu")
    equation = ascent(Attention(4.0, normalized), layer)
    start = random_atoms(15, dimension)
    exact = solve_particles(equation, start, t_end=2.0, **TIGHT).final.points
    errors = []
    for step in (0.2, 0.1, 0.05):
        run = solve_particles(equation, start, t_end=2.0, time_step=step)
        errors.append(np.abs(run.final.points - exact).max())
        lengths = np.linalg.norm(run.final.points, axis=1)
        np.testing.assert_allclose(lengths, 1.0, rtol=0, atol=1e-15)
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert orders[-1] == pytest.approx(4.0, abs=0.15)
    assert (orders > 3.8).all()


@pytest.mark.parametrize("normalized", [False, True])
def test_fixed_steps_are_equivariant_under_rotations(normalized):
    equation = MeanFieldEquation(Attention(6.0, normalized), direction="descent")
    start = random_atoms(30, 3)
    rotation = special_ortho_group(3, seed=2).rvs()
    turned = Atoms(start.points @ rotation, start.masses)
    first, second = (
        solve_particles(equation, atoms, t_end=2.0, **FIXED).final.points
        for atoms in (start, turned)
    )
    np.testing.assert_allclose(second, first @ rotation, atol=1e-12)


# --- exact trajectories -------------------------------------------------------------


@pytest.mark.parametrize("chosen", [TIGHT, FIXED], ids=["adaptive", "fixed"])
def test_two_atoms_close_as_their_equation_says(chosen):
    """D' = -e^{beta (cos D - 1)} sin D (case 6), on a great circle in any direction."""
    beta, before, duration = 8.0, 1.2, 20.0

    def slope(_time, angle):
        return -np.exp(beta * (np.cos(angle) - 1)) * np.sin(angle)

    exact = solve_ivp(slope, (0, duration), [before], rtol=1e-12, atol=1e-13).y[0, -1]
    time = merge_time(beta, start_angle=before, end_angle=exact)
    assert time == pytest.approx(duration, abs=1e-8)
    pair = [[1.0, 0.0, 0.0], [np.cos(before), np.sin(before), 0.0]]
    rotation = special_ortho_group(3, seed=3).rvs()
    start = Atoms(np.array(pair) @ rotation)
    run = solve_particles(ascent(Attention(beta)), start, t_end=duration, **chosen)
    points = run.final.points
    angle = 2 * np.arcsin(np.linalg.norm(points[0] - points[1]) / 2)
    assert angle == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("chosen", [TIGHT, {"time_step": 2e-3}], ids=["tight", "fixed"])
def test_three_equiangular_atoms(normalized, chosen):
    """Cosine g of n = 3 atoms, unshifted kernel (case 7)."""
    beta, count, duration, cosine = 2.0, 3, 0.5, -0.3

    def slope(_time, g):
        pull = 2 * np.exp(beta * g) * (1 - g) * (1 + (count - 1) * g)
        if normalized:
            return pull / (np.exp(beta) + (count - 1) * np.exp(beta * g))
        return pull / count

    exact = solve_ivp(slope, (0, duration), [cosine], rtol=1e-12, atol=1e-13).y[0, -1]
    gram = np.full((3, 3), cosine) + (1 - cosine) * np.eye(3)
    start = Atoms(np.linalg.cholesky(gram) @ special_ortho_group(3, seed=1).rvs())
    equation = ascent(Attention(beta, normalized, kernel="unshifted"))
    points = solve_particles(equation, start, t_end=duration, **chosen).final.points
    cosines = (points @ points.T)[np.triu_indices(3, 1)]
    np.testing.assert_allclose(cosines, exact, atol=1e-10)


@pytest.mark.parametrize("direction", ["ascent", "descent"])
@pytest.mark.parametrize("chosen", [{}, FIXED], ids=["adaptive", "fixed"])
def test_energy_is_monotone(direction, chosen):
    layer = Perceptron(np.eye(2, 3), WEIGHTS, "relu")
    equation = MeanFieldEquation(Attention(5.0), layer, direction=direction)
    run = solve_particles(
        equation, random_atoms(40, 3), t_end=3.0, save_every=0.05, **chosen
    )
    assert (equation.sign * np.diff(run.energies) > 0).all()


# --- densities as starts --------------------------------------------------------------


@pytest.mark.parametrize("geometry", [Sphere(32), Zonal(3, 64), Zonal(9, 64)], ids=repr)
def test_densities_are_quantised_into_count_particles(geometry):
    density = Density.from_function(geometry, lambda x: np.exp(x[..., -1]))
    equation = ascent(Attention(2.0))
    run = solve_particles(equation, density, t_end=0.1, count=150, time_step=0.05)
    assert run.statistics["method"] == "direct"
    assert run.final.points.shape == (150, geometry.dimension)
    assert run.final.total_mass == pytest.approx(1.0, abs=1e-14)


def test_particles_of_a_density_have_its_velocity_and_energy():
    """Quantisation of a smooth density: the field is off by far less than n^{-1/2}."""
    equation = ascent(Attention(4.0))
    axis = np.array([0.6, 0.0, 0.8])
    density = Density.from_function(Sphere(64), lambda x: np.exp(2 * (x @ axis)))
    run = solve_particles(equation, density, t_end=1e-6, count=1500)
    exact = equation.velocity(density, run.states[0].points)
    error = np.abs(equation.velocity(run.states[0]) - exact).max()
    assert error < 0.01 * np.abs(exact).max()
    assert run.energies[0] == pytest.approx(equation.energy(density), rel=2e-3)


def test_uniform_particles_with_an_atom_on_the_sphere():
    measure = Measure(
        Density(Sphere(32), 0.5 * uniform(Sphere(32)).values),
        Atoms([[0.0, 0.0, 1.0]], [0.5]),
    )
    run = solve_particles(
        ascent(Attention(1.0)), measure, t_end=1.0, count=100, time_step=0.1
    )
    heights = run.final.points[:, 2]
    assert (heights > 1 - 1e-3).sum() >= 50
    assert heights.mean() > 0.5
