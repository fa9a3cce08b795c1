r"""Atoms with fixed masses as states of a branch: x in (S^(d-1))^n, grad F(x_i) = 0.

The unknowns are the n d coordinates.  Rows of G: the tangent components of grad F at each
atom, divided by the size of their contributions; x_i . dx_i = 0; and no motion along
the rotations that leave the equation as it is (the phase).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.branches.arclength import Direction, Drawn, Linearised, Place, equation_at
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import tangent_frames
from mfpde.measures.measure import Atoms
from mfpde.stationary import PolishedAtoms, polish
from mfpde.stationary.derivatives import FieldDerivatives, field_derivatives
from mfpde.stationary.newton import linear_rates, positive_scales
from mfpde.stationary.symmetry import rotation_modes

LONGEST_STEP = 0.2
LONGEST_POLISH = 0.05


@dataclass(frozen=True, eq=False)
class AtomicProblem:
    """Stationary atoms of ``masses`` (n,) in dimension d of an equation with a parameter."""

    equation: MeanFieldEquation
    parameter: str
    masses: FloatArray
    dimension: int
    span: float

    @property
    def least_value(self) -> float:
        """Smallest value of the parameter: 0 for beta; a factor of weights has none."""
        return 0.0 if self.parameter == "beta" else -np.inf

    @property
    def weights(self) -> FloatArray:
        """Weights (n d,) of the lengths: each atom's mass, so that lengths are those of W2."""
        return np.repeat(self.masses, self.dimension)

    def at(self, value: float) -> MeanFieldEquation:
        """Return the equation at a value of the parameter."""
        return equation_at(self.equation, self.parameter, value)

    def points(self, state: FloatArray) -> FloatArray:
        """Positions (n, d) of the atoms in a state."""
        return state.reshape(-1, self.dimension)

    def field(self, place: Place) -> FieldDerivatives:
        """The gradient of F at the atoms, with its derivatives."""
        return _field(self, place)

    def linearised(self, place: Place) -> Linearised:
        """G and its derivative G_x at a place."""
        points = self.points(place.state)
        frames = tangent_frames(points)
        field = self.field(place)
        count, size, d = frames.shape
        scales = np.repeat(positive_scales(field), size)
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
        return Linearised(residual, np.concatenate(rows))

    def residual(self, place: Place) -> FloatArray:
        """The first rows of G, without the constraints."""
        field = self.field(place)
        scales = positive_scales(field)[:, np.newaxis]
        return np.asarray((field.gradient / scales).ravel())

    def moved(self, state: FloatArray, step: FloatArray) -> FloatArray:
        """State after a step, its points put back on the sphere."""
        ends = self.points(state + step)
        return np.asarray((ends / np.linalg.norm(ends, axis=1, keepdims=True)).ravel())

    def longest(self, place: Place, direction: Direction) -> float:
        """Largest distance along a direction: no atom moves over 0.2 of the kernel's width."""
        fastest = np.linalg.norm(self.points(direction.state), axis=1).max()
        sharpness = self.at(place.value).sharpness
        return float(LONGEST_STEP / np.sqrt(max(sharpness, 1.0)) / max(fastest, 1e-12))

    def rates(self, place: Place) -> dict[str, FloatArray]:
        """Rates of shifts ("stability", decreasing) and of splits; above 0 means unstable."""
        points = self.points(place.state)
        equation, field = self.at(place.value), self.field(place)
        modes = rotation_modes(equation, points, tangent_frames(points))
        found = linear_rates(equation, field, self.masses, modes=modes)
        shifts = np.sort(found.shifts.real)[::-1]
        return {"stability": shifts, "split": found.splits.ravel()}

    def rounding(self, place: Place) -> float:
        """Size below which the sign of a rate is rounding."""
        return 1e-11 * float(self.field(place).scales.max())

    def polished(self, place: Place) -> PolishedAtoms:
        """Return the state polished by Newton's method, with its stability."""
        atoms = Atoms(self.points(place.state), self.masses)
        return polish(
            self.at(place.value), atoms, max_move=LONGEST_POLISH, merge_within=0.0
        )

    def drawn(self, place: Place) -> Drawn:
        """Return what a picture shows of a state."""
        points, rates = self.points(place.state), self.rates(place)
        energy = self.at(place.value).energy(Atoms(points, self.masses))
        return Drawn(
            points,
            energy=np.nan if energy is None else energy,
            rate=float(rates["stability"].max(initial=-np.inf)),
            split_rate=float(rates["split"].max(initial=-np.inf)),
        )

    def points_of(self, place: Place, kind: str, index: int) -> FloatArray:
        """Points of an event: the atom that splits, else all atoms."""
        points = self.points(place.state)
        if kind == "split":
            return points[[index // (self.dimension - 1)]]
        return points


@lru_cache(maxsize=8)
def _field(problem: AtomicProblem, place: Place) -> FieldDerivatives:
    points = problem.points(place.state)
    return field_derivatives(problem.at(place.value), points, problem.masses)
