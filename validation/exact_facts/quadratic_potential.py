"""A quadratic potential: angular central Gaussians, and densities of degree two at rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import expm

import mfpde
from validation.claim import Claim, Findings, vanishes
from validation.exact_facts.drawn import compare_densities
from validation.exact_facts.runs import (
    Array,
    bessel_spectrum,
    descent,
    l1_error,
    solve_to,
)
from validation.references.layered import central_gaussian

CLAIM = Claim(
    title="Quadratic potentials: angular central Gaussians, and equilibria of degree 2",
    source="Section 5.1 (consequence of eq. 5.1); linear activation",
    statement=(
        "Without attention V = x.Ax/2 moves points by x(t) = e^(s A t) x_0/|.|, and uniform "
        "becomes |S|^-1 e^(-tr B) |e^(-B) x|^(-d), B = s A t. With attention in descent the "
        "equilibrium is rho = 1 - w_2/kappa_2 (relative to uniform) as long as that is "
        "positive, w_2 the part of V of degree 2, kappa_2 = lambda_2/beta."
    ),
)
WEIGHTS = np.array([0.9, -0.6])
BETA = 3.0


def directions_of(dimension: int) -> Array:
    """Two fixed neurons that are neither parallel nor orthogonal."""
    rows = np.array([[0.6, 0.8, 0.0], [0.9, -0.1, 0.4]])[:, :dimension]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def gaussian_end(geometry: Any, direction: str) -> tuple[mfpde.Density, Array]:
    """The end at t = 1 from uniform, without attention, and the exact one."""
    rows = directions_of(geometry.dimension)
    neurons = mfpde.Perceptron(rows, WEIGHTS, activation="linear")
    equation = mfpde.MeanFieldEquation(neurons, direction=direction)
    turn = expm(equation.sign * np.einsum("j,ja,jb->ab", WEIGHTS, rows, rows))
    end = solve_to(1.0, equation, mfpde.uniform(geometry))
    return end, central_gaussian(turn, geometry.points)


def equilibrium(geometry: Any) -> tuple[mfpde.Density, mfpde.Density, Array]:
    """A run's end, what ``minimize`` finds, and 1 - w_2/kappa_2 over the area.

    The slowest mode that is excited, l = 2, decays at 2 d kappa_2: until e^-10.
    """
    d = geometry.dimension
    rows, kappa = directions_of(d), bessel_spectrum(BETA, d, 2) / BETA
    weights = 0.2 * kappa * WEIGHTS
    neurons = mfpde.Perceptron(rows, weights, activation="linear")
    equation = descent(mfpde.Attention(BETA), neurons)
    squares = (geometry.points @ rows.T) ** 2 - 1 / d
    exact = (1 - (squares @ weights / 2) / kappa) / geometry.areas.sum()
    end = solve_to(10.0 / (2 * d * kappa), equation, mfpde.uniform(geometry))
    return end, mfpde.minimize(equation, geometry).measure, exact


@CLAIM
def main(_quick: bool = False) -> Findings:
    circle, shown = mfpde.Circle(1024), {}
    # Third order at least on the circle, second on the sphere.
    for name, geometry, order in (("S^1", circle, 3), ("S^2", mfpde.Sphere(96), 2)):
        for direction in ("descent", "ascent"):
            end, exact = gaussian_end(geometry, direction)
            text = f"{name}, {direction}, t = 1: L1 error of the central Gaussian"
            yield vanishes(text, l1_error(end, exact), geometry.spacing**order)
        shown.setdefault("No attention, ascent, t = 1", (end, exact))
    for name, geometry in (("S^1", circle), ("S^2", mfpde.Sphere(48))):
        end, best, exact = equilibrium(geometry)
        area, allowed = geometry.areas.sum(), 0.2 * geometry.spacing**2 + np.exp(-10.0)
        error = np.abs(end.values - exact).mean() * area
        yield vanishes(f"{name}, beta = 3: run against 1 - w_2/kappa_2", error, allowed)
        away = (best.values - exact) * area
        yield vanishes(f"{name}, beta = 3: minimize against it", away, 1e-10)
        shown.setdefault("Attention, descent, at rest", (end, exact))
    yield "densities", compare_densities(shown)
