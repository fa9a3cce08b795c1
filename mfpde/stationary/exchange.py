r"""Best masses on more and more points where F is lowest: the exchange method.

1. From the lowest points of a scan Newton's method goes to local minima of F; those below
   the mean of F come in.
2. The best masses on all points are found; points without mass go out.

This is the fully corrective Frank-Wolfe method.  Nothing moves and nothing is united, so
that it does not matter how badly the system of positions and masses is conditioned: where V
is smooth and weak, F is flat to 1e-9 over much of the sphere and atoms cannot be told from
what they stand for, but the energy and the gap can.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.stationary.bounded_fields import AtomicField
from mfpde.stationary.joint_newton import State
from mfpde.stationary.local_minima import lowest_apart, polished
from mfpde.stationary.mass_program import best_masses

STARTS = 1000
KEPT = 150
STEPS = 3
MOST_STEPS = 6
STARTS_APART = 0.1
MOST_STARTS = 3000
APART = 0.3
LEAST_MASS = 1e-14


class PointPieces(Protocol):
    """Kernel and potential at points."""

    @property
    def equation(self) -> MeanFieldEquation:
        """The equation."""

    @property
    def width(self) -> float:
        """Width of the kernel."""

    def kernel(self, points: FloatArray, others: FloatArray) -> FloatArray:
        """Sum of K / beta between two sets of points."""

    def potential(self, points: FloatArray) -> FloatArray:
        """V at points."""


def exchanged(
    pieces: PointPieces,
    state: State,
    search: tuple[FloatArray, float],
    *,
    rounds: int,
) -> tuple[State, bool]:
    """Masses on points so that no minimum found from the scan is below their level.

    Parameters
    ----------
    pieces
        What the energy is made of.
    state
        Points (n, d) and masses (n,) to begin with.
    search
        Scan points (m, d), and how far below the level F may be.
    rounds
        Most rounds.

    Returns
    -------
    Points and masses, and whether there is no such minimum any more.
    """
    scan, tolerance = search
    near = scan[:0]
    for _ in range(rounds):
        field = AtomicField(pieces.equation, *state)
        level = float(state[1] @ field.values(state[0])) - tolerance
        near = _below(field, (scan, level), near)
        if not len(near):
            near = _all_below(field, scan, level)
        if not len(near):
            return state, True
        state = with_inserted(pieces, state, near)
    return state, False


def with_inserted(pieces: PointPieces, state: State, new: FloatArray) -> State:
    """Best masses on the points and the ``new`` ones; those without mass are left out."""
    points = np.concatenate([state[0], new])
    start = np.concatenate([state[1], np.zeros(len(new))])
    if not len(state[1]):
        start = np.ones(len(new))
    matrix = pieces.kernel(points, points)
    masses = best_masses(matrix, pieces.potential(points), start)
    kept = masses > LEAST_MASS
    return points[kept], masses[kept] / masses[kept].sum()


def _below(
    field: AtomicField, search: tuple[FloatArray, float], near: FloatArray
) -> FloatArray:
    """Minima of F below a level, from points ``near`` them and the lowest of the scan.

    One step of Newton's method tells which of many points lead somewhere else: where F is
    flat, minima lie in valleys that no point of the scan is the lowest of.
    """
    scan, level = search
    lowest = _lowest(field, scan, STARTS)
    begin = polished(field, lowest, steps=1)
    apart = STARTS_APART * field.width
    kept = lowest_apart(begin, field.values(begin), (np.inf, apart), most=KEPT)
    points = polished(field, np.concatenate([near, begin[kept]]), steps=STEPS)
    return _apart(field, points, level)


def _all_below(field: AtomicField, scan: FloatArray, level: float) -> FloatArray:
    """Minima of F below a level, from all low points of the scan."""
    points = polished(field, _lowest(field, scan, MOST_STARTS), steps=MOST_STEPS)
    return _apart(field, points, level)


def _lowest(field: AtomicField, scan: FloatArray, count: int) -> FloatArray:
    return scan[np.argsort(field.values(scan), kind="stable")[:count]]


def _apart(field: AtomicField, points: FloatArray, level: float) -> FloatArray:
    limits = level, APART * field.width
    chosen = lowest_apart(points, field.values(points), limits, most=len(points))
    return np.asarray(points[chosen])
