r"""What happens on one step along a branch: values that are passed, and events.

Where a rate of the state crosses zero on a branch x(s), p(s), stability changes.  Where p'
changes its sign, the branch turns back in the parameter, in one of two ways.  The
determinant of G and the row of the tangent (x', p') has the sign of

    (-1)^n p',      n the number of unstable directions,

and changes it where another branch crosses, but not at a fold (Keller, 1977).  So a rate
crosses zero at a fold; if none does, the branch has passed through a branch of more
symmetry and goes on as its own mirror image (or a rotated copy of itself): a pitchfork.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from mfpde.arrays import FloatArray, IntArray
from mfpde.branches.arclength import CLOSE, EPS, LostBranchError, Meeting, Place


@dataclass(frozen=True, eq=False)
class Segment:
    """Piece of a branch from ``start`` along ``direction``, of ``length``, to ``end``."""

    start: Place
    direction: FloatArray
    length: float
    end: Place

    def at(self, distance: float) -> Place:
        """Return the point of the branch at a distance; ``LostBranchError`` if not found."""
        if distance in (0.0, self.length):
            return self.end if distance else self.start
        near = self.start.moved(distance * self.direction)
        return near.find_zero(self.direction)

    def slope(self, distance: float) -> float:
        """Return p', the rate of the parameter along the branch."""
        return float(self.at(distance).tangent(self.direction)[-1])

    def find_value(self, value: float, low: float, high: float) -> float:
        """Return the distance where p is ``value``."""
        return self.find_root(lambda s: self.at(s).value - value, low, high)

    def find_root(
        self,
        function: Callable[[float], float],
        low: float,
        high: float,
        tolerance: float = EPS,
    ) -> float:
        """Return the distance where ``function`` crosses zero, to a share of the length.

        If it has the same sign at both ends, it is zero to rounding at one of them.
        """
        first, last = function(low), function(high)
        if first * last > 0:
            return (low, high)[int(abs(last) < abs(first))]
        return float(brentq(function, low, high, xtol=tolerance * self.length))


class LocatedEvent(NamedTuple):
    """What happens at ``distance`` on a segment, at ``place``.

    ``kind`` is that of a :class:`mfpde.BranchEvent`, or ``"value"`` for a value that is passed.
    ``before`` and ``after`` count unstable directions, for a split those of the atom ``atoms[0]``,
    for a merge the atoms, each of which goes where ``labels`` (n,) tells.  Of a pitchfork and of a
    merge the place is on the branch of more symmetry, followed from ``beyond``, beside it.
    """

    kind: str
    distance: float
    place: Place
    before: int = 0
    after: int = 0
    atoms: tuple[int, ...] = ()
    labels: IntArray | None = None
    beyond: Place | None = None

    def count_zero_rates(self) -> int:
        """Count the rates that are zero here (for a split, of the atom that splits)."""
        if self.kind in ("fold", "merge"):
            return 1
        rates = self.place.rates[1 + self.atoms[0] if self.atoms else 0]
        return max(1, int((np.abs(rates) <= CLOSE).sum()))


def find_events(
    segment: Segment, values: FloatArray, ahead: float
) -> list[LocatedEvent]:
    """Return the events on a segment and the ``values`` passed, in order, up to another branch.

    A branch of more symmetry is followed in the direction ``ahead`` of p.
    """
    end, found = segment.length, list[LocatedEvent]()
    meeting = segment.start.find_meeting(segment.end)
    if meeting is not None:
        found.append(_locate_merge(segment, meeting, ahead))
        # Where atoms meet their rates cross nothing: what is watched ends a little before.
        end *= meeting.share * (1 + meeting.share) / 2
    for spectrum in range(len(segment.start.rates)):
        found += _find_changes(segment, end, spectrum)
    if segment.direction[-1] * segment.slope(end) < 0:
        found = _name_turn(segment, end, found, ahead)
    found.sort(key=lambda event: event.distance)
    joins = [n for n, event in enumerate(found, 1) if event.beyond is not None]
    found = found[: min(joins, default=None)]
    found += _find_values(segment, values, found)
    return sorted(found, key=lambda event: event.distance)


def _find_changes(segment: Segment, end: float, spectrum: int) -> list[LocatedEvent]:
    """Return events where rates of motion, or those of the splitting of an atom, are zero.

    Rates are in decreasing order, so that the indices tell which ones cross; their count
    differs between places where rotations change the state and places where they do not.
    """
    first, last = (segment.at(s).count_unstable(spectrum) for s in (0.0, end))
    step = 1 if last > first else -1
    counts = range(first, last, step)

    def find_zero(index: int) -> float:
        return segment.find_root(
            lambda s: float(segment.at(s).rates[spectrum][index]), 0.0, end
        )

    # Rates that are equal cross zero in an order that only rounding tells.
    distances = sorted(find_zero(min(count, count + step)) for count in counts)
    kind, atoms = ("split", (spectrum - 1,)) if spectrum else ("stability", ())
    return [
        LocatedEvent(kind, distance, segment.at(distance), count, count + step, atoms)
        for distance, count in zip(distances, counts, strict=True)
    ]


def _name_turn(
    segment: Segment, end: float, found: list[LocatedEvent], ahead: float
) -> list[LocatedEvent]:
    """Return the events with the turn before ``end``: a fold, or a pitchfork.

    If it is neither (``LostBranchError``), the step has gone over to another branch, as it may
    where two come close.
    """
    # The parameter has an extremum there: its error is the square of the distance's.
    distance = segment.find_root(segment.slope, 0.0, end, CLOSE)
    place = segment.at(distance)
    losses = [event for event in found if event.kind == "stability"]
    for loss in losses:
        if abs(loss.place.value - place.value) <= CLOSE * place.span:
            others = [event for event in found if event is not loss]
            return [*others, loss._replace(kind="fold", distance=distance, place=place)]
    symmetric, beyond = place.find_branch_point([0], ahead)
    if abs(symmetric.value - place.value) > CLOSE * place.span:
        raise LostBranchError
    count = segment.start.count_unstable()
    count += sum(e.after - e.before for e in losses if e.distance < distance)
    counts = (count, beyond.count_unstable())
    pitchfork = LocatedEvent("pitchfork", distance, symmetric, *counts, beyond=beyond)
    return [*found, pitchfork]


def _locate_merge(segment: Segment, meeting: Meeting, ahead: float) -> LocatedEvent:
    """Return the event at which atoms meet: a rate of splitting is zero once they are one."""
    counts = np.bincount(meeting.labels)
    atoms = tuple(map(int, np.flatnonzero(counts > 1)))
    spectra = [1 + atom for atom in atoms]
    place, beyond = meeting.united.find_branch_point(spectra, ahead)
    if abs(place.value - segment.start.value) > place.span:
        raise LostBranchError
    distance, before = meeting.share * segment.length, int(counts[[*atoms]].sum())
    return LocatedEvent(
        "merge", distance, place, before, len(atoms), atoms, meeting.labels, beyond
    )


def _find_values(
    segment: Segment, values: FloatArray, found: list[LocatedEvent]
) -> Iterator[LocatedEvent]:
    """Yield the values that are passed, the one at the end too, up to another branch."""
    stops = [(e.distance, e.place.value) for e in found if e.kind == "fold"]
    if found and found[-1].beyond is not None:
        distance, place = found[-1].distance, found[-1].place
        margin = np.sign(place.value - segment.start.value) * CLOSE * place.span
        stops.append((distance, place.value - float(margin)))
    else:
        stops.append((segment.length, segment.end.value))
    for (low, first), (high, end) in pairwise([(0.0, segment.start.value), *stops]):
        way = np.sign(end - first)
        for value in values[(way * (values - first) > 0) & (way * (end - values) >= 0)]:
            distance = segment.find_value(float(value), low, high)
            place = replace(segment.at(distance), value=float(value))
            yield LocatedEvent("value", distance, place)
