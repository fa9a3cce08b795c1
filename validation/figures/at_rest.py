"""Whether atoms on the circle rest, and are stable: by ``validation.independent`` alone.

A state of atoms at angles t_i, of masses m_i, rests if v(t_i) = s F'(t_i) = 0.  It is of
second order if no motion of whole atoms grows: the eigenvalues of -dv_i/dt_j, those of the
Hessian of E in L^2(mu), are >= 0.  No part of an atom leaves it if -s F''(t_i) >= 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde.measures.measure import AnyMeasure
from validation.independent import (
    Problem,
    cells_of,
    energy,
    first_variation,
    gradient,
    problem_of,
)

Array = NDArray[np.float64]

STEP = 1e-5
"""Of differences, in radians: their rounding is 1e-11, their error STEP^2."""
FINE = 100_000


def points_at(angles: Array) -> Array:
    """Points (n, 2) at angles (n,)."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def _velocities(problem: Problem, sources: Array, masses: Array, *, at: Array) -> Array:
    """Velocities s F' at angles, of atoms at angles ``sources``."""
    across = np.stack([-np.sin(at), np.cos(at)], axis=-1)
    pulls = gradient(problem, points_at(sources), masses, at=points_at(at))
    return np.asarray(problem.sign * (pulls * across).sum(axis=-1))


def _angles_and_masses(atoms: mfpde.Atoms) -> tuple[Array, Array]:
    angles = np.arctan2(atoms.points[:, 1], atoms.points[:, 0])
    return np.asarray(angles), np.asarray(atoms.masses)


def largest_speed(equation: mfpde.MeanFieldEquation, atoms: mfpde.Atoms) -> float:
    """Largest |grad F| at the atoms."""
    angles, masses = _angles_and_masses(atoms)
    speeds = _velocities(problem_of(equation), angles, masses, at=angles)
    return float(np.abs(speeds).max())


def least_shift_rate(equation: mfpde.MeanFieldEquation, atoms: mfpde.Atoms) -> float:
    """Smallest rate at which a motion of whole atoms dies out; of second order: >= 0."""
    problem = problem_of(equation)
    angles, masses = _angles_and_masses(atoms)
    columns = []
    for j in range(len(angles)):
        there, back = angles.copy(), angles.copy()
        there[j] += STEP
        back[j] -= STEP
        change = _velocities(problem, there, masses, at=there) - _velocities(
            problem, back, masses, at=back
        )
        columns.append(change / (2 * STEP))
    return float(np.linalg.eigvals(-np.stack(columns, axis=1)).real.min())


def least_split_rate(equation: mfpde.MeanFieldEquation, atoms: mfpde.Atoms) -> float:
    """Smallest rate at which what leaves an atom returns to it, min of -s F''(t_i)."""
    problem = problem_of(equation)
    angles, masses = _angles_and_masses(atoms)
    there, back = (
        _velocities(problem, angles, masses, at=angles + side) for side in (STEP, -STEP)
    )
    return float(((back - there) / (2 * STEP)).min())


def levels(equation: mfpde.MeanFieldEquation, atoms: mfpde.Atoms) -> Array:
    """F at the atoms: all the same at a minimiser."""
    points, masses = atoms.points, atoms.masses
    return first_variation(problem_of(equation), points, masses, at=points)


def independent_energy(equation: mfpde.MeanFieldEquation, measure: AnyMeasure) -> float:
    """E of a measure, its cells at their centres."""
    return energy(problem_of(equation), *cells_of(measure))


def duality_gap(equation: mfpde.MeanFieldEquation, measure: AnyMeasure) -> float:
    """int F dmu - min F over 100000 angles and the measure's own points.

    A minimiser has 0: E is convex, and E(mu) - E(nu) <= int F dmu - min F for all nu.
    """
    problem = problem_of(equation)
    points, masses = cells_of(measure)
    fine = points_at(2 * np.pi * np.arange(FINE) / FINE)
    own = first_variation(problem, points, masses, at=points)
    field = first_variation(problem, points, masses, at=fine)
    return float(own @ masses - min(field.min(), own.min()))
