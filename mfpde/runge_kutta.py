r"""Runge-Kutta methods as tableaux, for masses, moments, labels and particles.

A step of length h from u with the slopes k_i = f(u + h sum_j a_ij k_j) ends at
u + h sum_i b_i k_i.  Where flows are composed, a method is weights of their exponentials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, read_only


class Tableau(NamedTuple):
    """The shares a_ij (stages, stages) of slopes in stages, and b_i (stages,) in the step."""

    stages: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]], weights: Sequence[float]) -> Tableau:
        """Return an explicit method, of which ``rows`` are the shares of stages 2, 3, ..."""
        stages = np.zeros((len(weights), len(weights)))
        for stage, row in enumerate(rows, start=1):
            stages[stage, :stage] = row
        return cls(read_only(stages), read_only(np.array(weights)))


CLASSICAL = Tableau.of(
    [[1 / 2], [0, 1 / 2], [0, 0, 1]], weights=[1 / 6, 1 / 3, 1 / 3, 1 / 6]
)
"""The classical method of order 4; Kutta (1901)."""

BUTCHER6 = Tableau.of(
    [
        [1 / 3],
        [0, 2 / 3],
        [1 / 12, 1 / 3, -1 / 12],
        [25 / 48, -55 / 24, 35 / 48, 15 / 8],
        [3 / 20, -11 / 24, -1 / 8, 1 / 2, 1 / 10],
        [-261 / 260, 33 / 13, 43 / 156, -118 / 39, 32 / 195, 80 / 39],
    ],
    weights=[13 / 200, 0, 11 / 40, 11 / 40, 4 / 25, 4 / 25, 13 / 200],
)
"""The method of order 6 with seven stages of Butcher (1964)."""

COMMUTATOR_FREE = read_only(
    np.array(
        [
            [[1 / 2, 0, 0, 0], [0, 0, 0, 0]],
            [[0, 1 / 2, 0, 0], [0, 0, 0, 0]],
            [[1 / 2, 0, 0, 0], [-1 / 2, 0, 1, 0]],
            [[1 / 4, 1 / 6, 1 / 6, -1 / 12], [-1 / 12, 1 / 6, 1 / 6, 1 / 4]],
        ]
    )
)
"""Weights of k_1..k_4 in both flows, in the order of time, that end in each stage; the flows
together are those of the classical method.  Celledoni, Marthinsen & Owren (2003)."""


def weigh_stages_until(share: float) -> FloatArray:
    """Weights (2, 4) of k_1..k_4 in the flows, in the order of time, of a ``share`` of a step.

    The velocity is the quadratic in time through k_1, (k_2 + k_3) / 2 and k_4; the flows are those
    of its values at the two Gauss points of the time so far, of order 4: Blanes & Moan (2006).
    """
    root = np.sqrt(3) / 6
    times = share * np.array([0.5 - root, 0.5 + root])
    middle = 2 * times * (1 - times)
    start, end = (1 - times) * (1 - 2 * times), times * (2 * times - 1)
    shares = np.array([[0.25 + root, 0.25 - root], [0.25 - root, 0.25 + root]])
    return np.asarray(share * shares @ np.stack([start, middle, middle, end], axis=1))


def find_slopes(
    tableau: Tableau, slope_at: Callable[[FloatArray], FloatArray], first: FloatArray
) -> list[FloatArray]:
    """Return the slopes k_i of a step of an explicit method.

    ``slope_at`` is f(u + h m) as a function of the mean slope m = sum_j a_ij k_j so far, and
    ``first`` is f(u).
    """
    slopes = [first]
    for shares in tableau.stages[1:]:
        slopes.append(slope_at(combine(shares, slopes)))
    return slopes


def combine(shares: FloatArray, slopes: Sequence[FloatArray]) -> FloatArray:
    """Return the sum of shares times slopes; shares of 0 are left out."""
    pairs = zip(shares, slopes, strict=False)
    return reduce(np.add, (share * slope for share, slope in pairs if share != 0.0))


def interpolate(
    ends: tuple[FloatArray, FloatArray],
    slopes: tuple[FloatArray, FloatArray],
    step: float,
    share: float,
) -> FloatArray:
    """Return Hermite's cubic a ``share`` of a ``step`` on, by values and slopes at both ends."""
    back, far = 1.0 - share, share * share * (3.0 - 2.0 * share)
    inside = share * back * step
    return (
        (1.0 - far) * ends[0]
        + far * ends[1]
        + inside * (back * slopes[0] - share * slopes[1])
    )
