"""Checks that exact atoms can be followed on a geometry, and that its grid is fine enough."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import choice
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere

MODES = ("grid", "exact")
# Largest h sqrt(beta) at which exact atoms form where they should: 100 sqrt(beta) cells on
# the circle, 64 rings at beta = 32 on the sphere.
COARSEST_CIRCLE = 2 * np.pi / 100
COARSEST_SPHERE = np.pi / 64 * np.sqrt(32)


def check_atoms(atoms: str, equation: MeanFieldEquation, geometry: Geometry) -> None:
    """Refuse ``atoms="exact"`` where atoms cannot be followed.

    Raises
    ------
    ValueError
        For an unknown mode; for exact atoms on a zonal grid, or with diffusion.
    """
    if choice("atoms", atoms, MODES) == "grid":
        return
    if not isinstance(geometry, Circle | Sphere):
        raise ValueError(
            f"atoms = 'exact' works on a Circle or a Sphere, not on {geometry!r}: mass "
            "away from the poles of a zonal grid lies on rings, not in points"
        )
    if equation.diffusion > 0:
        raise ValueError(
            f"atoms = 'exact' with diffusion = {equation.diffusion:g}: diffusion dissolves "
            "atoms at once; use atoms='grid'"
        )


def beta_of(equation: MeanFieldEquation) -> float:
    """Return the largest beta of an equation's attentions, 0 without any."""
    return max((attention.beta for attention in equation.attentions), default=0.0)


def least_cells(equation: MeanFieldEquation, geometry: Geometry) -> float:
    """Return how many cells of a circle, or rings of a sphere, exact atoms need."""
    root = np.sqrt(beta_of(equation))
    if isinstance(geometry, Circle):
        return float(2 * np.pi * root / COARSEST_CIRCLE)
    return float(np.pi * root / COARSEST_SPHERE)


def coarseness(equation: MeanFieldEquation, geometry: Geometry) -> str | None:
    """Say, for a warning, that the grid is too coarse for exact atoms; None if it is not."""
    least, beta = least_cells(equation, geometry), beta_of(equation)
    if geometry.shape[0] * (1 + 1e-9) >= least:
        return None
    return (
        f"the grid is coarse for exact atoms at beta = {beta:g}: {geometry!r} has cells of "
        f"{geometry.spacing:.3g} against a kernel of width {beta**-0.5:.3g}; atoms may form "
        f"at the wrong place or not at all; use at least {int(np.ceil(least))} "
        f"{'cells' if isinstance(geometry, Circle) else 'rings'}"
    )
