"""Certificates of kernels and activations of one's own that bring bounds, and of rounding."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from equations import descent
from numpy.polynomial import Polynomial as Series
from random_points import random_points

import mfpde
from mfpde.stationary.convex_energy import convex_energy
from mfpde.terms.activations import Activation, ActivationBounds
from validation.circle_cases import points_at


@dataclass(frozen=True)
class Power(mfpde.Kernel):
    """W(u) = sum_k c_k u^k."""

    coefficients: tuple[float, ...]

    @property
    def series(self) -> Series:
        return Series(self.coefficients)

    def value(self, cosines: np.ndarray) -> np.ndarray:
        return self.series(cosines)

    def slope(self, cosines: np.ndarray) -> np.ndarray:
        return self.series.deriv()(cosines)

    @property
    def third_derivative(self) -> float:
        """Along great arcs, over a mesh of u and s = u', 2 % wider."""
        angle, share = np.meshgrid(np.linspace(0, np.pi, 801), np.linspace(0, 1, 201))
        u, s = np.cos(angle), share * np.sin(angle)
        w1, w2, w3 = (self.series.deriv(k)(u) for k in range(1, 4))
        return 1.02 * float(np.abs(w3 * s**3 - 3 * w2 * s * u - w1 * s).max())


GRIDS = [mfpde.Circle(256), mfpde.Sphere(48)]


def assert_no_measure_is_below(equation, found, certified, generator):
    """Floors of F and the least energy, against points and measures drawn at random."""
    assert 0 <= found.gap < 1e-9
    dimension = found.measure.dimension
    everywhere = random_points(20_000, dimension, generator)
    assert (
        equation.first_variation(certified, everywhere).min()
        >= mfpde.certificate(equation, certified).floor
    )
    for count in range(1, 5):
        for _ in range(25):
            points = random_points(count, dimension, generator)
            rival = mfpde.Atoms(points, generator.dirichlet(np.ones(count)))
            assert equation.energy(rival) >= found.lower_bound


@pytest.mark.parametrize("coefficients", [(0, 1), (0, 0.5, 1), (0.2, 0.3, 0, 1, 0.5)])
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_a_polynomial_of_positive_coefficients_is_minimised(coefficients, grid):
    generator = np.random.default_rng(len(coefficients))
    perceptron = mfpde.Perceptron.random(3, grid.dimension, seed=2, activation="gelu")
    equation = descent(Power(coefficients), perceptron)
    found = mfpde.minimize(equation, grid)
    assert_no_measure_is_below(equation, found, found.measure, generator)


SHIFTED = Activation(
    "shifted",
    lambda z: z - 2,
    lambda z: z**2 / 2 - 2 * z,
    np.ones_like,
    bounds=ActivationBounds(1.0, 1.0, 0.0),
)
SINE = Activation(
    "sine",
    np.sin,
    lambda z: 1 - np.cos(z),
    np.cos,
    bounds=ActivationBounds(-1.0, 1.0, 1.0),
)
STEEP = Activation(
    "steep on both sides of a kink",
    lambda z: np.where(z > 0, 3 * z, -2 * z) + 1,
    lambda z: np.where(z > 0, 1.5 * z**2, -(z**2)) + z,
    lambda z: np.where(z > 0, 3.0, -2.0),
    kinks=(0.0,),
    bounds=ActivationBounds(-2.0, 3.0, 0.0),
)
BENT = Activation(
    "curved on both sides of a kink",
    lambda z: np.where(z > 0, np.sin(2 * z), np.tanh(z)),
    lambda z: np.where(z > 0, np.sin(z) ** 2, np.logaddexp(z, -z) - np.log(2)),
    lambda z: np.where(z > 0, 2 * np.cos(2 * z), 1 - np.tanh(z) ** 2),
    kinks=(0.0,),
    bounds=ActivationBounds(-2.0, 2.0, 4.0),
)
OWN = [SHIFTED, SINE, STEEP, BENT]


@pytest.mark.parametrize("activation", OWN, ids=lambda a: a.name)
@pytest.mark.parametrize("grid", [mfpde.Circle(128), mfpde.Sphere(32)], ids=str)
def test_minima_of_own_activations_are_certified(activation, grid):
    """Of any value at 0 and any sign."""
    generator = np.random.default_rng(grid.dimension)
    for _ in range(4):
        units = int(generator.integers(1, 4))
        directions = generator.standard_normal((units, grid.dimension))
        perceptron = mfpde.Perceptron(
            directions * generator.choice([0.3, 1, 2]),
            generator.standard_normal(units),
            activation,
            biases=generator.standard_normal(units) * generator.choice([0, 1, 3]),
        )
        equation = descent(float(generator.choice([1.0, 4.0, 12.0])), perceptron)
        found = mfpde.minimize(equation, grid)
        other = mfpde.Atoms(random_points(3, grid.dimension, generator))
        assert mfpde.certificate(equation, other).lower_bound <= found.energy
        assert_no_measure_is_below(equation, found, other, generator)


@pytest.mark.parametrize("activation", OWN, ids=lambda a: a.name)
def test_second_derivatives_stay_within_the_constant(activation):
    """Of sigma(z) = z - 2 the constant is |a|^2 + 2 |a|, not |a|^2 (weight 1 in size)."""
    generator = np.random.default_rng(5)
    angles = np.linspace(0, 2 * np.pi, 20_001)
    circle = points_at(angles)
    for weight in (1.0, -1.0):
        for bias in (0.0, 0.7, -2.0):
            direction = generator.standard_normal((1, 2))
            neuron = mfpde.Perceptron(direction, [weight], activation, biases=[bias])
            energy = convex_energy(descent(1.0, neuron), 2, "a test")
            second = np.diff(energy.external.values(circle), 2) / angles[1] ** 2
            assert second.min() >= -energy.curvature * (1 + 1e-5) - 1e-5


@pytest.mark.parametrize(
    "wrong",
    [
        replace(SINE.bounds, largest_slope=0.9),
        replace(SINE.bounds, least_slope=0.0),
        replace(SINE.bounds, second=0.5),
    ],
)
def test_bounds_that_do_not_hold_are_refused(wrong):
    with pytest.raises(ValueError, match=r"bounds of activation 'sine': near z = "):
        replace(SINE, bounds=wrong)


def test_a_kernel_with_a_negative_eigenvalue_is_refused():
    neuron = mfpde.Perceptron([[1.0, 0.0]], [0.3])
    equation = descent(Power((0.0, 1.0, -0.5)), neuron)
    grid = GRIDS[0]
    for bound, of in ((mfpde.minimize, grid), (mfpde.certificate, mfpde.uniform(grid))):
        with pytest.raises(ValueError, match=r"of degree 2 on S\^1 is -0\.125"):
            bound(equation, of)


@pytest.mark.parametrize("weight", [1.0, 1e4])
def test_lower_bounds_are_below_energies_in_long_double(weight):
    """The bound leaves room for what rounding does to the energy itself."""
    generator = np.random.default_rng(3)
    for _ in range(10):
        beta = float(generator.uniform(1, 60))
        perceptron = mfpde.Perceptron(
            generator.standard_normal((5, 2)), weight * generator.standard_normal(5)
        )
        found = mfpde.minimize(descent(beta, perceptron), GRIDS[0])
        points = found.measure.points.astype(np.longdouble)
        masses = found.measure.masses.astype(np.longdouble)
        directions = perceptron.directions.astype(np.longdouble)
        kernel = np.exp(beta * (points @ points.T - 1)) / np.longdouble(beta)
        outputs = np.maximum(points @ directions.T, 0) ** 2 / 2
        exact = masses @ kernel @ masses / 2 + masses @ outputs @ perceptron.weights
        room = found.certificate.rounding
        assert abs(exact - found.energy) <= room
        apart = found.certificate.mean_field - found.certificate.floor
        assert found.gap == pytest.approx(apart + room, abs=room / 2)
        assert found.lower_bound == found.energy - found.gap - room
        assert exact >= found.lower_bound
