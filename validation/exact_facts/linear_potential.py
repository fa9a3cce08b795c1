"""A linear potential: the Moebius flow, about any axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import LogLocator

import mfpde
from validation.circle_cases import Array, cosine_potential, l1_distance, wrapped
from validation.claim import Claim, Quantity
from validation.drawing import convergence_axes, panels
from validation.exact_facts.drawn import in_other_colours
from validation.sphere_cases import AXES, linear_potential, moebius, von_mises
from validation.sphere_cases import l1_distance as l1_on_sphere
from validation.zonal_cases import moved_by_linear_potential, uniform_masses

CLAIM = Claim(
    title="A linear potential pushes densities by a Moebius flow",
    source="Characteristics of eq. (2.5) with sigma constant (derived here)",
    statement=(
        "V = a.x moves every point by tan(theta/2) = e^(-s|a|t) tan(theta_0/2), theta "
        "measured from a; a density is its push-forward, through and off the grid's poles."
    ),
)


def circle_error(cells: int, phase: float, transport: str) -> float:
    """L1 error at t = 1.5, |a| = 1, from a smooth density."""
    time, circle = 1.5, mfpde.Circle(cells)
    factor = np.exp(time)

    def exact(angles: Array) -> Array:
        half = np.tan(wrapped(angles - phase) / 2)
        origin = 2 * np.arctan(factor * half)
        stretch = factor * (1 + half**2) / (1 + (factor * half) ** 2)
        return (1 + 0.5 * np.sin(origin + 1)) / (2 * np.pi) * stretch

    equation = mfpde.MeanFieldEquation(cosine_potential(1.0, phase), direction="ascent")
    begin = (1 + 0.5 * np.sin(circle.angles - phase + 1)) / (2 * np.pi)
    run = mfpde.solve(
        equation,
        mfpde.Density(circle, begin),
        t_end=time,
        save_at=[time],
        transport=transport,
        # Remapping along characteristics asks for no small steps of its own here.
        max_step=0.02,
    )
    return l1_distance(run.final.density, exact(circle.angles))


def sphere_error(nlat: int, case: str) -> float:
    """L1 error at t = 0.6, |a| = 1, from a von Mises density."""
    axis, centre = AXES[case]
    equation = mfpde.MeanFieldEquation(linear_potential(axis), direction="ascent")
    start = mfpde.Density.from_function(
        mfpde.Sphere(nlat), lambda x: von_mises(x, centre)
    )
    run = mfpde.solve(equation, start, t_end=0.6, save_at=[0.6])
    return l1_on_sphere(run.final.density, moebius(axis, centre, 0.6))


def zonal_error(dimension: int, cells: int) -> float:
    """Sum of errors of the cell masses at |a| t = 0.5, from uniform."""
    grid = mfpde.Zonal(dimension, cells)
    top = np.eye(1, dimension, dimension - 1)[0]
    equation = mfpde.MeanFieldEquation(linear_potential(top), direction="ascent")
    run = mfpde.solve(equation, mfpde.uniform(grid), t_end=0.5, save_at=[0.5])
    exact = uniform_masses(dimension, moved_by_linear_potential(grid.face_angles, 0.5))
    return float(np.abs(run.final.density.masses - exact).sum())


def main(quick: bool = False) -> dict[str, Any]:
    quantities, on_circle, on_sphere = [], {}, {}
    cells = (128, 256, 512) if quick else (256, 512, 1024, 2048)
    for transport in ("donor_blended", "semi_lagrangian"):
        found = [circle_error(n, 2.0, transport) for n in cells]
        on_circle[transport] = found
        # On finer grids the error in time of the semi-Lagrangian scheme is the larger one.
        order = float(np.log2(found[0] / found[1]))
        name = f"S^1, {transport}: observed order, {cells[0]} to {cells[1]} cells"
        quantities.append(Quantity(name, order, 1.9, 0.0, "at least"))
    name = f"S^1, donor_blended: L1 error at {cells[-1]} cells"
    # Order 3.5 at least: 2e-7 on 512 cells, a 2^-7 of that on four times as many.
    bound = 1e-6 if quick else 1e-8
    quantities.append(Quantity(name, on_circle["donor_blended"][-1], 0.0, bound))
    rings = (32, 64) if quick else (64, 128)
    for case in list(AXES)[: 2 if quick else 4]:
        found = on_sphere[case] = [sphere_error(n, case) for n in rings]
        order = float(np.log2(found[0] / found[1]))
        quantities += [
            Quantity(f"S^2, {case}: observed order", order, 1.9, 0.0, "at least"),
            Quantity(
                f"S^2, {case}: L1 error at nlat {rings[1]}",
                found[1],
                0.0,
                1e-3 if quick else 1e-4,
            ),
        ]
    grids = ((5, 64),) if quick else ((3, 128), (5, 128), (64, 384), (2048, 1024))
    for dimension, number in grids:
        name = f"S^{dimension - 1}: L1 error, zonal grid of {number} cells"
        allowed = 5e-5 if quick else 1e-5
        quantities.append(Quantity(name, zonal_error(dimension, number), 0.0, allowed))
    figure, (left, right) = panels(2)
    convergence_axes(left, cells, on_circle)
    convergence_axes(right, rings, on_sphere)
    left.set(title="L1 error on S$^1$, by scheme", xlabel="cells", ylabel="L1 error")
    right.set(title="L1 error on S$^2$, by axis", xlabel="nlat", ylabel="L1 error")
    right.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    for ax in (left, right):
        in_other_colours(ax)
        ax.set_ylim(0.5 * ax.dataLim.ymin, 2 * ax.dataLim.ymax)
    return {"quantities": quantities, "figures": {"errors": figure}}
