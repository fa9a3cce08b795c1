"""The same run on a ladder of grids: how far its atoms depend on the grid."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import LARGEST_COUNT, FloatArray, real_number, shown, whole_number
from mfpde.atoms import coarseness
from mfpde.detection import ball_radius
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.measures.measure import Atoms, Density, as_measure
from mfpde.particles import solve_particles
from mfpde.runs.run import Run
from mfpde.solver.solve import solve
from mfpde.stationary import PolishedAtoms, polish
from mfpde.studies.convergence import AtomConvergence
from mfpde.studies.landmarks import (
    Landmarks,
    compare_grids,
    find_final_atoms,
    find_merges,
)

StudyStart = Density | Callable[[FloatArray], ArrayLike]

LABELS_PER_CELL = 4
NEGATIVE_MASS = 1e-6
"""A density that misses more than this share of its mass on a coarser grid is too rough for it."""


def convergence_to_atoms(
    equation: MeanFieldEquation,
    start: StudyStart,
    *,
    cells: Sequence[int | Geometry],
    t_end: float,
    particles: int | None = None,
    smallest_mass: float = 1e-2,
    **options: Any,
) -> AtomConvergence:
    r"""Solve on a ladder of grids, and say which digits of the atoms hold.

    Positions and masses at ``t_end``, and the times of merges, are followed from grid to
    grid: the atoms of each grid are matched with those of the finest one (optimal assignment
    by distance and mass).  From differences and observed orders
    (:mod:`mfpde.studies.convergence`) each quantity is said to have converged, with its
    digits, or not to have.

    Begin with
    ``convergence_to_atoms(equation, lambda x: 2 + x[..., 0], cells=[128, 256, 512], t_end=5.0)``.

    Parameters
    ----------
    equation
        The equation, without diffusion.
    start
        A function of points (..., d), or a density on any circle or sphere, which is
        interpolated to finer grids and evaluated on coarser ones; a note says so where it is too
        rough for these.
    cells
        Two or more grids (three at least to judge anything), coarsest first: numbers of
        cells of circles (of rings of spheres if ``start`` is a density on one), or
        geometries.
    t_end
        End time.
    particles
        Number of particles to compare with: weighted labels on the circle (by default four
        for each cell of the finest grid), quantised particles on the sphere (by default
        2000).  0 for none.  Those in one basin are one atom, while exact atoms stay two until
        they meet.
    smallest_mass
        Atoms, and merges of atoms, of less mass are left out.
    options
        More arguments of :func:`mfpde.solve`: ``transport``, ``max_step``, ...  By default
        ``rtol=1e-5``, for orders in space to show, and ``atoms="exact"``.

    Returns
    -------
    AtomConvergence
        Printed, tables and verdicts; drawn by :func:`mfpde.plot_convergence`.

    Raises
    ------
    ValueError
        Before any work, for grids that do not form a ladder, a start that fits none of
        them, an argument out of its range, or an equation with diffusion.
    """
    if particles is not None:
        whole_number("particles", particles, at_least=0, at_most=LARGEST_COUNT)
    if equation.diffusion > 0:
        raise ValueError(
            f"diffusion = {equation.diffusion:g} dissolves atoms: there is nothing to study"
        )
    grids = build_ladder(cells, start)
    starts, notes = zip(*(start_on(start, grid) for grid in grids), strict=True)
    smallest_mass = real_number("smallest_mass", smallest_mass, above=0.0, at_most=1.0)
    t_end = real_number("t_end", t_end, above=0.0)
    chosen: dict[str, Any] = {"rtol": 1e-5, "atoms": "exact", "save_at": [t_end]}
    with warnings.catch_warnings():
        # The study's notes tell which grids are too coarse; some are so on purpose.
        warnings.filterwarnings("ignore", message="the grid is coarse")
        runs = [solve(equation, one, t_end=t_end, **chosen | options) for one in starts]
    find_atoms = partial(
        find_final_atoms, equation=equation, smallest_mass=smallest_mass
    )
    witness = _run_particles(equation, starts[-1], particles, t_end)
    final = [find_atoms(run.final) for run in runs]
    polished, reason = _polish_atoms(equation, final[-1])
    compare = partial(
        compare_grids,
        spacings=np.array([grid.spacing for grid in grids]),
        reach=2 * ball_radius(equation),
    )
    quantities = compare(
        final,
        particles=None if witness is None else find_atoms(witness.final),
        polished=None if polished is None else polished.atoms.points,
    )
    merges = [find_merges(run, smallest_mass) for run in runs]
    if any(map(len, merges)):
        quantities += compare(merges)
    return AtomConvergence(
        equation=equation,
        grids=grids,
        runs=tuple(runs),
        quantities=tuple(quantities),
        particles=witness,
        polished=polished,
        notes=tuple(filter(None, [*notes, *_note_grids(equation, runs), reason])),
    )


def _run_particles(
    equation: MeanFieldEquation, start: Density, count: int | None, t_end: float
) -> Run | None:
    """Run labels on the circle, a label in each cell at least, or quantised particles.

    None for too few of them.
    """
    on_circle, cells = start.dimension == 2, start.geometry.shape[0]
    if count is None and on_circle:
        count = LABELS_PER_CELL * cells
    if count is not None and count < (cells if on_circle else 1):
        return None
    method = "labels" if on_circle else "auto"
    return solve_particles(equation, start, t_end=t_end, method=method, count=count)


def _polish_atoms(
    equation: MeanFieldEquation, atoms: Landmarks
) -> tuple[PolishedAtoms | None, str]:
    """Return the stationary atoms beside ``atoms``; None and why there are none."""
    if len(atoms) == 0:
        return None, "no atoms that Newton's method could polish"
    shares = atoms.masses / atoms.masses.sum()
    found = polish(equation, Atoms(atoms.points, shares))
    if not found.converged or len(found.atoms) != len(atoms):
        return None, f"not polished: {found.message}"
    return found, ""


def _note_grids(equation: MeanFieldEquation, runs: Sequence[Run]) -> list[str]:
    """Return notes on grids that are too coarse for the equation, and on runs that stopped."""
    notes = []
    for run in runs:
        geometry = as_measure(run.final).geometry
        notes.append(coarseness(equation, geometry) or "")
        if run.stop.kind != "t_end":
            notes.append(f"on {geometry!r}: {run.reason}")
    return notes


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
    try:
        grids = tuple(
            grid if isinstance(grid, Geometry) else kind(grid) for grid in cells
        )
    except ValueError as error:
        raise ValueError(f"cells = {list(cells)!r}: {error}") from error
    for grid in grids:
        if grid.axis is not None:
            raise ValueError(
                f"cells holds {grid!r}: atoms are studied on a Circle or a Sphere"
            )
    if len(grids) < 2:
        raise ValueError(f"cells = {list(cells)!r} must name two grids or more")
    if len({grid.dimension for grid in grids}) > 1:
        raise ValueError(f"cells = {list(cells)!r} mixes circles and spheres")
    if (np.diff([grid.spacing for grid in grids]) >= 0).any():
        raise ValueError(f"cells = {list(cells)!r} must increase from grid to grid")
    return grids


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
