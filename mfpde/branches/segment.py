"""One step along a branch, and where on it a function of the state crosses zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from mfpde.branches.arclength import Direction, Place, corrected, tangent
from mfpde.branches.atomic import AtomicProblem
from mfpde.branches.smooth import SmoothProblem

AnyProblem = AtomicProblem | SmoothProblem
Flags = NDArray[np.bool_]

RESOLUTION = 1e-13
CLOSEST = 1e-7
ZERO = 1e3


class LostBranchError(Exception):
    """Newton's method finds no point of the branch where there should be one."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Branch from ``start`` along ``direction``, to the distance ``length`` at ``end``."""

    problem: AnyProblem
    start: Place
    direction: Direction
    length: float
    end: Place

    def place(self, distance: float) -> Place:
        """Point of the branch at a distance.

        Raises
        ------
        LostBranchError
            If there is none.
        """
        if distance == 0.0:
            return self.start
        if distance == self.length:
            return self.end
        found = corrected(self.problem, self.start, (self.direction, distance))
        if found is None:
            raise LostBranchError
        return found

    def root(
        self,
        function: Callable[[Place], float],
        *,
        between: tuple[float, float] | None = None,
        share: float = RESOLUTION,
    ) -> float:
        """Distance where ``function`` of the place crosses zero, to a share of the length.

        Where it has one sign ``between`` two distances (by default all of the segment; it is
        zero to rounding at one of them) that one is returned.
        """
        low, high = (0.0, self.length) if between is None else between
        first, last = function(self.place(low)), function(self.place(high))
        if first * last > 0:
            return low if abs(first) < abs(last) else high
        return float(
            brentq(
                lambda s: function(self.place(s)),
                low,
                high,
                xtol=share * self.length,
                rtol=4 * np.finfo(float).eps,
            )
        )

    def cut(self, distance: float) -> Segment:
        """Return the part up to a distance."""
        return Segment(
            self.problem, self.start, self.direction, distance, self.place(distance)
        )


@dataclass(frozen=True, eq=False)
class Crossing:
    """A rate or the branch's direction changes its sign at ``distance``, ``place``."""

    distance: float
    place: Place
    kind: str
    index: int
    before: int
    after: int

    def dimension(self, problem: AnyProblem) -> int:
        """In how many independent directions rates are zero here: of that atom, for a split."""
        if self.kind == "fold":
            return 1
        rates = problem.rates(self.place)[self.kind]
        if self.kind == "split":
            own = np.arange(len(rates)) // _directions(problem)
            rates = rates[own == self.index // _directions(problem)]
        zero = np.abs(rates) <= ZERO * problem.rounding(self.place)
        return max(1, int(zero.sum()))


def crossings(segment: Segment) -> list[Crossing]:
    """All crossings on a segment, in its order; a fold stands for the mode that it turns."""
    problem, start, end = segment.problem, segment.start, segment.end
    before, after = problem.rates(start), problem.rates(end)
    rounding = max(problem.rounding(start), problem.rounding(end))
    found = []
    for kind, rates in before.items():
        unstable = rates > rounding, after[kind] > rounding
        for index in np.flatnonzero(unstable[0] != unstable[1]):
            found.append(_of_rate(segment, (kind, int(index)), unstable))
    fold = _fold(segment)
    if fold is not None:
        beside = [c for c in found if c.kind == "stability" and _same(c, fold, problem)]
        counts = (beside[0].before, beside[0].after) if beside else (0, 0)
        found = [c for c in found if c not in beside[:1]]
        found.append(
            Crossing(fold.distance, fold.place, "fold", 0, counts[0], counts[1])
        )
    return sorted(found, key=lambda crossing: crossing.distance)


def _same(one: Crossing, other: Crossing, problem: AnyProblem) -> bool:
    return abs(one.place.value - other.place.value) <= CLOSEST * problem.span


def _of_rate(
    segment: Segment, which: tuple[str, int], unstable: tuple[Flags, Flags]
) -> Crossing:
    kind, index = which
    problem = segment.problem
    distance = segment.root(lambda place: float(problem.rates(place)[kind][index]))
    if kind == "split":
        own = np.arange(len(unstable[0])) // _directions(problem)
        mine = own == index // _directions(problem)
        before, after = (int(flags[mine].sum()) for flags in unstable)
    else:
        grows = bool(unstable[1][index])
        before, after = (index, index + 1) if grows else (index + 1, index)
    return Crossing(distance, segment.place(distance), kind, index, before, after)


def _directions(problem: AnyProblem) -> int:
    return problem.dimension - 1 if isinstance(problem, AtomicProblem) else 1


def _fold(segment: Segment) -> Crossing | None:
    """Where the parameter turns back; None if it goes on."""

    def slope(place: Place) -> float:
        return tangent(segment.problem, place, segment.direction).value

    if segment.direction.value * slope(segment.end) >= 0:
        return None
    distance = segment.root(slope)
    return Crossing(distance, segment.place(distance), "fold", 0, 0, 0)
