"""Five ReLU neurons on the sphere: the tree of clusters, density against particles.

Attention at beta = 8 from the uniform measure, in ascent, with softmax, and in descent.
A density with exact atoms and particles are looked at through the same definition of a
cluster (``narrow_clusters``), at the same times and the same resolution: the same clusters
must form and merge.  At t = 20 and 200 the masses of the basins, and the places of the
clusters, are compared.

Particles beside a separatrix end on either side: of a lattice of n about n^(-3/4) of the
mass.  So the particles are followed twice, the second time with smaller ones where the basins
of the first run part (``graded_particles``); the difference is their own error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation.narrow_clusters import (
    Cluster,
    ClusterTree,
    cluster_tree,
    matched_events,
)
from validation.references.graded_particles import at_separatrices, graded, lattice
from validation.references.particle_clusters import (
    found_clusters,
    sphere_equation,
    sphere_states,
)

Array = NDArray[np.float64]

CASES = ("softmax", "ascent", "descent")
RESOLUTION = np.pi / 64
PARTS = 8
BASINS_AT = 20.0
COMPARED = (20.0, 200.0)
# Clusters form before t = 6.
EARLY = np.round(0.2 * np.arange(1, 31), 10)
LATER = np.array([7.0, 8.0, 10.0, 12.0, 15.0, 20.0, 30.0, 50.0, 100.0, 200.0])


@dataclass(frozen=True, eq=False)
class History:
    """A run as it is compared.

    Attributes
    ----------
    tree
        Its clusters.
    centres, masses
        Of the regions of ``mfpde.concentration`` at each compared time.
    """

    tree: ClusterTree
    centres: dict[float, Array]
    masses: dict[float, Array]

    @classmethod
    def of(
        cls, name: str, times: Sequence[float], states: Sequence[mfpde.Measure]
    ) -> History:
        """The tree and the basins of states at increasing times."""
        tree = cluster_tree(zip(times, states, strict=True), RESOLUTION)
        centres, masses = {}, {}
        for now, state in zip(times, states, strict=True):
            if now in COMPARED:
                report = mfpde.concentration(state, sphere_equation(name))
                centres[now] = np.stack([r.position for r in report.regions])
                masses[now] = np.array([r.mass for r in report.regions])
        return cls(tree, centres, masses)


def saves(t_end: float) -> list[float]:
    """Times at which trees are looked at."""
    times = np.concatenate([EARLY, LATER])
    return times[times <= t_end].tolist()


def density_run(name: str, nlat: int, t_end: float) -> tuple[mfpde.Run, History]:
    """The density with exact atoms."""
    times = saves(t_end)
    run = mfpde.solve(
        sphere_equation(name),
        mfpde.uniform(mfpde.Sphere(nlat)),
        t_end=t_end,
        save_at=times,
        atoms="exact",
    )
    wanted = np.isin(run.times, times)
    states = [s for s, is_wanted in zip(run.states, wanted, strict=True) if is_wanted]
    return run, History.of(name, run.times[wanted].tolist(), states)


def particle_runs(name: str, count: int, t_end: float) -> tuple[History, mfpde.Atoms]:
    """A lattice of particles, and the same with smaller ones where its basins part."""
    times = saves(t_end)
    start = lattice(count)
    states = list(sphere_states(name, start, times=times))
    now, atoms, owners = next(s for s in states if s[0] == BASINS_AT)
    ended = found_clusters(now, atoms, owners).owners
    smaller = graded(start, at_separatrices(start, ended), PARTS)
    return History.of(name, times, [s[1] for s in states]), smaller


def graded_run(name: str, start: mfpde.Atoms, t_end: float) -> History:
    """Particles from ``start``."""
    times = saves(t_end)
    states = [atoms for _, atoms, _ in sphere_states(name, start, times=times)]
    return History.of(name, times, states)


# --- comparisons ------------------------------------------------------------------------


def largest_differences(one: History, other: History, at: float) -> tuple[float, float]:
    """Largest difference of masses, and of places (radians), of the regions at a time.

    Regions of the second that are lighter than any of the first count for nothing; both are
    infinite where the first has a region more.
    """
    if len(one.masses[at]) > len(other.masses[at]):
        return np.inf, np.inf
    cosines = one.centres[at] @ other.centres[at].T
    nearest = np.argmax(cosines, axis=1)
    mass = np.abs(one.masses[at] - other.masses[at][nearest]).max()
    apart = np.linalg.norm(one.centres[at] - other.centres[at][nearest], axis=1)
    return float(mass), float(apart.max())


def compared_trees(one: History, other: History) -> dict[str, float]:
    """Whether the trees differ, and how far their births and merges are apart in time."""
    pairs = matched_events(one.tree, other.tree)
    if pairs is None:
        print(f"  DIFFERENT TREES: {_shown(one.tree)} | {_shown(other.tree)}")
        return {"trees_differ": 1.0, "births_apart": np.inf, "merges_apart": np.inf}
    apart = {"births": 0.0, "merges": 0.0}
    for ours, theirs in pairs:
        kind = "merges" if ours.parents else "births"
        apart[kind] = max(apart[kind], abs(ours.begins - theirs.begins))
        print(f"  {_event(ours)} | {_event(theirs)}")
    return {"trees_differ": 0.0} | {f"{k}_apart": value for k, value in apart.items()}


def _event(cluster: Cluster) -> str:
    x, y, z = cluster.centres[0]
    core = f"t = {cluster.begins:g} at ({x:+.3f} {y:+.3f} {z:+.3f})"
    if not cluster.parents:
        return f"birth {core}, core {cluster.masses[0]:.4f}"
    return f"merge {core} of {' and '.join(_leaves(p) for p in cluster.parents)}"


def _leaves(cluster: Cluster) -> str:
    return "+".join(str(k) for k in sorted(cluster.leaves))


def _shown(tree: ClusterTree) -> str:
    return "; ".join(_event(cluster) for cluster in tree.clusters)


def compare(
    name: str, dense: History, particles: dict[str, History]
) -> dict[str, float]:
    """Print and return how far the density is from each run of particles."""
    found: dict[str, float] = {}
    for label, history in particles.items():
        print(f"  density | particles, {label}", flush=True)
        key = f"{name}_{label}"
        trees = compared_trees(dense, history)
        found |= {f"{key}_{what}": value for what, value in trees.items()}
        for at in dense.masses:
            mass, place = largest_differences(dense, history, at)
            held = [
                " ".join(f"{m:.5f}" for m in h.masses[at]) for h in (dense, history)
            ]
            print(
                f"  t = {at:g}: basins {held[0]} | {held[1]}: masses {mass:.1e}, places "
                f"{place:.1e} apart"
            )
            found |= {f"{key}_mass_{at:g}": mass, f"{key}_place_{at:g}": place}
    return found


def spurious_births(run: mfpde.Run, dense: History, at: float) -> int:
    """Births of exact atoms beyond one for each region at a time: atoms that merged again."""
    births = [e for e in run.events if e.kind == "birth" and e.time <= at]
    return len(births) - len(dense.masses[at])


def own_error(count: int) -> float:
    """Mass that a lattice of so many particles can leave on the wrong side, roughly."""
    return float(count**-0.75)


def main(quick: bool = False) -> dict[str, float]:
    nlat, count, t_end = (96, 800, 20.0) if quick else (128, 5000, 200.0)
    found = {"own_error": own_error(count)}
    for name in CASES[:1] if quick else CASES:
        run, dense = density_run(name, nlat, t_end)
        print(f"{name}, {nlat} rings, {run.statistics['wall_seconds']:.0f} s: ", end="")
        print("; ".join(str(event) for event in run.events))
        found[f"{name}_spurious"] = spurious_births(run, dense, COMPARED[0])
        began = time.perf_counter()
        plain, start = particle_runs(name, count, t_end)
        fine = graded_run(name, start, t_end)
        seconds = time.perf_counter() - began
        print(f"  {count} particles, graded {len(start)}: {seconds:.0f} s")
        found |= compare(name, dense, {"plain": plain, "graded": fine})
        for at in plain.masses:
            own, _ = largest_differences(fine, plain, at)
            print(f"  t = {at:g}: graded against plain particles {own:.1e}")
            found[f"{name}_particles_own_{at:g}"] = own
    return found


if __name__ == "__main__":
    print(main(quick="quick" in sys.argv))
