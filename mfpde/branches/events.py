r"""One step along a branch, and the events on it.

Where a rate of the state crosses zero on a branch x(s), p(s), stability changes.  Where p'
changes its sign, the branch turns back in the parameter, in one of two ways.  The
determinant of G and the row of the tangent (x', p') has the sign of

    (-1)^n p',      n the number of unstable directions,

and changes it where another branch crosses, but not at a fold (Keller, 1977).  So a rate
crosses zero at a fold; if none does, the branch has passed through a branch of more
symmetry and goes on as its own mirror image (or a rotated copy of itself): a pitchfork.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from mfpde.arrays import FloatArray, IntArray
from mfpde.branches.arclength import (
    CLOSE,
    EPS,
    LONGEST_SHARE,
    LostBranchError,
    Meeting,
    Place,
)


@dataclass(frozen=True, eq=False)
class Segment:
    """Piece of a branch from ``start`` along ``direction``, of ``length``, to ``end``."""

    start: Place
    direction: FloatArray
    length: float
    end: Place
    places: dict[float, Place] = field(default_factory=dict)
    """The places found so far, by their distance."""

    def at(self, distance: float) -> Place:
        """Return the point of the branch at a distance; ``LostBranchError`` if not found."""
        known = {0.0: self.start, self.length: self.end}
        if distance in known:
            return known[distance]
        if distance not in self.places:
            near = self.start.moved(distance * self.direction)
            self.places[distance] = near.find_zero(self.direction)
        return self.places[distance]

    def find_root(
        self,
        function: Callable[[Place], float],
        low: float = 0.0,
        high: float | None = None,
        *,
        tolerance: float = EPS,
    ) -> float:
        """Return the distance between two where ``function`` of the place crosses zero.

        The tolerance is in units of the length.  If the function has the same sign at both, it is
        zero to rounding at one of them.
        """
        ends = (low, self.length if high is None else high)
        first, last = (function(self.at(distance)) for distance in ends)
        if first * last > 0:
            return ends[int(abs(last) < abs(first))]
        root = brentq(
            lambda s: function(self.at(s)), *ends, xtol=tolerance * self.length
        )
        return float(root)

    def find_value(self, value: float, low: float, high: float) -> Place:
        """Return the place between two distances, with no turn in between, where p is a value."""
        distance = self.find_root(lambda place: place.value - value, low, high)
        return replace(self.at(distance), value=value)

    def cut(self, distance: float) -> Segment:
        """Return the part up to a distance."""
        return replace(self, length=distance, end=self.at(distance))


class LocatedEvent(NamedTuple):
    """What happens at ``distance`` on a segment, at ``place``.

    Of a pitchfork and of a merge the place is on the branch of more symmetry.  ``before`` and
    ``after`` count the unstable directions, for a split those of the atom ``atoms[0]``; for a
    merge the atoms, of which ``labels`` (n,) tells where each goes.
    """

    kind: str
    distance: float
    place: Place
    before: int
    after: int
    atoms: tuple[int, ...] = ()
    labels: IntArray | None = None

    @property
    def begins_branch(self) -> bool:
        """Whether another branch begins here, to which the walk may switch."""
        return self.kind in ("split", "stability") and self.after > self.before

    @property
    def joins_branch(self) -> bool:
        """Whether the branch of more symmetry is met, which the walk follows from here on."""
        return self.kind in ("pitchfork", "merge")

    def count_zero_rates(self) -> int:
        """Count the rates that are zero here (for a split, of the atom that splits)."""
        if self.kind in ("fold", "merge"):
            return 1
        rates = self.place.rates[1 + self.atoms[0] if self.atoms else 0]
        return max(1, int((np.abs(rates) <= CLOSE).sum()))


def find_events(
    segment: Segment, ahead: float, *, is_fresh: bool
) -> list[LocatedEvent]:
    """Return all events on a segment, in its order; a fold stands for the rate that is zero.

    A branch of more symmetry is followed in the direction ``ahead`` of p.  Where a branch
    begins, ``is_fresh``, rates that are zero at its start cross nothing.
    """
    meeting = segment.start.find_meeting(segment.end)
    found = [] if meeting is None else [_locate_merge(segment, meeting)]
    if is_fresh:
        return found
    if meeting is not None:
        # Where atoms meet their rates cross nothing.
        segment = segment.cut((1 - LONGEST_SHARE) * meeting.share * segment.length)
    for spectrum in range(len(segment.start.rates)):
        found += _find_changes(segment, spectrum)

    def slope(place: Place) -> float:
        return float(place.tangent(segment.direction)[-1])

    if segment.direction[-1] * slope(segment.end) < 0:
        # The parameter has an extremum there: its error is the square of the distance's.
        turn = segment.find_root(slope, tolerance=CLOSE)
        found = _name_turn(segment, turn, found, ahead)
    return sorted(found, key=lambda event: event.distance)


def _find_changes(segment: Segment, spectrum: int) -> list[LocatedEvent]:
    """Return events where rates of motion, or those of the splitting of an atom, are zero.

    Rates are in decreasing order, so that the indices tell which ones cross; their count
    differs between places where rotations change the state and places where they do not.
    """
    first = segment.start.count_unstable(spectrum)
    last = segment.end.count_unstable(spectrum)
    step = 1 if last > first else -1
    counts = range(first, last, step)

    def find_zero(index: int) -> float:
        return segment.find_root(lambda place: float(place.rates[spectrum][index]))

    # Rates that are equal cross zero in an order that only rounding tells.
    distances = sorted(find_zero(min(count, count + step)) for count in counts)
    kind, atoms = ("split", (spectrum - 1,)) if spectrum else ("stability", ())
    return [
        LocatedEvent(kind, distance, segment.at(distance), count, count + step, atoms)
        for distance, count in zip(distances, counts, strict=True)
    ]


def _name_turn(
    segment: Segment, distance: float, found: list[LocatedEvent], ahead: float
) -> list[LocatedEvent]:
    """Return the events with the turn at ``distance``: a fold, or a pitchfork.

    Raises
    ------
    LostBranchError
        If it is neither: the step has gone over to another branch, as it may where two come
        close.
    """
    place = segment.at(distance)
    losses = [event for event in found if event.kind == "stability"]
    for loss in losses:
        if abs(loss.place.value - place.value) <= CLOSE * place.span:
            others = [event for event in found if event is not loss]
            return [*others, loss._replace(kind="fold", distance=distance, place=place)]
    symmetric, sides = place.find_branch_point([0])
    if abs(symmetric.value - place.value) > CLOSE * place.span:
        raise LostBranchError
    count = segment.start.count_unstable()
    count += sum(e.after - e.before for e in losses if e.distance < distance)
    after = sides[int(ahead > 0)].count_unstable()
    return [*found, LocatedEvent("pitchfork", distance, symmetric, count, after)]


def _locate_merge(segment: Segment, meeting: Meeting) -> LocatedEvent:
    """Return the event at which atoms meet: a rate of splitting is zero once they are one."""
    counts = np.bincount(meeting.labels)
    atoms = np.flatnonzero(counts > 1)
    place, _ = meeting.united.find_branch_point([1 + int(atom) for atom in atoms])
    if abs(place.value - segment.start.value) > place.span:
        raise LostBranchError
    return LocatedEvent(
        "merge",
        meeting.share * segment.length,
        place,
        int(counts[atoms].sum()),
        len(atoms),
        tuple(map(int, atoms)),
        meeting.labels,
    )
