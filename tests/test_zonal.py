"""Zonal densities on S^(d-1): exact solutions, spectra and conservation in every dimension."""

from __future__ import annotations

import numpy as np
import pytest
from equations import ascent, descent
from scipy.special import roots_jacobi, roots_legendre

import mfpde
from mfpde import Attention, Density, MeanFieldEquation, Perceptron, Zonal
from mfpde.geometry.harmonics import zonal_harmonics
from validation.characteristics import moved_rings, rings_of
from validation.independent import problem_of
from validation.zonal_cases import (
    moved_by_linear_potential,
    moved_by_relu,
    uniform_masses,
)

DIMENSIONS = (3, 5, 64, 2048)
GRIDS = ((3, 64), (5, 64), (64, 192), (2048, 1024))


def axis(dimension: int) -> np.ndarray:
    return np.eye(1, dimension, dimension - 1)


def constant_drift(dimension: int, weight: float) -> Perceptron:
    """V = weight * z."""
    activation = (np.ones_like, lambda z: z)
    return Perceptron(axis(dimension), [weight], activation)


def density_of(grid: Zonal, masses: np.ndarray) -> Density:
    return Density(grid, masses / grid.areas / masses.sum())


def perturbed(grid: Zonal, degree: int, size: float) -> np.ndarray:
    """Cell masses of the uniform density times 1 + size P_degree."""
    d = grid.dimension
    nodes, weights = roots_legendre(12)
    inside = grid.angles[:, None] + grid.spacing / 2 * nodes
    powers = (d - 2) * np.log(np.sin(inside))
    shares = np.exp(powers - powers.max(axis=1, keepdims=True)) * weights
    harmonics = zonal_harmonics(d, degree, np.cos(inside).ravel())[degree]
    means = (shares * harmonics.reshape(shares.shape)).sum(axis=1) / shares.sum(axis=1)
    return grid.area_shares * (1 + size * means)


def l1_error(grid: Zonal, case: str) -> float:
    d = grid.dimension
    if case == "linear":
        term, came_from = constant_drift(d, 0.5), moved_by_linear_potential
        origins = came_from(grid.face_angles, 0.5)
    else:
        term, came_from = Perceptron(axis(d), [1.0]), moved_by_relu
        origins = came_from(grid.face_angles, 1.0)
    equation = ascent(term)
    start = mfpde.uniform(grid)
    run = mfpde.solve(equation, start, t_end=1.0, save_at=[1.0])
    final = run.final.density
    assert abs(final.total_mass - 1) < 1e-13
    assert final.values.min() >= 0
    return float(np.abs(final.masses - uniform_masses(d, origins)).sum())


class TestGeometry:
    @pytest.mark.parametrize(("dimension", "cells"), GRIDS)
    def test_area_shares_are_incomplete_beta_functions(self, dimension, cells):
        grid = Zonal(dimension, cells)
        exact = uniform_masses(dimension, grid.face_angles)
        np.testing.assert_allclose(grid.area_shares, exact, atol=1e-14)

    def test_areas_are_shares_where_the_surface_is_too_small(self):
        assert not Zonal(64, 64).areas_are_shares
        grid = Zonal(2048, 256)
        assert grid.areas_are_shares
        assert grid.areas.sum() == pytest.approx(1.0, abs=1e-13)

    def test_points_lie_on_the_sphere_and_tangents_touch_it(self):
        grid = Zonal(5, 32)
        np.testing.assert_allclose(np.linalg.norm(grid.points, axis=1), 1, rtol=1e-14)
        np.testing.assert_allclose(grid.points[:, -1], np.cos(grid.angles))
        dots = np.einsum("ni,ni->n", grid.points, grid.tangents[0])
        np.testing.assert_allclose(dots, 0, atol=1e-15)

    @pytest.mark.parametrize(("dimension", "cells"), GRIDS)
    def test_uniform_density_has_no_moments(self, dimension, cells):
        grid = Zonal(dimension, cells)
        moments = grid.moments(mfpde.uniform(grid).masses, 8)
        assert moments[0] == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_allclose(moments[1:], 0, atol=1e-14)

    def test_gradient_is_the_derivative_of_the_synthesis(self):
        grid = Zonal(5, 64)
        coefficients = np.array([0.3, 1.0, -0.4, 0.2, 0.7], dtype=complex)
        step = 1e-5
        ahead = grid.field_at(coefficients, grid.points_at(grid.angles + step)).values
        behind = grid.field_at(coefficients, grid.points_at(grid.angles - step)).values
        slopes = grid.gradient(coefficients)[0]
        np.testing.assert_allclose(slopes, (ahead - behind) / (2 * step), atol=1e-8)
        vectors = grid.field_at(coefficients, grid.points).gradients
        along = np.einsum("ni,ni->n", vectors, grid.tangents[0])
        np.testing.assert_allclose(along, slopes, atol=1e-14)

    @pytest.mark.parametrize("dimension", DIMENSIONS)
    def test_refining_keeps_mass_and_sign(self, dimension):
        cells = max(64, int(8 * dimension**0.5))
        grid, finer = Zonal(dimension, cells), Zonal(dimension, 3 * cells)
        origins = moved_by_linear_potential(grid.face_angles, 0.5)
        coarse = density_of(grid, uniform_masses(dimension, origins))
        fine = coarse.interpolated(finer)
        assert fine.total_mass == pytest.approx(1.0, abs=1e-14)
        assert fine.values.min() >= 0
        origins = moved_by_linear_potential(finer.face_angles, 0.5)
        exact = uniform_masses(dimension, origins)
        assert np.abs(fine.masses - exact).sum() < 2e-3


class TestVelocity:
    @pytest.mark.parametrize(("dimension", "cells"), [(3, 256), (5, 96), (64, 256)])
    @pytest.mark.parametrize("normalized", [False, True])
    def test_agrees_with_the_direct_sum_over_a_product_quadrature(
        self, dimension, cells, normalized
    ):
        """The rule is exact for the kernel: Gauss in the angle, Gauss-Jacobi on rings."""
        grid = Zonal(dimension, cells)
        origins = moved_by_linear_potential(grid.face_angles, 0.5)
        density = density_of(grid, uniform_masses(dimension, origins))
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

    def test_an_atom_at_the_pole_acts_exactly(self):
        grid = Zonal(5, 64)
        atom = mfpde.Atoms(axis(5), [1.0])
        empty = Density(grid, np.zeros(64))
        equation = ascent(Attention(6.0))
        whole = mfpde.Measure(empty, atom)
        expected = equation.velocity(atom, grid.points)
        np.testing.assert_allclose(equation.velocity(whole), expected, atol=1e-13)


class TestExactSolutions:
    @pytest.mark.parametrize(
        ("dimension", "cells", "linear", "relu"),
        [
            (3, 64, 1e-7, 4e-4),
            (5, 64, 4e-7, 1e-3),
            (64, 192, 2e-7, 2.5e-3),
            (2048, 1024, 1e-6, 2.5e-3),
        ],
    )
    def test_one_term_moves_the_uniform_density_as_known(
        self, dimension, cells, linear, relu
    ):
        assert l1_error(Zonal(dimension, cells), "linear") < linear
        assert l1_error(Zonal(dimension, cells), "relu") < relu

    def test_linear_potential_converges_at_order_three(self):
        errors = [l1_error(Zonal(5, n), "linear") for n in (48, 96)]
        assert np.log2(errors[0] / errors[1]) > 2.9


class TestLaws:
    @pytest.mark.parametrize(("dimension", "cells"), GRIDS)
    def test_heat_flow_is_conservative_positive_and_keeps_the_uniform(
        self, dimension, cells
    ):
        grid = Zonal(dimension, cells)
        uniform = mfpde.uniform(grid).masses
        np.testing.assert_allclose(grid.heat_flow(uniform, 0.1), uniform, atol=1e-13)
        masses = np.zeros(cells)
        masses[cells // 3] = 1.0
        for time in (1e-6, 1e-3, 1.0):
            flowed = grid.heat_flow(masses, time)
            assert flowed.min() >= 0
            assert flowed.sum() == pytest.approx(1.0, abs=1e-14)

    def test_heat_flow_decays_each_degree_at_its_rate(self):
        grid = Zonal(5, 128)
        time = 1e-3
        for degree in (1, 2, 3):
            masses = perturbed(grid, degree, 0.1)
            before = grid.moments(masses, degree)[degree].real
            after = grid.moments(grid.heat_flow(masses, time), degree)[degree].real
            rate = -np.log(after / before) / time
            assert rate == pytest.approx(degree * (degree + 3), rel=2e-3)

    def test_gibbs_state(self):
        """Without attention the density tends to exp(V / kappa) / Z."""
        grid = Zonal(3, 128)
        equation = ascent(constant_drift(3, 0.4), diffusion=0.2)
        run = mfpde.solve(equation, mfpde.uniform(grid), t_end=30.0)
        cumulated = -np.exp(2 * (np.cos(grid.face_angles) - 1))
        exact = np.diff(cumulated) / (cumulated[-1] - cumulated[0])
        assert np.abs(run.final.density.masses - exact).sum() < 3e-4


class TestKinks:
    """Neurons +-e: V is stable on one side of their kink and unstable on the other."""

    # Later the grid decides when this mass leaves, and the run says so.
    @pytest.mark.filterwarnings("ignore:.*attracts from one side:UserWarning")
    @pytest.mark.parametrize("direction", ["ascent", "descent"])
    # A kink on a face, in a centre, and nearer to the one or the other centre.
    @pytest.mark.parametrize(
        ("cells", "bias"), [(64, 0.0), (65, 0.0), (67, 0.13), (73, 0.13), (131, 0.13)]
    )
    def test_mass_rests_at_a_kink_as_labels_do(self, cells, bias, direction):
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
