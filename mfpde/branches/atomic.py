r"""Atoms with fixed masses as states of a branch: x in (S^(d-1))^n, grad F(x_i) = 0.

The unknowns are the n d coordinates.  Rows of G: the tangent components of grad F at each
atom, over the size of their contributions; x_i . dx_i = 0; no motion along the equation's
rotations (the phase).

Atoms that meet at x have, united, a direction e with e . Hess F(x) e = 0, own mass included
(the mean of Hess F between them vanishes): the meeting is the zero of that rate on the
branch of the united atoms, where nothing is singular.  Read the other way, an atom whose
rate crosses zero is two halves at a distance of zero, and the branch of the halves leaves
along (e, -e).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import block_diag

from mfpde.arrays import FloatArray
from mfpde.branches.arclength import CLOSE, LostBranchError, Meeting, Place
from mfpde.branches.result import BranchPoint
from mfpde.detection.basins import connect
from mfpde.geometry.arcs import normalize, tangent_frames
from mfpde.measures.measure import Atoms
from mfpde.measures.sampling import sum_by_label
from mfpde.stationary import PolishedAtoms, polish
from mfpde.stationary.densities import TOLERANCE
from mfpde.stationary.derivatives import FieldDerivatives, field_derivatives
from mfpde.stationary.result import linear_rates
from mfpde.stationary.symmetry import rotation_modes


@dataclass(frozen=True, eq=False)
class AtomicPlace(Place):
    """Atoms of ``masses`` (n,) at points of norm 1, one after the other in ``state`` (n d,)."""

    masses: FloatArray

    @cached_property
    def points(self) -> FloatArray:
        """The positions (n, d) of the atoms."""
        return self.state.reshape(len(self.masses), -1)

    @property
    def atoms(self) -> Atoms:
        """The atoms."""
        return Atoms(self.points, self.masses)

    @property
    def weights(self) -> FloatArray:
        """Weights (n d + 1,) of the lengths: each atom's mass, so that lengths are those of W2."""
        return np.append(np.repeat(self.masses, self.points.shape[1]), 1.0)

    @cached_property
    def _frames(self) -> FloatArray:
        return tangent_frames(self.points)

    @cached_property
    def _field(self) -> FieldDerivatives:
        return field_derivatives(self.equation, self.points, self.masses)

    @cached_property
    def _modes(self) -> FloatArray:
        return rotation_modes(self.equation, self.points)

    @property
    def residual(self) -> FloatArray:
        """The tangent components of grad F over the size of their contributions."""
        scales = self._field.scales[:, np.newaxis]
        return np.asarray((self._field.gradient / scales).ravel())

    @cached_property
    def derivative(self) -> FloatArray:
        """G_x, and below it the rows that keep the phase and the norms."""
        size = self._modes.shape[0]
        scales = np.repeat(self._field.scales, self._frames.shape[1])
        jacobian = self._field.jacobian.reshape(size, size)
        tangent = np.concatenate([jacobian / scales[:, np.newaxis], self._modes.T])
        normal = block_diag(*self.points[:, np.newaxis])
        return np.concatenate([tangent @ block_diag(*self._frames), normal])

    @cached_property
    def rates(self) -> tuple[FloatArray, ...]:
        """The rates of motions, and of the splitting of each atom."""
        shifts, splits = linear_rates(
            self.equation, self._field, self.masses, modes=self._modes
        )
        return (np.sort(shifts.real)[::-1], *splits)

    @property
    def rounding(self) -> float:
        """Size below which the sign of a rate is rounding."""
        return TOLERANCE * float(self._field.scales.max())

    def moved(self, direction: FloatArray) -> Self:
        """Return the place after a small step, its points put back on the sphere."""
        there = super().moved(direction)
        return replace(there, state=normalize(there.points).ravel())

    def measure_move(self, direction: FloatArray) -> float:
        """Return how far the fastest atom moves, in widths of the kernel."""
        speeds = np.linalg.norm(direction[:-1].reshape(self.points.shape), axis=1)
        return float(speeds.max() * np.sqrt(max(self.equation.sharpness, 1.0)))

    def polish(self) -> PolishedAtoms:
        """Return the state polished by Newton's method, with its stability."""
        return polish(self.equation, self.atoms, merge_within=0.0)

    def describe(self) -> BranchPoint:
        """Return the atoms with their energy and largest rates."""
        motions, *splits = self.rates
        energy = self.equation.energy(self.atoms)
        return BranchPoint(
            self.value,
            self.points,
            energy=np.nan if energy is None else energy,
            rate=float(motions.max(initial=-np.inf)),
            split_rate=float(np.max(splits)),
            unstable=self.count_unstable(),
        )

    def find_meeting(self, end: Self) -> Meeting | None:
        """Return the meeting of the atoms that pass one another between here and ``end``."""
        i, j = np.triu_indices(len(self.masses), k=1)
        before, after = (x.points[i] - x.points[j] for x in (self, end))
        widths, widths_after = (np.linalg.norm(x, axis=1) for x in (before, after))
        if (widths_after <= CLOSE * widths).any(where=widths > CLOSE):
            # United atoms are stationary too: the step has gone over to their branch.
            raise LostBranchError
        passed = (np.einsum("pd,pd->p", before, after) < 0) & (widths < 1.0)
        if not passed.any():
            return None
        labels = connect(len(self.masses), np.stack([i, j], axis=1)[passed])
        masses = self.masses[:, np.newaxis]
        centres = normalize(sum_by_label(labels, masses * self.points))
        sums = sum_by_label(labels, masses).ravel()
        united = replace(self, state=centres.ravel(), masses=sums)
        share = float((widths / (widths + widths_after))[passed].min())
        return Meeting(share, united, labels)
