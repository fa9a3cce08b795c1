"""The same run on a ladder of grids: how far its atoms depend on the grid."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from mfpde.arrays import (
    LARGEST_COUNT,
    FloatArray,
    choice,
    real_number,
    whole_number,
)
from mfpde.atoms import coarseness
from mfpde.detection import ball_radius
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.measure import Atoms, Density, as_measure
from mfpde.particles import solve_particles
from mfpde.runs.run import Run
from mfpde.solver.solve import solve
from mfpde.stationary import PolishedAtoms, polish
from mfpde.studies.ladder import StudyStart, build_ladder, start_on
from mfpde.studies.landmarks import Landmarks, find_final_atoms, find_merges
from mfpde.studies.quantity import compare_grids
from mfpde.studies.result import AtomConvergence
from mfpde.tracking import Concentration

SAVES = 100
LABELS_PER_CELL = 4
SPHERE_PARTICLES = 1000
LABEL_TOLERANCES: dict[str, Any] = {"rtol": 1e-8, "atol": 1e-10}
"""Labels on the circle are as accurate as they are asked to be, particles are not."""


def convergence_to_atoms(
    equation: MeanFieldEquation,
    start: StudyStart,
    *,
    cells: Sequence[int | Geometry],
    t_end: float,
    atoms: Literal["exact", "grid"] = "exact",
    particles: int | None = None,
    smallest_mass: float = 1e-2,
    rtol: float = 1e-5,
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
        interpolated to finer grids and evaluated on coarser ones; one that is too rough for
        these is smoothed there, and a note says so.
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
        1000).  0 for none.  Those in one basin are one atom, while exact atoms stay two until
        they meet.
    smallest_mass
        Atoms, and merges of atoms, of less mass are left out.
    rtol
        As for :func:`mfpde.solve`; smaller by default, for orders in space to show.
    options
        More arguments of :func:`mfpde.solve`: ``transport``, ``max_step``, ...

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
    choice("atoms", atoms, ("exact", "grid"))
    if particles is not None:
        whole_number("particles", particles, at_least=0, at_most=LARGEST_COUNT)
    if equation.diffusion > 0:
        raise ValueError(
            f"diffusion = {equation.diffusion:g} dissolves atoms: there is nothing to study"
        )
    grids = build_ladder(cells, start)
    starts, notes = zip(*(start_on(start, grid) for grid in grids), strict=True)
    smallest_mass = real_number("smallest_mass", smallest_mass, above=0.0, at_most=1.0)
    times = np.array([real_number("t_end", t_end, above=0.0)])
    if atoms == "grid":
        times = np.linspace(0.0, t_end, SAVES + 1)
        options = {"track": Concentration(smallest_mass=smallest_mass), **options}
    options |= {"save_at": times, "atoms": atoms, "rtol": rtol}
    with warnings.catch_warnings():
        # The study's notes tell which grids are too coarse; some are so on purpose.
        warnings.filterwarnings("ignore", message="the grid is coarse")
        runs = [solve(equation, one, t_end=t_end, **options) for one in starts]
    witness = _run_particles(equation, starts[-1], particles, times)
    atoms_of_witness = merges_of_witness = None
    if witness is not None:
        atoms_of_witness = find_final_atoms(witness.final, equation, smallest_mass)
    if witness is not None and atoms == "grid":
        # Particles show merges of basins, not of exact atoms.
        witness = witness.tracked(Concentration(smallest_mass=smallest_mass))
        merges_of_witness = find_merges(witness, smallest_mass)
    final = [find_final_atoms(run.final, equation, smallest_mass) for run in runs]
    merges = [find_merges(run, smallest_mass) for run in runs]
    polished, reason = _polish_atoms(equation, final[-1])
    compare = partial(
        compare_grids,
        spacings=np.array([grid.spacing for grid in grids]),
        reach=2 * ball_radius(equation),
    )
    quantities = compare(
        final,
        particles=atoms_of_witness,
        polished=None if polished is None else polished.atoms.points,
    )
    if any(map(len, merges)):
        quantities += compare(merges, particles=merges_of_witness)
    return AtomConvergence(
        equation=equation,
        mode=atoms,
        grids=grids,
        runs=tuple(runs),
        quantities=tuple(quantities),
        particles=witness,
        polished=polished,
        notes=tuple(filter(None, [*notes, *_note_grids(equation, runs), reason])),
    )


def _run_particles(
    equation: MeanFieldEquation, start: Density, count: int | None, saves: FloatArray
) -> Run | None:
    """Run labels on the circle, quantised particles on the sphere; None for too few.

    There is a label in each cell at least.
    """
    on_circle, cells = start.dimension == 2, start.geometry.shape[0]
    if count is None:
        count = LABELS_PER_CELL * cells if on_circle else SPHERE_PARTICLES
    if count < (cells if on_circle else 1):
        return None
    return solve_particles(
        equation,
        start,
        t_end=float(saves[-1]),
        save_at=saves,
        method="labels" if on_circle else "auto",
        count=count,
        **(LABEL_TOLERANCES if on_circle else {}),
    )


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
