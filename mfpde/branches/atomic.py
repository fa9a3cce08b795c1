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

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import newton
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mfpde.arrays import FloatArray, IntArray
from mfpde.branches.arclength import Growth, LostBranchError, Problem, StateAt
from mfpde.branches.linear_systems import Direction, Linearised
from mfpde.branches.result import BranchPoint
from mfpde.geometry.arcs import tangent_frames
from mfpde.measures.measure import Atoms
from mfpde.stationary import PolishedAtoms, polish
from mfpde.stationary.derivatives import FieldDerivatives, field_derivatives
from mfpde.stationary.rates import linear_rates
from mfpde.stationary.symmetry import rotation_modes

LONGEST_STEP, LONGEST_POLISH = 0.2, 0.05
"""An atom moves at most so much: of the kernel's width in a step, in radians when polished."""
RATE_ROUNDING = 1e-11
LEAST_STEP, FARTHEST, ROOT = 1e-6, 1e-2, 1e-15
"""Smallest first step, largest way and accuracy of a meeting, in units of the span."""


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
        """Return the positions (n, d) of the atoms in a state."""
        return state.reshape(-1, self.dimension)

    def atoms(self, place: StateAt) -> Atoms:
        """Return the atoms at a place."""
        return Atoms(self.points(place.state), self.masses)

    def field(self, place: StateAt) -> FieldDerivatives:
        """Return the gradient of F at the atoms, with its derivatives."""
        return _field(self, place)

    def linearise(self, place: StateAt) -> Linearised:
        """Return G and its derivative G_x at a place."""
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
        radial = np.zeros((count, count, d))
        radial[index, index] = points
        modes = rotation_modes(self.at(place.value), points, frames)
        constraints = [radial.reshape(count, count * d), modes.T @ across]
        rows = np.concatenate([matrix / scales[:, np.newaxis], *constraints])
        return Linearised(field.gradient.ravel() / scales, rows)

    def residual(self, place: StateAt) -> FloatArray:
        """Return the tangent components of grad F over the size of their contributions."""
        field = self.field(place)
        scales = field.positive_scales[:, np.newaxis]
        return np.asarray((field.gradient / scales).ravel())

    def move(self, state: FloatArray, step: FloatArray) -> FloatArray:
        """Return the state after a step, its points put back on the sphere."""
        ends = self.points(state + step)
        return np.asarray((ends / np.linalg.norm(ends, axis=1, keepdims=True)).ravel())

    def longest(self, place: StateAt, direction: Direction) -> float:
        """Return the distance at which an atom has moved .2 of the kernel's width."""
        fastest = np.linalg.norm(self.points(direction.state), axis=1).max()
        width = 1 / np.sqrt(max(self.at(place.value).sharpness, 1.0))
        return float(LONGEST_STEP * width / max(fastest, 1e-12))

    def rates(self, place: StateAt) -> Growth:
        """Return the rates of motions and of splits."""
        points = self.points(place.state)
        equation, field = self.at(place.value), self.field(place)
        modes = rotation_modes(equation, points, tangent_frames(points))
        found = linear_rates(equation, field, self.masses, modes=modes)
        return Growth(np.sort(found.shifts.real)[::-1], found.splits)

    def rounding(self, place: StateAt) -> float:
        """Return the size below which the sign of a rate is rounding."""
        return RATE_ROUNDING * float(self.field(place).scales.max())

    def polish(self, place: StateAt) -> PolishedAtoms:
        """Return the state polished by Newton's method, with its stability."""
        equation, atoms = self.at(place.value), self.atoms(place)
        return polish(equation, atoms, max_move=LONGEST_POLISH, merge_within=0.0)

    def describe(self, place: StateAt) -> BranchPoint:
        """Return the atoms with their energy and largest rates."""
        rates = self.rates(place)
        energy = self.at(place.value).energy(self.atoms(place))
        return BranchPoint(
            place.value,
            self.points(place.state),
            energy=np.nan if energy is None else energy,
            rate=float(rates.motions.max(initial=-np.inf)),
            split_rate=float(rates.splits.max()),
            unstable=self.count_unstable(place),
        )


@lru_cache(maxsize=8)
def _field(problem: AtomicProblem, place: StateAt) -> FieldDerivatives:
    points = problem.points(place.state)
    return field_derivatives(problem.at(place.value), points, problem.masses)


def split_atoms(
    problem: AtomicProblem, place: StateAt, atoms: list[int]
) -> tuple[AtomicProblem, StateAt, Direction]:
    """Return the problem of the halves of ``atoms``, where they coincide, and how they part."""
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
    direction = parted.unit(Direction(change.ravel(), 0.0))
    return parted, StateAt(state, place.value), direction


class Meeting(NamedTuple):
    """A meeting of atoms: the problem with these united, its place, and the ``united`` (k,).

    ``number`` counts the atoms that meet; a little before they do they are at the share
    ``before`` of the step on which they pass one another.
    """

    problem: AtomicProblem
    place: StateAt
    united: IntArray
    number: int
    before: float


def find_meeting(
    problem: AtomicProblem, start: StateAt, end: StateAt
) -> Meeting | None:
    """Return the meeting of the atoms that pass one another between two places.

    None if there are no such atoms.

    Raises
    ------
    LostBranchError
        If Newton's method does not find the meeting.
    """
    first, last = problem.points(start.state), problem.points(end.state)
    i, j = np.triu_indices(len(first), k=1)
    before, after = first[i] - first[j], last[i] - last[j]
    widths = np.linalg.norm(before, axis=1)
    passed = (np.einsum("pd,pd->p", before, after) < 0) & (widths < 1.0)
    if not passed.any():
        return None
    shares = widths / (widths + np.linalg.norm(after, axis=1))
    count = len(problem.masses)
    links = coo_array((passed[passed], (i[passed], j[passed])), (count, count))
    labels = connected_components(links, directed=False)[1]
    sizes = np.bincount(labels)
    merged = np.flatnonzero(sizes > 1)
    masses = np.zeros(len(sizes))
    np.add.at(masses, labels, problem.masses)
    united = replace(problem, masses=masses)
    sums = np.zeros((len(sizes), problem.dimension))
    np.add.at(sums, labels, problem.masses[:, np.newaxis] * first)
    place = StateAt(united.move(sums.ravel(), np.zeros(sums.size)), start.value)
    change = end.value - start.value
    change = max(change, LEAST_STEP * problem.span, key=abs)
    farthest = 1e3 * abs(change) + FARTHEST * problem.span

    def rate(value: float) -> float:
        nonlocal place
        found = united.find_zero(StateAt(place.state, value))
        if found is None or not abs(value - start.value) <= farthest:
            raise LostBranchError
        place = found
        rates = united.rates(place).splits[merged].ravel()
        return float(rates[np.argmin(np.abs(rates))])

    end_value, least = start.value + change, ROOT * problem.span
    value = newton(rate, start.value, x1=end_value, tol=least, rtol=ROOT, disp=False)
    rate(float(value))
    share = float(shares[passed].min())
    return Meeting(united, place, merged, int(sizes[merged].sum()), share)
