"""Twice as many cells in each direction: the grid, and a state on it."""

from __future__ import annotations

import math

import numpy as np

from mfpde.atoms.fits import least_cells
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.measures.measure import Density
from mfpde.transport import State, Transport

# Where atoms form, grids this much finer than exact atoms need place them to 1e-3 of
# their merge times (circle) or 0.5 % (sphere, where cost grows with the third power).
_CIRCLE_MARGIN = 4.0
_SPHERE_MARGIN = 2.0
_LEAST_DOUBLINGS = 1


def doubled(geometry: Geometry) -> Circle | Sphere:
    """Return the grid with twice as many cells in each direction.

    Raises
    ------
    ValueError
        For a geometry other than a Circle or a Sphere.
    """
    match geometry:
        case Circle():
            return Circle(2 * geometry.num_cells)
        case Sphere():
            return Sphere(2 * geometry.nlat, 2 * geometry.nlon)
        case _:
            raise ValueError(
                f"refine = True works on a Circle or a Sphere, not on {geometry!r}: start "
                "from more cells"
            )


def cell_count(geometry: Geometry) -> int:
    """Return the total number of cells: nlat * nlon on a sphere."""
    return math.prod(geometry.shape)


def largest_grid(
    geometry: Geometry, equation: MeanFieldEquation, max_cells: int | None
) -> Geometry:
    """Return the finest grid that refinement may reach from ``geometry``.

    Without ``max_cells`` it is the first doubling with 400 sqrt(beta) cells around a circle
    or 23 sqrt(beta) rings on a sphere, but at least one doubling.
    """
    if max_cells is not None:
        finest = geometry
        while cell_count(doubled(finest)) <= max_cells:
            finest = doubled(finest)
        return finest
    margin = _CIRCLE_MARGIN if isinstance(geometry, Circle) else _SPHERE_MARGIN
    wanted = margin * least_cells(equation, geometry)
    around = geometry.shape[0]
    doublings = math.ceil(math.log2(max(wanted / around, 1.0)))
    finest = geometry
    for _ in range(max(doublings, _LEAST_DOUBLINGS)):
        finest = doubled(finest)
    return finest


def doubled_state(state: State, before: Geometry, transport: Transport) -> State:
    """Return a state on the doubled grid of ``transport``: same mass, same atoms.

    The density is interpolated as ``Density.interpolated`` does: nonnegative, with the
    same mass to rounding.
    """
    density = Density(before, state.masses / before.areas)
    finer = density.interpolated(transport.grid.geometry)
    masses = transport.represented(np.array(finer.masses))
    return State(
        masses, state.points.copy(), state.atom_masses.copy(), state.cloud_size
    )
