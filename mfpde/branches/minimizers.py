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

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from mfpde.arrays import FloatArray, read_only
from mfpde.branches.parameters import OF_ATOMS, check_values, equation_at
from mfpde.branches.result import ATOMS, BranchEvent, BranchPoint, Continuation
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Sphere
from mfpde.measures.measure import Atoms
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

    The states are the certified minima, :class:`mfpde.Minimum`, of ``equation`` on the
    ``geometry``: what :func:`mfpde.minimize` refuses is a ``ValueError``.  The ``parameter``,
    ``"beta"`` or ``"weight_scale"``, and the ``values`` are as in :func:`mfpde.continuation`,
    and so are their errors.

    Begin with ``follow_minimizer(equation, Circle(256), "beta", [4.0, 6.0])``.
    """
    numbers = check_values(equation, parameter, values, OF_ATOMS)

    @cache
    def at(value: float) -> Minimum:
        return minimize(equation_at(equation, parameter, value), geometry)

    def atoms_at(value: float) -> Atoms:
        return at(value).atoms or Atoms.none(geometry.dimension)

    places = [float(value) for value in numbers]
    least = RESOLUTION * abs(places[-1] - places[0])
    events = [
        replace(event, index=number)
        for number, (first, last) in enumerate(pairwise(places), start=1)
        for event in _find_events(atoms_at, first, last, least)
    ]
    path = [
        BranchPoint(one, atoms_at(one).points, np.nan, 0, energy=at(one).energy)
        for one in places
    ]
    return Continuation(
        equation=equation,
        parameter=parameter,
        values=read_only(numbers),
        states=tuple(map(at, places)),
        events=tuple(events),
        reason=f"{parameter.replace('_', ' ')} reached {numbers[-1]:g}",
        is_complete=True,
        path=tuple(path),
    )


def _find_events(
    at: Callable[[float], Atoms], first: float, last: float, least: float
) -> Iterator[BranchEvent]:
    """Yield the events between two values, in order; minima that are not of atoms have none."""
    before, after = len(at(first)), len(at(last))
    if before == after:
        return
    middle, are_atoms = (first + last) / 2, before > 0 and after > 0
    is_one = are_atoms and abs(before - after) == 1
    if not is_one and abs(last - first) > least:
        yield from _find_events(at, first, middle, least)
        yield from _find_events(at, middle, last, least)
    elif are_atoms:
        yield from _locate_events(at, first, last, least)


def _locate_events(
    at: Callable[[float], Atoms], first: float, last: float, least: float
) -> Iterator[BranchEvent]:
    """Yield the event between two values with different numbers of atoms."""
    before, after = len(at(first)), len(at(last))
    is_growth = after > before
    few, many = (first, last) if is_growth else (last, first)
    known = [(many, *_find_new_atom(at(few), at(many)))]
    vanishing = int(np.argmin(known[0][1]))
    zero = probe = (few + many) / 2
    while abs(many - few) > least:
        count, last_zero = len(at(probe)), zero
        if count == min(before, after):
            few, zero = probe, np.nan
        elif count == max(before, after):
            many = probe
            known.append((many, *_find_new_atom(at(few), at(many))))
            (end, old, _), (beside, new, _) = known[-2:]
            vanishing = int(np.argmin(new / old))
            larger, size = old[vanishing], new[vanishing]
            zero = beside - size * (beside - end) / (size - larger)
        elif count > 0:
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
    pair, is_birth = known[-1][2], vanishing == 0
    kinds = ("birth", "death") if is_birth else ("split", "merge")
    kind, points = kinds[int(not is_growth)], pair[:1] if is_birth else pair
    yield BranchEvent(kind, float(zero), points, before, after, counted=ATOMS)


def _find_new_atom(few: Atoms, many: Atoms) -> tuple[FloatArray, FloatArray]:
    """Return the lightest new atom of a minimum beside another one of fewer atoms.

    What may vanish: its mass, and the square of its distance to the nearest other, (2,); and
    the points (2, d) of both.
    """
    points, masses = many.points, many.masses
    kept, _ = linear_sum_assignment(1 - points @ few.points.T)
    others = np.setdiff1d(np.arange(len(points)), kept)
    atom = others[np.argmin(masses[others])]
    distances = ((points - points[atom]) ** 2).sum(axis=1)
    distances[atom] = np.inf
    nearest = int(np.argmin(distances))
    return np.array([masses[atom], distances[nearest]]), points[[atom, nearest]]
