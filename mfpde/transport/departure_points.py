"""Departure points of the faces of a line of cells under a flow in a given velocity.

They are found by Runge-Kutta steps of order 6 in a quintic interpolant of the velocity, which
is linear at kinks.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled, compiled_inside
from mfpde.runge_kutta import BUTCHER6

_GHOSTS = 2
# Largest difference of velocities at neighbouring faces, in cells per step of a trace: where
# the velocity is smooth departure points err by about 1e-6 cells at most.
_COMPRESSION_OF_A_STEP = 0.2
# Row k holds the shares of slopes in stage k, the last row those in the step.
_SHARES = np.concatenate([BUTCHER6.stages, [BUTCHER6.weights]])


@compiled_inside
def _smoothness(v: FloatArray, i: int) -> float:
    """Return 1 if the six values from v[i] on are smooth, 0 if there is a kink among them.

    The measure is the second difference of their second differences: in a wave it is (k h)^2
    times the second differences, at a kink at least as large as the largest of them.
    """
    a = v[i] - 2.0 * v[i + 1] + v[i + 2]
    b = v[i + 1] - 2.0 * v[i + 2] + v[i + 3]
    c = v[i + 2] - 2.0 * v[i + 3] + v[i + 4]
    d = v[i + 3] - 2.0 * v[i + 4] + v[i + 5]
    largest = max(max(abs(a), abs(b)), max(abs(c), abs(d)))
    change = max(abs(a - 2.0 * b + c), abs(b - 2.0 * c + d))
    return float(min(max(2.0 - 2.0 * change / max(largest, 1e-300), 0.0), 1.0))


@compiled_inside
def _interpolant(values: FloatArray) -> FloatArray:
    """Quintics through the six faces around each cell, (n, 6), from (n + 5,) face values.

    The coefficients are those of the even and the odd part about the cell's middle, each in
    Newton's form with nodes 1/4, 9/4 (and 25/4) of the squared distance.  The first of each
    part belongs to the linear interpolant, which is taken at kinks: there a quintic would
    make cells denser and thinner in turn.
    """
    n = len(values) - 1 - 2 * _GHOSTS
    result = np.empty((n, 6))
    for i in range(n):
        even1 = 0.5 * (values[i + 2] + values[i + 3])
        even2 = 0.5 * (values[i + 1] + values[i + 4])
        even3 = 0.5 * (values[i] + values[i + 5])
        odd1 = values[i + 3] - values[i + 2]
        odd2 = (values[i + 4] - values[i + 1]) * (1.0 / 3.0)
        odd3 = (values[i + 5] - values[i]) * 0.2
        share = _smoothness(values, i)
        result[i, 0] = even1
        result[i, 1] = share * 0.5 * (even2 - even1)
        result[i, 2] = share * (even3 - 3.0 * even2 + 2.0 * even1) * (1.0 / 24.0)
        result[i, 3] = odd1
        result[i, 4] = share * 0.5 * (odd2 - odd1)
        result[i, 5] = share * (odd3 - 3.0 * odd2 + 2.0 * odd1) * (1.0 / 24.0)
    return result


@compiled
def _trace(positions: FloatArray, velocity: FloatArray, periodic: bool) -> None:
    """Move ``positions`` (n + 1,) back for unit time in a velocity at the faces, (n + 5,)."""
    steepest = largest = 0.0
    for j in range(len(velocity) - 1):
        largest = max(largest, abs(velocity[j]))
        steepest = max(steepest, abs(velocity[j + 1] - velocity[j]))
    # With no velocity, or none that is a number, nothing moves.
    if not 0.0 < largest < np.inf:
        return
    pieces = _interpolant(velocity)
    count = max(int(np.ceil(steepest / _COMPRESSION_OF_A_STEP)), 1)
    lowest, highest = (-np.inf, np.inf) if periodic else (0.0, len(pieces) * 1.0)
    stage = np.empty(len(positions))
    slopes = np.empty((len(_SHARES), len(positions)))
    for _ in range(count):
        for k in range(len(_SHARES)):
            for j in range(len(positions)):
                stage[j] = positions[j]
            for i in range(k):
                share = _SHARES[k, i] / count
                if share != 0.0:
                    for j in range(len(positions)):
                        stage[j] -= share * slopes[i, j]
            if k < len(_SHARES) - 1:
                _fill_values(slopes[k], pieces, stage, lowest, highest)
        for j in range(len(positions)):
            positions[j] = stage[j]


@compiled_inside
def _fill_values(
    values: FloatArray,
    pieces: FloatArray,
    positions: FloatArray,
    lowest: float,
    highest: float,
) -> None:
    """Fill in the interpolated values at ``positions`` (m,), each independent of the last."""
    n = len(pieces)
    for j in range(len(positions)):
        position = positions[j]
        below = np.floor(position)
        i = int(below)
        if i < 0 or i >= n:
            position = min(max(position, lowest), highest)
            below = np.floor(position)
            i = int(below) % n
        u = position - below - 0.5
        square = u * u
        near = square - 0.25
        far = square - 2.25
        even = pieces[i, 0] + near * (pieces[i, 1] + far * pieces[i, 2])
        odd = pieces[i, 3] + near * (pieces[i, 4] + far * pieces[i, 5])
        values[j] = even + u * odd


def _extend(velocities: FloatArray, periodic: bool) -> FloatArray:
    """Velocities (flows, n + 5) with two ghost faces at each end; beyond a pole they are odd."""
    before, behind = velocities[:, -3:-1], velocities[:, 1:3]
    if not periodic:
        before, behind = -behind[:, ::-1], -before[:, ::-1]
    return np.concatenate([before, velocities, behind], axis=1)


def find_departure_points(
    velocities: FloatArray, weights: FloatArray, periodic: bool
) -> FloatArray:
    """Departure points X(0..n) of the faces under flows, (n + 1,) in cells from face 0.

    ``velocities`` (stages, n + 1) are in cells per unit time at the faces 0..n.  Each row of
    ``weights`` (flows, stages), in the order of time, is the flow of duration 1 in the velocity
    sum_s weights[s] velocities[s], traced backwards by as many Runge-Kutta steps as its
    compression asks for.  On a ``periodic`` line face n is face 0, else both do not move.
    """
    n = velocities.shape[1] - 1
    positions = np.arange(n + 1.0)
    for velocity in _extend(weights @ velocities, periodic)[::-1]:
        _trace(positions, velocity, periodic)
    positions[0] = positions[0] if periodic else 0.0
    positions[n] = positions[0] + n
    return positions
