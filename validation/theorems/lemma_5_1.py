"""Lemma 5.1: the interaction is injective; its inverse; which potentials have a density."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde import theory
from validation.claim import Claim, Findings, Quantity, equal, vanishes
from validation.drawing import COLOURS, panels

Array = NDArray[np.float64]

CLAIM = Claim(
    title="The interaction is injective, and its inverse",
    source="Lemma 5.1, eq. (5.1)",
    statement=(
        "T mu = int exp(beta x.y) dmu is injective: all lambda_n > 0. T mu = f has an L^2 "
        "density iff sum lambda_n^-2 |f_n|^2 < inf, dmu/dsigma = sum lambda_n^-1 f_n."
    ),
)
BETA = 3.0
NEURONS = {
    name: mfpde.Perceptron([[0.6, 0.8]], [0.001], name) for name in ("relu", "linear")
}


@CLAIM
def main(quick: bool = False) -> Findings:
    for geometry in (mfpde.Circle(128), mfpde.Sphere(32)):
        yield inverse(geometry)
    figure, (ax,) = panels(1, width=5)
    for colour, (name, neuron) in zip(COLOURS, NEURONS.items(), strict=False):
        degrees, ratios = coefficients(neuron)
        # Within the lowest degrees or not: without end they cannot be summed.
        decay = degrees[np.argmax(ratios)] <= 2
        text = f"f = c - V, {name}: coefficients of eq. (5.1) decay"
        yield equal(text, decay, name == "linear", 0, subject="formula")
        ax.semilogy(degrees, ratios, "o-", ms=4, color=colour, label=name)
    ax.set(title="Lemma 5.1, β = 3", xlabel="degree n", ylabel="|V_n| / λ_n")
    ax.legend()
    yield "coefficients", figure


def inverse(geometry: mfpde.Circle | mfpde.Sphere) -> Quantity:
    """A density again from its potential, which is summed over all cells."""
    d, area = geometry.dimension, geometry.areas.sum()
    density = mfpde.Density.from_function(geometry, smooth_values).normalized()
    points = geometry.points.reshape(-1, d)
    # The quadrature of the cells is exact for these degrees.
    kernel = np.exp(BETA * (points @ points.T - 1)) / BETA
    potential = (kernel @ density.masses.ravel()).reshape(geometry.areas.shape)
    # Beyond degree 8 there is only rounding, which the eigenvalues would amplify.
    moments = geometry.moments(potential * geometry.areas / area, 8)
    spectrum = theory.eigenvalues(BETA, d, np.arange(9))[geometry.degrees(8)]
    found = geometry.synthesis(BETA / spectrum * moments) / area
    error = (found - density.values) / density.values.max()
    # Rounding, 1e-16 or so, over lambda_8/lambda_0 >= 1e-5.
    name = f"S^{d - 1}: relative error of the density"
    return vanishes(name, error.ravel(), 1e-10, subject="formula")


def smooth_values(points: Array) -> Array:
    """A positive density of degrees 0 to 3."""
    x, y, z = points[..., 0], points[..., 1], points[..., -1]
    return np.asarray(2 + x + 0.5 * x * y + 0.3 * z**3)


def coefficients(neuron: mfpde.Perceptron) -> tuple[Array, Array]:
    """Degrees of V up to 15, and |V_n|/lambda_n, where V_n is more than rounding."""
    circle, degrees = mfpde.Circle(512), np.arange(1, 16)
    sizes = np.abs(np.fft.rfft(neuron.value(circle.points)))[degrees] / 512
    is_there = sizes > 1e-17
    ratios = sizes / theory.eigenvalues(BETA, 2, degrees)
    return degrees[is_there], ratios[is_there]
