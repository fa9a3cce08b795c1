"""A linear potential: the Moebius flow, about any axis."""

from __future__ import annotations

import numpy as np

import mfpde
from validation.circle_cases import Array, cosine_potential, wrapped
from validation.claim import Claim, Findings, at_least, vanishes
from validation.exact_facts.drawn import compare_densities
from validation.exact_facts.runs import ascent, l1_error, order_of, solve_to
from validation.references.moebius import moved, stretch
from validation.sphere_cases import AXES, linear_potential, moebius, von_mises
from validation.zonal_cases import moved_by_linear_potential, uniform_masses

CLAIM = Claim(
    title="A linear potential pushes densities by a Moebius flow",
    source="Characteristics of eq. (2.5) with sigma constant (derived here)",
    statement=(
        "V = a.x moves every point by tan(theta/2) = e^(-s|a|t) tan(theta_0/2), theta "
        "measured from a; a density is its push-forward, through and off the grid's poles."
    ),
)
PHASE, TIME = 2.0, 1.5


def circle_end(cells: int, transport: str) -> tuple[mfpde.Density, Array]:
    """The end at t = 1.5, |a| = 1, from a smooth density, and the exact one."""
    circle = mfpde.Circle(cells)

    def start(angles: Array) -> Array:
        return (1 + 0.5 * np.sin(angles + 1)) / (2 * np.pi)

    angles, back = wrapped(circle.angles - PHASE), -np.tanh(TIME / 2)
    end = solve_to(
        TIME,
        ascent(cosine_potential(1.0, PHASE)),
        mfpde.Density(circle, start(angles)),
        transport=transport,
        # Remapping along characteristics asks for no small steps of its own here.
        max_step=0.02,
    )
    return end, start(moved(angles, back)) * stretch(angles, back)


def sphere_error(nlat: int, case: str) -> float:
    """L1 error at t = 0.6, |a| = 1, from a von Mises density."""
    axis, centre = AXES[case]
    start = mfpde.Density.from_function(
        mfpde.Sphere(nlat), lambda x: von_mises(x, centre)
    )
    end = solve_to(0.6, ascent(linear_potential(axis)), start)
    return l1_error(end, moebius(axis, centre, 0.6))


def zonal_error(dimension: int, cells: int) -> float:
    """Sum of errors of the cell masses at |a| t = 0.5, from uniform."""
    grid = mfpde.Zonal(dimension, cells)
    top = np.eye(dimension)[-1]
    end = solve_to(0.5, ascent(linear_potential(top)), mfpde.uniform(grid))
    exact = uniform_masses(dimension, moved_by_linear_potential(grid.face_angles, 0.5))
    return float(np.abs(end.masses - exact).sum())


@CLAIM
def main(quick: bool = False) -> Findings:
    cells = (128, 256, 512) if quick else (256, 512, 2048)
    for transport in ("semi_lagrangian", "donor_blended"):
        ends = [circle_end(number, transport) for number in cells]
        errors = [l1_error(*end) for end in ends]
        # On finer grids the error in time of the semi-Lagrangian scheme is the larger one.
        name = f"S^1, {transport}: observed order, {cells[0]} to {cells[1]} cells"
        yield at_least(name, order_of(errors[:2]), 1.9)
    name = f"S^1, donor_blended: L1 error at {cells[-1]} cells"
    # Order 3.5 at least: 2e-7 on 512 cells, a 2^-7 of that on four times as many.
    yield vanishes(name, errors[-1], 1e-6 if quick else 1e-8)
    yield "densities", compare_densities({"V = cos(θ − 2), t = 1.5": ends[-1]})
    rings = (32, 64) if quick else (64, 128)
    for case in list(AXES)[: 2 if quick else 4]:
        errors = [sphere_error(number, case) for number in rings]
        yield at_least(f"S^2, {case}: observed order", order_of(errors), 1.9)
        name = f"S^2, {case}: L1 error at nlat {rings[1]}"
        yield vanishes(name, errors[1], 1e-3 if quick else 1e-4)
    grids = ((5, 64),) if quick else ((3, 128), (5, 128), (64, 384), (2048, 1024))
    for dimension, number in grids:
        name = f"S^{dimension - 1}: L1 error, zonal grid of {number} cells"
        yield vanishes(name, zonal_error(dimension, number), 5e-5 if quick else 1e-5)
