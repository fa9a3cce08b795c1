"""Densities that Moebius maps move: beta = 0, and a linear potential about any axis."""

from __future__ import annotations

import numpy as np

import mfpde
from validation import sphere_cases
from validation.circle_cases import (
    Array,
    cosine_potential,
    l1_distance,
    orders,
    poisson,
    wrapped,
)
from validation.claim import Claim, Findings, at_least, vanishes
from validation.exact_facts.runs import ascent, integrate, solve_to, zonal_error
from validation.references.moebius import kuramoto_parameter, moved, stretch
from validation.sphere_cases import (
    AXES,
    moebius,
    poisson_family,
    poisson_rate,
    unit,
    von_mises,
)
from validation.zonal_cases import moved_by_linear_potential

CELLS, RINGS = (256, 512, 1024), (64, 128)
PHASE = 0.7
# Fourth order while r stays below 0.9.
CASES = {
    "V = 0": (0.0, 3.0, "ascent", 1e-7),
    "a = 0.4": (0.4, 2.0, "ascent", 5e-7),
    "a = 0.4, descent": (0.4, 2.0, "descent", 1e-7),
}
"""Strength a, time, direction and tolerance at the finest grid."""
AXIS, TIME = 2.0, 1.5


# beta = 0 ------------------------------------------------------------------------------------


def radius(strength: float, time: float, sign: int) -> float:
    """r at ``time`` from 0.3: closed form without V, else by its differential equation."""
    if strength == 0:
        return kuramoto_parameter(0.3, time, sign=sign)
    return float(integrate(lambda r: sign * (r + strength) * (1 - r**2) / 2, 0.3, time))


@Claim(
    title="beta = 0: Poisson kernels stay Poisson kernels",
    source="Ott & Antonsen (2008) on S^1; Lipton, Mirollo & Strogatz (2021) on S^2",
    statement=(
        "On S^1 rho = (1-r^2)/(2 pi (1 - 2 r cos(theta-psi) + r^2)) with r' = "
        "s (r + a)(1-r^2)/2, V = a cos(theta-psi); without V, r^2/(1-r^2) = e^(s t) "
        "r_0^2/(1-r_0^2). On S^2 rho = ((1-a^2)/(1+a^2-2az))^2/(4 pi), a' = s (1-a^2) m(a)/2."
    ),
)
def kuramoto(_quick: bool = False) -> Findings:
    for name, (strength, time, direction, allowed) in CASES.items():
        terms = [cosine_potential(strength, PHASE)] if strength else []
        equation = mfpde.MeanFieldEquation(
            mfpde.Attention(0.0), *terms, direction=direction
        )
        r, errors = radius(strength, time, equation.sign), []
        for circle in map(mfpde.Circle, CELLS):
            start = mfpde.Density(circle, poisson(circle.angles, 0.3, PHASE))
            # The order in space shows where the error in time is below it.
            density = solve_to(time, equation, start, rtol=1e-6)
            errors.append(l1_distance(density, poisson(circle.angles, r, PHASE)))
        text = f"S^1, {name}: L1 error at {CELLS[-1]} cells"
        yield vanishes(text, errors[-1], allowed)
        if name == "V = 0":
            yield at_least(f"S^1, {name}: observed order", orders(errors).mean(), 4.0)
    axis = unit(0.3, -0.5, 0.8)
    for sign, direction in ((1, "ascent"), (-1, "descent")):
        end = float(integrate(lambda a, s=sign: s * poisson_rate(a), 0.4, 1.0))
        equation = mfpde.MeanFieldEquation(mfpde.Attention(0.0), direction=direction)
        errors = []
        for sphere in map(mfpde.Sphere, RINGS):
            start = mfpde.Density.from_function(sphere, poisson_family(0.4, axis))
            density = solve_to(1.0, equation, start)
            errors.append(l1_distance(density, poisson_family(end, axis)))
        text = f"S^2, {direction}: L1 error at nlat {RINGS[1]}"
        yield vanishes(text, errors[1], 2e-4)
        yield at_least(f"S^2, {direction}: observed order", orders(errors).mean(), 1.9)


# Linear potential ----------------------------------------------------------------------------


def circle_end(cells: int, transport: str) -> tuple[mfpde.Density, Array]:
    """The end at t = 1.5, |a| = 1, from a smooth density, and the exact one."""
    circle = mfpde.Circle(cells)

    def start(angles: Array) -> Array:
        return (1 + 0.5 * np.sin(angles + 1)) / (2 * np.pi)

    angles, back = wrapped(circle.angles - AXIS), -np.tanh(TIME / 2)
    end = solve_to(
        TIME,
        ascent(cosine_potential(1.0, AXIS)),
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
    end = solve_to(0.6, ascent(sphere_cases.linear_potential(axis)), start)
    return l1_distance(end, moebius(axis, centre, 0.6))


@Claim(
    title="A linear potential pushes densities by a Moebius flow",
    source="Characteristics of eq. (2.5) with sigma constant (derived here)",
    statement=(
        "V = a.x moves every point by tan(theta/2) = e^(-s|a|t) tan(theta_0/2), theta "
        "measured from a; a density is its push-forward, through and off the grid's poles."
    ),
)
def linear_potential(_quick: bool = False) -> Findings:
    for transport in ("semi_lagrangian", "donor_blended"):
        ends = [circle_end(number, transport) for number in (256, 512, 2048)]
        errors = [l1_distance(*end) for end in ends]
        # On finer grids the error in time of the semi-Lagrangian scheme is the larger one.
        name = f"S^1, {transport}: observed order, 256 to 512 cells"
        yield at_least(name, orders(errors[:2]).mean(), 1.9)
    # Order 3.5 at least: 2e-7 on 512 cells, a 2^-7 of that on four times as many.
    yield vanishes("S^1, donor_blended: L1 error at 2048 cells", errors[-1], 1e-8)
    for case in AXES:
        errors = [sphere_error(number, case) for number in (64, 128)]
        yield at_least(f"S^2, {case}: observed order", orders(errors).mean(), 1.9)
        yield vanishes(f"S^2, {case}: L1 error at nlat 128", errors[1], 1e-4)
    for dimension, number in ((3, 128), (5, 128), (64, 384), (2048, 1024)):
        name = f"S^{dimension - 1}: L1 error, zonal grid of {number} cells"
        equation = ascent(sphere_cases.linear_potential(np.eye(dimension)[-1]))
        grid = mfpde.Zonal(dimension, number)
        error = zonal_error(0.5, equation, grid, moved_by_linear_potential)
        yield vanishes(name, error, 1e-5)
