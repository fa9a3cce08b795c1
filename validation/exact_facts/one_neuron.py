"""One ReLU neuron alone: half the mass becomes an atom, half stays as it is."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation.circle_cases import density_of, wrapped
from validation.claim import Claim, Quantity
from validation.drawing import panels
from validation.exact_facts.drawn import FORMULA_LINE, SOLVER, density_axes
from validation.sphere_cases import l1_distance, unit
from validation.zonal_cases import moved_by_relu, uniform_masses

CLAIM = Claim(
    title="One ReLU neuron alone: an atom beside a frozen half",
    source="Characteristics of eq. (2.5) without attention (derived here)",
    statement=(
        "From uniform, with M = e^(s w t) and theta, z measured from a, the active side has "
        "the density M/(2 pi (cos^2 + M^2 sin^2)) on S^1 and M^2/(4 pi (z^2 + M^2 (1-z^2))^(3/2)) "
        "on S^2; the dead side stays uniform: a jump between them at all t > 0."
    ),
)


def circle_run(cells: int, factor: float) -> tuple[mfpde.Density, mfpde.Density]:
    """The end at M = ``factor`` (ascent if above 1) from uniform, and the exact one."""
    axis, circle = 0.4, mfpde.Circle(cells)
    direction = "ascent" if factor > 1 else "descent"
    neuron = mfpde.Perceptron([[np.cos(axis), np.sin(axis)]], [1.0])
    equation = mfpde.MeanFieldEquation(neuron, direction=direction)
    time = abs(np.log(factor))
    run = mfpde.solve(equation, mfpde.uniform(circle), t_end=time, save_at=[time])
    faces = wrapped(circle.face_angles - axis)
    inner = np.arctan2(factor * np.sin(faces), np.cos(faces))
    cdf = np.where(np.abs(faces) < np.pi / 2, inner, faces) / (2 * np.pi)
    masses = np.mod(cdf - np.roll(cdf, 1), 1.0)
    return run.final.density, density_of(circle, masses / circle.areas)


def frozen_change(density: mfpde.Density) -> float:
    """Largest relative change of the density on the dead side, 3 cells off its ends."""
    circle = density.geometry
    away = np.abs(wrapped(circle.angles - 0.4))
    dead = away > np.pi / 2 + 3 * circle.spacing
    return float(np.abs(density.values[dead] * 2 * np.pi - 1).max())


def sphere_error(nlat: int, axis: np.ndarray) -> float:
    """L1 error at t = 1, w = 1, ascent."""
    equation = mfpde.MeanFieldEquation(
        mfpde.Perceptron([axis], [1.0]), direction="ascent"
    )
    run = mfpde.solve(
        equation, mfpde.uniform(mfpde.Sphere(nlat)), t_end=1.0, save_at=[1.0]
    )

    def exact(points: np.ndarray) -> np.ndarray:
        z, stretch = points @ axis, np.e
        active = stretch**2 / (z**2 + stretch**2 * (1 - z**2)) ** 1.5
        return np.where(z > 0, active, 1.0) / (4 * np.pi)

    return l1_distance(run.final.density, exact)


def zonal_error(dimension: int, cells: int) -> float:
    """Sum of the errors of the cell masses on S^(d-1) at t = 1, w = 1, ascent."""
    grid = mfpde.Zonal(dimension, cells)
    neuron = mfpde.Perceptron(np.eye(1, dimension, dimension - 1), [1.0])
    equation = mfpde.MeanFieldEquation(neuron, direction="ascent")
    run = mfpde.solve(equation, mfpde.uniform(grid), t_end=1.0, save_at=[1.0])
    exact = uniform_masses(dimension, moved_by_relu(grid.face_angles, 1.0))
    return float(np.abs(run.final.density.masses - exact).sum())


def atom_mass(cells: int) -> tuple[float, int]:
    """Mass of the atom at late times, and the number of atoms that are found."""
    density, _ = circle_run(cells, np.exp(14.0))
    neuron = mfpde.Perceptron([[np.cos(0.4), np.sin(0.4)]], [1.0])
    equation = mfpde.MeanFieldEquation(neuron, direction="ascent")
    atoms = mfpde.concentration(density, equation).clusters
    return sum(atom.mass for atom in atoms), len(atoms)


def main(quick: bool = False) -> dict[str, Any]:
    cells = 512 if quick else 2048
    quantities = []
    ends = {}
    for name, factor in (("ascent", np.exp(1.5)), ("descent", np.exp(-1.5))):
        density, exact = circle_run(cells, factor)
        ends[name] = density, exact
        error = mfpde.wasserstein(density, exact)
        # The jump is smeared over a cell or two: W1 of about its mass times h.
        quantities += [
            Quantity(f"S^1, {name}: W1 error", error, 0.0, (2 * np.pi / cells) ** 2),
            Quantity(
                f"S^1, {name}: largest change on the dead side",
                frozen_change(density),
                0.0,
                1e-11,
            ),
        ]
    mass, count = atom_mass(cells)
    quantities += [
        Quantity("S^1, w t = 14: number of atoms", count, 1, 0),
        # A cell at the boundary may be counted to either side.
        Quantity("S^1, w t = 14: mass of the atom", mass, 0.5, 2 / cells),
    ]
    nlat = 48 if quick else 128
    axes = {"generic axis": unit(0.3, -0.5, 0.8), "axis at the pole": unit(0, 0, 1)}
    for name, axis in axes.items():
        error = sphere_error(nlat, axis)
        text = f"S^2, {name}: L1 error at nlat {nlat}"
        # A jump costs O(h) in L1: half its height over one cell, along a great circle.
        quantities.append(Quantity(text, error, 0.0, np.pi / nlat / 2))
    for dimension, number in (
        ((5, 64),) if quick else ((5, 64), (64, 192), (2048, 1024))
    ):
        text = f"S^{dimension - 1}: L1 error, zonal grid of {number} cells"
        error = zonal_error(dimension, number)
        # The jump is on a face of the grid: second order.
        quantities.append(Quantity(text, error, 0.0, (np.pi / number) ** 2))
    figure, axes_drawn = panels(2)
    for ax, (name, (density, exact)) in zip(axes_drawn, ends.items(), strict=True):
        angles = density.geometry.angles
        ax.plot(angles, density.values, color=SOLVER, label="solver")
        ax.plot(angles, exact.values, **FORMULA_LINE, label="formula")
        density_axes(ax, title=f"S$^1$, {name}, |w| t = 1.5")
    return {"quantities": quantities, "figures": {"densities": figure}}
