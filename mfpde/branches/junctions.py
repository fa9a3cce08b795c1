r"""Where branches meet: atoms that come together, and branches that begin.

Atoms that meet at x have, united, a direction e with e . Hess F(x) e = 0, own mass included
(the mean of Hess F between them vanishes): the meeting is the zero of that rate on the
branch of the united atoms, where nothing is singular.  Read the other way, an atom whose
rate crosses zero is two halves at a distance of zero, and the branch of the halves leaves
along (e, -e).

Pitchforks, where a branch of less symmetry meets one of more.

At a pitchfork (x_0, p_0) a branch x = x_0 + a v + ..., p = p_0 + c a^2 + ... meets a branch
of states that are invariant under the reflection of v.  On that branch, of which the states at
p_0 - h and p_0 + h are found by Newton's method (G_x is singular at p_0 alone), the rate of
v crosses zero at p_0: with an error of h^4 the root of the cubic through four of its values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mfpde.arrays import FloatArray, IntArray
from mfpde.branches.arclength import (
    Direction,
    Place,
    at_value,
    corrected,
    tangent,
    unit,
)
from mfpde.branches.atomic import AtomicProblem
from mfpde.branches.segment import AnyProblem, Crossing, Segment, unstable_motions
from mfpde.geometry.arcs import tangent_frames

MOST_SECANTS = 40
SHORT_OF_MEETING = 0.9
LEAST_STEP = 1e-6
ROOT = 1e-15


@dataclass(frozen=True, eq=False)
class Meeting:
    """A meeting of atoms: the problem with these united, its place, the united atoms (k,)."""

    problem: AtomicProblem
    place: Place
    united: IntArray
    count: int


def passing_pairs(problem: AnyProblem, start: Place, end: Place) -> IntArray:
    """Pairs (k, 2) of atoms that pass one another between two places."""
    if not isinstance(problem, AtomicProblem):
        return np.empty((0, 2), dtype=np.int64)
    first, last = problem.points(start.state), problem.points(end.state)
    i, j = np.triu_indices(len(first), k=1)
    before, after = first[i] - first[j], last[i] - last[j]
    turned = np.einsum("pd,pd->p", before, after) < 0
    near = np.linalg.norm(before, axis=1) < 1.0
    return np.asarray(np.stack([i, j], axis=1)[turned & near])


def meeting(
    problem: AtomicProblem, pairs: IntArray, places: tuple[Place, Place]
) -> Meeting | None:
    """The meeting of the atoms of ``pairs`` near ``places``; None if it is not found."""
    start, end = places
    united, first, groups = _united(problem, pairs, start)
    _, last, _ = _united(problem, pairs, end)
    merged = np.flatnonzero(np.bincount(groups) > 1)

    def rate(place: Place) -> float:
        size = united.dimension - 1
        rates = united.rates(place)["split"].reshape(-1, size)[merged].ravel()
        return float(rates[np.argmin(np.abs(rates))])

    found = _secant(united, (first, last), rate)
    if found is None:
        return None
    count = int((np.bincount(groups)[merged]).sum())
    return Meeting(united, found, merged, count)


def cut_short(
    segment: Segment, problem: AtomicProblem, pairs: IntArray
) -> Segment | None:
    """Part of a segment before atoms pass one another; None if that is too short."""
    first, last = problem.points(segment.start.state), problem.points(segment.end.state)
    i, j = pairs.T
    before = np.linalg.norm(first[i] - first[j], axis=1)
    after = np.linalg.norm(last[i] - last[j], axis=1)
    share = SHORT_OF_MEETING * float((before / (before + after)).min())
    end = corrected(problem, segment.start, (segment.direction, share * segment.length))
    if end is None:
        return None
    return Segment(
        problem, segment.start, segment.direction, share * segment.length, end
    )


def _secant(
    problem: AtomicProblem, places: tuple[Place, Place], rate: Callable[[Place], float]
) -> Place | None:
    """Zero of ``rate`` on the branch through the first place, by the secant method."""
    step = places[1].value - places[0].value
    if abs(step) < LEAST_STEP * problem.span:
        step = LEAST_STEP * problem.span
    longest = 1e3 * abs(step) + 1e-2 * problem.span
    here: Place | None = at_value(problem, places[0])
    there = None if here is None else _moved_on(problem, here, step)
    for _ in range(MOST_SECANTS):
        if here is None or there is None:
            return None
        first, second = rate(here), rate(there)
        if second == first:
            return there
        change = -second * (there.value - here.value) / (second - first)
        if not abs(there.value + change - places[0].value) <= longest:
            return None
        here, there = there, _moved_on(problem, there, change)
        if abs(change) <= ROOT * max(abs(here.value), problem.span):
            return there
    return there


def _moved_on(problem: AtomicProblem, place: Place, change: float) -> Place | None:
    return at_value(problem, Place(place.state, place.value + change))


def halves(problem: AtomicProblem, found: list[Crossing]) -> AtomicProblem:
    """Return the problem in which the atoms that split are two halves each."""
    size = problem.dimension - 1
    atoms = sorted({crossing.index // size for crossing in found})
    masses = problem.masses.copy()
    masses[atoms] /= 2
    return AtomicProblem(
        problem.equation,
        problem.parameter,
        np.concatenate([masses, masses[atoms]]),
        problem.dimension,
        problem.span,
    )


def along_halves(
    problem: AtomicProblem, found: list[Crossing]
) -> tuple[Place, Direction]:
    """Place where the halves of atoms coincide, and the direction in which they part."""
    place, size = found[0].place, problem.dimension - 1
    points = problem.points(place.state)
    frames, own = tangent_frames(points), problem.field(place).own_gradients
    atoms = sorted({crossing.index // size for crossing in found})
    change = np.zeros((len(points) + len(atoms), problem.dimension))
    for number, atom in enumerate(atoms):
        values, axes = np.linalg.eigh((own[atom] + own[atom].T) / 2)
        axis = axes[:, np.argmin(np.abs(values))] @ frames[atom]
        change[atom], change[len(points) + number] = axis, -axis
    state = np.concatenate([points, points[atoms]]).ravel()
    parted = halves(problem, found)
    return Place(state, place.value), unit(parted, Direction(change.ravel(), 0.0))


def along_mode(problem: AnyProblem, place: Place) -> Direction:
    """Null direction of G_x at a place, along which a branch begins."""
    matrix = problem.linearised(place).matrix
    _, _, rows = np.linalg.svd(matrix, full_matrices=True)
    return unit(problem, Direction(rows[-1], 0.0))


def _united(
    problem: AtomicProblem, pairs: IntArray, place: Place
) -> tuple[AtomicProblem, Place, IntArray]:
    """Problem and place with linked atoms united at their means, and each atom's new index."""
    count = len(problem.masses)
    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), (count, count))
    groups, labels = connected_components(links, directed=False)
    masses: FloatArray = np.zeros(groups)
    np.add.at(masses, labels, problem.masses)
    means = np.zeros((groups, problem.dimension))
    points: FloatArray = problem.points(place.state)
    np.add.at(means, labels, problem.masses[:, np.newaxis] * points)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    united = AtomicProblem(
        problem.equation, problem.parameter, masses, problem.dimension, problem.span
    )
    return united, Place(means.ravel(), place.value), np.asarray(labels, dtype=np.int64)


BESIDE = np.array([-1.0, -0.5, 0.5, 1.0])
SHARE_OF_VALUE = 1e-3


class SymmetricBranch(NamedTuple):
    """The branch of more symmetry at a pitchfork.

    Attributes
    ----------
    place
        Where the two branches meet.
    direction
        Direction of the branch of more symmetry there.
    unstable
        Number of unstable directions of the branch beyond the place, in that direction.
    """

    place: Place
    direction: Direction
    unstable: int


def symmetric_branch(
    problem: AnyProblem, near: Place, ahead: float
) -> SymmetricBranch | None:
    """Branch that passes through the pitchfork at ``near``; None if it is not found.

    ``ahead`` is the sign of the change of the parameter in which it is to be followed.
    """
    scale = max(abs(near.value), 1e-3 * problem.span)
    width = SHARE_OF_VALUE * min(scale, problem.span)
    beside = [
        at_value(problem, Place(near.state, near.value + share * width))
        for share in BESIDE
    ]
    places = [place for place in beside if place is not None]
    if len(places) < len(beside):
        return None
    last = places[-1] if ahead > 0 else places[0]
    still = Direction(np.zeros(len(last.state)), ahead)
    place = _meeting(problem, places)
    return SymmetricBranch(
        near if place is None else place,
        tangent(problem, last, still),
        unstable_motions(problem, last),
    )


def _meeting(problem: AnyProblem, places: list[Place]) -> Place | None:
    """Place of the branch through ``places`` where a rate crosses zero; None if none does."""
    counts = [unstable_motions(problem, place) for place in places]
    if counts[0] == counts[-1]:
        return None
    index = min(counts[0], counts[-1])
    rates = np.array([problem.rates(p)["stability"][index] for p in places])
    values = np.array([place.value for place in places])
    cubic = Polynomial.fit(values, rates, deg=3)
    roots = cubic.roots()
    real = roots[np.abs(roots.imag) <= 1e-9 * np.ptp(values)].real
    inside = real[(real >= values[0]) & (real <= values[-1])]
    if not len(inside):
        return None
    value = float(inside[0])
    between = _between(places, value)
    return Place(problem.moved(between, np.zeros(len(between))), value)


def _between(places: list[Place], value: float) -> FloatArray:
    """State at ``value`` on the cubic through the states at four places."""
    values = np.array([place.value for place in places])
    state = np.zeros(len(places[0].state))
    for number, place in enumerate(places):
        others = np.delete(values, number)
        weight = np.prod((value - others) / (values[number] - others))
        state += weight * place.state
    return state
