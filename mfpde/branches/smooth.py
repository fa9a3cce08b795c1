r"""Smooth densities as states of a branch, with diffusion kappa > 0.

v rho = kappa grad rho has the solutions rho = M e^{s F / kappa} / Z.  The unknowns are the
coefficients c of the interaction's field, G(c) = 0 says that rho makes that field itself
(``mfpde/stationary/gibbs_states.py``), and G_c has a negative eigenvalue for each unstable
direction.  Few unknowns are treated by the matrix of G_c and a row for each of the
equation's rotations N, which G_c annihilates; many by products: with P = 1 - N N^T

    (P G_c P + N N^T) u = -P G.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.sparse.linalg import LinearOperator

from mfpde.arrays import FloatArray
from mfpde.branches.arclength import LostBranchError, Place
from mfpde.branches.result import BranchPoint
from mfpde.geometry import Geometry
from mfpde.measures.measure import Density
from mfpde.measures.wasserstein import wasserstein
from mfpde.stationary.densities import StationaryDensity, descend
from mfpde.stationary.gibbs_states import LARGEST_MATRIX, GibbsProblem, GibbsState

FARTHEST = 0.1
"""In W1: a stationary density further away is not the one that a start is beside."""
SPHERE_SUPPORT = 500
"""Points for W1 on a sphere."""
_problem_at = lru_cache(maxsize=8)(GibbsProblem)
"""The problem of an equation, a geometry, a mass and a degree, made once."""


@dataclass(frozen=True, eq=False)
class SmoothPlace(Place):
    """A Gibbs density of ``mass``; ``state`` are the coefficients (k,) of its field.

    The ``degree`` of the harmonics is enough for all values of the parameter.
    """

    geometry: Geometry
    mass: float
    degree: int

    @property
    def problem(self) -> GibbsProblem:
        """The problem at this value of the parameter."""
        return _problem_at(self.equation, self.geometry, self.mass, self.degree)

    @cached_property
    def gibbs(self) -> GibbsState:
        """The Gibbs density of the field."""
        return GibbsState(self.problem, self.state)

    @property
    def residual(self) -> FloatArray:
        """G without its part along rotations, which the grid does not resolve."""
        return self._project(self.gibbs.gradient)

    def _project(self, residual: FloatArray) -> FloatArray:
        """Return a residual without its part along rotations: Psi is invariant under them."""
        modes = self.gibbs.rotation_modes
        return np.asarray(residual - modes @ (modes.T @ residual))

    @cached_property
    def derivative(self) -> FloatArray | LinearOperator:
        """G_c with rows for the rotations; of many unknowns its products, 1 along rotations."""
        size = len(self.state)
        if size <= LARGEST_MATRIX:
            return np.concatenate([self.gibbs.hessian, self.gibbs.rotation_modes.T])

        def multiply(vector: FloatArray) -> FloatArray:
            across = self._project(vector)
            return self._project(self.gibbs.product(across)) + vector - across

        return LinearOperator((size, size), matvec=multiply, dtype=np.float64)

    @cached_property
    def rates(self) -> tuple[FloatArray, ...]:
        """The negated eigenvalues of G_c without those of rotations, of many the largest."""
        return (self.gibbs.leading - 1,)

    def measure_move(self, direction: FloatArray) -> float:
        """Return the largest change of s F / kappa."""
        change = self.problem.field(direction[:-1]) / self.equation.diffusion
        return float(np.abs(change).max())

    def polish(self) -> StationaryDensity:
        """Return the state with its residual and stability."""
        return StationaryDensity(self.problem, self.state)

    def describe(self) -> BranchPoint:
        """Return the length of the mean of x, and minus the least eigenvalue; no points."""
        return BranchPoint(
            self.value,
            np.empty((0, self.geometry.dimension)),
            order=self.gibbs.order,
            rate=float(self.rates[0].max(initial=-np.inf)),
            unstable=self.count_unstable(),
        )

    def find_beside(self, density: Density) -> SmoothPlace:
        """Return the stationary density beside a given one, whose coefficients this place has.

        If there is none, a ``ValueError``.
        """
        try:
            found = self.find_state(self.value)
        except LostBranchError:
            state, _ = descend(self.gibbs)
            found = self.moved(np.append(state.coefficients - self.state, 0.0))
        if self.equation.sign < 0:
            # The free energy is convex: it is the only one.
            return found
        end = found.gibbs.density
        distance = wasserstein(density, end, order=1, support=SPHERE_SUPPORT)
        if distance > FARTHEST:
            raise ValueError(
                "start: no stationary density beside the one given, at "
                f"{self.parameter} = {self.value:g}: the one that Newton's method goes to is "
                f"at the distance W1 = {distance:.3g}, which must be at most {FARTHEST}; "
                "start from stationary_density(equation, density), or let a run come to rest"
            )
        return found
