r"""Clusters of many equally heavy particles: what no closed form gives.

On S^2 attention with five random ReLU neurons from the uniform measure, on S^1 descent with
one ReLU, one GeLU or five ReLU neurons at beta = 25.  Particles follow their characteristics by
``mfpde.solve_particles`` from ``mfpde.quantized``, by Runge-Kutta steps of fixed size: at each
kink of a ReLU an adaptive method would stop.  On S^2 those that share a box of size MET become
one, at an error of order beta MET^2, so that late times cost little.

Masses of clusters are only as good as the particles' number: a particle beside a
separatrix ends on either side.  ``main`` prints how much they change with it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle
from mfpde.measures.measure import Atoms, uniform
from mfpde.measures.sampling import quantized
from mfpde.measures.wasserstein import wasserstein
from mfpde.particles import solve_particles
from mfpde.terms import Attention, Perceptron
from validation.references.graded_particles import lattice

Array = NDArray[np.float64]
Owners = NDArray[np.int64]

SPHERE_CASES = {
    "ascent": ("ascent", 8.0, False),
    "descent": ("descent", 8.0, False),
    "softmax": ("ascent", 8.0, True),
    "sharp softmax": ("ascent", 32.0, True),
}
CIRCLE_CASES = {
    "relu": ([0.5], "relu"),
    "gelu": ([-0.3], "gelu"),
    "five relu": (None, "relu"),
}
CIRCLE_AXIS = 0.7
MET = 3e-4
TIME_STEP = 0.1
EARLY = 50.0
HISTORY = (10.0, 20.0, 30.0, 40.0, 50.0, 100.0, 200.0)
LATE_TIME_STEP = 0.5
LINKED = 0.05
SMALLEST_CLUSTER = 1e-3


def sphere_equation(name: str) -> MeanFieldEquation:
    """Equation of a case of S^2, five neurons of seed 7."""
    direction, beta, softmax = SPHERE_CASES[name]
    return MeanFieldEquation(
        Attention(beta, normalized=softmax),
        Perceptron.random(5, 3, seed=7),
        direction=direction,
    )


def circle_equation(name: str) -> MeanFieldEquation:
    """Equation of a case of S^1, beta = 25, descent; one neuron points to the angle 0.7."""
    weights, activation = CIRCLE_CASES[name]
    if weights is None:
        neurons = Perceptron.random(5, 2, seed=7, activation=activation)
    else:
        axis = [[np.cos(CIRCLE_AXIS), np.sin(CIRCLE_AXIS)]]
        neurons = Perceptron(axis, weights, activation)
    return MeanFieldEquation(Attention(25.0), neurons, direction="descent")


def circle_particles(name: str, count: int = 8000, t_end: float = 400.0) -> Atoms:
    """Particles of a case of S^1 at ``t_end``, from the uniform measure."""
    atoms = quantized(uniform(Circle(256)), count)
    equation = circle_equation(name)
    atoms = _moved(equation, atoms, min(t_end, EARLY))
    if t_end > EARLY:
        atoms = _moved(equation, atoms, t_end - EARLY, time_step=LATE_TIME_STEP)
    return atoms


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters at one time, heaviest first.

    Attributes
    ----------
    time
        Time of the state.
    points, masses, radii
        Centres of mass (k, 3), masses and rms radii (k,) of the clusters.
    owners
        Index of the cluster of every particle of the start, -1 for stragglers (n,).
    """

    time: float
    points: Array
    masses: Array
    radii: Array
    owners: Owners

    def heirs(self, later: Clusters) -> list[int]:
        """Index in ``later`` of the cluster that most of each cluster has joined."""
        return [
            int(np.bincount(later.owners[self.owners == k] + 1).argmax()) - 1
            for k in range(len(self.masses))
        ]


def sphere_history(
    name: str, count: int = 5000, *, times: tuple[float, ...] = (20.0, 200.0)
) -> Iterator[Clusters]:
    """Yield the clusters at each of the increasing ``times``, from the uniform measure."""
    for time_, atoms, owners in sphere_states(name, lattice(count), times=times):
        yield found_clusters(time_, atoms, owners)


def sphere_states(
    name: str, start: Atoms, *, times: Sequence[float]
) -> Iterator[tuple[float, Atoms, Owners]]:
    """Yield time, particles, and the index among these of every particle of the start.

    The run stops at the increasing ``times``, and at every whole time, to let particles that
    have met become one.
    """
    equation = sphere_equation(name)
    atoms, owners = start, np.arange(len(start))
    stops = np.union1d(np.arange(1.0, times[-1]), times)
    now = 0.0
    for stop in stops.tolist():
        atoms = _moved(equation, atoms, stop - now)
        atoms, owners = _coalesced(atoms, owners)
        now = stop
        if stop in times:
            yield stop, atoms, owners


def _moved(
    equation: MeanFieldEquation,
    atoms: Atoms,
    duration: float,
    *,
    time_step: float = TIME_STEP,
) -> Atoms:
    run = solve_particles(equation, atoms, t_end=duration, time_step=time_step)
    assert isinstance(run.final, Atoms)
    return run.final


def _coalesced(atoms: Atoms, owners: Owners) -> tuple[Atoms, Owners]:
    """Join particles in the same box of size ``MET``, at their centre of mass."""
    boxes = np.floor(atoms.points / MET).astype(np.int64)
    _, group = np.unique(boxes, axis=0, return_inverse=True)
    masses = np.bincount(group, atoms.masses)
    return Atoms(_centres(atoms, group), masses), group[owners]


def _centres(atoms: Atoms, group: Owners) -> Array:
    """Unit vectors towards the centres of mass of groups 0, 1, ... (-1: none)."""
    some = group >= 0
    sums = np.stack(
        [np.bincount(group[some], (atoms.masses * x)[some]) for x in atoms.points.T],
        axis=1,
    )
    return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True))


def found_clusters(time: float, atoms: Atoms, owners: Owners) -> Clusters:
    """Single-linkage clusters: particles closer than ``LINKED`` belong together.

    Parameters
    ----------
    time
        Time of the state.
    atoms
        The particles, some of them joined.
    owners
        Index of the atom of every particle of the start (n,).
    """
    pairs = cKDTree(atoms.points).query_pairs(LINKED, output_type="ndarray")
    count = len(atoms)
    links = coo_array((np.ones(len(pairs)), pairs.T), shape=(count, count))
    _, group = connected_components(links, directed=False)
    masses = np.bincount(group, atoms.masses)
    order = np.argsort(-masses)
    order = order[masses[order] > SMALLEST_CLUSTER]
    rank = np.full(len(masses), -1)
    rank[order] = np.arange(len(order))
    group = rank[group]
    points = _centres(atoms, group)
    some = group >= 0
    squares = ((atoms.points[some] - points[group[some]]) ** 2).sum(axis=1)
    radii = np.bincount(group[some], atoms.masses[some] * squares) / masses[order]
    return Clusters(time, points, masses[order], np.sqrt(radii), group[owners])


def _shown(clusters: Clusters) -> str:
    parts = [
        f"{mass:.5f} ({x:+.4f} {y:+.4f} {z:+.4f}; {radius:.1e})"
        for mass, (x, y, z), radius in zip(
            clusters.masses, clusters.points, clusters.radii, strict=True
        )
    ]
    return f"t = {clusters.time:g}: {1 - clusters.masses.sum():.4f} left; " + ", ".join(
        parts
    )


def main(quick: bool = False) -> dict[str, float]:
    """Print clusters at growing numbers of particles; return the last changes of masses."""
    counts = (500, 1000) if quick else (2500, 5000)
    changes = {}
    for name in list(SPHERE_CASES)[: 1 if quick else None]:
        finals = []
        for count in counts:
            began = time.perf_counter()
            history = list(sphere_history(name, count, times=HISTORY))
            finals.append(history[-1].masses)
            print(f"{name}, {count} particles: {time.perf_counter() - began:.0f} s")
            for clusters in history:
                print("  " + _shown(clusters), flush=True)
            for one, other in pairwise(history):
                print(f"  t = {one.time:g} -> {other.time:g}: {one.heirs(other)}")
        changes[name] = _change(*finals[-2:])
    for name in CIRCLE_CASES:
        runs = [
            circle_particles(name, 2 * count, t_end=50.0 if quick else 400.0)
            for count in counts[:2]
        ]
        changes[name] = wasserstein(*runs)
        print(f"circle, {name}: W1 of {counts[0] * 2} to {counts[1] * 2} particles:")
        print(f"  {changes[name]:.2e}", flush=True)
    return changes


def _change(one: Array, other: Array) -> float:
    """Largest difference of sorted masses, missing ones taken as 0."""
    size = max(len(one), len(other))
    padded = [np.pad(m, (0, size - len(m))) for m in (one, other)]
    return float(np.abs(padded[0] - padded[1]).max())


if __name__ == "__main__":
    print(main())
