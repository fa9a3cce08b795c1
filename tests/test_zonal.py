"""Zonal densities on S^(d-1): exact solutions, spectra and conservation in every dimension."""

from __future__ import annotations

import numpy as np
import pytest
from equations import ascent, descent
from random_points import atoms_alone
from scipy.special import roots_jacobi, roots_legendre

import mfpde
from mfpde import Attention, Density, MeanFieldEquation, Perceptron, Zonal
from validation import zonal_cases
from validation.characteristics import moved_rings, rings_of
from validation.independent import problem_of


def axis(dimension: int) -> np.ndarray:
    return np.eye(1, dimension, dimension - 1)


def constant_drift(dimension: int, weight: float) -> Perceptron:
    """V = weight * z."""
    activation = (np.ones_like, lambda z: z)
    return Perceptron(axis(dimension), [weight], activation)


def density_of(grid: Zonal, masses: np.ndarray) -> Density:
    return Density(grid, masses / grid.areas / masses.sum())


def l1_error(grid: Zonal, case: str) -> float:
    d = grid.dimension
    term, came_from, moved = {
        "linear": (constant_drift(d, 0.5), zonal_cases.moved_by_linear_potential, 0.5),
        "relu": (Perceptron(axis(d), [1.0]), zonal_cases.moved_by_relu, 1.0),
    }[case]
    origins, equation = came_from(grid.face_angles, moved), ascent(term)
    start = mfpde.uniform(grid)
    run = mfpde.solve(equation, start, t_end=1.0, save_at=[1.0])
    final = run.final.density
    assert abs(final.total_mass - 1) < 1e-13
    assert final.values.min() >= 0
    return float(np.abs(final.masses - zonal_cases.uniform_masses(d, origins)).sum())


@pytest.mark.parametrize(("dimension", "cells"), [(3, 256), (5, 96), (64, 256)])
@pytest.mark.parametrize("normalized", [False, True])
def test_agrees_with_the_direct_sum_over_a_product_quadrature(
    dimension, cells, normalized
):
    """The rule is exact for the kernel: Gauss in the angle, Gauss-Jacobi on rings."""
    grid = Zonal(dimension, cells)
    origins = zonal_cases.moved_by_linear_potential(grid.face_angles, 0.5)
    density = density_of(grid, zonal_cases.uniform_masses(dimension, origins))
    nodes, weights = roots_legendre(60)
    start = np.pi / 2 * (nodes + 1)
    weights = weights * np.sin(start) ** (dimension - 2)
    angles = 2 * np.arctan(np.exp(-0.5) * np.tan(start / 2))
    power = (dimension - 4) / 2
    heights, shares = roots_jacobi(40, power, power)
    points = np.zeros((2, 60, 40, dimension))
    points[..., -1] = np.cos(angles)[:, None]
    points[..., 0] = np.sin(angles)[:, None] * heights
    sideways = np.sin(angles)[:, None] * np.sqrt(1 - heights**2)
    points[0, ..., 1], points[1, ..., 1] = sideways, -sideways
    masses = np.broadcast_to(weights[:, None] * shares, (2, 60, 40)).ravel()
    atoms = mfpde.Atoms(points.reshape(-1, dimension), masses / masses.sum())
    attention = Attention(beta=4.0, normalized=normalized)
    equation = descent(attention)
    targets = grid.points[::7]
    expected = equation.velocity(atoms, targets)
    tolerance = 1e-9 if dimension == 3 else 1e-12
    np.testing.assert_allclose(
        equation.velocity(density, targets), expected, atol=tolerance
    )
    np.testing.assert_allclose(
        equation.first_variation(density)[::7],
        equation.first_variation(atoms, targets),
        atol=tolerance,
    )
    if not normalized:
        on_ring = grid.points_at(angles)
        half = equation.first_variation(atoms, on_ring) / 2
        energy = float(weights @ half / weights.sum())
        assert equation.energy(density) == pytest.approx(energy, abs=tolerance)


def test_an_atom_at_the_pole_acts_exactly():
    grid = Zonal(5, 64)
    atom = mfpde.Atoms(axis(5), [1.0])
    equation = ascent(Attention(6.0))
    expected = equation.velocity(atom, grid.points)
    found = equation.velocity(atoms_alone(grid, atom))
    np.testing.assert_allclose(found, expected, atol=1e-13)


@pytest.mark.parametrize(
    ("dimension", "cells", "linear", "relu"),
    [
        (3, 64, 1e-7, 4e-4),
        (5, 64, 4e-7, 1e-3),
        (64, 192, 2e-7, 2.5e-3),
        (2048, 1024, 1e-6, 2.5e-3),
    ],
)
def test_one_term_moves_the_uniform_density_as_known(dimension, cells, linear, relu):
    assert l1_error(Zonal(dimension, cells), "linear") < linear
    assert l1_error(Zonal(dimension, cells), "relu") < relu


def test_linear_potential_converges_at_order_three():
    errors = [l1_error(Zonal(5, n), "linear") for n in (48, 96)]
    assert np.log2(errors[0] / errors[1]) > 2.9


# Later the grid decides when this mass leaves, and the run says so.
@pytest.mark.filterwarnings("ignore:.*attracts from one side:UserWarning")
@pytest.mark.parametrize("direction", ["ascent", "descent"])
# A kink on a face, in a centre, and nearer to the one or the other centre.
@pytest.mark.parametrize(
    ("cells", "bias"), [(64, 0.0), (65, 0.0), (67, 0.13), (73, 0.13), (131, 0.13)]
)
def test_mass_rests_at_a_kink_as_labels_do(cells, bias, direction):
    """Of neurons +-e: V is stable on one side of their kink and unstable on the other."""

    def values(z: np.ndarray) -> np.ndarray:
        return 1 + 0.4 * z + 0.3 * z**2

    grid, times = Zonal(5, cells), np.array([12.0, 20.0])
    neurons = Perceptron(
        np.concatenate([axis(5), -axis(5)]), [0.4, -0.3], biases=[bias, -bias]
    )
    equation = MeanFieldEquation(Attention(8.0), neurons, direction=direction)
    start = Density.from_function(grid, lambda x: values(x[..., -1]))
    run = mfpde.solve(equation, start, t_end=20.0, save_at=times)
    problem = problem_of(equation)
    rings = moved_rings(problem, rings_of(values, 5, 400), times)
    expected = [one.energy(problem) for one in rings]
    # First order in h.
    np.testing.assert_allclose(run.energies[-2:], expected, rtol=1.5 / cells)
    assert run.mass_drift < 1e-13
    assert run.diagnostics["minimum"].min() >= 0
