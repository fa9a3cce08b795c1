"""The ladder of grids of a study with the same start on each, and its references.

References are particles from the same start, and stationary atoms found by Newton's method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, shown, whole_number
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.measures.measure import Atoms, Density
from mfpde.particles import solve_particles
from mfpde.stationary import PolishedAtoms, polish
from mfpde.studies.final_atoms import FinalAtoms, Seen, seen_in
from mfpde.tracking import Concentration

StudyStart = Density | Callable[[FloatArray], ArrayLike]

NEGATIVE_MASS = 1e-6
"""A resampled density that misses more than this share of the mass is refused."""
LABELS_PER_CELL = 4
SPHERE_PARTICLES = 1000


def ladder(cells: Sequence[int | Geometry], start: object) -> tuple[Geometry, ...]:
    """Return the grids, coarsest first.

    Whole numbers are cells of a circle, or rings of a sphere where ``start`` is a density
    on one.

    Raises
    ------
    ValueError
        For fewer than two grids, grids that are not finer and finer, of different kinds, or
        neither circles nor spheres.
    """
    on_sphere = (
        isinstance(start, Density)
        and start.dimension > 2
        and start.geometry.axis is None
    )
    # Users hand over other things too.
    given: object = cells
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise ValueError(
            f"cells = {shown(given)} must be a list of whole numbers or grids"
        )
    grids = [_grid(k, entry, on_sphere) for k, entry in enumerate(cells)]
    if len(grids) < 2:
        raise ValueError(f"cells = {list(cells)!r} must name two grids or more")
    if len({grid.dimension for grid in grids}) > 1:
        raise ValueError(f"cells = {list(cells)!r} mixes circles and spheres")
    spacings = np.array([grid.spacing for grid in grids])
    if (np.diff(spacings) >= 0).any():
        raise ValueError(f"cells = {list(cells)!r} must increase from grid to grid")
    return tuple(grids)


def start_on(start: StudyStart, grid: Geometry) -> Density:
    """Return the start as a density on ``grid``.

    Raises
    ------
    ValueError
        If a density is on another geometry, or too rough to be taken to coarser cells.
    """
    if not isinstance(start, Density):
        return Density.from_function(grid, start)
    given = start.geometry
    if given.dimension != grid.dimension or given.axis is not None:
        raise ValueError(f"start lies on {given!r}, but the study is made on {grid!r}")
    if given == grid:
        return start
    if grid.spacing < given.spacing:
        return start.interpolated(grid)
    degree = min(given.max_degree, grid.max_degree)
    moments = given.moments(np.array(start.masses), degree)
    values = given.field_at(moments, grid.points).values / given.areas.sum()
    missing = float((np.minimum(values, 0.0) * grid.areas).sum())
    if -missing > NEGATIVE_MASS:
        raise ValueError(
            f"start on {given!r} is too rough to be taken to {grid!r}: give it as a "
            "function of points, or on the coarsest grid"
        )
    return Density(grid, np.maximum(values, 0.0)).normalized()


def _grid(index: int, entry: int | Geometry, on_sphere: bool) -> Geometry:
    if isinstance(entry, Geometry):
        if entry.axis is not None:
            raise ValueError(
                f"cells holds {entry!r}: atoms are studied on a Circle or a Sphere"
            )
        return entry
    number = whole_number(f"cells[{index}]", entry, at_least=1)
    try:
        return Sphere(number) if on_sphere else Circle(number)
    except ValueError as error:
        raise ValueError(f"cells[{index}]: {error}") from error


def particle_reference(
    equation: MeanFieldEquation,
    start: Density,
    count: int,
    *,
    saves: FloatArray,
    smallest_mass: float,
) -> Seen:
    """Run of the particles: weighted labels on the circle, quantised particles on the sphere.

    Merges are looked for if there are saves between the start and the end: as on a grid,
    they are the times at which two basins become one.
    """
    # Labels on the circle are as accurate as they are asked to be, particles are not.
    are_labels = start.dimension == 2
    tight: Any = {"rtol": 1e-8, "atol": 1e-10} if are_labels else {}
    run = solve_particles(
        equation,
        start,
        t_end=float(saves[-1]),
        save_at=saves,
        method="labels" if are_labels else "auto",
        count=count,
        **tight,
    )
    if len(saves) > 1:
        run = run.tracked(Concentration(smallest_mass=smallest_mass))
    return seen_in(run, equation, smallest_mass)


def default_count(finest: Density) -> int:
    """Default number of labels, four for each cell of the finest circle, or of particles."""
    if finest.dimension == 2:
        return LABELS_PER_CELL * finest.geometry.shape[0]
    return SPHERE_PARTICLES


def polished_reference(
    equation: MeanFieldEquation, atoms: FinalAtoms
) -> PolishedAtoms | str:
    """Return the stationary atoms beside ``atoms``, or why there are none."""
    if len(atoms) == 0:
        return "no atoms that Newton's method could polish"
    scaled = Atoms(atoms.points, atoms.masses / atoms.masses.sum())
    found = polish(equation, scaled)
    if not found.converged or len(found.atoms) != len(atoms):
        return f"not polished: {found.message}"
    return found
