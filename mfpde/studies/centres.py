r"""The centre of an atom, defined alike for grids, exact atoms and particles.

The centre x of a core solves  sum_i m_i w(d(x, x_i)) log_x(x_i) = 0  with the window

    w(d) = cos^2(pi d / 2R)  for d < R,   0 beyond,   R = 2 ball_radius

(or half the distance to the next atom, if that is less), found by mean shift from the
position in the report.  The window is smooth, so that no cell enters or leaves it abruptly:
the quadrature error of cells is that of a smooth integrand.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.measures.clouds import moments_about
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure

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
