"""beta = 0: Ott-Antonsen on S^1, Lipton-Mirollo-Strogatz on S^2."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import mfpde
from validation.circle_cases import cosine_potential, l1_distance, poisson
from validation.claim import Claim, Quantity
from validation.drawing import convergence_axes, panels
from validation.exact_facts.drawn import (
    FORMULA_LINE,
    SOLVER,
    density_axes,
    in_other_colours,
)
from validation.sphere_cases import l1_distance as l1_on_sphere
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


def radius(start: float, strength: float, time: float) -> float:
    """r at ``time``: closed form without V, else its ordinary differential equation."""
    if strength == 0:
        odds = np.exp(time) * start**2 / (1 - start**2)
        return float(np.sqrt(odds / (1 + odds)))
    path = solve_ivp(
        lambda _, r: np.sign(time) * (r + strength) * (1 - r**2) / 2,
        (0, abs(time)),
        [start],
        rtol=1e-12,
        atol=1e-13,
    )
    return float(path.y[0, -1])


def circle_error(cells: int, strength: float, time: float) -> tuple[float, Any]:
    """L1 error at ``time`` (descent if negative), and the end."""
    circle, phase = mfpde.Circle(cells), 0.7
    terms = [cosine_potential(strength, phase)] if strength else []
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(0.0), *terms, direction="ascent" if time > 0 else "descent"
    )
    start = mfpde.Density(circle, poisson(circle.angles, 0.3, phase))
    # The order in space shows where the error in time is below it.
    run = mfpde.solve(equation, start, t_end=abs(time), save_at=[abs(time)], rtol=1e-6)
    exact = poisson(circle.angles, radius(0.3, strength, time), phase)
    return l1_distance(run.final.density, exact), (run.final.density, exact)


def sphere_error(nlat: int, axis: np.ndarray, sign: int) -> float:
    """L1 error at t = 1 from a = 0.4."""
    path = solve_ivp(
        lambda _, a: sign * poisson_rate(a), (0, 1), [0.4], rtol=1e-11, atol=1e-13
    )
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(0.0), direction="ascent" if sign > 0 else "descent"
    )
    start = mfpde.Density.from_function(mfpde.Sphere(nlat), poisson_family(0.4, axis))
    run = mfpde.solve(equation, start, t_end=1.0, save_at=[1.0])
    return l1_on_sphere(run.final.density, poisson_family(path.y[0, -1], axis))


def main(quick: bool = False) -> dict[str, Any]:
    cells = (256, 512, 1024)
    cases = {
        "V = 0": (0.0, 3.0),
        "a = 0.4": (0.4, 2.0),
        "a = 0.4, descent": (0.4, -2.0),
    }
    # Fourth order while r stays below 0.9.
    tolerances = {"V = 0": 1e-7, "a = 0.4": 5e-7, "a = 0.4, descent": 1e-7}
    quantities, errors, ends = [], {}, {}
    for name, (strength, time) in cases.items():
        found = [circle_error(n, strength, time) for n in cells]
        errors[name], ends[name] = [error for error, _ in found], found[-1][1]
        text = f"S^1, {name}: L1 error at {cells[-1]} cells"
        quantities.append(Quantity(text, errors[name][-1], 0.0, tolerances[name]))
    order = float(np.log2(errors["V = 0"][0] / errors["V = 0"][-1]) / 2)
    quantities.append(
        Quantity("S^1, V = 0: observed order", order, 4.0, 0.0, "at least")
    )
    sizes = (32, 64) if quick else (64, 128)
    sides = (1,) if quick else (1, -1)
    for sign in sides:
        found = [sphere_error(n, unit(0.3, -0.5, 0.8), sign) for n in sizes]
        words = "ascent" if sign > 0 else "descent"
        bound = 2e-3 if quick else 2e-4
        quantities += [
            Quantity(
                f"S^2, {words}: L1 error at nlat {sizes[1]}", found[1], 0.0, bound
            ),
            Quantity(
                f"S^2, {words}: observed order",
                float(np.log2(found[0] / found[1])),
                1.9,
                0.0,
                "at least",
            ),
        ]
    figure, (left, right) = panels(2)
    density, exact = ends["V = 0"]
    left.plot(density.geometry.angles, density.values, color=SOLVER, label="solver")
    left.plot(density.geometry.angles, exact, **FORMULA_LINE, label="formula")
    density_axes(left, title="S$^1$, V = 0, t = 3")
    convergence_axes(right, cells, errors)
    right.set(
        title="L1 error of the solver on S$^1$", xlabel="cells", ylabel="L1 error"
    )
    in_other_colours(right)
    return {"quantities": quantities, "figures": {"family": figure}}
