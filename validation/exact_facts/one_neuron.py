"""One ReLU neuron alone: half the mass becomes an atom, half stays as it is."""

from __future__ import annotations

import numpy as np

import mfpde
from validation.circle_cases import density_of, l1_distance, points_at, wrapped
from validation.claim import Claim, Findings, equal, vanishes
from validation.exact_facts.runs import solve_to, zonal_error
from validation.sphere_cases import density_of_neuron, unit
from validation.zonal_cases import moved_by_relu

CLAIM = Claim(
    title="One ReLU neuron alone: an atom beside a frozen half",
    source="Characteristics of eq. (2.5) without attention (derived here)",
    statement=(
        "From uniform, with M = e^(s w t) and theta, z measured from a, the active side has "
        "the density M/(2 pi (cos^2 + M^2 sin^2)) on S^1 and M^2/(4 pi (z^2 + M^2 (1-z^2))^(3/2)) "
        "on S^2; the dead side stays uniform: a jump between them at all t > 0."
    ),
)
AXIS = 0.4


def neuron(axis: np.ndarray, direction: str = "ascent") -> mfpde.MeanFieldEquation:
    """One ReLU neuron of weight 1."""
    return mfpde.MeanFieldEquation(mfpde.Perceptron([axis], [1.0]), direction=direction)


def circle_end(cells: int, log_factor: float) -> tuple[mfpde.Density, mfpde.Density]:
    """The end at M = e^``log_factor`` (ascent if above 0) from uniform, and the exact one."""
    circle, time = mfpde.Circle(cells), abs(log_factor)
    equation = neuron(points_at(AXIS), "ascent" if log_factor > 0 else "descent")
    faces = wrapped(circle.face_angles - AXIS)
    origins = np.sign(faces) * moved_by_relu(np.abs(faces), log_factor)
    below = np.mod(origins, 2 * np.pi) / (2 * np.pi)
    masses = np.mod(below - np.roll(below, 1), 1.0)
    exact = density_of(circle, masses / circle.areas)
    return solve_to(time, equation, mfpde.uniform(circle)), exact


def sphere_error(nlat: int, axis: np.ndarray) -> float:
    """L1 error at t = 1, w = 1, ascent."""

    def exact(points: np.ndarray) -> np.ndarray:
        return density_of_neuron(points @ axis, 3, 1.0) / (4 * np.pi)

    return l1_distance(
        solve_to(1.0, neuron(axis), mfpde.uniform(mfpde.Sphere(nlat))), exact
    )


@CLAIM
def main(_quick: bool = False) -> Findings:
    cells, nlat = 2048, 128
    for name, log_factor in (("ascent", 1.5), ("descent", -1.5)):
        density, exact = circle_end(cells, log_factor)
        # The jump is smeared over a cell or two: W1 of about its mass times h.
        error = mfpde.wasserstein(density, exact)
        yield vanishes(f"S^1, {name}: W1 error", error, (2 * np.pi / cells) ** 2)
        circle = density.geometry
        away = np.abs(wrapped(circle.angles - AXIS))
        dead = density.values[away > np.pi / 2 + 3 * circle.spacing] * 2 * np.pi - 1
        yield vanishes(f"S^1, {name}: largest change on the dead side", dead, 1e-11)
    late, _ = circle_end(cells, 14.0)
    atoms = mfpde.concentration(late, neuron(points_at(AXIS))).clusters
    yield equal("S^1, w t = 14: number of atoms", len(atoms), 1, 0)
    # A cell at the boundary may be counted to either side.
    mass = sum(atom.mass for atom in atoms)
    yield equal("S^1, w t = 14: mass of the atom", mass, 0.5, 2 / cells)
    axes = {"generic axis": unit(0.3, -0.5, 0.8), "axis at the pole": unit(0, 0, 1)}
    for name, axis in axes.items():
        error = sphere_error(nlat, axis)
        # A jump costs O(h) in L1: half its height over one cell, along a great circle.
        yield vanishes(f"S^2, {name}: L1 error at nlat {nlat}", error, np.pi / nlat / 2)
    for dimension, number in ((5, 64), (64, 192), (2048, 1024)):
        name = f"S^{dimension - 1}: L1 error, zonal grid of {number} cells"
        top, grid = np.eye(dimension)[-1], mfpde.Zonal(dimension, number)
        error = zonal_error(1.0, neuron(top), grid, moved_by_relu)
        # The jump is on a face of the grid: second order.
        yield vanishes(name, error, (np.pi / number) ** 2)
