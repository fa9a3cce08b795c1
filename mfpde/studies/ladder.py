"""Matching of the atoms and merges of one grid with those of another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection import ball_radius, concentration
from mfpde.equation import MeanFieldEquation
from mfpde.measures.events import Event
from mfpde.measures.measure import AnyMeasure
from mfpde.runs.run import Run
from mfpde.studies.centres import centre_near, weighted_points
from mfpde.tracking.flow import angles_between
from mfpde.tracking.matching import assigned

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
