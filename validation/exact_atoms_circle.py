r"""Exact atoms on the circle: sliding, meeting, five clusters, and ReLU atoms in descent.

``sliding``: an atom in the potential eps cos(theta) follows
tan(theta/2) = tan(theta_0/2) e^{-eps t} whatever beta is: it feels no force of its own.

``meeting``: two atoms merge when the closed form of ``references.two_atoms`` says.

``five_clusters``: merge times up to 4e12 from a smooth start.

``descent``: beta = 25 from uniform with one neuron, T = 400, against particles.  One atom
forms within a cell of the ReLU's kink.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation.references import five_clusters as five
from validation.references import particle_clusters
from validation.references.two_atoms import merge_time

Array = NDArray[np.float64]

# ``python -m validation.references.five_clusters`` prints them, converged to 1e-9.
MERGE_TIMES = np.array([1.1585027647e6, 1.6008053482e6, 3.7766932737e12])


def angles_of(points: Array) -> Array:
    """Angles of points (n, 2)."""
    return np.asarray(np.arctan2(points[:, 1], points[:, 0]))


def points_at(angles: Array) -> Array:
    """Points (n, 2) at ``angles``."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def atoms_alone(angles: Array, masses: Array) -> mfpde.Measure:
    """Atoms beside an empty density."""
    circle = mfpde.Circle(512)
    atoms = mfpde.Atoms(points_at(angles), masses)
    return mfpde.Measure(mfpde.Density(circle, np.zeros(512)), atoms)


def sliding() -> float:
    """Largest distance of an atom from its exact path."""
    strength, t_end, begin = 0.1, 60.0, 2.5
    top = np.array([1.0, 0.0])
    potential = mfpde.Potential(
        lambda x: strength * x @ top,
        lambda x: strength * (top - (x @ top)[..., np.newaxis] * x),
    )
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(25.0), potential, direction="ascent"
    )
    start = atoms_alone(np.array([begin]), np.ones(1))
    run = mfpde.solve(equation, start, t_end=t_end, atoms="exact")
    found = np.array([angles_of(state.atoms.points)[0] for state in run.states])
    exact = 2 * np.arctan(np.tan(begin / 2) * np.exp(-strength * run.times))
    return float(np.abs(found - exact).max())


def meeting() -> dict[str, float]:
    """Relative errors of the time at which two atoms become one."""
    errors = {}
    for softmax in (False, True):
        shares = (0.5, 0.5) if softmax else (0.7, 0.3)
        for beta, begin in ((8.0, 1.2), (25.0, 0.8), (25.0, 1.0)):
            equation = mfpde.MeanFieldEquation(
                mfpde.Attention(beta, normalized=softmax), direction="ascent"
            )
            start = atoms_alone(np.array([2.0, 2.0 + begin]), np.array(shares))
            near = merge_time(beta, start_angle=begin, end_angle=1e-6, softmax=softmax)
            run = mfpde.solve(equation, start, t_end=2 * near, atoms="exact")
            (event,) = run.events
            met = float(np.linalg.norm(event.points[0] - event.points[1]))
            exact = merge_time(beta, start_angle=begin, end_angle=met, softmax=softmax)
            name = f"meeting_beta_{beta:g}_{begin:g}" + ("_softmax" if softmax else "")
            errors[name] = abs(event.time / exact - 1)
    return errors


def merging(sizes: tuple[int, ...]) -> dict[str, float]:
    """Largest relative error of the three merge times, for each number of cells."""
    found = {}
    equation = mfpde.MeanFieldEquation(mfpde.Attention(five.BETA), direction="ascent")
    for num_cells in sizes:
        circle = mfpde.Circle(num_cells)
        start = mfpde.Density(circle, five.start_density(circle.angles)).normalized()
        run = mfpde.solve(
            equation,
            start,
            t_end=2 * MERGE_TIMES[-1],
            save_at=[2 * MERGE_TIMES[-1]],
            atoms="exact",
        )
        kinds = [event.kind for event in run.events]
        times = np.array([e.time for e in run.events if e.kind == "merge"])
        errors = times / MERGE_TIMES - 1 if len(times) == 3 else np.full(3, np.inf)
        print(
            f"five clusters, {num_cells} cells: "
            + " ".join(f"{error:+.1e}" for error in errors)
            + f"; {kinds.count('birth')} births, {kinds.count('fission')} fissions; "
            f"{run.statistics['steps']} steps, {run.statistics['wall_seconds']:.2f} s",
            flush=True,
        )
        found[f"five_clusters_{num_cells}"] = float(np.abs(errors).max())
        found[f"five_clusters_{num_cells}_seconds"] = run.statistics["wall_seconds"]
    return found


def descent(
    sizes: tuple[int, ...], names: tuple[str, ...] = ("relu", "gelu")
) -> dict[str, float]:
    """W1, and the largest differences of masses and positions, from particles at T = 400."""
    found = {}
    for name in names:
        equation = particle_clusters.circle_equation(name)
        particles = particle_clusters.circle_particles(name)
        truth = mfpde.concentration(particles, equation).clusters
        print(f"{name}, particles: {_shown(truth)}")
        for num_cells in sizes:
            run = mfpde.solve(
                equation,
                mfpde.uniform(mfpde.Circle(num_cells)),
                t_end=400.0,
                save_at=[400.0],
                atoms="exact",
            )
            far = mfpde.wasserstein(run.final, particles)
            atoms = mfpde.concentration(run.final, equation).clusters
            mass, place, unmatched = compared(truth, atoms)
            print(
                f"  {num_cells} cells: W1 {far:.2e}, masses {mass:.1e}, positions "
                f"{place:.1e}, {unmatched} more or less; {_shown(atoms)}; "
                f"exact {run.final.atoms.masses.round(5)} at "
                f"{np.mod(angles_of(run.final.atoms.points), 2 * np.pi).round(5)}; "
                f"births at {[f'{e.time:.4g}' for e in run.events]}",
                flush=True,
            )
            key = f"descent_{name}_{num_cells}"
            found |= {f"{key}_w1": far, f"{key}_mass": mass, f"{key}_place": place}
            found[f"{key}_unmatched"] = float(unmatched)
    return found


def compared(truth: tuple, atoms: tuple) -> tuple[float, float, int]:
    """Largest differences of mass and position of nearest atoms; how many have no partner."""
    mass = place = 0.0
    for atom in atoms:
        near = [float(np.linalg.norm(atom.position - t.position)) for t in truth]
        partner = int(np.argmin(near))
        mass = max(mass, abs(atom.mass - truth[partner].mass))
        place = max(place, near[partner])
    return mass, place, abs(len(truth) - len(atoms))


def _shown(atoms: tuple) -> str:
    return ", ".join(f"{atom.mass:.5f} at {float(atom.angle):.5f}" for atom in atoms)


def main(quick: bool = False) -> dict[str, float]:
    found = {"sliding": sliding(), **meeting()}
    print(found)
    sizes = (512,) if quick else (512, 1024, 2048)
    found |= merging(sizes)
    return {**found, **descent(sizes)}


if __name__ == "__main__":
    print(main(quick="quick" in sys.argv))
