"""Layers without attention: three Moebius maps; random quadratic ones and their product."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation.claim import Claim, Quantity
from validation.drawing import panels
from validation.exact_facts.drawn import FORMULA_LINE, SOLVER, density_axes
from validation.references import layered

CLAIM = Claim(
    title="Layers act one after the other: Moebius maps and matrix products",
    source="Characteristics of eq. (2.5) with terms constant in each layer (derived here)",
    statement=(
        "Without attention a linear potential pushes the circle by a Moebius map, and several "
        "layers by their composition. Quadratic potentials V_k = x.Q_k x/2 move points by "
        "x -> Yx/|Yx|, Y the ordered product of exp(tau Q_k), and uniform becomes the angular "
        "central Gaussian |det Y|^-1 |Y^-1 x|^-d."
    ),
)


def random_quadratic(dimension: int, *, count: int, duration: float) -> mfpde.Layers:
    """Layers of independent symmetric matrices of size duration^(-1/2)."""

    def sampled(rng: np.random.Generator, _index: int) -> mfpde.MeanFieldEquation:
        square = rng.standard_normal((dimension, dimension))
        form = (square + square.T) / np.sqrt(2 * dimension * duration)
        weights, vectors = np.linalg.eigh(form)
        neurons = mfpde.Perceptron(vectors.T, weights, "linear")
        return mfpde.MeanFieldEquation(neurons, direction="ascent")

    return mfpde.Layers.random(sampled, count=count, duration=duration, seed=9)


def moebius_errors(cells: list[int]) -> tuple[list[float], mfpde.Run]:
    """L1 errors at the end of three layers, and the run on the finest circle."""
    layers = layered.three_linear_layers()
    errors = []
    for number in cells:
        circle = mfpde.Circle(number)
        run = mfpde.solve(layers, mfpde.uniform(circle), save_at=[layers.depth])
        missed = run.final.density.values - layered.three_moebius_maps(circle.angles)
        errors.append(float(np.abs(missed).sum() * circle.spacing))
    return errors, run


def moment_errors(layers: mfpde.Layers, geometry: Any) -> tuple[float, float]:
    """Largest errors of int x x^T dmu, and of int x dmu = 0, at the end, from uniform."""
    run = mfpde.solve(layers, mfpde.uniform(geometry), save_at=[layers.depth])
    points = geometry.points.reshape(-1, geometry.dimension)
    exact = layered.central_gaussian(layered.product_of(layers), points)
    missed = run.final.density.masses.ravel() - exact * geometry.areas.ravel()
    second = np.abs(points.T @ (missed[:, np.newaxis] * points)).max()
    mean = run.final.density.masses.ravel() @ points
    return float(second), float(np.abs(mean).max())


def particle_error(dimension: int, count: int) -> float:
    """Largest distance of particles from x -> Yx/|Yx|."""
    layers = random_quadratic(dimension, count=count, duration=0.01)
    points = np.random.default_rng(0).standard_normal((8, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    start = mfpde.Atoms(points, np.full(8, 1 / 8))
    run = mfpde.solve_particles(layers, start, rtol=1e-11, atol=1e-12)
    moved = points @ layered.product_of(layers).T
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    return float(np.abs(run.final.points - moved).max())


def main(quick: bool = False) -> dict[str, Any]:
    # From 128 cells on the feet's error of 1e-9 is all there is.
    cells = [16, 32, 64] if quick else [16, 32, 64, 128]
    errors, run = moebius_errors(cells)
    order = np.log2(errors[0] / errors[-1]) / (len(cells) - 1)
    quantities = [
        Quantity(
            "three Moebius maps: observed order", order, 1.9, 0.0, rule="at least"
        ),
        Quantity(
            f"three Moebius maps: L1 error at {cells[-1]} cells",
            errors[-1],
            0.0,
            1e-6 if quick else 1e-7,
        ),
    ]
    layers = random_quadratic(2, count=200, duration=0.002)
    coarse, fine = (moment_errors(layers, mfpde.Circle(n))[0] for n in (64, 256))
    quantities += [
        Quantity(
            "S^1, 200 random layers: order of the second moments",
            np.log2(coarse / fine) / 2,
            1.9,
            0.0,
            rule="at least",
        ),
        # In time the error is rtol's share of the motion.
        Quantity("S^1, 200 random layers: second moments", fine, 0.0, 1e-4),
    ]
    layers = random_quadratic(3, count=12, duration=0.05)
    coarse, _ = moment_errors(layers, mfpde.Sphere(32))
    fine, mean = moment_errors(layers, mfpde.Sphere(64))
    quantities += [
        Quantity(
            "S^2, 12 random layers: order of the second moments",
            np.log2(coarse / fine),
            1.9,
            0.0,
            rule="at least",
        ),
        Quantity("S^2, 12 random layers: second moments", fine, 0.0, 3e-4),
        # Both hemispheres are alike, in the scheme too up to its groups of cells.
        Quantity("S^2, 12 random layers: mean point", mean, 0.0, 1e-5),
    ]
    quantities += [
        Quantity(
            f"d = {dimension}, 100 random layers: particles beside the matrix product",
            particle_error(dimension, 100),
            0.0,
            1e-9,
            subject="formula",
        )
        for dimension in ((2, 3) if quick else (2, 3, 5))
    ]
    figure, (left, right) = panels(2)
    circle, final = run.final.geometry, run.final.density
    left.plot(circle.angles, final.values, color=SOLVER, label="solver")
    exact = layered.three_moebius_maps(circle.angles)
    left.plot(circle.angles, exact, **FORMULA_LINE, label="formula")
    layers = random_quadratic(2, count=200, duration=0.002)
    turned = mfpde.solve(layers, mfpde.uniform(circle), save_at=[layers.depth])
    right.plot(circle.angles, turned.final.density.values, color=SOLVER, label="solver")
    exact = layered.central_gaussian(layered.product_of(layers), circle.points)
    right.plot(circle.angles, exact, **FORMULA_LINE, label="formula")
    density_axes(left, title="Three linear layers")
    density_axes(right, title="200 random quadratic layers")
    return {"quantities": quantities, "figures": {"densities": figure}}
