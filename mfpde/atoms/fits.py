"""Where exact atoms make sense, and where a grid is too coarse for them."""

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


def coarseness(equation: MeanFieldEquation, geometry: Geometry) -> str | None:
    """Say, for a warning, that the grid is too coarse for exact atoms; None if it is not."""
    beta = max((attention.beta for attention in equation.attentions), default=0.0)
    is_circle = isinstance(geometry, Circle)
    coarsest = COARSEST_CIRCLE if is_circle else COARSEST_SPHERE
    if geometry.spacing * np.sqrt(beta) <= coarsest * (1 + 1e-9):
        return None
    length = 2 * np.pi if is_circle else np.pi
    least = int(np.ceil(length * np.sqrt(beta) / coarsest))
    return (
        f"the grid is coarse for exact atoms at beta = {beta:g}: {geometry!r} has cells of "
        f"{geometry.spacing:.3g} against a kernel of width {beta**-0.5:.3g}; atoms may form "
        f"at the wrong place or not at all; use at least {least} "
        f"{'cells' if is_circle else 'rings'}"
    )
