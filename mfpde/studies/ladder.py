r"""Matching of the atoms and merges of one grid with those of another.

The centre of an atom, defined alike for grids, exact atoms and particles.

The centre x of a core solves  sum_i m_i w(d(x, x_i)) log_x(x_i) = 0  with the window

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
from mfpde.measures.clouds import moments_about
from mfpde.measures.events import Event
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.runs.run import Run
from mfpde.tracking.flow import angles_between
from mfpde.tracking.matching import assigned

_SHIFTS = 100
_AT_REST = 1e-13


def weighted_points(measure: AnyMeasure) -> tuple[FloatArray, FloatArray]:
    """Points (n, d) and masses (n,) of all cells and atoms that hold mass."""
    if isinstance(measure, Atoms):
        return measure.points, measure.masses
    whole = as_measure(measure)
    cells = whole.geometry.points.reshape(-1, whole.dimension)
    masses = np.concatenate([whole.density.masses.ravel(), whole.atoms.masses])
    there = masses > 0
    return np.concatenate([cells, whole.atoms.points])[there], masses[there]


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


NEAR_ROUNDING = 1e-12


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
    points, masses = weighted_points(measure)
    centres = [
        centre_near(position, points, masses, radius=radius)
        for position, radius in zip(seen, _windows(seen, equation), strict=True)
    ]
    return FinalAtoms(
        np.array(centres),
        np.array([region.mass for region in found]),
        np.array([region.core_mass for region in found]),
    )


def _windows(points: FloatArray, equation: MeanFieldEquation) -> FloatArray:
    """Radii (n,) of windows about the points, small enough to hold one atom each."""
    apart = angles_between(points, points)
    np.fill_diagonal(apart, np.inf)
    return np.asarray(np.minimum(2 * ball_radius(equation), apart.min(axis=1) / 2))


def merges_of(run: Run, smallest_mass: float) -> Merges:
    """Merges of a run between atoms that are heavy enough, in their order.

    For particles and grids they are those of the track, for exact atoms the solver's own.
    """
    found = [
        event
        for event in run.events
        if event.kind == "merge" and np.sort(event.masses)[-2] >= smallest_mass
    ]
    dimension = run.final.dimension
    return Merges(
        np.array([event.time for event in found]),
        np.array([_centre(event) for event in found]).reshape(-1, dimension),
        np.array([event.masses.sum() for event in found]),
    )


def matched(
    one: tuple[FloatArray, FloatArray],
    other: tuple[FloatArray, FloatArray],
    reach: float,
) -> dict[int, int]:
    """Indices of ``one`` by those of ``other``: the assignment of least cost.

    Cost = distance / reach + |difference of masses| / their sum, none beyond ``reach``.

    Parameters
    ----------
    one, other
        Points (n, d) and masses (n,).
    reach
        Largest distance of a pair, in radians.
    """
    apart = angles_between(other[0], one[0])
    heavier = other[1][:, np.newaxis] + one[1]
    costs = apart / reach + np.abs(other[1][:, np.newaxis] - one[1]) / heavier
    # Distances by arc cosine are rounded.
    return assigned(np.where(apart <= reach + NEAR_ROUNDING, costs, np.inf))


def _centre(event: Event) -> FloatArray:
    mean = event.masses @ event.points
    return np.asarray(mean / np.linalg.norm(mean))
