"""The same run on a ladder of grids: how far its atoms depend on the grid."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from mfpde.arrays import LARGEST_COUNT, choice, real_number, whole_number
from mfpde.atoms import coarseness
from mfpde.detection import ball_radius
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.measure import Density, as_measure
from mfpde.runs.run import Run
from mfpde.solver.solve import solve
from mfpde.studies.final_atoms import Seen, seen_in
from mfpde.studies.quantity import quantities_of
from mfpde.studies.references import (
    StudyStart,
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
    start: StudyStart,
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

    Begin with
    ``convergence_to_atoms(equation, lambda x: 2 + x[..., 0], cells=[128, 256, 512], t_end=5.0)``.

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
        with warnings.catch_warnings():
            # The study's notes tell which grids are too coarse; some are so on purpose.
            warnings.filterwarnings("ignore", message="the grid is coarse")
            run = solve(
                equation,
                start,
                t_end=t_end,
                save_at=times,
                atoms=atoms,
                rtol=rtol,
                **options,
            )
        runs.append(run)
        if on_run is not None:
            on_run(run)
    seen = [seen_in(run, equation, smallest_mass) for run in runs]
    count = default_count(starts[-1]) if particles is None else particles
    counts = _counts(count, starts[-1])
    witnesses = [
        particle_reference(
            equation, starts[-1], n, saves=times, smallest_mass=smallest_mass
        )
        for n in counts
    ]
    polished = polished_reference(equation, seen[-1].atoms)
    notes = _notes_on_grids(equation, runs)
    if count and not counts:
        cells = starts[-1].geometry.shape[0]
        notes.append(f"{count} labels are fewer than the {cells} cells")
    if isinstance(polished, str):
        notes.append(polished)
    if witnesses:
        notes += _notes_on_particles(witnesses[0], seen[-1], atoms)
    grids = tuple(as_measure(run.final).geometry for run in runs)
    at_rest = None if isinstance(polished, str) else polished
    return AtomConvergence(
        equation=equation,
        mode=atoms,
        grids=grids,
        runs=tuple(runs),
        quantities=quantities_of(
            seen,
            np.array([grid.spacing for grid in grids]),
            reach=2 * ball_radius(equation),
            witnesses=witnesses,
            grain=1 / max(count, 1),
            polished=None if at_rest is None else at_rest.atoms,
        ),
        particles=witnesses[0].run if witnesses else None,
        polished=at_rest,
        notes=tuple(notes),
    )


def _check(equation: MeanFieldEquation, atoms: str, particles: int | None) -> None:
    choice("atoms", atoms, ("exact", "grid"))
    if particles is not None:
        whole_number("particles", particles, at_least=0, at_most=LARGEST_COUNT)
    if equation.diffusion > 0:
        raise ValueError(
            f"diffusion = {equation.diffusion:g} dissolves atoms: there is nothing to study"
        )


def _counts(count: int, finest: Density) -> list[int]:
    """Numbers of particles: all and half of them; labels cannot be fewer than the cells."""
    if count == 0:
        return []
    least = finest.geometry.shape[0] if finest.dimension == 2 else 0
    return [n for n in (count, count // 2) if n >= least]


def _notes_on_particles(particles: Seen, finest: Seen, mode: str) -> list[str]:
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


def _notes_on_grids(equation: MeanFieldEquation, runs: Sequence[Run]) -> list[str]:
    notes = []
    for run in runs:
        geometry = as_measure(run.final).geometry
        message = coarseness(equation, geometry)
        if message is not None:
            notes.append(message)
        if run.stop.kind != "t_end":
            notes.append(f"on {geometry!r}: {run.reason}")
    return notes
