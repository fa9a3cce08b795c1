r"""The atoms of a run at its end and its merges, and which are the same on another grid.

The centre of an atom is defined alike for grids, exact atoms and particles.  The centre x of
a core solves  sum_i m_i w(d(x, x_i)) log_x(x_i) = 0  with the window

    w(d) = cos^2(pi d / 2R)  for d < R,   0 beyond,   R = 2 ball_radius

(or half the distance to the next atom, if that is less), found by mean shift from the
position in the report.  The window is smooth, so that no cell enters or leaves it abruptly:
the quadrature error of cells is that of a smooth integrand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection import ball_radius, concentration
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import angles_between
from mfpde.measures.clouds import moments_about
from mfpde.measures.measure import AnyMeasure
from mfpde.measures.weighted_points import as_atoms
from mfpde.runs.run import Run
from mfpde.tracking.matching import MassesOfSaves, assign_pairs

_SHIFTS = 100
_AT_REST = 1e-13
NEAR_ROUNDING = 1e-12


def centre_near(
    start: FloatArray, points: FloatArray, masses: FloatArray, *, radius: float
) -> FloatArray:
    """Centre (d,) of the core at ``start``, with a window of ``radius``."""
    centre = np.array(start)
    for _ in range(_SHIFTS):
        chords = np.linalg.norm(points - centre, axis=1)
        near = chords < 2 * np.sin(radius / 2)
        angles = 2 * np.arcsin(chords[near] / 2)
        weights = masses[near] * np.cos(np.pi * angles / (2 * radius)) ** 2
        moved = moments_about(centre, np.ascontiguousarray(points[near]), weights)[1]
        shift = np.linalg.norm(moved - centre)
        centre = moved
        if shift < _AT_REST:
            break
    return centre


@dataclass(frozen=True, eq=False)
class Merges:
    """Merges of a run: times (k,), places (k, d), and masses (k,) of the merged atoms."""

    times: FloatArray
    points: FloatArray
    masses: FloatArray


@dataclass(frozen=True, eq=False)
class FinalAtoms:
    """Atoms that a measure holds or that form in it, heaviest basin first.

    ``points`` (n, d) are the centres, ``masses`` (n,) those of the basins, and ``core_masses``
    (n,) the parts of these that are in the cores.
    """

    points: FloatArray
    masses: FloatArray
    core_masses: FloatArray

    def __len__(self) -> int:
        return len(self.masses)


@dataclass(frozen=True, eq=False)
class Seen:
    """A run with its atoms at the end, and its merges."""

    run: Run
    atoms: FinalAtoms
    merges: Merges


def seen_in(run: Run, equation: MeanFieldEquation, smallest_mass: float) -> Seen:
    """Find what a run shows of atoms that are heavy enough."""
    atoms = final_atoms(run.final, equation, smallest_mass)
    return Seen(run, atoms, merges_of(run, smallest_mass))


def final_atoms(
    measure: AnyMeasure, equation: MeanFieldEquation, smallest_mass: float
) -> FinalAtoms:
    """Find the atoms of a measure, and those forming, by :func:`mfpde.concentration`."""
    found = [
        region
        for region in concentration(measure, equation).clusters
        if region.mass >= smallest_mass
    ]
    if not found:
        return FinalAtoms(np.zeros((0, measure.dimension)), np.zeros(0), np.zeros(0))
    seen = np.array([region.position for region in found])
    # Windows are small enough to hold one atom each.
    apart = angles_between(seen, seen)
    np.fill_diagonal(apart, np.inf)
    radii = np.minimum(2 * ball_radius(equation), apart.min(axis=1) / 2)
    cells = as_atoms(measure)
    points, masses = cells.points, cells.masses
    centres = [
        centre_near(position, points, masses, radius=radius)
        for position, radius in zip(seen, radii, strict=True)
    ]
    return FinalAtoms(
        np.array(centres),
        np.array([region.mass for region in found]),
        np.array([region.core_mass for region in found]),
    )


def merges_of(run: Run, smallest_mass: float) -> Merges:
    """Merges of a run between atoms that are heavy enough, in their order.

    For particles and grids they are those of the track, for exact atoms the solver's own.
    """
    found = [
        event
        for event in run.events
        if event.kind == "merge" and np.sort(event.masses)[-2] >= smallest_mass
    ]
    means = [event.masses @ event.points for event in found]
    centres = np.array([mean / np.linalg.norm(mean) for mean in means])
    return Merges(
        np.array([event.time for event in found]),
        centres.reshape(-1, run.final.dimension),
        np.array([event.masses.sum() for event in found]),
    )


def matched(
    one: FinalAtoms | Merges, other: FinalAtoms | Merges, reach: float
) -> dict[int, int]:
    """Indices of ``one`` by those of ``other``: the assignment of least cost.

    Cost = distance / reach + |difference of masses| / their sum, none beyond ``reach``.
    ``reach`` is in radians.
    """
    apart = angles_between(other.points, one.points)
    # Distances by arc cosine are rounded.
    masses = MassesOfSaves(other.masses, one.masses)
    return assign_pairs(apart, masses, reach=reach + NEAR_ROUNDING)
