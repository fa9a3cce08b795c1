"""Linear attention: the density stays an angular central Gaussian."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation.claim import Claim, Findings, at_least, vanishes
from validation.exact_facts.runs import Array, ascent, integrate, order_of, solve_to
from validation.references.layered import central_gaussian

CLAIM = Claim(
    title="Linear attention moves an angular central Gaussian by a matrix",
    source="Characteristics of v = P_x (M + Q) x, M = int y y^T dmu (derived here)",
    statement=(
        "With the kernel W = (x.y)^2/2 and V = x.Qx/2 points move by x -> Yx/|Yx|, "
        "dY/dt = (M + Q) Y, so that the density |det Y|^-1 |Y^-1 x|^-d keeps its form, and M "
        "follows from Y by quadrature: an exact nonlinear solution."
    ),
)
TIME = 0.8


def nodes(dimension: int) -> tuple[Array, Array]:
    """Points and weights of a quadrature over S^1 or S^2, to rounding for smooth data."""
    angles = (np.arange(256) + 0.5) * 2 * np.pi / 256
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if dimension == 2:
        return ring, np.full(256, 1 / 256)
    heights, weights = np.polynomial.legendre.leggauss(96)
    across = np.multiply.outer(np.sqrt(1 - heights**2), ring)
    along = np.repeat(heights, 256).reshape(96, 256, 1)
    points = np.concatenate([across, along], axis=-1).reshape(-1, 3)
    return points, np.repeat(weights / 2 / 256, 256)


def moved(start: Array, potential: Array) -> Array:
    """Y at the end."""
    points, shares = nodes(len(start))

    def rate(matrix: Array) -> Array:
        masses = shares * central_gaussian(matrix, points)
        moment = points.T @ (masses[:, np.newaxis] * points) / masses.sum()
        return np.asarray((moment + potential) @ matrix)

    return integrate(rate, start, TIME)


def error(geometry: Any, start: Array, potential: Array, scheme: str) -> float:
    """L1 error at t = 0.8."""
    quadratic = mfpde.Potential(
        lambda x: np.einsum("...i,ij,...j->...", x, potential, x) / 2,
        lambda x: x @ potential,
    )
    equation = ascent(mfpde.Interaction(mfpde.Polynomial((0, 0, 0.5))), quadratic)
    first, last = (
        mfpde.Density.from_function(geometry, lambda x, y=y: central_gaussian(y, x))
        for y in (start, moved(start, potential))
    )
    end = solve_to(TIME, equation, first, transport=scheme, rtol=1e-6)
    return float(np.abs(end.masses - last.masses).sum())


@CLAIM
def main(_quick: bool = False) -> Findings:
    start = np.array([[1.2, 0.3], [0.0, 0.9]])
    potential = np.array([[0.2, 0.1], [0.1, -0.3]])
    for scheme in ("donor_blended", "semi_lagrangian"):
        # On finer grids the error in time of the semi-Lagrangian scheme is the larger one.
        grids = map(mfpde.Circle, (64, 128, 512))
        *coarse, fine = (error(grid, start, potential, scheme) for grid in grids)
        yield vanishes(f"S^1, {scheme}: L1 error at 512 cells", fine, 1e-6)
        name = f"S^1, {scheme}: observed order, 64 to 128 cells"
        yield at_least(name, order_of(coarse), 1.9)
    start, potential = np.diag([1.2, 1.0, 0.8]), np.diag([0.2, 0.0, -0.3])
    grids = map(mfpde.Sphere, (64, 128))
    found = [error(grid, start, potential, "donor_blended") for grid in grids]
    yield vanishes("S^2: L1 error at 128 rings", found[1], 1e-4)
    yield at_least("S^2: observed order, 64 to 128 rings", order_of(found), 1.9)
