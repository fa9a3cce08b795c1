"""Softmax where its normalisation is small: far from all mass, or on the wrong side of D."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from random_points import random_points
from witness import cells_of, head_by_sums

import mfpde
from mfpde import Atoms, Attention, Circle, Density, MeanFieldEquation, Sphere, Zonal

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
    density = bump(geometry)
    measure, (sources, masses) = density, cells_of(density)
    if has_atoms:
        atoms = Atoms(random_points(2, d, 1), [1e-3, 1e-40])
        measure = mfpde.Measure(density, atoms)
        sources = np.concatenate([sources, atoms.points])
        masses = np.concatenate([masses, atoms.masses])
    equation = softmax(beta, bilinear, value)
    one = np.eye(d) if bilinear is None else bilinear
    matrices = {"bilinear": one, "value": one if value is None else value}
    points = random_points(40, d, 2)
    drift, logs = head_by_sums(points, sources, masses, beta=beta, **matrices)
    assert np.abs(equation.velocity(measure, points) - drift).max() < 1e-9
    some = slice(None, None, 37)
    centres = cells_of(density)[0][some]
    drift, logs_at_centres = head_by_sums(
        centres, sources, masses, beta=beta, **matrices
    )
    velocity = equation.velocity(measure).reshape(-1, d)[some]
    assert np.abs(velocity - drift).max() < 1e-9
    if value is None:
        # The kernel is shifted by |D|.
        found = equation.first_variation(measure, points) + 1.0
        assert np.abs(found - logs / beta).max() < 1e-9
        found = equation.first_variation(measure).ravel()[some] + 1.0
        assert np.abs(found - logs_at_centres / beta).max() < 1e-9


def by_rings(density, angles, *, beta, along, across):
    """Speeds along theta and log Z / beta, D = diag(across, ..., along), over rings of cells."""
    geometry = density.geometry
    places, weights = leggauss(600)
    psi = (places + 1) * np.pi / 2
    logarithms = np.log(weights) + (geometry.dimension - 3) * np.log(np.sin(psi))
    shares = logarithms - np.log(np.exp(logarithms).sum())
    theta = geometry.angles[:, np.newaxis]
    sources = np.stack(
        [np.cos(theta) + 0 * psi, np.sin(theta) * np.cos(psi)], axis=-1
    ).reshape(-1, 2)
    with np.errstate(divide="ignore"):
        masses = np.exp(np.log(density.masses)[:, np.newaxis] + shares).ravel()
    points = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    matrix = np.diag([along, across])
    drift, logs = head_by_sums(
        points, sources, masses, beta=beta, bilinear=matrix, value=matrix
    )
    return -np.sin(angles) * drift[:, 0] + np.cos(angles) * drift[:, 1], logs / beta


@pytest.mark.parametrize("dimension", [3, 8, 64])
@pytest.mark.parametrize("beta", [16.0, 100.0])
def test_zonal_fields_are_the_sums_over_rings(dimension, beta):
    geometry = Zonal(dimension, 256)
    density = bump(geometry, towards=-1)
    some = slice(3, None, 17)
    angles, tangents = geometry.angles[some], geometry.tangents[0, some]
    equation = softmax(beta, None)
    speed, potential = by_rings(density, angles, beta=beta, along=1.0, across=1.0)
    found = (equation.velocity(density)[some] * tangents).sum(axis=1)
    # Moments of bands are more accurate than sums over their middles.
    assert np.abs(found - speed).max() < 1e-3
    at = (equation.velocity(density, geometry.points[some]) * tangents).sum(axis=1)
    assert np.abs(at - found).max() < 1e-9
    values = equation.first_variation(density)[some]
    assert np.abs(values + 1.0 - potential).max() < 1e-3


@pytest.mark.parametrize("bilinear", [None, -np.eye(2)], ids=["isotropic", "opposite"])
def test_the_velocity_of_a_softmax_does_not_depend_on_the_mass(bilinear):
    density = bump(Circle(256), 10.0)
    small = Density(density.geometry, 1e-18 * density.values)
    equation = softmax(8.0, bilinear, direction="descent")
    change = equation.velocity(small) - equation.velocity(density)
    assert np.abs(change).max() < 1e-9


def by_particles(density, duration, steps, *, beta, bilinear, value):
    """First and second moments after a time, cells moved by the classical Runge-Kutta method."""
    start, masses = cells_of(density)

    def speed(x):
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
        return head_by_sums(x, x, masses, beta=beta, bilinear=bilinear, value=value)[0]

    x, h = start, duration / steps
    for _ in range(steps):
        first = speed(x)
        second = speed(x + h / 2 * first)
        third = speed(x + h / 2 * second)
        x = x + h / 6 * (first + 2 * second + 2 * third + speed(x + h * third))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    return masses @ x, x.T @ (masses[:, np.newaxis] * x)


@pytest.mark.parametrize("value", [-np.eye(2), TURN], ids=["gradient", "turning"])
@pytest.mark.parametrize(("cells", "beta"), [(512, 20.0), (1024, 100.0)])
def test_runs_move_as_particles_do_where_the_matrix_looks_away(cells, beta, value):
    density = bump(Circle(cells))
    run = mfpde.solve(
        softmax(beta, -np.eye(2), value), density, t_end=0.2, save_every=0.2
    )
    assert run.statistics["steps"] < 20
    points, masses = cells_of(run.final.density)
    mean, second = by_particles(
        density, 0.2, 10, beta=beta, bilinear=-np.eye(2), value=value
    )
    assert np.abs(masses @ points - mean).max() < 5e-5
    assert np.abs(points.T @ (masses[:, np.newaxis] * points) - second).max() < 5e-5
