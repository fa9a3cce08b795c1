r"""The minimiser of E as a parameter changes, its masses free.

At each value it is found and certified by :func:`mfpde.minimize`; it is the only one, so that no
branch is chosen and none is lost.  Where the number of atoms differs between two values, the
interval is halved until they differ by one, and that is an event.  On its side with more atoms

* the mass of an atom that is born there, or has died,
* the square of the distance between the parts of an atom that splits, or of two that meet,

is a smooth function of the parameter with a simple zero at the event.  The secant through two of
its values gives the zero, the next value is taken ten times closer to it, until the zero stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from mfpde.arrays import FloatArray, choice, read_only
from mfpde.branches.arclength import PARAMETERS, equation_at
from mfpde.branches.following import check_values
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Sphere
from mfpde.notebook import Printed
from mfpde.stationary import Minimum, minimize

RESOLUTION = 1e-6
"""Of the range: closer to an event the energy no longer tells one number of atoms from another."""
CLOSER = 10.0
WORDS = {
    "birth": "an atom is born",
    "death": "an atom dies",
    "split": "an atom splits",
    "merge": "atoms meet",
    "change": "the kind of the minimiser changes",
}


class MinimizerEvent(NamedTuple):
    """An event on the way of a minimiser.

    Attributes
    ----------
    kind
        ``"birth"`` or ``"death"`` of an atom, whose mass is 0 there; ``"split"`` of one into
        two, or ``"merge"`` of two; ``"change"`` between atoms and a minimiser of another kind.
    value
        The value of the parameter.
    points
        Where the atom is, or the atoms that meet are, beside the event, (n, d).
    before, after
        Numbers of atoms, or the other kind of the minimiser, in the order of the values.
    """

    kind: str
    value: float
    points: FloatArray
    before: int | str
    after: int | str

    def __str__(self) -> str:
        return f"{self.kind}: {WORDS[self.kind]}; {self.before} -> {self.after}"


@dataclass(frozen=True, eq=False, repr=False)
class FollowedMinimum(Printed):
    """The minimisers of an equation for some values of a parameter, and the events between them.

    Attributes
    ----------
    equation
        The equation as it was given; each minimum holds its own.
    parameter
        Which parameter changes.
    values
        The parameter, (n,).
    minima
        The certified minimum at each value, :class:`mfpde.Minimum`.
    events
        The events, :class:`mfpde.MinimizerEvent`, in the order of the values.
    """

    equation: MeanFieldEquation
    parameter: str
    values: FloatArray
    minima: tuple[Minimum, ...]
    events: tuple[MinimizerEvent, ...]

    def __str__(self) -> str:
        ahead = np.sign(self.values[-1] - self.values[0])
        rows = [
            (ahead * value, f"{value:14.9g} {_row(minimum)}")
            for value, minimum in zip(self.values, self.minima, strict=True)
        ]
        rows += [(ahead * e.value, f"{e.value:14.9g} {e}") for e in self.events]
        lines = [line for _, line in sorted(rows, key=lambda row: row[0])]
        title = (
            f"{self.equation}: minimiser in {self.parameter}, masses free, "
            f"{len(self.events)} events; {self.equation.convention}"
        )
        header = f"{self.parameter:>14} {'atoms':>8} {'energy':>18} {'gap':>8} masses"
        return "\n".join([title, header, *lines])


def follow_minimizer(
    equation: MeanFieldEquation,
    geometry: Circle | Sphere,
    parameter: str,
    values: ArrayLike,
) -> FollowedMinimum:
    """Follow the minimiser of E in a parameter, with events where an atom is born, dies or splits.

    Masses change with the parameter, where :func:`mfpde.continuation` freezes them.  What
    happens and is undone between two neighbouring values is not seen.  Events lie within 1e-6 of
    the range, mostly far closer; several at once, as symmetry makes them, are one event.

    Begin with ``follow_minimizer(equation, Circle(256), "beta", [4.0, 6.0])``.

    Parameters
    ----------
    equation, geometry
        As in :func:`mfpde.minimize`.
    parameter
        ``"beta"`` of the only attention, or ``"weight_scale"``: the weights of all perceptrons
        are those of ``equation`` times it.
    values
        Where minimisers are wanted, increasing or decreasing, at least two.

    Raises
    ------
    ValueError
        For what :func:`mfpde.minimize` refuses; another parameter, or one that the equation does
        not have; values that are not monotone or out of the parameter's range.
    """
    choice("parameter", parameter, PARAMETERS[:2])
    wanted = check_values(equation, parameter, values)

    @cache
    def at(value: float) -> _MinimumAt:
        there = equation_at(equation, parameter, value)
        return _MinimumAt(value, minimize(there, geometry))

    places = [at(float(value)) for value in wanted]
    least = RESOLUTION * float(np.abs(wanted[-1] - wanted[0]))
    events = [
        event
        for first, last in pairwise(places)
        for event in _find_events(at, first, last, least)
    ]
    minima = tuple(place.minimum for place in places)
    return FollowedMinimum(
        equation, parameter, read_only(wanted), minima, tuple(events)
    )


class _MinimumAt(NamedTuple):
    """The minimum at a value of the parameter."""

    value: float
    minimum: Minimum

    @property
    def arrangement(self) -> int | str:
        """The number of atoms, or the kind of a minimiser that is none of atoms."""
        atoms = self.minimum.atoms
        return self.minimum.kind if atoms is None else len(atoms)


class _NewAtom(NamedTuple):
    """The lightest new atom of a minimum: its mass, its distance squared to the nearest other.

    ``points`` (2, d) are it and that other one.
    """

    mass: float
    distance: float
    points: FloatArray


def _find_events(
    at: Callable[[float], _MinimumAt], first: _MinimumAt, last: _MinimumAt, least: float
) -> Iterator[MinimizerEvent]:
    """Yield the events between two places, in their order."""
    before, after = first.arrangement, last.arrangement
    if before == after:
        return
    middle = (first.value + last.value) / 2
    are_atoms = isinstance(before, int) and isinstance(after, int)
    is_one = are_atoms and abs(int(before) - int(after)) == 1
    if not is_one and abs(last.value - first.value) > least:
        place = at(middle)
        yield from _find_events(at, first, place, least)
        yield from _find_events(at, place, last, least)
    elif are_atoms:
        yield from _locate_events(at, first, last, least)
    else:
        yield MinimizerEvent("change", middle, np.empty((0, 0)), before, after)


def _locate_events(
    at: Callable[[float], _MinimumAt], first: _MinimumAt, last: _MinimumAt, least: float
) -> Iterator[MinimizerEvent]:
    """Yield the event between two places with different numbers of atoms."""
    is_growth = int(last.arrangement) > int(first.arrangement)
    few, many = (first, last) if is_growth else (last, first)
    known = [(many.value, _find_new_atom(few.minimum, many.minimum))]
    is_birth = known[0][1].mass < known[0][1].distance
    value = probe = (few.value + many.value) / 2
    while abs(many.value - few.value) > least:
        place, before = at(probe), value
        if place.arrangement == few.arrangement:
            few, value = place, np.nan
        elif place.arrangement == many.arrangement:
            many = place
            known.append((place.value, _find_new_atom(few.minimum, many.minimum)))
            (end, old), (beside, new) = known[-2:]
            is_birth = new.mass / old.mass < new.distance / old.distance
            larger, size = (
                part.mass if is_birth else part.distance for part in (old, new)
            )
            value = beside - size * (beside - end) / (size - larger)
        elif isinstance(place.arrangement, int):
            # Something else happens in between.
            yield from _find_events(at, first, place, least)
            yield from _find_events(at, place, last, least)
            return
        elif len(known) > 1:
            # Too close to the event for masses and positions to be determined.
            break
        else:
            value = probe = (probe + many.value) / 2
            continue
        if abs(value - before) <= least:
            break
        if min(few.value, many.value) <= value <= max(few.value, many.value):
            probe = value + (many.value - value) / CLOSER
        else:
            value = probe = (few.value + many.value) / 2
    points = known[-1][1].points
    kinds = ("birth", "death") if is_birth else ("split", "merge")
    yield MinimizerEvent(
        kinds[0] if is_growth else kinds[1],
        float(value),
        points[:1] if is_birth else points,
        first.arrangement,
        last.arrangement,
    )


def _find_new_atom(few: Minimum, many: Minimum) -> _NewAtom:
    """Return what is new in a minimum beside another one of fewer atoms."""
    assert few.atoms is not None
    assert many.atoms is not None
    points, masses = many.atoms.points, many.atoms.masses
    kept, _ = linear_sum_assignment(1 - points @ few.atoms.points.T)
    others = np.setdiff1d(np.arange(len(points)), kept)
    atom = others[np.argmin(masses[others])]
    distances = ((points - points[atom]) ** 2).sum(axis=1)
    distances[atom] = np.inf
    nearest = int(np.argmin(distances))
    pair = points[[atom, nearest]]
    return _NewAtom(float(masses[atom]), float(distances[nearest]), pair)


def _row(minimum: Minimum) -> str:
    found = minimum.atoms
    masses = "" if found is None else " ".join(f"{m:.4f}" for m in found.masses)
    what = minimum.kind if found is None else str(len(found))
    return f"{what:>8} {minimum.energy:18.12g} {minimum.gap:8.1e} {masses}"
