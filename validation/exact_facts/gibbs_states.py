"""Diffusion without attention ends in a Gibbs state."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation.circle_cases import cosine_potential, l1_distance, orders
from validation.claim import Claim, Quantity
from validation.drawing import panels
from validation.exact_facts.drawn import FORMULA_DOTS, SOLVER, density_axes
from validation.sphere_cases import linear_potential, unit

CLAIM = Claim(
    title="Without attention diffusion ends in the Gibbs state",
    source="Eq. (2.5) with diffusion kappa: detailed balance",
    statement="rho = e^(s V/kappa)/Z, in ascent and descent, on S^1, S^2 and S^(d-1).",
)
STYLES = ("-", "--", "-.")
CASES = ((0.05, "ascent"), (0.3, "ascent"), (0.3, "descent"))


def curvature_error(spacing: float, steepness: float) -> float:
    """h^2/24 |rho''|, rho'' at most (p + p^2) rho with p = |V|/kappa: a second-order scheme's."""
    return spacing**2 / 24 * steepness * (1 + steepness)


def circle_error(cells: int, diffusion: float, direction: str) -> tuple[float, Any]:
    """L1 error at t = 80, V = 0.3 cos(theta - 0.5); the end and the exact one."""
    circle = mfpde.Circle(cells)
    equation = mfpde.MeanFieldEquation(
        cosine_potential(0.3, 0.5), direction=direction, diffusion=diffusion
    )
    # The slowest mode has decayed to below 1e-6 by then.
    run = mfpde.solve(equation, mfpde.uniform(circle), t_end=80.0, save_at=[80.0])
    potential = equation.sign * 0.3 * np.cos(circle.angles - 0.5)
    exact = np.exp(potential / diffusion)
    exact /= exact.sum() * circle.spacing
    final = run.final.density
    return l1_distance(final, exact), (circle.angles, final.values, exact)


def sphere_error(geometry: Any, axis: np.ndarray, diffusion: float) -> float:
    """L1 error at t = 6/kappa, V = a.x, ascent."""
    equation = mfpde.MeanFieldEquation(
        linear_potential(axis), direction="ascent", diffusion=diffusion
    )
    time = 6 / diffusion
    run = mfpde.solve(equation, mfpde.uniform(geometry), t_end=time, save_at=[time])
    exact = np.exp(geometry.points @ axis / diffusion)
    exact /= (exact * geometry.areas).sum()
    error = np.abs(run.final.density.values - exact)
    return float((error * geometry.areas).sum())


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    cells = (48, 96) if quick else (64, 128, 256, 512)
    figure, (ax,) = panels(1, width=5)
    cases = CASES[1:] if quick else CASES
    for style, (diffusion, direction) in zip(STYLES, cases, strict=False):
        found = [circle_error(n, diffusion, direction) for n in cells]
        errors = [error for error, _ in found]
        bound = curvature_error(2 * np.pi / cells[-1], 0.3 / diffusion)
        name = f"S^1, {direction}, kappa = {diffusion:g}"
        quantities += [
            Quantity(f"{name}: L1 error", errors[-1], 0.0, bound),
            Quantity(f"{name}: order", orders(errors).mean(), 1.9, 0.0, "at least"),
        ]
        angles, values, exact = found[-1][1]
        label = f"solver: {direction}, κ = {diffusion:g}"
        ax.plot(angles, values, color=SOLVER, ls=style, label=label)
        label = "formula" if style == "-" else None
        ax.plot(angles[::8], exact[::8], **{**FORMULA_DOTS, "ms": 2}, label=label)
    grids = {"S^2, nlat 32": (mfpde.Sphere(32), unit(1.0, 0.5, 0.7))}
    if not quick:
        grids["S^2, nlat 96"] = (mfpde.Sphere(96), unit(1.0, 0.5, 0.7))
        grids["S^4, 128 cells"] = (mfpde.Zonal(5, 128), np.eye(5)[4])
    for name, (geometry, axis) in grids.items():
        error = sphere_error(geometry, axis, 0.5)
        bound = curvature_error(geometry.spacing, 1 / 0.5)
        quantities.append(Quantity(f"{name}, kappa = 0.5: L1 error", error, 0.0, bound))
    density_axes(ax, title="V = 0.3 cos(θ − 0.5)")
    return {"quantities": quantities, "figures": {"states": figure}}
