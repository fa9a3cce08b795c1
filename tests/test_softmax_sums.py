"""Softmax where its normalisation is small: far from all mass, or on the wrong side of D."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from random_points import random_points

import mfpde
from mfpde import Atoms, Attention, Circle, Density, MeanFieldEquation, Sphere, Zonal
from validation.characteristics import Cloud, moved
from validation.circle_cases import points_at
from validation.independent import cells_of, first_variation, gradient, problem_of

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def bump(geometry, concentration=60.0, towards=0):
    """A von Mises-Fisher density about a vector of the basis."""
    return Density.from_function(
        geometry, lambda x: np.exp(concentration * (x[..., towards] - 1))
    ).normalized()


def softmax(beta, bilinear=None, value=None, direction="ascent"):
    head = Attention(beta, normalized=True, bilinear=bilinear, value=value)
    return MeanFieldEquation(head, direction=direction)


def random_matrix(seed, dimension):
    matrix = np.random.default_rng(seed).standard_normal((dimension, dimension))
    return matrix / np.linalg.norm(matrix, 2)


CASES = {
    "opposite": lambda d: (-np.eye(d), None),
    "random": lambda d: (random_matrix(4, d), None),
    "random with values": lambda d: (random_matrix(5, d), random_matrix(6, d)),
    "isotropic": lambda d: (None, None),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("geometry", "beta"),
    [
        (Circle(512), 16.0),
        (Circle(512), 20.0),
        (Circle(1024), 100.0),
        (Circle(2048), 1000.0),
        pytest.param(Sphere(48), 16.0, marks=pytest.mark.slow),
        (Sphere(48), 20.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("has_atoms", [False, True])
def test_fields_are_the_direct_sums_everywhere(geometry, beta, case, has_atoms):
    d = geometry.dimension
    bilinear, value = CASES[case](d)
    measure = mfpde.Measure(bump(geometry))
    if has_atoms:
        atoms = Atoms(random_points(2, d, 1), [1e-3, 1e-40])
        measure = mfpde.Measure(measure.density, atoms)
    equation = softmax(beta, bilinear, value)
    problem, cells = problem_of(equation), cells_of(measure)
    points, some = random_points(40, d, 2), slice(0, measure.density.masses.size, 37)
    velocity = equation.velocity(measure).reshape(-1, d)[some]
    for at, found in (
        (points, equation.velocity(measure, points)),
        (cells[0][some], velocity),
    ):
        assert np.abs(found - gradient(problem, *cells, at=at)).max() < 1e-9
    if value is not None:
        return
    for at, found in (
        (points, equation.first_variation(measure, points)),
        (cells[0][some], equation.first_variation(measure).ravel()[some]),
    ):
        assert np.abs(found - first_variation(problem, *cells, at=at)).max() < 1e-9


def by_rings(density, angles, beta):
    """Speeds along theta and F of softmax at polar angles, by sums over rings of cells."""
    dimension, theta = density.geometry.dimension, density.geometry.angles[:, None]
    places, weights = leggauss(600)
    psi = (places + 1) * np.pi / 2
    shares = weights * np.sin(psi) ** (dimension - 3)
    sources = np.stack([np.cos(theta) + 0 * psi, np.sin(theta) * np.cos(psi)], axis=-1)
    rings = (
        sources.reshape(-1, 2),
        np.outer(density.masses, shares / shares.sum()).ravel(),
    )
    points, tangents = points_at(angles), points_at(angles + np.pi / 2)
    problem = problem_of(softmax(beta))
    drift = gradient(problem, *rings, at=points)
    return (drift * tangents).sum(axis=1), first_variation(problem, *rings, at=points)


@pytest.mark.parametrize("dimension", [3, 8, 64])
@pytest.mark.parametrize("beta", [16.0, 100.0])
def test_zonal_fields_are_the_sums_over_rings(dimension, beta):
    geometry = Zonal(dimension, 256)
    density = bump(geometry, towards=-1)
    some = slice(3, None, 17)
    angles, tangents = geometry.angles[some], geometry.tangents[0, some]
    equation = softmax(beta)
    speed, potential = by_rings(density, angles, beta)
    found = (equation.velocity(density)[some] * tangents).sum(axis=1)
    # Moments of bands are more accurate than sums over their middles.
    assert np.abs(found - speed).max() < 1e-3
    at = (equation.velocity(density, geometry.points[some]) * tangents).sum(axis=1)
    assert np.abs(at - found).max() < 1e-9
    values = equation.first_variation(density)[some]
    assert np.abs(values - potential).max() < 1e-3


@pytest.mark.parametrize("bilinear", [None, -np.eye(2)], ids=["isotropic", "opposite"])
def test_the_velocity_of_a_softmax_does_not_depend_on_the_mass(bilinear):
    density = bump(Circle(256), 10.0)
    small = Density(density.geometry, 1e-18 * density.values)
    equation = softmax(8.0, bilinear, direction="descent")
    change = equation.velocity(small) - equation.velocity(density)
    assert np.abs(change).max() < 1e-9


@pytest.mark.parametrize("value", [-np.eye(2), TURN], ids=["gradient", "turning"])
@pytest.mark.parametrize(("cells", "beta"), [(512, 20.0), (1024, 100.0)])
def test_runs_move_as_particles_do_where_the_matrix_looks_away(cells, beta, value):
    density = bump(Circle(cells))
    equation = softmax(beta, -np.eye(2), value)
    run = mfpde.solve(equation, density, t_end=0.2, save_every=0.2)
    assert run.statistics["steps"] < 20
    start = Cloud(0.0, *cells_of(density))
    (end,) = moved(problem_of(equation), start, [0.2], time_step=0.02)
    found, expected = (
        (masses @ points, points.T @ (masses[:, None] * points))
        for points, masses in (cells_of(run.final), (end.points, end.masses))
    )
    for moment, exact in zip(found, expected, strict=True):
        np.testing.assert_allclose(moment, exact, rtol=0, atol=5e-5)
