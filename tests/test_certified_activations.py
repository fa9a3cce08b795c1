"""Certificates of activations of one's own, of any value at 0 and any sign."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_points import random_points
from scipy.special import expit, spence

import mfpde
from mfpde.stationary.convex_energy import convex_energy
from mfpde.terms.activations import Activation, ActivationBounds

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
SOFTPLUS = Activation(
    "softplus",
    lambda z: np.logaddexp(0.0, z),
    lambda z: -spence(1 + np.exp(z)) - np.pi**2 / 12,
    expit,
    bounds=ActivationBounds(0.0, 1.0, 0.25),
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
OWN = [SHIFTED, SINE, SOFTPLUS, STEEP, BENT]


def random_equation(
    generator: np.random.Generator, activation: Activation, dimension: int
) -> mfpde.MeanFieldEquation:
    units = int(generator.integers(1, 4))
    perceptron = mfpde.Perceptron(
        generator.standard_normal((units, dimension)) * generator.choice([0.3, 1, 2]),
        generator.standard_normal(units),
        activation,
        biases=generator.standard_normal(units) * generator.choice([0, 1, 3]),
    )
    beta = float(generator.choice([1.0, 4.0, 12.0]))
    return mfpde.MeanFieldEquation(
        mfpde.Attention(beta), perceptron, direction="descent"
    )


@pytest.mark.parametrize("activation", OWN, ids=lambda a: a.name)
@pytest.mark.parametrize("dimension", [2, 3])
def test_no_measure_is_below_the_certified_bounds(activation, dimension):
    """Minima, floors of F and lower bounds against points and measures drawn at random."""
    generator = np.random.default_rng(dimension)
    grid = mfpde.Circle(128) if dimension == 2 else mfpde.Sphere(32)
    for _ in range(4):
        equation = random_equation(generator, activation, dimension)
        found = mfpde.minimize(equation, grid)
        other = mfpde.Atoms(random_points(3, dimension, generator))
        bound = mfpde.certificate(equation, other)
        everywhere = random_points(20_000, dimension, generator)
        assert equation.first_variation(other, everywhere).min() >= bound.floor
        assert bound.lower_bound <= found.energy
        assert 0 <= found.gap < 1e-9
        for _ in range(20):
            count = int(generator.integers(1, 5))
            points = random_points(count, dimension, generator)
            rival = mfpde.Atoms(points, generator.dirichlet(np.ones(count)))
            assert equation.energy(rival) >= found.lower_bound


@pytest.mark.parametrize("activation", OWN, ids=lambda a: a.name)
def test_second_derivatives_stay_within_the_constant(activation):
    """Of sigma(z) = z - 2 the constant is |a|^2 + 2 |a|, not |a|^2 (weight 1 in size)."""
    generator = np.random.default_rng(5)
    angles = np.linspace(0, 2 * np.pi, 20_001)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for weight in (1.0, -1.0):
        for bias in (0.0, 0.7, -2.0):
            direction = generator.standard_normal((1, 2))
            equation = mfpde.MeanFieldEquation(
                mfpde.Attention(1.0),
                mfpde.Perceptron(direction, [weight], activation, biases=[bias]),
                direction="descent",
            )
            energy = convex_energy(equation, 2, "a test")
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
    with pytest.raises(ValueError, match=r"bounds of activation 'sine': .* near z = "):
        replace(SINE, bounds=wrong)
