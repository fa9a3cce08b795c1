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
from scipy.linalg import block_diag
from scipy.optimize import newton
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mfpde.arrays import FloatArray, IntArray
from mfpde.branches.arclength import (
    CLOSE,
    LONGEST_STEP,
    RATE_ROUNDING,
    Growth,
    Linearisation,
    LostBranchError,
    Problem,
    StateAt,
)
from mfpde.branches.result import BranchPoint
from mfpde.geometry.arcs import tangent_frames
from mfpde.measures.measure import Atoms
from mfpde.stationary import PolishedAtoms, polish
from mfpde.stationary.derivatives import FieldDerivatives, field_derivatives
from mfpde.stationary.rates import linear_rates
from mfpde.stationary.symmetry import rotation_modes


@dataclass(frozen=True, eq=False)
class AtomicProblem(Problem):
    """Stationary atoms of ``masses`` (n,) in dimension d of an equation with a parameter."""

    masses: FloatArray
    dimension: int

    @property
    def weights(self) -> FloatArray:
        """Weights (n d + 1,) of the lengths: each atom's mass, so that lengths are those of W2."""
        return np.append(np.repeat(self.masses, self.dimension), 1.0)

    def points(self, place: StateAt) -> FloatArray:
        """Return the positions (n, d) of the atoms at a place."""
        return place.state.reshape(-1, self.dimension)

    def atoms(self, place: StateAt) -> Atoms:
        """Return the atoms at a place."""
        return Atoms(self.points(place), self.masses)

    def field(self, place: StateAt) -> FieldDerivatives:
        """Return the gradient of F at the atoms, with its derivatives."""
        return _field(self, place)

    def linearise(self, place: StateAt) -> Linearisation:
        """Return G and its derivative G_x at a place."""
        points, residual = self.points(place), self.residual(place)
        frames, field = tangent_frames(points), self.field(place)
        across = block_diag(*frames)
        jacobian = field.jacobian.reshape(len(residual), -1) @ across
        scales = np.repeat(field.positive_scales, self.dimension - 1)
        modes = rotation_modes(self.at(place.value), points, frames)
        rows = [
            jacobian / scales[:, np.newaxis],
            block_diag(*points[:, np.newaxis]),
            modes.T @ across,
        ]
        return Linearisation(residual, np.concatenate(rows))

    def residual(self, place: StateAt) -> FloatArray:
        """Return the tangent components of grad F over the size of their contributions."""
        field = self.field(place)
        scales = field.positive_scales[:, np.newaxis]
        return np.asarray((field.gradient / scales).ravel())

    def move(self, state: FloatArray, step: FloatArray) -> FloatArray:
        """Return the state after a step, its points put back on the sphere."""
        ends = (state + step).reshape(-1, self.dimension)
        return np.asarray((ends / np.linalg.norm(ends, axis=1, keepdims=True)).ravel())

    def longest_step(self, place: StateAt, direction: FloatArray) -> float:
        """Return the distance at which an atom has moved .2 of the kernel's width."""
        speeds = np.linalg.norm(direction[:-1].reshape(-1, self.dimension), axis=1)
        sharpness = max(self.at(place.value).sharpness, 1.0)
        fastest = float(speeds.max() * np.sqrt(sharpness))
        return LONGEST_STEP / max(fastest, LONGEST_STEP)

    def rates(self, place: StateAt) -> Growth:
        """Return the rates of motions and of splits."""
        return _rates(self, place)

    def rounding(self, place: StateAt) -> float:
        """Return the size below which the sign of a rate is rounding."""
        return RATE_ROUNDING * float(self.field(place).scales.max())

    def polish(self, place: StateAt) -> PolishedAtoms:
        """Return the state polished by Newton's method, with its stability."""
        return polish(self.at(place.value), self.atoms(place), merge_within=0.0)

    def describe(self, place: StateAt) -> BranchPoint:
        """Return the atoms with their energy and largest rates."""
        rates = self.rates(place)
        energy = self.at(place.value).energy(self.atoms(place))
        return BranchPoint(
            place.value,
            self.points(place),
            energy=np.nan if energy is None else energy,
            rate=float(rates.motions.max(initial=-np.inf)),
            split_rate=float(rates.splits.max()),
            unstable=self.count_unstable(place),
        )


@lru_cache(maxsize=8)
def _field(problem: AtomicProblem, place: StateAt) -> FieldDerivatives:
    return field_derivatives(
        problem.at(place.value), problem.points(place), problem.masses
    )


@lru_cache(maxsize=8)
def _rates(problem: AtomicProblem, place: StateAt) -> Growth:
    equation, points = problem.at(place.value), problem.points(place)
    modes = rotation_modes(equation, points, tangent_frames(points))
    field = problem.field(place)
    found = linear_rates(equation, field, problem.masses, modes=modes)
    return Growth(np.sort(found.shifts.real)[::-1], found.splits)


def split_atoms(
    problem: AtomicProblem, place: StateAt, atoms: list[int]
) -> tuple[AtomicProblem, StateAt, FloatArray]:
    """Return the problem of the halves of ``atoms``, where they coincide, and how they part."""
    points, own = problem.points(place), problem.field(place).own_gradients
    frames = tangent_frames(points)
    masses = np.append(problem.masses, problem.masses[atoms])
    change = np.zeros((len(masses), problem.dimension))
    for half, atom in enumerate(atoms, start=len(points)):
        values, axes = np.linalg.eigh((own[atom] + own[atom].T) / 2)
        axis = axes[:, np.argmin(np.abs(values))] @ frames[atom]
        change[atom], change[half] = axis, -axis
        masses[[atom, half]] /= 2
    halves = replace(problem, masses=masses)
    state = np.concatenate([points, points[atoms]]).ravel()
    direction = halves.unit(np.append(change.ravel(), 0.0))
    return halves, StateAt(state, place.value), direction


class Meeting(NamedTuple):
    """A meeting of atoms at ``place``, and the problem of the ``united`` atoms there.

    ``labels`` (n,) are the united atom of each; at the share ``share`` of the step they are
    where they pass one another.
    """

    united: AtomicProblem
    place: StateAt
    labels: IntArray
    share: float


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
    first, last = problem.points(start), problem.points(end)
    i, j = np.triu_indices(len(first), k=1)
    before, after = first[i] - first[j], last[i] - last[j]
    widths, widths_after = (np.linalg.norm(x, axis=1) for x in (before, after))
    if (widths_after <= CLOSE * widths).any(where=widths > CLOSE):
        # United atoms are stationary too: the step has gone over to their branch.
        raise LostBranchError
    passed = (np.einsum("pd,pd->p", before, after) < 0) & (widths < 1.0)
    if not passed.any():
        return None
    count = len(first)
    links = coo_array((passed[passed], (i[passed], j[passed])), (count, count))
    labels = connected_components(links, directed=False)[1]
    masses = np.asarray(np.bincount(labels, problem.masses), dtype=float)
    united = replace(problem, masses=masses)
    sums = np.zeros((len(masses), problem.dimension))
    np.add.at(sums, labels, problem.masses[:, np.newaxis] * first)
    place = StateAt(united.move(sums.ravel(), np.zeros(sums.size)), start.value)
    is_merged = np.bincount(labels) > 1

    def find_rate(value: float) -> float:
        nonlocal place
        found = united.find_state(place.state, value)
        if found is None or abs(value - start.value) > problem.span:
            raise LostBranchError
        place = found
        rates = united.rates(place).splits[is_merged].ravel()
        return float(rates[np.argmin(np.abs(rates))])

    find_rate(float(newton(find_rate, start.value, disp=False)))
    shares = widths / (widths + widths_after)
    return Meeting(united, place, labels, float(shares[passed].min()))
