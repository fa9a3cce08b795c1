r"""Atoms with fixed masses as states of a branch: x in (S^(d-1))^n, grad F(x_i) = 0.

The unknowns are the n d coordinates.  Rows of G: the tangent components of grad F at each
atom, divided by the size of their contributions; x_i . dx_i = 0; and no motion along
the rotations that leave the equation as it is (the phase).

Atoms that meet at x have, united, a direction e with e . Hess F(x) e = 0, own mass included
(the mean of Hess F between them vanishes): the meeting is the zero of that rate on the
branch of the united atoms, where nothing is singular.  Read the other way, an atom whose
rate crosses zero is two halves at a distance of zero, and the branch of the halves leaves
along (e, -e).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mfpde.arrays import FloatArray, IntArray
from mfpde.branches.arclength import (
    Growth,
    Problem,
    StateAt,
    at_value,
    unit,
)
from mfpde.branches.linearised import DenseLinearised, Direction, Linearised
from mfpde.geometry.arcs import tangent_frames
from mfpde.measures.measure import Atoms
from mfpde.stationary import PolishedAtoms, polish
from mfpde.stationary.derivatives import FieldDerivatives, field_derivatives
from mfpde.stationary.rates import linear_rates
from mfpde.stationary.symmetry import rotation_modes

LONGEST_STEP = 0.2
LONGEST_POLISH = 0.05
MOST_SECANTS = 40
SHORT_OF_MEETING = 0.9
LEAST_STEP = 1e-6
ROOT = 1e-15


@dataclass(frozen=True, eq=False)
class AtomicProblem(Problem):
    """Stationary atoms of ``masses`` (n,) in dimension d of an equation with a parameter."""

    masses: FloatArray
    dimension: int

    @property
    def weights(self) -> FloatArray:
        """Weights (n d,) of the lengths: each atom's mass, so that lengths are those of W2."""
        return np.repeat(self.masses, self.dimension)

    def points(self, state: FloatArray) -> FloatArray:
        """Positions (n, d) of the atoms in a state."""
        return state.reshape(-1, self.dimension)

    def field(self, place: StateAt) -> FieldDerivatives:
        """The gradient of F at the atoms, with its derivatives."""
        return _field(self, place)

    def linearised(self, place: StateAt) -> Linearised:
        """G and its derivative G_x at a place."""
        points = self.points(place.state)
        frames = tangent_frames(points)
        field = self.field(place)
        count, size, d = frames.shape
        scales = np.repeat(field.positive_scales, size)
        tangential = np.zeros((count, size, count, d))
        index = np.arange(count)
        tangential[index, :, index, :] = frames
        across = tangential.reshape(count * size, count * d)
        matrix = field.jacobian.reshape(count * size, count * size) @ across
        matrix /= scales[:, np.newaxis]
        radial = np.zeros((count, count, d))
        radial[index, index] = points
        modes = rotation_modes(self.at(place.value), points, frames)
        rows = [matrix, radial.reshape(count, count * d), modes.T @ across]
        residual = np.zeros(count * size + count + modes.shape[1])
        residual[: count * size] = field.gradient.ravel() / scales
        return DenseLinearised(residual, np.concatenate(rows))

    def residual(self, place: StateAt) -> FloatArray:
        """The first rows of G, without the constraints."""
        field = self.field(place)
        scales = field.positive_scales[:, np.newaxis]
        return np.asarray((field.gradient / scales).ravel())

    def moved(self, state: FloatArray, step: FloatArray) -> FloatArray:
        """State after a step, its points put back on the sphere."""
        ends = self.points(state + step)
        return np.asarray((ends / np.linalg.norm(ends, axis=1, keepdims=True)).ravel())

    def longest(self, place: StateAt, direction: Direction) -> float:
        """Largest distance along a direction: no atom moves over 0.2 of the kernel's width."""
        fastest = np.linalg.norm(self.points(direction.state), axis=1).max()
        sharpness = self.at(place.value).sharpness
        return float(LONGEST_STEP / np.sqrt(max(sharpness, 1.0)) / max(fastest, 1e-12))

    def rates(self, place: StateAt) -> Growth:
        """Rates of motions and of splits."""
        points = self.points(place.state)
        equation, field = self.at(place.value), self.field(place)
        modes = rotation_modes(equation, points, tangent_frames(points))
        found = linear_rates(equation, field, self.masses, modes=modes)
        return Growth(np.sort(found.shifts.real)[::-1], found.splits)

    def rounding(self, place: StateAt) -> float:
        """Size below which the sign of a rate is rounding."""
        return 1e-11 * float(self.field(place).scales.max())

    def polished(self, place: StateAt) -> PolishedAtoms:
        """Return the state polished by Newton's method, with its stability."""
        atoms = Atoms(self.points(place.state), self.masses)
        return polish(
            self.at(place.value), atoms, max_move=LONGEST_POLISH, merge_within=0.0
        )

    def energy(self, place: StateAt) -> float:
        """Energy E of the atoms; NaN where there is none."""
        atoms = Atoms(self.points(place.state), self.masses)
        found = self.at(place.value).energy(atoms)
        return np.nan if found is None else found

    def passing_pairs(self, start: StateAt, end: StateAt) -> IntArray:
        """Pairs (k, 2) of atoms that pass one another between two places."""
        first, last = self.points(start.state), self.points(end.state)
        i, j = np.triu_indices(len(first), k=1)
        before, after = first[i] - first[j], last[i] - last[j]
        turned = np.einsum("pd,pd->p", before, after) < 0
        near = np.linalg.norm(before, axis=1) < 1.0
        return np.asarray(np.stack([i, j], axis=1)[turned & near])


@lru_cache(maxsize=8)
def _field(problem: AtomicProblem, place: StateAt) -> FieldDerivatives:
    points = problem.points(place.state)
    return field_derivatives(problem.at(place.value), points, problem.masses)


class Parting(NamedTuple):
    """The branch of the halves of atoms: their problem, its start, the direction it takes."""

    problem: AtomicProblem
    place: StateAt
    direction: Direction


def parting(problem: AtomicProblem, place: StateAt, atoms: list[int]) -> Parting:
    """Place where the halves of ``atoms`` coincide, and the direction in which they part."""
    points = problem.points(place.state)
    frames, own = tangent_frames(points), problem.field(place).own_gradients
    change = np.zeros((len(points) + len(atoms), problem.dimension))
    for number, atom in enumerate(atoms):
        values, axes = np.linalg.eigh((own[atom] + own[atom].T) / 2)
        axis = axes[:, np.argmin(np.abs(values))] @ frames[atom]
        change[atom], change[len(points) + number] = axis, -axis
    state = np.concatenate([points, points[atoms]]).ravel()
    masses = problem.masses.copy()
    masses[atoms] /= 2
    parted = replace(problem, masses=np.concatenate([masses, masses[atoms]]))
    direction = unit(parted, Direction(change.ravel(), 0.0))
    return Parting(parted, StateAt(state, place.value), direction)


class Meeting(NamedTuple):
    """A meeting of atoms: the problem with these united, its place, the united atoms (k,).

    ``number`` counts the atoms that meet.
    """

    problem: AtomicProblem
    place: StateAt
    united: IntArray
    number: int


def meeting(
    problem: AtomicProblem, pairs: IntArray, *, start: StateAt, end: StateAt
) -> Meeting | None:
    """The meeting of the atoms of ``pairs`` between two places; None if it is not found."""
    count = len(problem.masses)
    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), (count, count))
    number, labels = connected_components(links, directed=False)
    masses: FloatArray = np.zeros(number)
    np.add.at(masses, labels, problem.masses)
    united = replace(problem, masses=masses)
    sizes = np.bincount(labels)
    merged = np.flatnonzero(sizes > 1)

    def place_of(place: StateAt) -> StateAt:
        means = np.zeros((number, problem.dimension))
        points: FloatArray = problem.points(place.state)
        np.add.at(means, labels, problem.masses[:, np.newaxis] * points)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        return StateAt(means.ravel(), place.value)

    def rate(place: StateAt) -> float:
        rates = united.rates(place).splits[merged].ravel()
        return float(rates[np.argmin(np.abs(rates))])

    first = place_of(start)
    found = _secant(united, first, end.value - first.value, rate=rate)
    if found is None:
        return None
    return Meeting(united, found, merged, int(sizes[merged].sum()))


def share_before_meeting(
    problem: AtomicProblem, pairs: IntArray, *, start: StateAt, end: StateAt
) -> float:
    """Share of the way between two places that ends a little before atoms pass one another."""
    first, last = problem.points(start.state), problem.points(end.state)
    i, j = pairs.T
    before = np.linalg.norm(first[i] - first[j], axis=1)
    after = np.linalg.norm(last[i] - last[j], axis=1)
    return SHORT_OF_MEETING * float((before / (before + after)).min())


def _secant(
    problem: AtomicProblem,
    start: StateAt,
    step: float,
    *,
    rate: Callable[[StateAt], float],
) -> StateAt | None:
    """Zero of ``rate`` on the branch through ``start``, by the secant method."""
    if abs(step) < LEAST_STEP * problem.span:
        step = LEAST_STEP * problem.span
    longest = 1e3 * abs(step) + 1e-2 * problem.span

    def moved_on(place: StateAt, change: float) -> StateAt | None:
        return at_value(problem, StateAt(place.state, place.value + change))

    here = at_value(problem, start)
    there = None if here is None else moved_on(here, step)
    for _ in range(MOST_SECANTS):
        if here is None or there is None:
            return None
        first, second = rate(here), rate(there)
        if second == first:
            return there
        change = -second * (there.value - here.value) / (second - first)
        if not abs(there.value + change - start.value) <= longest:
            return None
        here, there = there, moved_on(there, change)
        if abs(change) <= ROOT * max(abs(here.value), problem.span):
            return there
    return there
