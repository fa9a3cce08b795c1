"""Quadratic potentials in one layer or many, linear attention, and densities at rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import mfpde
from validation.circle_cases import l1_distance, orders
from validation.claim import Claim, Findings, Quantity, at_least, vanishes
from validation.exact_facts.runs import (
    Array,
    ascent,
    bessel_spectrum,
    descent,
    integrate,
    solve_to,
)
from validation.references.layered import central_gaussian, product_of

CLAIM = Claim(
    title="Quadratic potentials: angular central Gaussians, and equilibria of degree 2",
    source="Section 5.1 (consequence of eq. 5.1); characteristics of eq. (2.5) (derived here)",
    statement=(
        "Without attention V_k = x.Q_k x/2 in layer k moves points by x -> Yx/|Yx|, Y the "
        "ordered product of exp(s tau Q_k), and uniform becomes the angular central Gaussian "
        "|det Y|^-1 |Y^-1 x|^-d. With linear attention, W = (x.y)^2/2, dY/dt = (M + Q) Y, "
        "M = int y y^T dmu: it keeps its form. With attention in descent the equilibrium is "
        "rho = 1 - w_2/kappa_2 (relative to uniform) as long as that is positive, w_2 the "
        "part of V of degree 2, kappa_2 = lambda_2/beta."
    ),
)
WEIGHTS, BETA, TIME = np.array([0.9, -0.6]), 3.0, 0.8


# Without attention ---------------------------------------------------------------------------


def directions_of(dimension: int) -> Array:
    """Two fixed neurons that are neither parallel nor orthogonal."""
    rows = np.array([[0.6, 0.8, 0.0], [0.9, -0.1, 0.4]])[:, :dimension]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def random_quadratic(dimension: int, *, count: int, duration: float) -> mfpde.Layers:
    """Layers of independent symmetric matrices of size duration^(-1/2)."""

    def sampled(rng: np.random.Generator, _index: int) -> mfpde.MeanFieldEquation:
        square = rng.standard_normal((dimension, dimension))
        form = (square + square.T) / np.sqrt(2 * dimension * duration)
        weights, vectors = np.linalg.eigh(form)
        return ascent(mfpde.Perceptron(vectors.T, weights, "linear"))

    return mfpde.Layers.random(sampled, count=count, duration=duration, seed=9)


def gaussian_end(layers: mfpde.Layers, geometry: Any) -> tuple[mfpde.Density, Array]:
    """The end from uniform, and the central Gaussian."""
    end = solve_to(layers.depth, layers, mfpde.uniform(geometry))
    return end, central_gaussian(product_of(layers), geometry.points)


def moment_error(end: mfpde.Density, exact: Array) -> float:
    """Largest error of int x x^T dmu."""
    points = end.geometry.points.reshape(-1, end.geometry.dimension)
    missed = (end.masses - exact * end.geometry.areas).reshape(-1, 1)
    return float(np.abs(points.T @ (missed * points)).max())


def compare_layers() -> Iterator[Quantity]:
    """One layer, and many random ones."""
    # Third order at least on the circle, second on the sphere.
    for geometry, order in ((mfpde.Circle(1024), 3), (mfpde.Sphere(96), 2)):
        d = geometry.dimension
        neurons = mfpde.Perceptron(directions_of(d), WEIGHTS, activation="linear")
        for sense in ("descent", "ascent"):
            equation = mfpde.MeanFieldEquation(neurons, direction=sense)
            end, exact = gaussian_end(mfpde.Layers([(equation, 1.0)]), geometry)
            text = f"S^{d - 1}, {sense}, t = 1: L1 error of the central Gaussian"
            yield vanishes(text, l1_distance(end, exact), geometry.spacing**order)
    circles, spheres = map(mfpde.Circle, (64, 256)), map(mfpde.Sphere, (32, 64))
    # In time the error is rtol's share of the motion.
    for grids, count, duration, halvings, allowed in (
        (circles, 200, 0.002, 2, 1e-4),
        (spheres, 12, 0.05, 1, 3e-4),
    ):
        finer = list(grids)
        d = finer[0].dimension
        layers = random_quadratic(d, count=count, duration=duration)
        errors = [moment_error(*gaussian_end(layers, grid)) for grid in finer]
        name, order = (
            f"S^{d - 1}, {count} random layers: ",
            orders(errors).mean() / halvings,
        )
        yield at_least(f"{name}order of the second moments", order, 1.9)
        yield vanishes(f"{name}second moments", errors[1], allowed)


# Linear attention ----------------------------------------------------------------------------


def quadrature_nodes(dimension: int) -> tuple[Array, Array]:
    """Points and weights of a quadrature over S^1 or S^2, to rounding for smooth data."""
    angles = (np.arange(256) + 0.5) * 2 * np.pi / 256
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if dimension == 2:
        return ring, np.full(256, 1 / 256)
    heights, weights = np.polynomial.legendre.leggauss(96)
    across = np.multiply.outer(np.sqrt(1 - heights**2), ring)
    along = np.repeat(heights, 256).reshape(96, 256, 1)
    points = np.concatenate([across, along], axis=-1).reshape(-1, 3)
    return points, np.repeat(weights / 2 / 256, 256)


def linear_attention_matrix(start: Array, potential: Array) -> Array:
    """Y at the end, from ``start``."""
    points, shares = quadrature_nodes(len(start))

    def rate(matrix: Array) -> Array:
        masses = shares * central_gaussian(matrix, points)
        moment = points.T @ (masses[:, np.newaxis] * points) / masses.sum()
        return np.asarray((moment + potential) @ matrix)

    return integrate(rate, start, TIME)


def linear_attention_error(
    geometry: Any, start: Array, potential: Array, scheme: str
) -> float:
    """L1 error at t = 0.8 with linear attention."""
    quadratic = mfpde.Potential(
        lambda x: np.einsum("...i,ij,...j->...", x, potential, x) / 2,
        lambda x: x @ potential,
    )
    equation = ascent(mfpde.Interaction(mfpde.Polynomial((0, 0, 0.5))), quadratic)
    first, last = (
        mfpde.Density.from_function(geometry, lambda x, y=y: central_gaussian(y, x))
        for y in (start, linear_attention_matrix(start, potential))
    )
    end = solve_to(TIME, equation, first, transport=scheme, rtol=1e-6)
    return float(np.abs(end.masses - last.masses).sum())


def compare_linear_attention() -> Iterator[Quantity]:
    """Errors and orders on both spheres."""
    start = np.array([[1.2, 0.3], [0.0, 0.9]])
    potential = np.array([[0.2, 0.1], [0.1, -0.3]])
    for scheme in ("donor_blended", "semi_lagrangian"):
        name = f"S^1, linear attention, {scheme}: "
        # On finer grids the error in time of the semi-Lagrangian scheme is the larger one.
        *coarse, fine = (
            linear_attention_error(grid, start, potential, scheme)
            for grid in map(mfpde.Circle, (64, 128, 512))
        )
        yield vanishes(f"{name}L1 error at 512 cells", fine, 1e-6)
        yield at_least(f"{name}order, 64 to 128 cells", orders(coarse).mean(), 1.9)
    start, potential = np.diag([1.2, 1.0, 0.8]), np.diag([0.2, 0.0, -0.3])
    errors = [
        linear_attention_error(grid, start, potential, "donor_blended")
        for grid in map(mfpde.Sphere, (64, 128))
    ]
    name = "S^2, linear attention: "
    yield vanishes(f"{name}L1 error at 128 rings", errors[1], 1e-4)
    yield at_least(f"{name}order, 64 to 128 rings", orders(errors).mean(), 1.9)


# At rest -------------------------------------------------------------------------------------


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
    yield from compare_layers()
    yield from compare_linear_attention()
    for name, geometry in (("S^1", mfpde.Circle(1024)), ("S^2", mfpde.Sphere(48))):
        end, best, exact = equilibrium(geometry)
        area, allowed = geometry.areas.sum(), 0.2 * geometry.spacing**2 + np.exp(-10.0)
        error = np.abs(end.values - exact).mean() * area
        yield vanishes(f"{name}, beta = 3: run against 1 - w_2/kappa_2", error, allowed)
        away = (best.values - exact) * area
        yield vanishes(f"{name}, beta = 3: minimize against it", away, 1e-10)
