r"""The same run on a ladder of grids: how far its atoms depend on the grid.

The centre x of a core, of cells, exact atoms and particles alike, is the fixed point of

    x <- sum_i m_i w(x.x_i) x_i / | . |,    w(u) = max(0, u - cos R)^2,

from the position in the report, with R twice the ball radius or half the distance to the next
atom.  As the window is smooth, cells have the quadrature error of a smooth integrand.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import (
    LARGEST_COUNT,
    FloatArray,
    real_number,
    refuse,
    shown,
    whole_number,
)
from mfpde.atoms import coarseness
from mfpde.detection import ball_radius, concentration
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.geometry.arcs import angles_between, normalize
from mfpde.measures.measure import AnyMeasure, Atoms, Density
from mfpde.measures.sampling import as_atoms
from mfpde.particles import solve_particles
from mfpde.runs.run import Run
from mfpde.solver.solve import solve
from mfpde.stationary import polish
from mfpde.studies.convergence import AtomConvergence, Converging
from mfpde.tracking.matching import assign_pairs
from mfpde.tracking.paths import join_atoms

StudyStart = Density | Callable[[FloatArray], ArrayLike]
Landmarks = Mapping[str, FloatArray]
"""Of n atoms, heaviest basin first, or merges: each ``"position"`` (n, d), ``"mass"`` (n,), ..."""


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
    """Solve on a ladder of grids, and say which digits of the atoms hold.

    The atoms of each grid at ``t_end``, and their merges, are matched with those of the finest one
    by distance and mass.  From differences and observed orders of their positions, masses and
    times (:mod:`mfpde.studies.convergence`) each is said to have converged, with its digits, or
    not to have.  The result is printed, and drawn by :func:`mfpde.plot_convergence`.

    Begin with
    ``convergence_to_atoms(equation, lambda x: 2 + x[..., 0], cells=[128, 256, 512], t_end=5.0)``.

    Parameters
    ----------
    equation
        The equation, without diffusion.
    start
        A function of points (..., d), or a density on any circle or sphere, which is
        interpolated to finer grids; on coarser ones it has the moments that they hold.
    cells
        Two or more grids (three to judge anything), coarsest first: geometries, or numbers of
        cells of circles (of rings of spheres if ``start`` is a density on one).
    t_end
        End time.
    particles
        Number of particles to compare with, 0 for none: weighted labels on the circle (by default
        one for each cell of the finest grid), quantised particles on the sphere (by default 2000)
        or where they are fewer.  Those in one basin are one atom, while exact atoms stay two
        until they meet.
    smallest_mass
        Atoms, and merges of atoms, of less mass are left out.
    options
        More arguments of :func:`mfpde.solve`: ``transport``, ``max_step``, ...  By default
        ``rtol=1e-5``, for orders in space to show, and ``atoms="exact"``.

    Grids that do not form a ladder, a start that fits none of them, an argument out of its range
    and an equation with diffusion are a ``ValueError`` before any work.
    """
    if particles is not None:
        whole_number("particles", particles, at_least=0, at_most=LARGEST_COUNT)
    if equation.diffusion > 0:
        raise ValueError(
            f"diffusion = {equation.diffusion:g} dissolves atoms: there is nothing to study"
        )
    grids = build_ladder(cells, start)
    starts = [start_on(start, grid) for grid in grids]
    smallest_mass = real_number("smallest_mass", smallest_mass, above=0.0, at_most=1.0)
    t_end = real_number("t_end", t_end, above=0.0)
    chosen: dict[str, Any] = {"rtol": 1e-5, "atoms": "exact", "save_at": [t_end]}
    with warnings.catch_warnings():
        # The study's notes tell which grids are too coarse; some are so on purpose.
        warnings.filterwarnings("ignore", message="the grid is coarse")
        runs = [solve(equation, one, t_end=t_end, **chosen | options) for one in starts]
    final = [find_final_atoms(run.final, equation, smallest_mass) for run in runs]
    reach = 2 * ball_radius(equation)
    references, notes = {}, []
    if particles != 0:
        witness = _run_particles(equation, starts[-1], particles, t_end)
        atoms = find_final_atoms(witness.final, equation, smallest_mass)
        numbers = witness.statistics
        references["particles"] = align(final[-1], atoms, reach)
        notes.append(
            f"particles: {numbers['particles']} ({numbers['method']}), of which "
            f"{len(atoms['mass'])} atoms; {witness.reason}"
        )
    polished, message = _polish_atoms(equation, final[-1])
    references |= polished
    notes.append(message)
    for grid, run in zip(grids, runs, strict=True):
        notes += filter(None, [coarseness(equation, grid)])
        if run.stop.kind != "t_end":
            notes.append(f"on {grid!r}: {run.reason}")
    spacings = np.array([grid.spacing for grid in grids])
    kinds = ["position", "mass", "core mass"]
    quantities = compare_grids("atom", kinds, final, spacings, reach, references)
    merges, kinds = [find_merges(run, smallest_mass) for run in runs], ["merge time"]
    if any(len(found["mass"]) for found in merges):
        quantities += compare_grids("merge", kinds, merges, spacings, reach, {})
    return AtomConvergence(
        equation, grids, tuple(runs), tuple(quantities), tuple(notes)
    )


def _run_particles(
    equation: MeanFieldEquation, start: Density, count: int | None, t_end: float
) -> Run:
    """Run labels on the circle, if there is one for each cell, else quantised particles."""
    is_circle, cells = start.dimension == 2, start.masses.size
    method = "labels" if is_circle and (count or cells) >= cells else "auto"
    return solve_particles(equation, start, t_end=t_end, method=method, count=count)


def _polish_atoms(
    equation: MeanFieldEquation, atoms: Landmarks
) -> tuple[dict[str, Landmarks], str]:
    """Return the stationary atoms beside ``atoms``, if there are any, and what is said of them."""
    if len(atoms["mass"]) == 0:
        return {}, "no atoms that Newton's method could polish"
    shares = atoms["mass"] / atoms["mass"].sum()
    found = polish(equation, Atoms(atoms["position"], shares))
    if not found.converged or len(found.atoms) != len(shares):
        return {}, f"not polished: {found.message}"
    return {"polished": {"position": found.atoms.points}}, f"polished: {found.message}"


def build_ladder(
    cells: Sequence[int | Geometry], start: StudyStart
) -> tuple[Geometry, ...]:
    """Return the grids, coarsest first; ``ValueError`` if they do not form a ladder.

    Whole numbers are cells of a circle, or rings of a sphere where ``start`` is a density
    on one.
    """
    is_on_sphere = isinstance(start, Density) and start.dimension > 2
    kind = Sphere if is_on_sphere else Circle
    try:
        grids = tuple(
            grid if isinstance(grid, Geometry) else kind(grid) for grid in cells
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"cells = {shown(cells)} must be a list of whole numbers or grids: {error}"
        ) from error
    is_zonal = [grid.axis is not None for grid in grids]
    steps = np.diff([grid.spacing for grid in grids])
    faults = {
        "must name two grids or more": len(grids) < 2,
        "holds a grid that is no Circle or a Sphere": any(is_zonal),
        "mixes circles and spheres": len({grid.dimension for grid in grids}) > 1,
        "must increase from grid to grid": (steps >= 0).any(),
    }
    refuse(f"cells = {shown(cells)}", faults)
    return grids


def start_on(start: StudyStart, grid: Geometry) -> Density:
    """Return the start as a probability density on ``grid``.

    On a coarser grid it has the moments that the grid holds, and only the positive part of what
    they make.  A density on another geometry is a ``ValueError``.
    """
    if not isinstance(start, Density):
        return Density.from_function(grid, start)
    given = start.geometry
    if given.dimension != grid.dimension or given.axis is not None:
        raise ValueError(f"start lies on {given!r}, but the study is made on {grid!r}")
    if grid.spacing <= given.spacing:
        return start.interpolated(grid)
    moments = given.moments(np.array(start.masses), grid.max_degree)
    return Density(grid, np.maximum(grid.synthesis(moments), 0.0)).normalized()


def find_final_atoms(
    measure: AnyMeasure, equation: MeanFieldEquation, smallest_mass: float
) -> Landmarks:
    """Return the atoms of a measure, and those forming, that are heavy enough."""
    regions = concentration(measure, equation).clusters
    found = [region for region in regions if region.mass >= smallest_mass]
    points = np.reshape([one.position for one in found], (-1, measure.dimension))
    # Windows are small enough to hold one atom each.
    apart = angles_between(points, points) + np.diag(np.full(len(found), np.inf))
    radii = np.minimum(2 * ball_radius(equation), apart.min(axis=1, initial=np.inf) / 2)
    return {
        "position": find_centres(points, as_atoms(measure), radii),
        "mass": np.array([region.mass for region in found]),
        "core mass": np.array([region.core_mass for region in found]),
    }


def find_centres(points: FloatArray, cells: Atoms, radii: FloatArray) -> FloatArray:
    """Return the centres (n, d) of cores at ``points`` (n, d), with windows of ``radii`` (n,)."""
    edges = np.cos(radii)[:, np.newaxis]
    move = np.inf
    while move > np.finfo(float).eps ** (3 / 4):
        weights = cells.masses * np.maximum(points @ cells.points.T - edges, 0.0) ** 2
        before, points = points, normalize(weights @ cells.points)
        move = np.abs(points - before).max(initial=0.0)
    return points


def find_merges(run: Run, smallest_mass: float) -> Landmarks:
    """Return the merges of a run between atoms that are heavy enough, as the run tells them."""
    found = [
        event
        for event in run.events
        if event.kind == "merge" and np.sort(event.masses)[-2] >= smallest_mass
    ]
    joined = [join_atoms(event.points, event.masses) for event in found]
    places = [point for point, _ in joined]
    return {
        "position": np.reshape(places, (-1, run.final.dimension)),
        "mass": np.array([mass for _, mass in joined]),
        "merge time": np.array([event.time for event in found]),
    }


def align(finest: Landmarks, other: Landmarks, reach: float) -> Landmarks:
    """Return what ``other`` holds, each at the index of the same one of ``finest``, else NaN.

    Pairs have the least cost in distance, of at most ``reach`` radians, and mass.
    """
    ours, theirs = ((marks["position"], marks["mass"]) for marks in (finest, other))
    partners = assign_pairs(*ours, *theirs, reach=reach)
    found = {kind: np.full(own.shape, np.nan) for kind, own in finest.items()}
    for kind, values in found.items():
        values[[*partners]] = other[kind][[*partners.values()]]
    return found


def compare_grids(
    name: str,
    kinds: Sequence[str],
    found: Sequence[Landmarks],
    spacings: FloatArray,
    reach: float,
    references: Mapping[str, Landmarks],
) -> list[Converging]:
    """Return the number of atoms, or merges, and their quantities of some ``kinds``, judged.

    They are ``found`` on each grid, coarsest first, and matched within a ``reach`` with those of
    the finest one, whose order the ``references`` have.  None converges while the number changes.
    """
    finest, counts = found[-1], [float(len(marks["mass"])) for marks in found]
    on_grids = [align(finest, landmarks, reach) for landmarks in found]
    number = Converging(f"number of {name}s", "number", np.array(counts), spacings)
    changes = f"the {number.name} changes from grid to grid"
    quantities = [
        Converging(
            f"{kind.removeprefix('merge ')} of {name} {k + 1}",
            kind,
            np.stack([marks[kind][k] for marks in on_grids]),
            spacings,
            {who: own[kind][k] for who, own in references.items() if kind in own},
            obstacle="" if number.converged else changes,
        )
        for k in range(len(finest["mass"]))
        for kind in kinds
    ]
    return [number, *quantities]
