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

FEW_STARTS = 200
FEW_STEPS = 3
MANY_STEPS = 6
MANY_STARTS = 3000
APART = 0.02
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
    starts, near = FEW_STARTS, scan[:0]
    for _ in range(rounds):
        new = _below(pieces, state, (scan, tolerance), starts=(near, starts))
        near = new
        if len(new):
            state = with_inserted(pieces, state, new)
            starts = FEW_STARTS
        elif starts == MANY_STARTS:
            return state, True
        else:
            starts = MANY_STARTS
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
    pieces: PointPieces,
    state: State,
    search: tuple[FloatArray, float],
    *,
    starts: tuple[FloatArray, int],
) -> FloatArray:
    """Minima of F below its level, from given points and the lowest of the scan."""
    scan, tolerance = search
    field = AtomicField(pieces.equation, *state)
    level = float(state[1] @ field.values(state[0])) - tolerance
    values = field.values(scan)
    near, count = starts
    lowest = np.argsort(values, kind="stable")[:count]
    begin = np.concatenate([near, scan[lowest]])
    steps = MANY_STEPS if count == MANY_STARTS else FEW_STEPS
    points = polished(field, begin, steps=steps)
    chosen = lowest_apart(
        points, field.values(points), (level, APART * pieces.width), most=len(begin)
    )
    return np.asarray(points[chosen])
