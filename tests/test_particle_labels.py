"""Weighted labels: densities along characteristics, and the density that labels stand for."""

import itertools

import numpy as np
import pytest
from random_points import random_atoms

from mfpde import (
    Atoms,
    Attention,
    Circle,
    Density,
    MeanFieldEquation,
    Perceptron,
    Sphere,
    label_density,
    solve_particles,
    uniform,
)
from mfpde.particles.labels import labels_of
from validation.circle_cases import angles_of, cosine_potential, orders, points_at
from validation.references.moebius import kuramoto_parameter, poisson, poisson_mass

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
NEURONS = [[1.0, 0.0], [0.6, 0.8]], [0.8, -0.5]


def equation(*terms, direction="ascent"):
    return MeanFieldEquation(*terms, direction=direction)


def poisson_start(cells, radius):
    circle = Circle(cells)
    return Density(circle, poisson(angles_of(circle.points), radius))


def poisson_cell_means(circle, radius):
    faces = np.concatenate([[0.0], circle.face_angles])
    turns = np.floor((faces + np.pi) / (2 * np.pi))
    masses = turns + poisson_mass(faces - 2 * np.pi * turns, radius)
    return np.diff(masses) / circle.spacing


def labels_after(problem, start, duration, **options):
    run = solve_particles(
        problem, start, t_end=duration, method="labels", **(TIGHT | options)
    )
    return run.final


@pytest.mark.parametrize("direction", ["ascent", "descent"])
def test_labels_are_spectrally_accurate_on_the_kuramoto_solution(direction):
    fine, duration, radius = Circle(400), 1.2, 0.4
    problem = equation(Attention(0.0), direction=direction)
    later = kuramoto_parameter(radius, duration, sign=problem.sign)
    errors = []
    for count in (16, 32, 64, 128):
        labels = labels_after(problem, poisson_start(count, radius), duration)
        values = label_density(labels, fine).values
        errors.append(np.abs(values - poisson_cell_means(fine, later)).max())
    for coarse, doubled in itertools.pairwise(errors):
        assert doubled < 1e-10 or coarse / doubled > 2**4.5
    assert errors[-1] < 1e-10
    at_centers = label_density(labels, fine, at_centers=True).values
    np.testing.assert_allclose(
        at_centers, poisson(angles_of(fine.points), later), atol=1e-9
    )


def test_labels_follow_a_linear_potential_exactly():
    """V = c cos(theta): the uniform density becomes the Poisson kernel of tanh(c t / 2)."""
    circle, strength = Circle(256), 1.3
    labels = labels_after(equation(cosine_potential(strength)), uniform(circle), 1.0)
    exact = poisson_cell_means(circle, np.tanh(strength / 2))
    np.testing.assert_allclose(label_density(labels, circle).values, exact, atol=1e-10)


def test_labels_at_rest_give_back_the_density_and_its_cell_means():
    circle = Circle(64)
    start = Density.from_function(circle, lambda x: 1 + 0.5 * x[..., 1])
    same = label_density(labels_of(start), circle, at_centers=True)
    np.testing.assert_allclose(same.values, start.values, atol=1e-10)
    back = label_density(labels_of(start), circle)
    damping = np.sinc(circle.spacing / (2 * np.pi))
    exact = (1 + 0.5 * damping * circle.points[:, 1]) / (2 * np.pi)
    np.testing.assert_allclose(back.values, exact, atol=1e-12)


def test_more_labels_than_cells_interpolate_the_density():
    start, exact = (
        Density.from_function(Circle(n), lambda x: np.exp(x[..., 0])) for n in (64, 200)
    )
    np.testing.assert_allclose(labels_of(start, 200).masses, exact.masses, atol=1e-14)


@pytest.mark.parametrize("duration", [3.0, 30.0, 1000.0])
def test_label_density_stays_a_probability_when_mass_concentrates(duration):
    """Several clusters, then one; labels meet, the flow map is a staircase."""
    circle = Circle(128)
    start = Density.from_function(circle, lambda x: np.maximum(x[..., 0] + 0.3, 0.0))
    problem = equation(Attention(8.0), Perceptron(*NEURONS))
    labels = solve_particles(problem, start, t_end=duration, method="labels").final
    density = label_density(labels, circle)
    assert density.values.min() >= 0.0
    assert density.total_mass == pytest.approx(1.0, abs=1e-12)
    first_moment = density.masses @ circle.points
    assert np.abs(first_moment - labels.masses @ labels.points).max() < circle.spacing


def test_labels_that_all_met_are_one_cell():
    """All but the mass of one label, which spans the rest of the circle."""
    count = 40
    angles = 1.0 + 1e-15 * np.random.default_rng(0).standard_normal(count)
    density = label_density(Atoms(points_at(angles)), Circle(32))
    assert density.masses.max() >= 1 - 1 / count


def test_particles_and_labels_differ_by_the_square_of_the_cell_width():
    """Quantiles take cells as uniform, labels take values at their centres."""
    problem = equation(
        Attention(4.0), Perceptron(*NEURONS, "gelu"), direction="descent"
    )

    def moments(start, **arguments):
        final = solve_particles(problem, start, t_end=1.0, **arguments, **TIGHT).final
        return final.masses @ np.exp(1j * np.outer(angles_of(final.points), [1, 2, 3]))

    differences = []
    for cells in (64, 256):
        start = Density.from_function(Circle(cells), lambda x: 1 + 0.8 * x[..., 0] ** 2)
        particles, labels = moments(start, count=300), moments(start, method="labels")
        differences.append(np.abs(particles - labels).max())
    assert orders(differences)[0] / 2 == pytest.approx(2.0, abs=0.1)
    assert differences[1] < 2e-5


def test_labels_at_gauss_nodes_converge_spectrally():
    """Moments of twice as many labels a ring agree, until the flow is too steep for them."""
    layer = Perceptron([[1.0, 0.2, -0.4], [0.3, -1.0, 0.5]], [0.8, -0.6], "gelu")

    def moments(rings):
        start = Density.from_function(
            Sphere(rings), lambda x: 1 + 0.3 * x[..., 2] + 0.2 * x[..., 0] * x[..., 1]
        ).normalized()
        labels = labels_after(equation(Attention(3.0), layer), start, 0.5, rtol=1e-9)
        return Sphere(32).atom_moments(labels.points, labels.masses, 6)

    coarse, middle, fine = (moments(rings) for rings in (32, 48, 64))
    errors = [np.abs(one - fine).max() for one in (coarse, middle)]
    assert errors[0] <= 1e-6
    assert errors[1] <= 0.05 * errors[0] + 1e-10


def test_labels_of_another_count_are_those_of_a_finer_grid():
    start = Density.from_function(Sphere(32), lambda x: 1 + 0.5 * x[..., 0])
    labels = labels_after(
        equation(Attention(3.0)), start.normalized(), 0.1, count=2 * 48**2, rtol=1e-5
    )
    assert len(labels) == 48 * 96
    assert labels.masses.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("labels", "circle", "at_centers", "message"),
    [
        (random_atoms(5), Circle(32), False, "5 labels"),
        (random_atoms(12, 3), Circle(32), False, "dimension 3"),
        (random_atoms(50), Circle(32), False, "cyclic order"),
        (Atoms(points_at(np.ones(40))), Circle(32), True, "narrower than its cells"),
        (labels_of(uniform(Circle(32))), 32, False, "circle = 32"),
    ],
)
def test_label_density_refuses_what_is_not_labels(labels, circle, at_centers, message):
    with pytest.raises(ValueError, match=message):
        label_density(labels, circle, at_centers=at_centers)
