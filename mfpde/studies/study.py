"""The same run on a ladder of grids: how far its atoms depend on the grid."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from mfpde.arrays import FloatArray, choice, real_number, whole_number
from mfpde.atoms import coarseness
from mfpde.detection import ball_radius
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry
from mfpde.measures.measure import Density, as_measure
from mfpde.runs.run import Run
from mfpde.solver.solve import solve
from mfpde.studies.ladder import final_atoms, merges_of
from mfpde.studies.quantities import Seen, quantities_of
from mfpde.studies.references import (
    ParticleReference,
    Start,
    default_count,
    ladder,
    particle_reference,
    polished_reference,
    start_on,
)
from mfpde.studies.result import AtomConvergence
from mfpde.tracking import Concentration

SAVES = 100
RTOL = 1e-5


def convergence_to_atoms(
    equation: MeanFieldEquation,
    start: Start,
    *,
    cells: Sequence[int | Geometry],
    t_end: float,
    atoms: Literal["exact", "grid"] = "exact",
    particles: int | None = None,
    smallest_mass: float = 1e-2,
    rtol: float = RTOL,
    on_run: Callable[[Run], None] | None = None,
    **options: Any,
) -> AtomConvergence:
    r"""Solve on a ladder of grids, and say which digits of the atoms hold.

    Positions and masses at ``t_end``, and the times of merges, are followed from grid to
    grid: the atoms of each grid are matched with those of the finest one (optimal assignment
    by distance and mass).  From differences and observed orders
    (:mod:`mfpde.studies.quantity`) each quantity is said to have converged, with its
    digits, or not to have.

    Parameters
    ----------
    equation
        The equation, without diffusion.
    start
        A function of points (..., d), or a density on any circle or sphere, which is
        interpolated to finer grids and evaluated on coarser ones.
    cells
        Two or more grids (three at least to judge anything), coarsest first: numbers of
        cells of circles (of rings of spheres if ``start`` is a density on one), or
        geometries.
    t_end
        End time.
    atoms
        ``"exact"``, or ``"grid"``: then merges are the times at which two basins become
        one, between two of 100 saves.
    particles
        Number of particles to compare with: weighted labels on the circle (by default four
        for each cell of the finest grid), quantised particles on the sphere (by default
        1000); half as many tell how far they can be trusted.  0 for none.
    smallest_mass
        Atoms, and merges of atoms, of less mass are left out.
    rtol
        As for :func:`mfpde.solve`; smaller by default, for orders in space to show.
    on_run
        Called with each finished run.
    options
        More arguments of :func:`mfpde.solve`: ``transport``, ``max_step``, ...

    Returns
    -------
    AtomConvergence
        Printed, tables and verdicts; ``write_csv``; :func:`mfpde.plot_convergence`.

    Raises
    ------
    ValueError
        Before any work, for grids that do not form a ladder, a start that fits none of
        them, an argument out of its range, or an equation with diffusion.
    """
    _check(equation, atoms, particles)
    starts = [start_on(start, grid) for grid in ladder(cells, start)]
    return convergence_of_starts(
        equation,
        starts,
        t_end=t_end,
        atoms=atoms,
        particles=particles,
        smallest_mass=smallest_mass,
        rtol=rtol,
        on_run=on_run,
        **options,
    )


def convergence_of_starts(
    equation: MeanFieldEquation,
    starts: Sequence[Density],
    *,
    t_end: float,
    atoms: Literal["exact", "grid"] = "exact",
    particles: int | None = None,
    smallest_mass: float = 1e-2,
    rtol: float = RTOL,
    on_run: Callable[[Run], None] | None = None,
    **options: Any,
) -> AtomConvergence:
    """Do as :func:`convergence_to_atoms`, from a start on each grid, coarsest first."""
    ladder([start.geometry for start in starts], None)
    _check(equation, atoms, particles)
    smallest_mass = real_number("smallest_mass", smallest_mass, above=0.0, at_most=1.0)
    t_end = real_number("t_end", t_end, above=0.0)
    times = np.array([t_end])
    if atoms == "grid":
        times = np.linspace(0.0, t_end, SAVES + 1)
        options = {"track": Concentration(smallest_mass=smallest_mass), **options}
    runs = []
    for start in starts:
        arguments = {"t_end": t_end, "save_at": times, "atoms": atoms, "rtol": rtol}
        runs.append(_run(equation, start, **arguments, **options))
        if on_run is not None:
            on_run(runs[-1])
    return _judged(
        equation,
        tuple(runs),
        starts[-1],
        particles=default_count(starts[-1]) if particles is None else particles,
        times=times,
        smallest_mass=smallest_mass,
        mode=atoms,
    )


def _check(equation: MeanFieldEquation, atoms: str, particles: int | None) -> None:
    choice("atoms", atoms, ("exact", "grid"))
    if particles is not None:
        whole_number("particles", particles, at_least=0)
    if equation.diffusion > 0:
        raise ValueError(
            f"diffusion = {equation.diffusion:g} dissolves atoms: there is nothing to study"
        )


def _run(equation: MeanFieldEquation, density: Density, **arguments: Any) -> Run:
    with warnings.catch_warnings():
        # The study's notes tell which grids are too coarse; some are so on purpose.
        warnings.filterwarnings("ignore", message="the grid is coarse")
        return solve(equation, density, **arguments)


def _judged(
    equation: MeanFieldEquation,
    runs: tuple[Run, ...],
    finest: Density,
    *,
    particles: int,
    times: FloatArray,
    smallest_mass: float,
    mode: str,
) -> AtomConvergence:
    seen = [_seen(run, equation, smallest_mass) for run in runs]
    witnesses, notes = _witnesses(
        equation, finest, particles, times=times, smallest_mass=smallest_mass
    )
    polished, why_not = polished_reference(equation, seen[-1].atoms)
    notes = [
        *_notes_on_grids(equation, runs),
        *notes,
        *([] if why_not is None else [why_not]),
    ]
    if witnesses:
        notes += _notes_on_particles(witnesses[0], seen[-1], mode)
    grids = tuple(as_measure(run.final).geometry for run in runs)
    return AtomConvergence(
        equation=equation,
        mode=mode,
        grids=grids,
        runs=runs,
        quantities=quantities_of(
            seen,
            np.array([grid.spacing for grid in grids]),
            reach=2 * ball_radius(equation),
            witnesses=[Seen(w.atoms, w.merges) for w in witnesses],
            grain=1 / max(particles, 1),
            polished=None if polished is None else polished.atoms,
        ),
        particles=witnesses[0].run if witnesses else None,
        polished=polished,
        notes=tuple(notes),
    )


def _seen(run: Run, equation: MeanFieldEquation, smallest_mass: float) -> Seen:
    return Seen(
        final_atoms(run.final, equation, smallest_mass), merges_of(run, smallest_mass)
    )


def _witnesses(
    equation: MeanFieldEquation,
    finest: Density,
    count: int,
    *,
    times: FloatArray,
    smallest_mass: float,
) -> tuple[list[ParticleReference], list[str]]:
    """The particles and half as many; labels cannot be fewer than the cells."""
    if count == 0:
        return [], []
    counts = [count, count // 2]
    geometry = finest.geometry
    if isinstance(geometry, Circle):
        counts = [n for n in counts if n >= geometry.num_cells]
        if not counts:
            return [], [f"{count} labels are fewer than the {geometry.num_cells} cells"]
    found = [
        particle_reference(
            equation, finest, n, saves=times, smallest_mass=smallest_mass
        )
        for n in counts
    ]
    return found, []


def _notes_on_particles(
    particles: ParticleReference, finest: Seen, mode: str
) -> list[str]:
    notes = []
    if mode == "exact" and len(finest.merges.times):
        notes.append(
            "particles tell no merge times of exact atoms: theirs are of basins"
        )
    shown, wanted = len(particles.atoms), len(finest.atoms)
    if shown != wanted:
        notes.append(
            f"particles show {shown} atoms, the finest grid {wanted}; particles in one "
            "basin are one atom, exact atoms stay two until they meet"
        )
    return notes


def _notes_on_grids(equation: MeanFieldEquation, runs: tuple[Run, ...]) -> list[str]:
    notes = []
    for run in runs:
        geometry = as_measure(run.final).geometry
        message = coarseness(equation, geometry)
        if message is not None:
            notes.append(message)
        if run.stop.kind != "t_end":
            notes.append(f"on {geometry!r}: {run.reason}")
    return notes
