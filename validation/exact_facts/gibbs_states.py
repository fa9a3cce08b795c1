"""Diffusion without attention ends in a Gibbs state."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation.circle_cases import l1_distance, orders, points_at
from validation.claim import Claim, Findings, at_least, vanishes
from validation.exact_facts.runs import Array, solve_to
from validation.sphere_cases import linear_potential, unit

CLAIM = Claim(
    title="Without attention diffusion ends in the Gibbs state",
    source="Eq. (2.5) with diffusion kappa: detailed balance",
    statement="rho = e^(s V/kappa)/Z, in ascent and descent, on S^1, S^2 and S^(d-1).",
)
CASES = ((0.05, "ascent"), (0.3, "ascent"), (0.3, "descent"))


def curvature_error(spacing: float, steepness: float) -> float:
    """h^2/24 |rho''|, rho'' at most (p + p^2) rho with p = |V|/kappa: a second-order scheme's."""
    return spacing**2 / 24 * steepness * (1 + steepness)


def gibbs_end(
    geometry: Any, axis: Array, kappa: float, *, time: float, direction: str = "ascent"
) -> tuple[mfpde.Density, Array]:
    """The end of V = a.x with diffusion ``kappa`` from uniform, and the Gibbs state."""
    equation = mfpde.MeanFieldEquation(
        linear_potential(axis), direction=direction, diffusion=kappa
    )
    exact = np.exp(equation.sign * geometry.points @ axis / kappa)
    exact /= (exact * geometry.areas).sum()
    return solve_to(time, equation, mfpde.uniform(geometry)), exact


@CLAIM
def main(_quick: bool = False) -> Findings:
    cells = (64, 128, 256, 512)
    for kappa, direction in CASES:
        # The slowest mode has decayed to below 1e-6 by t = 80.
        kind = {"time": 80.0, "direction": direction}
        axis = 0.3 * points_at(0.5)
        ends = [gibbs_end(mfpde.Circle(n), axis, kappa, **kind) for n in cells]
        errors = [l1_distance(*end) for end in ends]
        allowed = curvature_error(2 * np.pi / cells[-1], 0.3 / kappa)
        name = f"S^1, {direction}, kappa = {kappa:g}"
        yield vanishes(f"{name}: L1 error", errors[-1], allowed)
        yield at_least(f"{name}: order", orders(errors).mean(), 1.9)
    grids = {
        "S^2, nlat 32": (mfpde.Sphere(32), unit(1.0, 0.5, 0.7)),
        "S^2, nlat 96": (mfpde.Sphere(96), unit(1.0, 0.5, 0.7)),
        "S^4, 128 cells": (mfpde.Zonal(5, 128), np.eye(5)[4]),
    }
    for name, (geometry, axis) in grids.items():
        error = l1_distance(*gibbs_end(geometry, axis, 0.5, time=6 / 0.5))
        allowed = curvature_error(geometry.spacing, 1 / 0.5)
        yield vanishes(f"{name}, kappa = 0.5: L1 error", error, allowed)
