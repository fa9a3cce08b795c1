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
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from mfpde.arrays import FloatArray, choice, read_only
from mfpde.branches.parameters import PARAMETERS, check_values, equation_at
from mfpde.branches.result import ATOMS, BranchEvent, BranchPoint, Continuation
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Sphere
from mfpde.stationary import Minimum, minimize

RESOLUTION = 1e-6
"""Of the range: closer to an event the energy no longer tells one number of atoms from another."""
CLOSER = 10.0


def follow_minimizer(
    equation: MeanFieldEquation,
    geometry: Circle | Sphere,
    parameter: str,
    values: ArrayLike,
) -> Continuation:
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

    Returns
    -------
    Continuation
        Its states are the certified minima, :class:`mfpde.Minimum`.

    Raises
    ------
    ValueError
        For what :func:`mfpde.minimize` refuses; another parameter, or one that the equation does
        not have; values that are not monotone or out of the parameter's range.
    """
    choice("parameter", parameter, PARAMETERS[:2])
    numbers = check_values(equation, parameter, values)

    @cache
    def at(value: float) -> Minimum:
        return minimize(equation_at(equation, parameter, value), geometry)

    places = [float(value) for value in numbers]
    least = RESOLUTION * abs(places[-1] - places[0])
    events = [
        replace(event, index=number)
        for number, (first, last) in enumerate(pairwise(places), start=1)
        for event in _find_events(at, first, last, least)
    ]
    path = [
        BranchPoint(value, _points_of(at(value)), np.nan, 0, energy=at(value).energy)
        for value in places
    ]
    return Continuation(
        equation=equation,
        parameter=parameter,
        values=read_only(numbers),
        states=tuple(at(value) for value in places),
        events=tuple(events),
        reason=f"{parameter.replace('_', ' ')} reached {numbers[-1]:g}",
        is_complete=True,
        path=tuple(path),
    )


def _points_of(minimum: Minimum) -> FloatArray:
    """Return the points of the atoms; none, (0, d), where it is not of atoms."""
    atoms = minimum.atoms
    return np.empty((0, minimum.measure.dimension)) if atoms is None else atoms.points


def _arrangement_of(minimum: Minimum) -> int | str:
    """Return the number of atoms, or the kind of a minimiser that is none of atoms."""
    return minimum.kind if minimum.atoms is None else len(minimum.atoms)


class _NewAtom(NamedTuple):
    """The lightest new atom of a minimum: its mass, its distance squared to the nearest other.

    ``points`` (2, d) are it and that other one.
    """

    mass: float
    distance: float
    points: FloatArray


def _find_events(
    at: Callable[[float], Minimum], first: float, last: float, least: float
) -> Iterator[BranchEvent]:
    """Yield the events between two values, in their order."""
    before, after = (_arrangement_of(at(value)) for value in (first, last))
    if before == after:
        return
    middle = (first + last) / 2
    are_atoms = isinstance(before, int) and isinstance(after, int)
    is_one = are_atoms and abs(int(before) - int(after)) == 1
    if not is_one and abs(last - first) > least:
        yield from _find_events(at, first, middle, least)
        yield from _find_events(at, middle, last, least)
    elif are_atoms:
        yield from _locate_events(at, first, last, least)
    else:
        nowhere = np.empty((0, at(first).measure.dimension))
        yield BranchEvent("change", middle, nowhere, before, after, counted=ATOMS)


def _locate_events(
    at: Callable[[float], Minimum], first: float, last: float, least: float
) -> Iterator[BranchEvent]:
    """Yield the event between two values with different numbers of atoms."""
    before, after = (_arrangement_of(at(value)) for value in (first, last))
    is_growth = int(after) > int(before)
    few, many = (first, last) if is_growth else (last, first)
    fewer, more = (_arrangement_of(at(value)) for value in (few, many))
    known = [(many, _find_new_atom(at(few), at(many)))]
    is_birth = known[0][1].mass < known[0][1].distance
    zero = probe = (few + many) / 2
    while abs(many - few) > least:
        count, last_zero = _arrangement_of(at(probe)), zero
        if count == fewer:
            few, zero = probe, np.nan
        elif count == more:
            many = probe
            known.append((many, _find_new_atom(at(few), at(many))))
            (end, old), (beside, new) = known[-2:]
            is_birth = new.mass / old.mass < new.distance / old.distance
            larger, size = (
                part.mass if is_birth else part.distance for part in (old, new)
            )
            zero = beside - size * (beside - end) / (size - larger)
        elif isinstance(count, int):
            # Something else happens in between.
            yield from _find_events(at, first, probe, least)
            yield from _find_events(at, probe, last, least)
            return
        elif len(known) > 1:
            # Too close to the event for masses and positions to be determined.
            break
        else:
            zero = probe = (probe + many) / 2
            continue
        if abs(zero - last_zero) <= least:
            break
        if min(few, many) <= zero <= max(few, many):
            probe = zero + (many - zero) / CLOSER
        else:
            zero = probe = (few + many) / 2
    points = known[-1][1].points
    kinds = ("birth", "death") if is_birth else ("split", "merge")
    yield BranchEvent(
        kinds[0] if is_growth else kinds[1],
        float(zero),
        points[:1] if is_birth else points,
        before,
        after,
        counted=ATOMS,
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
