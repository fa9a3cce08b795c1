"""A quadratic potential: angular central Gaussians, and densities of degree two at rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ive, spherical_in

import mfpde
from validation.claim import Claim, Quantity
from validation.drawing import panels
from validation.exact_facts.drawn import FORMULA_LINE, SOLVER, density_axes

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
WEIGHTS = (0.9, -0.6)


def directions_of(dimension: int) -> np.ndarray:
    """Two fixed neurons that are neither parallel nor orthogonal."""
    rows = np.array([[0.6, 0.8, 0.0], [0.9, -0.1, 0.4]])[:, :dimension]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def gaussian_error(geometry: Any, direction: str) -> tuple[float, Any]:
    """L1 error at t = 1 from uniform, without attention; the end and the exact one."""
    d = geometry.dimension
    rows = directions_of(d)
    neurons = mfpde.Perceptron(rows, WEIGHTS, activation="linear")
    equation = mfpde.MeanFieldEquation(neurons, direction=direction)
    run = mfpde.solve(equation, mfpde.uniform(geometry), t_end=1.0, save_at=[1.0])
    matrix = equation.sign * np.einsum("j,ja,jb->ab", WEIGHTS, rows, rows)
    roots, vectors = np.linalg.eigh(matrix)
    back = vectors @ np.diag(np.exp(-roots)) @ vectors.T
    lengths = np.linalg.norm(geometry.points @ back.T, axis=-1)
    exact = np.exp(-roots.sum()) * lengths**-d / geometry.areas.sum()
    final = run.final.density
    return float((np.abs(final.values - exact) * geometry.areas).sum()), (final, exact)


def kappa(beta: float, dimension: int) -> float:
    """lambda_2/beta of the shifted kernel."""
    if dimension == 2:
        return float(ive(2, beta) / beta)
    return float(spherical_in(2, beta) * np.exp(-beta) / beta)


def equilibrium(
    geometry: Any, beta: float, time: float
) -> tuple[float, float, np.ndarray, np.ndarray]:
    """Mean difference of the run's end, and largest of ``minimize``, from 1 - w_2/kappa_2."""
    d = geometry.dimension
    rows = directions_of(d)
    weights = 0.2 * kappa(beta, d) * np.array(WEIGHTS)
    neurons = mfpde.Perceptron(rows, weights, activation="linear")
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(beta), neurons, direction="descent"
    )
    squares = (geometry.points @ rows.T) ** 2 - 1 / d
    exact = 1 - (squares @ weights / 2) / kappa(beta, d)
    run = mfpde.solve(equation, mfpde.uniform(geometry), t_end=time, save_at=[time])
    area = geometry.areas.sum()
    found = run.final.density.values * area
    best = mfpde.minimize(equation, geometry).measure.values * area
    return (
        float(np.abs(found - exact).mean()),
        float(np.abs(best - exact).max()),
        found,
        exact,
    )


def main(quick: bool = False) -> dict[str, Any]:
    quantities, ends = [], {}
    circle, sphere = (
        mfpde.Circle(256 if quick else 1024),
        mfpde.Sphere(32 if quick else 96),
    )
    for name, geometry in {"S^1": circle, "S^2": sphere}.items():
        # Third order at least on the circle, second on the sphere.
        bound = geometry.spacing ** (3 if name == "S^1" else 2)
        for direction in ("ascent",) if quick else ("ascent", "descent"):
            error, end = gaussian_error(geometry, direction)
            text = f"{name}, {direction}, t = 1: L1 error of the central Gaussian"
            quantities.append(Quantity(text, error, 0.0, bound))
            ends.setdefault(name, end)
    beta = 3.0
    # The slowest mode that is excited, l = 2, decays at 4 kappa_2 on S^1, 6 kappa_2 on S^2.
    for name, geometry in {"S^1": circle, "S^2": mfpde.Sphere(48)}.items():
        d = geometry.dimension
        time = 10.0 / (2 * d * kappa(beta, d))
        ran, best, *shown = equilibrium(geometry, beta, time)
        accuracy = 0.2 * geometry.spacing**2 + np.exp(-10.0)
        quantities += [
            Quantity(
                f"{name}, beta = 3: run against 1 - w_2/kappa_2", ran, 0.0, accuracy
            ),
            Quantity(f"{name}, beta = 3: minimize against it", best, 0.0, 1e-10),
        ]
        ends.setdefault(f"{name} at rest", shown)
    figure, (left, right) = panels(2)
    final, exact = ends["S^1"]
    left.plot(circle.angles, final.values, color=SOLVER, label="solver")
    left.plot(circle.angles, exact, **FORMULA_LINE, label="formula")
    found, exact = ends["S^1 at rest"]
    right.plot(circle.angles, found, color=SOLVER, label="solver")
    right.plot(circle.angles, exact, **FORMULA_LINE, label="1 − w₂/κ₂")
    density_axes(left, title="No attention, ascent, t = 1")
    density_axes(right, title="Attention, descent, at rest", ylabel="relative density")
    return {"quantities": quantities, "figures": {"densities": figure}}
