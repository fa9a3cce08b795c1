"""beta = 0: Ott-Antonsen on S^1, Lipton-Mirollo-Strogatz on S^2."""

from __future__ import annotations

import mfpde
from validation.circle_cases import cosine_potential, poisson
from validation.claim import Claim, Findings, at_least, vanishes
from validation.exact_facts.runs import integrate, l1_error, order_of, solve_to
from validation.references.moebius import kuramoto_parameter
from validation.sphere_cases import poisson_family, poisson_rate, unit

CLAIM = Claim(
    title="beta = 0: Poisson kernels stay Poisson kernels",
    source="Ott & Antonsen (2008) on S^1; Lipton, Mirollo & Strogatz (2021) on S^2",
    statement=(
        "On S^1 rho = (1-r^2)/(2 pi (1 - 2 r cos(theta-psi) + r^2)) with r' = "
        "s (r + a)(1-r^2)/2, V = a cos(theta-psi); without V, r^2/(1-r^2) = e^(s t) "
        "r_0^2/(1-r_0^2). On S^2 rho = ((1-a^2)/(1+a^2-2az))^2/(4 pi), a' = s (1-a^2) m(a)/2."
    ),
)
CELLS, RINGS = (256, 512, 1024), (64, 128)
PHASE = 0.7
# Fourth order while r stays below 0.9.
CASES = {
    "V = 0": (0.0, 3.0, "ascent", 1e-7),
    "a = 0.4": (0.4, 2.0, "ascent", 5e-7),
    "a = 0.4, descent": (0.4, 2.0, "descent", 1e-7),
}
"""Strength a, time, direction and tolerance at the finest grid."""


def radius(strength: float, time: float, sign: int) -> float:
    """r at ``time`` from 0.3: closed form without V, else by its differential equation."""
    if strength == 0:
        return kuramoto_parameter(0.3, time, sign=sign)
    return float(integrate(lambda r: sign * (r + strength) * (1 - r**2) / 2, 0.3, time))


@CLAIM
def main(_quick: bool = False) -> Findings:
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
            errors.append(l1_error(density, poisson(circle.angles, r, PHASE)))
        text = f"S^1, {name}: L1 error at {CELLS[-1]} cells"
        yield vanishes(text, errors[-1], allowed)
        if name == "V = 0":
            yield at_least(f"S^1, {name}: observed order", order_of(errors), 4.0)
    axis = unit(0.3, -0.5, 0.8)
    for sign, direction in ((1, "ascent"), (-1, "descent")):
        end = float(integrate(lambda a, s=sign: s * poisson_rate(a), 0.4, 1.0))
        equation = mfpde.MeanFieldEquation(mfpde.Attention(0.0), direction=direction)
        errors = []
        for sphere in map(mfpde.Sphere, RINGS):
            start = mfpde.Density.from_function(sphere, poisson_family(0.4, axis))
            density = solve_to(1.0, equation, start)
            errors.append(l1_error(density, poisson_family(end, axis)))
        text = f"S^2, {direction}: L1 error at nlat {RINGS[1]}"
        yield vanishes(text, errors[1], 2e-4)
        yield at_least(f"S^2, {direction}: observed order", order_of(errors), 1.9)
