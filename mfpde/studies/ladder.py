"""The ladder of grids of a study, with the same start on each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, shown, whole_number
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.measures.measure import Density

StudyStart = Density | Callable[[FloatArray], ArrayLike]

NEGATIVE_MASS = 1e-6
"""A density that misses more than this share of its mass on a coarser grid is too rough for it."""


def build_ladder(
    cells: Sequence[int | Geometry], start: StudyStart
) -> tuple[Geometry, ...]:
    """Return the grids, coarsest first.

    Whole numbers are cells of a circle, or rings of a sphere where ``start`` is a density
    on one.

    Raises
    ------
    ValueError
        For fewer than two grids, grids that are not finer and finer, of different kinds, or
        neither circles nor spheres.
    """
    is_on_sphere = isinstance(start, Density) and start.dimension > 2
    kind = Sphere if is_on_sphere else Circle
    # Users hand over other things too.
    given: object = cells
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise ValueError(
            f"cells = {shown(given)} must be a list of whole numbers or grids"
        )
    grids = tuple(_build_grid(k, entry, kind) for k, entry in enumerate(cells))
    if len(grids) < 2:
        raise ValueError(f"cells = {list(cells)!r} must name two grids or more")
    if len({grid.dimension for grid in grids}) > 1:
        raise ValueError(f"cells = {list(cells)!r} mixes circles and spheres")
    if (np.diff([grid.spacing for grid in grids]) >= 0).any():
        raise ValueError(f"cells = {list(cells)!r} must increase from grid to grid")
    return grids


def _build_grid(
    index: int, entry: int | Geometry, kind: type[Circle | Sphere]
) -> Geometry:
    if isinstance(entry, Geometry):
        if entry.axis is not None:
            raise ValueError(
                f"cells holds {entry!r}: atoms are studied on a Circle or a Sphere"
            )
        return entry
    number = whole_number(f"cells[{index}]", entry, at_least=1)
    try:
        return kind(number)
    except ValueError as error:
        raise ValueError(f"cells[{index}]: {error}") from error


def start_on(start: StudyStart, grid: Geometry) -> tuple[Density, str]:
    """Return the start as a density on ``grid``, and a note where it is another one there.

    On a coarser grid it has the moments that the grid holds.  Where they make no positive
    density it is too rough for the grid, and only its positive part is taken.

    Raises
    ------
    ValueError
        If a density is on another geometry.
    """
    if not isinstance(start, Density):
        return Density.from_function(grid, start), ""
    given = start.geometry
    if given.dimension != grid.dimension or given.axis is not None:
        raise ValueError(f"start lies on {given!r}, but the study is made on {grid!r}")
    if grid.spacing <= given.spacing:
        return start.interpolated(grid), ""
    moments = given.moments(np.array(start.masses), grid.max_degree)
    values = grid.synthesis(moments) / grid.areas.sum()
    lost = -(np.minimum(values, 0.0) * grid.areas).sum() / start.total_mass
    note = (
        f"the start on {given!r} is too rough for {grid!r}: {lost:.1e} of its mass would be "
        "negative there, and is left out"
    )
    positive = Density(grid, np.maximum(values, 0.0)).normalized()
    return positive, note if lost > NEGATIVE_MASS else ""
