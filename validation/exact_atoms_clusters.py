"""Exact atoms on the sphere against clusters of particles: five ReLU neurons, from uniform.

``references.particle_clusters`` follows the particles.  Compared are the atoms at t = 20 and
200: how many, their masses, and their centres in cells h = pi / nlat.  Masses of particles
change by up to 2e-3 from 2500 to 5000 of them; what parts slowly at a separatrix is in no
cluster and no atom yet.

The energy must move one way only, where it is a Lyapunov function.  That this check can
fail is shown by running the flow backwards.
"""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation.references.particle_clusters import (
    Clusters,
    sphere_equation,
    sphere_history,
)

Array = NDArray[np.float64]

CASES = ("ascent", "descent", "softmax", "sharp softmax")
TIMES = (20.0, 200.0)
SAVES = 100


def exact_run(name: str, nlat: int, *, backwards: bool = False) -> mfpde.Run:
    """The density run of a case with exact atoms; ``backwards`` turns the flow round."""
    equation = sphere_equation(name)
    if backwards:
        turned = "descent" if equation.direction == "ascent" else "ascent"
        equation = mfpde.MeanFieldEquation(*equation.terms, direction=turned)
    saves = np.union1d(np.linspace(0.0, TIMES[-1], SAVES + 1), TIMES)
    start = mfpde.uniform(mfpde.Sphere(nlat))
    return mfpde.solve(equation, start, t_end=TIMES[-1], save_at=saves, atoms="exact")


def wrong_energy_steps(name: str, run: mfpde.Run) -> tuple[int, float]:
    """Saves at which the energy moved the wrong way for case ``name``, and by how much."""
    changes = -sphere_equation(name).sign * np.diff(run.energies)
    wrong = changes > 1e-13 * np.abs(run.energies).max()
    return int(wrong.sum()), float(np.max(changes, initial=0.0, where=wrong))


def differences(
    atoms: mfpde.Atoms, clusters: Clusters, spacing: float
) -> tuple[int, float, float]:
    """Atoms without a cluster, largest difference of mass, and of centres in cells."""
    mass = centre = 0.0
    for point, weight in zip(clusters.points, clusters.masses, strict=True):
        if not len(atoms):
            return len(clusters.masses), np.inf, np.inf
        apart = np.linalg.norm(atoms.points - point, axis=1)
        nearest = int(np.argmin(apart))
        mass = max(mass, abs(float(atoms.masses[nearest] - weight)))
        centre = max(centre, float(apart[nearest]) / spacing)
    return len(atoms) - len(clusters.masses), mass, centre


def compare(name: str, run: mfpde.Run, history: list[Clusters]) -> dict[str, float]:
    """Print and return how far the atoms of a run are from the particles' clusters."""
    spacing = run.final.geometry.spacing
    found = {}
    for clusters in history:
        index = int(np.argmin(np.abs(run.times - clusters.time)))
        measure = run.states[index]
        more, mass, centre = differences(measure.atoms, clusters, spacing)
        held = " ".join(f"{m:.5f}" for m in measure.atoms.masses)
        print(
            f"  t = {clusters.time:g}: {more:+d} atoms, masses {mass:.1e}, centres "
            f"{centre:.3f} h; atoms {held}; on the grid {measure.density.total_mass:.1e}",
            flush=True,
        )
        key = f"{name}_{clusters.time:g}"
        found |= {f"{key}_more": more, f"{key}_mass": mass, f"{key}_centre": centre}
    return found


def tree(events: tuple[mfpde.Event, ...]) -> str:
    """Births and merges in words."""
    return "; ".join(str(event) for event in events)


def main(quick: bool = False) -> dict[str, float]:
    found: dict[str, float] = {}
    nlat, count = (64, 1000) if quick else (128, 5000)
    for name in CASES[:1] if quick else CASES:
        history = list(sphere_history(name, count, times=TIMES))
        run = exact_run(name, nlat)
        print(
            f"{name}, {nlat} rings: {run.statistics['steps']} steps; {tree(run.events)}"
        )
        for one, other in pairwise(history):
            print(
                f"  particles, t = {one.time:g} -> {other.time:g}: {one.heirs(other)}"
            )
        found |= compare(name, run, history)
        if sphere_equation(name).energy_is_lyapunov:
            steps, size = wrong_energy_steps(name, run)
            reversed_run = exact_run(name, nlat, backwards=True)
            caught, _ = wrong_energy_steps(name, reversed_run)
            print(
                f"  energy wrong at {steps} saves (by {size:.1e}); backwards at {caught} "
                f"of {len(reversed_run.times) - 1}"
            )
            found[f"{name}_energy_wrong"] = steps
            found[f"{name}_backwards_energy_wrong"] = caught
    return found


if __name__ == "__main__":
    print(main(quick="quick" in sys.argv))
