"""Lemma 5.1: the interaction is injective, and its inverse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde import theory
from validation.claim import Claim, Findings, Quantity, vanishes

Array = NDArray[np.float64]

CLAIM = Claim(
    title="The interaction is injective, and its inverse",
    source="Lemma 5.1, eq. (5.1)",
    statement=(
        "T mu = int exp(beta x.y) dmu is injective: all lambda_n > 0. If T mu = f has an L^2 "
        "density, it is dmu/dsigma = sum lambda_n^-1 f_n."
    ),
)
BETA = 3.0


@CLAIM
def main(quick: bool = False) -> Findings:
    for geometry in (mfpde.Circle(128), mfpde.Sphere(32)):
        yield inverse(geometry)


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
