"""Merges that end plateaus of figures 3 and 8, through decades of time.

The density goes on with exact atoms from the last save of a figure; beside it the equation of
the clusters that the particles have then, by Radau's method and independent formulas.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import mfpde
from mfpde.runs.run import Run
from validation.claim import Quantity
from validation.figures.at_rest import points_at
from validation.figures.paper_runs import TURN, angles, spacing
from validation.figures.trajectories import Trajectories
from validation.independent import Problem, gradient, problem_of
from validation.threshold import threshold_clusters

Array = NDArray[np.float64]

ONE_CLUSTER = 0.05
"""Particles nearer than this to each other are one cluster at the last save."""
MET = 1e-2
"""Clusters this near have met.

To the 1e-6 rad at which exact atoms merge they need log(MET / 1e-6) / M more, some ten units of
time: nothing beside the times here.
"""
LAST = 1e8


def late_run(found: Trajectories) -> Run:
    """Go on from the last save with exact atoms."""
    begin = float(found.run.times[-1])
    return mfpde.solve(
        found.setting.equation,
        found.run.final,
        start_time=begin,
        t_end=LAST,
        save_at=np.geomspace(begin, LAST, 20),
        atoms="exact",
    )


def late_merge(found: Trajectories, late: Run) -> list[Quantity]:
    """The first merge, and how many atoms are left, beside the particles' clusters.

    Forces over the distance D are e^{-beta (1 - cos D)}: half a cell at either end changes
    the logarithm of the time by beta h at most.
    """
    beta, width = found.setting.beta, spacing(found.run)
    times, left = _merges_of_clusters(found)
    merges = [event.time for event in late.events if event.kind == "merge"]
    merge, expected = (found_[0] if found_ else np.inf for found_ in (merges, times))
    softmax = "softmax, " if found.setting.normalized else ""
    return [
        Quantity(
            f"{softmax}β = {beta:g}: time of the first merge (1e-6 rad) after "
            f"t = {found.run.times[-1]:g}",
            float(merge),
            float(expected),
            beta * width,
            relative=True,
            key=f"merge_{beta:g}",
            shows="condition",
        ),
        Quantity(
            f"{softmax}β = {beta:g}: atoms at t = {LAST:.0e}",
            float(len(late.final.atoms)),
            float(left),
            0.0,
            key=f"left_{beta:g}",
            shows="condition",
        ),
    ]


def _merges_of_clusters(found: Trajectories) -> tuple[list[float], int]:
    """Times at which clusters of the particles meet, and how many are left at the end."""
    clusters = threshold_clusters(found.few.final, ONE_CLUSTER)
    problem = problem_of(found.setting.equation)
    order = np.argsort(angles(clusters.points))
    places, masses = angles(clusters.points)[order], clusters.masses[order]
    time, merges = float(found.run.times[-1]), []
    while len(masses) > 1:
        meeting = _next_meeting(problem, places, masses, begin=time)
        if meeting is None:
            break
        time, places = meeting
        merges.append(time)
        places, masses = _nearest_two_as_one(places, masses)
    return merges, len(masses)


def _next_meeting(
    problem: Problem, places: Array, masses: Array, *, begin: float
) -> tuple[float, Array] | None:
    """When two clusters have met, and where all are then."""

    def velocity(_time: float, at: Array) -> Array:
        across = np.stack([-np.sin(at), np.cos(at)], axis=1)
        points = points_at(at)
        pulls = gradient(problem, points, masses, at=points)
        return np.asarray(problem.sign * (pulls * across).sum(axis=1))

    def nearest(_time: float, at: Array) -> float:
        return float(np.log(_gaps(at).min() / MET))

    nearest.terminal = True  # type: ignore[attr-defined]
    solution = solve_ivp(
        velocity,
        (begin, LAST),
        places,
        method="Radau",
        events=nearest,
        rtol=1e-8,
        atol=1e-12,
    )
    if not len(solution.t_events[0]):
        return None
    return float(solution.t_events[0][0]), solution.y_events[0][0]


def _gaps(places: Array) -> Array:
    """From each cluster to the next one around the circle."""
    return np.mod(np.roll(places, -1) - places, TURN)


def _nearest_two_as_one(places: Array, masses: Array) -> tuple[Array, Array]:
    """The two nearest clusters at their centre of mass."""
    first = int(np.argmin(_gaps(places)))
    second = (first + 1) % len(places)
    united = masses[first] + masses[second]
    centre = places[first] + _gaps(places)[first] * masses[second] / united
    rest = np.delete(np.arange(len(places)), [first, second])
    places = np.mod(np.append(places[rest], centre), TURN)
    masses = np.append(masses[rest], united)
    order = np.argsort(places)
    return places[order], masses[order]
