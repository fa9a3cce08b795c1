"""Zonal densities on S^(d-1): exact solutions, spectra and conservation in every dimension."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import roots_jacobi, roots_legendre

import mfpde
from mfpde import Attention, Density, MeanFieldEquation, Perceptron, Potential, Zonal
from mfpde.geometry.harmonics import zonal_harmonics
from mfpde.geometry.remap import GHOSTS, edge_densities, sum_between_feet
from mfpde.transport import scheme_for
from mfpde.transport.departure_points import find_departure_points
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


def eigenvalue(beta: float, dimension: int, degree: int) -> float:
    """lambda_l of exp(beta (t - 1)) by quadrature over t."""
    nodes, weights = roots_legendre(2000)
    powers = 0.5 * (dimension - 3) * np.log1p(-(nodes**2))
    shares = weights * np.exp(powers - powers.max())
    harmonic = zonal_harmonics(dimension, degree, nodes)[degree]
    kernel = np.exp(beta * (nodes - 1))
    return float((shares * kernel * harmonic).sum() / shares.sum())


def l1_error(grid: Zonal, case: str) -> float:
    d = grid.dimension
    if case == "linear":
        term, came_from = constant_drift(d, 0.5), moved_by_linear_potential
        origins = came_from(grid.face_angles, 0.5)
    else:
        term, came_from = Perceptron(axis(d), [1.0]), moved_by_relu
        origins = came_from(grid.face_angles, 1.0)
    equation = MeanFieldEquation(term, direction="ascent")
    start = mfpde.uniform(grid)
    run = mfpde.solve(equation, start, t_end=1.0, save_at=[1.0])
    final = run.final.density
    assert abs(final.total_mass - 1) < 1e-13
    assert final.values.min() >= 0
    return float(np.abs(final.masses - uniform_masses(d, origins)).sum())


class TestGeometry:
    def test_areas_on_the_ordinary_sphere(self):
        grid = Zonal(3, 64)
        exact = -2 * np.pi * np.diff(np.cos(grid.face_angles))
        np.testing.assert_allclose(grid.areas, exact, rtol=1e-13)

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

    def test_every_mass_has_a_finite_density(self):
        grid = Zonal(2048, 256)
        masses = np.zeros(256)
        masses[0] = 1.0
        density = Density(grid, masses / grid.areas)
        np.testing.assert_allclose(density.masses, masses, rtol=1e-14)

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

    def test_moments_converge_as_the_dimension_says(self):
        def error(dimension: int, cells: int) -> float:
            grid = Zonal(dimension, cells)
            origins = moved_by_linear_potential(grid.face_angles, 0.5)
            masses = uniform_masses(dimension, origins)
            nodes, weights = roots_legendre(200)
            angles = np.pi / 2 * (nodes + 1)
            weights = weights * np.sin(angles) ** (dimension - 2)
            arrived = 2 * np.arctan(np.exp(-0.5) * np.tan(angles / 2))
            harmonics = zonal_harmonics(dimension, 3, np.cos(arrived))
            exact = harmonics @ weights / weights.sum()
            return float(np.abs(grid.moments(masses, 3) - exact).max())

        assert np.log2(error(3, 64) / error(3, 128)) == pytest.approx(4, abs=0.1)
        assert np.log2(error(5, 32) / error(5, 64)) == pytest.approx(6, abs=0.2)
        assert error(4, 64) < 1e-13
        assert error(64, 64) < 1e-13

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
        equation = MeanFieldEquation(attention, direction="descent")
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
        equation = MeanFieldEquation(Attention(6.0), direction="ascent")
        whole = mfpde.Measure(empty, atom)
        expected = equation.velocity(atom, grid.points)
        np.testing.assert_allclose(equation.velocity(whole), expected, atol=1e-13)

    def test_the_largest_beta_in_the_largest_dimension(self):
        grid = Zonal(2048, 2048)
        equation = MeanFieldEquation(Attention(1000.0), direction="ascent")
        origins = moved_by_linear_potential(grid.face_angles, 0.3)
        density = density_of(grid, uniform_masses(2048, origins))
        velocity = equation.on(grid).velocity(grid.moments(density.masses, 961))
        assert np.isfinite(velocity).all()
        assert equation.energy(density) > 0


class TestUniformState:
    @pytest.mark.parametrize(("dimension", "cells"), GRIDS)
    def test_is_stationary(self, dimension, cells):
        grid = Zonal(dimension, cells)
        start = mfpde.uniform(grid)
        equation = MeanFieldEquation(Attention(10.0), direction="ascent")
        run = mfpde.solve(equation, start, t_end=2.0, save_at=[2.0])
        np.testing.assert_allclose(run.final.density.masses, start.masses, atol=1e-14)


class TestExactSolutions:
    @pytest.mark.parametrize(
        ("dimension", "cells", "bound"),
        [(3, 64, 1e-7), (5, 64, 4e-7), (64, 192, 2e-7), (2048, 1024, 1e-6)],
    )
    def test_linear_potential_semi_lagrangian(self, dimension, cells, bound):
        assert l1_error(Zonal(dimension, cells), "linear") < bound

    def test_linear_potential_converges_at_order_three(self):
        errors = [l1_error(Zonal(5, n), "linear") for n in (48, 96)]
        assert np.log2(errors[0] / errors[1]) > 2.9

    @pytest.mark.parametrize(
        ("dimension", "cells", "bound"),
        [(3, 64, 4e-4), (5, 64, 1e-3), (64, 192, 2.5e-3), (2048, 1024, 2.5e-3)],
    )
    def test_one_neuron_semi_lagrangian(self, dimension, cells, bound):
        assert l1_error(Zonal(dimension, cells), "relu") < bound

    def test_kuramoto_on_the_sphere(self):
        """Moebius images of the uniform density (Lipton, Mirollo & Strogatz 2021)."""

        def rate(_: float, a: np.ndarray) -> np.ndarray:
            mean = (1 + a**2) / (2 * a)
            mean += (1 - a**2) ** 2 / (4 * a**2) * np.log((1 - a) / (1 + a))
            return (1 - a**2) * mean / 2

        def masses(grid: Zonal, a: float) -> np.ndarray:
            cosines = np.cos(grid.face_angles)
            primitive = (1 - a**2) ** 2 / (4 * a) / (1 + a**2 - 2 * a * cosines)
            return primitive[:-1] - primitive[1:]

        path = solve_ivp(rate, (0, 2), [0.3], rtol=1e-11, atol=1e-13)
        grid = Zonal(3, 128)
        equation = MeanFieldEquation(Attention(0.0), direction="ascent")
        run = mfpde.solve(
            equation,
            density_of(grid, masses(grid, 0.3)),
            t_end=2.0,
            save_at=[2.0],
            rtol=1e-7,
        )
        exact = masses(grid, float(path.y[0, -1]))
        assert np.abs(run.final.density.masses - exact).sum() < 5e-5


class TestLaws:
    @pytest.mark.parametrize("direction", ["ascent", "descent"])
    def test_energy_moves_one_way(self, direction):
        grid = Zonal(4, 96)
        equation = MeanFieldEquation(
            Attention(6.0), Perceptron(axis(4), [0.4]), direction=direction
        )
        start = Density.from_function(grid, lambda x: np.exp(2 * x[..., -1]))
        run = mfpde.solve(equation, start, t_end=6.0)
        rise = np.diff(run.energies) * equation.sign
        assert rise.min() > -1e-14
        assert run.mass_drift < 1e-13
        assert run.diagnostics["minimum"].min() >= 0

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

    def test_diffusion_is_of_second_order_in_the_step(self):
        dimension = 64
        grid = Zonal(dimension, 128)
        equation = MeanFieldEquation(
            Attention(3.0),
            constant_drift(dimension, 0.3),
            direction="ascent",
            diffusion=0.05,
        )
        start = Density.from_function(grid, lambda x: np.exp(8 * x[..., -1]))
        finals = []
        for step in (0.05, 0.025, 0.0125, 0.003125):
            run = mfpde.solve(
                equation, start, t_end=0.5, save_at=[0.5], rtol=1.0, max_step=step
            )
            finals.append(run.final.density.masses)
        errors = [np.abs(masses - finals[-1]).sum() for masses in finals[:-1]]
        assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.2)

    def test_gibbs_state(self):
        """Without attention the density tends to exp(V / kappa) / Z."""
        grid = Zonal(3, 128)
        equation = MeanFieldEquation(
            constant_drift(3, 0.4), direction="ascent", diffusion=0.2
        )
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


class TestRemap:
    def test_whole_cells_on_a_periodic_line(self):
        masses = np.random.default_rng(0).random(32)
        edges = edge_densities(np.pad(masses, GHOSTS, mode="wrap"))
        positions = find_departure_points(np.full((1, 33), 3.0), np.ones((1, 1)), True)
        moved = sum_between_feet(masses, edges, positions)
        np.testing.assert_allclose(moved, np.roll(masses, 3), atol=1e-15)

    def test_constant_velocity_on_a_periodic_line(self):
        errors = []
        for n in (32, 64):
            faces = 2 * np.pi * np.arange(n + 1) / n
            masses = np.diff(faces - 0.5 * np.cos(faces))
            shift = 3.3
            back = faces - 2 * np.pi / n * shift
            exact = np.diff(back - 0.5 * np.cos(back))
            edges = edge_densities(np.pad(masses, GHOSTS, mode="wrap"))
            positions = find_departure_points(
                np.full((1, n + 1), shift), np.ones((1, 1)), True
            )
            moved = sum_between_feet(masses, edges, positions)
            assert moved.sum() == pytest.approx(masses.sum(), abs=1e-13)
            errors.append(np.abs(moved - exact).sum())
        assert np.log2(errors[0] / errors[1]) > 2.9

    def test_rough_masses_stay_positive(self):
        generator = np.random.default_rng(1)
        masses = generator.random(64) ** 20
        edges = edge_densities(np.pad(masses, GHOSTS))
        velocity = np.sin(np.linspace(0, np.pi, 65)) * 9
        positions = find_departure_points(
            velocity[np.newaxis], np.array([[0.1], [0.2]]), False
        )
        moved = sum_between_feet(masses, edges, positions)
        assert moved.min() >= 0
        assert moved.sum() == pytest.approx(masses.sum(), rel=1e-14)


class TestStorage:
    def test_a_run_survives_storage_to_the_bit(self, tmp_path):
        grid = Zonal(5, 32)
        equation = MeanFieldEquation(Attention(3.0), direction="ascent")
        start = mfpde.perturbed_uniform(grid, 0.1)
        run = mfpde.solve(equation, start, t_end=0.5, save_every=0.25)
        assert "t = 0.5 was reached" in str(run)
        mfpde.save(run, tmp_path / "run.zarr")
        stored = mfpde.load(tmp_path / "run.zarr")
        assert stored.final.geometry == grid
        np.testing.assert_array_equal(
            stored.final.density.values, run.final.density.values
        )


class TestMessages:
    def test_a_direction_off_the_axis(self):
        terms = Perceptron([[0.0, 0.0, 2.0], [0.0, 0.6, 0.8]], [1.0, 1.0])
        equation = MeanFieldEquation(terms, direction="ascent")
        with pytest.raises(ValueError, match=r"directions\[1\] is not parallel .* Use"):
            equation.on(Zonal(3, 32))

    def test_a_vector_weight_off_the_axis(self):
        terms = Perceptron([[0.0, 0.0, 1.0]], [[0.0, 1.0, 0.0]])
        equation = MeanFieldEquation(terms, direction="ascent")
        with pytest.raises(ValueError, match=r"weights\[0\] is not parallel"):
            equation.on(Zonal(3, 32))

    def test_potentials_must_be_symmetric(self):
        def gradient(x: np.ndarray) -> np.ndarray:
            return np.concatenate([np.zeros_like(x[..., :-1]), 2 * x[..., -1:]], -1)

        zonal = Potential(lambda x: x[..., -1] ** 2, gradient)
        MeanFieldEquation(zonal, direction="ascent").on(Zonal(5, 32))
        tilted = Potential(lambda x: x[..., 0], lambda x: np.eye(1, x.shape[-1])[0])
        with pytest.raises(ValueError, match="not symmetric about the axis"):
            MeanFieldEquation(tilted, direction="ascent").on(Zonal(5, 32))

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((2, 64), "use Circle"),
            ((4096, 4096), "at most 2048"),
            ((64, 8), "num_cells = 8 must be"),
            ((2048, 100), "at least 182 cells, better 996"),
            ((3.5, 64), "dimension = 3.5"),
        ],
    )
    def test_grids_that_do_not_exist(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            Zonal(*arguments)

    def test_a_grid_too_coarse_for_beta(self):
        equation = MeanFieldEquation(Attention(400.0), direction="ascent")
        with pytest.raises(ValueError, match=r"too coarse .* at least") as caught:
            equation.on(Zonal(3, 64))
        needed = int(str(caught.value).split("at least ")[1].split()[0])
        equation.on(Zonal(3, needed))

    def test_finer_geometries_are_zonal(self):
        grid = Zonal(3, 64)
        with pytest.raises(ValueError, match="must be a Zonal of dimension 3"):
            mfpde.uniform(grid).interpolated(Zonal(4, 128))

    def test_default_schemes(self):
        assert (
            scheme_for(None, mfpde.Circle(64)).name == "semi_lagrangian_donor_blended"
        )
        assert scheme_for(None, Zonal(3, 64)).name == "semi_lagrangian"
        with pytest.raises(ValueError, match="did you mean 'semi_lagrangian'"):
            scheme_for("semilagrangian", Zonal(3, 64))
