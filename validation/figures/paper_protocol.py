r"""The paper's own protocol, in numpy alone: Euler's method, its count and its stop rule.

The authors' code (repository antonioalvarezl/2026-MLP-Attention-Energy, by Antonio
Álvarez-López, Borjan Geshkovski and Domènec Ruiz-Balet) moves N = 1000 particles, drawn
uniformly (seed 42), by Euler steps of 0.1, and counts clusters of width
min(1/(2 sqrt beta), pi/(2 d)): by greedy windows on the circle, by single linkage on spheres.
It stops when five snapshots, ten steps apart, have the same number of clusters, no cluster is
wider than that distance, and no particle is faster than 1e-4.

Velocities are those of ``validation.independent``; ``mfpde`` is not imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from validation.characteristics import Cloud, equal_masses, euler_steps, linked
from validation.independent import Problem
from validation.kept import kept

Array = NDArray[np.float64]

PARTICLES: Final = 1000
START_SEED: Final = 42
TIME_STEP: Final = 0.1
SNAPSHOT: Final = 10
"""Steps between snapshots."""
UNCHANGED: Final = 5
STOP_SPEED: Final = 1e-4
LEAST_MASS: Final = 0.01
TURN: Final = 2 * np.pi


@dataclass(frozen=True, eq=False)
class PaperRun:
    """Where the paper's rule stopped (or where the run was given up), and other times.

    Parameters
    ----------
    end
        The state at the stop, or at the last time if the rule did not stop before.
    count
        The paper's number of clusters then.
    has_stopped
        Whether the stop rule held.
    seen
        States at the times asked for.
    distance
        Width of the clusters.
    """

    end: Cloud
    count: int
    has_stopped: bool
    seen: dict[float, Cloud]
    distance: float

    @property
    def heavy_count(self) -> int:
        """The same without clusters of less than 1 % of the mass."""
        groups = clusters(self.end.points, self.distance)
        return sum(self.end.masses[held].sum() >= LEAST_MASS for held in groups)


def cluster_distance(beta: float, dimension: int) -> float:
    """min(1/(2 sqrt beta), pi/(2 d)), the width of the paper's clusters."""
    return float(min(0.5 / np.sqrt(beta), np.pi / (2 * dimension)))


def uniform_points(count: int, dimension: int, seed: int = START_SEED) -> Array:
    """Points (n, d) drawn uniformly from the sphere."""
    drawn = np.random.default_rng(seed).standard_normal((count, dimension))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


@kept
def paper_run(
    problem: Problem,
    start: Array,
    *,
    give_up: float,
    see: tuple[float, ...] = (),
    time_step: float = TIME_STEP,
) -> PaperRun:
    """Move the particles ``start`` until the stop rule holds, or up to ``give_up``.

    Parameters
    ----------
    see
        Times at which to keep the state as well, multiples of ten steps; the run goes on
        to the last of them where it stops before.
    """
    distance = cluster_distance(problem.beta, start.shape[1])
    cloud = equal_masses(start)
    stopped: tuple[Cloud, int] | None = None
    seen: dict[float, Cloud] = {}
    last_seen = max(see, default=0.0)
    unchanged, count = 1, len(clusters(start, distance))
    for _ in range(round(give_up / (time_step * SNAPSHOT))):
        cloud, fastest = euler_steps(problem, cloud, time_step, count=SNAPSHOT)
        seen |= {t: cloud for t in see if abs(t - cloud.time) < time_step}
        if stopped is None:
            found = clusters(cloud.points, distance)
            unchanged = unchanged + 1 if len(found) == count else 1
            count = len(found)
            narrow = max(_spread(cloud.points[held]) for held in found) <= distance
            if unchanged >= UNCHANGED and narrow and fastest <= STOP_SPEED:
                stopped = cloud, count
        if stopped is not None and cloud.time >= last_seen:
            break
    end, count = stopped or (cloud, len(clusters(cloud.points, distance)))
    return PaperRun(end, count, stopped is not None, seen, distance)


def clusters(points: Array, distance: float) -> list[Array]:
    """Indices of the points of each cluster: windows on the circle, single linkage else."""
    if points.shape[1] == 2:
        return _windows(points, distance)
    return linked_groups(points, distance)


def linked_groups(points: Array, distance: float) -> list[Array]:
    """Indices of the points of each cluster, by single linkage at an angle."""
    owners = linked(points, distance)
    return [np.flatnonzero(owners == k) for k in range(owners.max() + 1)]


def _windows(points: Array, distance: float) -> list[Array]:
    """Behind the largest gap begins a window of this length, behind its end the next."""
    angles = np.mod(np.arctan2(points[:, 1], points[:, 0]), TURN)
    order = np.argsort(angles)
    ordered = angles[order]
    gaps = np.diff(ordered, append=ordered[0] + TURN)
    first = (int(np.argmax(gaps)) + 1) % len(ordered)
    order = np.roll(order, -first)
    along = np.mod(np.roll(ordered, -first) - ordered[first], TURN)
    found, begin = [], 0
    while begin < len(along):
        end = int(np.searchsorted(along, along[begin] + distance, side="right"))
        found.append(order[begin:end])
        begin = end
    return found


def _spread(points: Array) -> float:
    """Largest angle between a point and the first: no pairs, clusters may be the whole."""
    chords = np.linalg.norm(points - points[0], axis=1)
    return float(2 * np.arcsin(min(chords.max() / 2, 1.0)))
