"""Layers without attention: three Moebius maps; random quadratic ones and their product."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation.claim import Claim, Findings, at_least, vanishes
from validation.exact_facts.drawn import compare_densities
from validation.exact_facts.runs import Array, ascent, l1_error, order_of, solve_to
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
        return ascent(mfpde.Perceptron(vectors.T, weights, "linear"))

    return mfpde.Layers.random(sampled, count=count, duration=duration, seed=9)


def gaussian_end(layers: mfpde.Layers, geometry: Any) -> tuple[mfpde.Density, Array]:
    """The end of random quadratic layers from uniform, and the central Gaussian."""
    end = solve_to(layers.depth, layers, mfpde.uniform(geometry))
    return end, layered.central_gaussian(layered.product_of(layers), geometry.points)


def moment_error(end: mfpde.Density, exact: Array) -> float:
    """Largest error of int x x^T dmu."""
    points = end.geometry.points.reshape(-1, end.geometry.dimension)
    missed = (end.masses - exact * end.geometry.areas).reshape(-1, 1)
    return float(np.abs(points.T @ (missed * points)).max())


def particle_error(dimension: int, count: int) -> float:
    """Largest distance of particles from x -> Yx/|Yx|."""
    layers = random_quadratic(dimension, count=count, duration=0.01)
    points = np.random.default_rng(0).standard_normal((8, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    run = mfpde.solve_particles(layers, mfpde.Atoms(points), rtol=1e-11, atol=1e-12)
    moved = points @ layered.product_of(layers).T
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    return float(np.abs(run.final.points - moved).max())


@CLAIM
def main(_quick: bool = False) -> Findings:
    # From 128 cells on the feet's error of 1e-9 is all there is.
    three, errors = layered.three_linear_layers(), []
    for circle in map(mfpde.Circle, (16, 32, 64, 128)):
        end = solve_to(three.depth, three, mfpde.uniform(circle))
        exact = layered.three_moebius_maps(circle.angles)
        errors.append(l1_error(end, exact))
    shown = {"Three linear layers": (end, exact)}
    yield at_least("three Moebius maps: observed order", order_of(errors), 1.9)
    yield vanishes("three Moebius maps: L1 error at 128 cells", errors[-1], 1e-7)
    layers = random_quadratic(2, count=200, duration=0.002)
    ends = [gaussian_end(layers, mfpde.Circle(number)) for number in (64, 256)]
    coarse, fine = (moment_error(*end) for end in ends)
    shown["200 random quadratic layers"] = ends[1]
    name = "S^1, 200 random layers: "
    order = order_of([coarse, fine]) / 2
    yield at_least(f"{name}order of the second moments", order, 1.9)
    # In time the error is rtol's share of the motion.
    yield vanishes(f"{name}second moments", fine, 1e-4)
    layers = random_quadratic(3, count=12, duration=0.05)
    ends = [gaussian_end(layers, mfpde.Sphere(number)) for number in (32, 64)]
    errors = [moment_error(*end) for end in ends]
    name, sphere = "S^2, 12 random layers: ", ends[1][0]
    yield at_least(f"{name}order of the second moments", order_of(errors), 1.9)
    yield vanishes(f"{name}second moments", errors[1], 3e-4)
    # Both hemispheres are alike, in the scheme too up to its groups of cells.
    mean = sphere.masses.ravel() @ sphere.geometry.points.reshape(-1, 3)
    yield vanishes(f"{name}mean point", mean, 1e-5)
    for dimension in (2, 3, 5):
        name = (
            f"d = {dimension}, 100 random layers: particles beside the matrix product"
        )
        yield vanishes(name, particle_error(dimension, 100), 1e-9, subject="formula")
    yield "densities", compare_densities(shown)
