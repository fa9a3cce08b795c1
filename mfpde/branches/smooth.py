r"""Smooth densities as states of a branch, with diffusion kappa > 0.

v rho = kappa grad rho has the solutions rho = M e^{s F / kappa} / Z.  The unknowns are the
coefficients c of the interaction's field, G(c) = 0 says that rho makes that field itself, and
G_c is symmetric: ``mfpde/stationary/gibbs/state.py``.  Its negative eigenvalues count the
unstable directions.  Few unknowns are treated by the matrix of G_c and a row for each of the
equation's rotations N, which G_c annihilates; many by products: with P = 1 - N N^T

    (P G_c P + N N^T) u = -P G.

There is only one stationary density, however far, where the free energy is convex: in descent,
and in ascent for

    kappa > M sum (1 - e^{-2 beta}) / (2 beta),

as Var(b) <= max |b(x) - b(y)|^2 / 4 <= (max W - min W) / 2 for b = sqrt(Lambda) B along
any unit vector, so that G_c is positive definite everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.sparse.linalg import LinearOperator

from mfpde.arrays import FloatArray
from mfpde.branches.arclength import (
    LONGEST_STEP,
    RATE_ROUNDING,
    Growth,
    Linearisation,
    Problem,
    StateAt,
)
from mfpde.branches.result import BranchPoint
from mfpde.geometry import Geometry
from mfpde.measures.measure import Density
from mfpde.measures.wasserstein import wasserstein
from mfpde.stationary.convex_energy import convex_energy
from mfpde.stationary.gibbs import (
    LARGEST_MATRIX,
    GibbsProblem,
    GibbsState,
    StationaryDensity,
    harmonics_on,
    leading_modes,
    mean_length,
    polished_density,
)
from mfpde.terms.kernels import COSINES

FARTHEST = 0.1
"""In W1: a stationary density further away is not the one that a start is beside."""
SPHERE_SUPPORT = 500
"""Points for W1 on a sphere."""


@dataclass(frozen=True, eq=False)
class SmoothProblem(Problem):
    """Stationary densities of ``mass`` on a grid, of an equation with a parameter.

    ``degree`` is that of the harmonics, enough for all values of the parameter.
    """

    geometry: Geometry
    mass: float
    degree: int

    @cached_property
    def weights(self) -> FloatArray:
        """Weights (k + 1,) of the lengths, all 1."""
        return np.ones(len(harmonics_on(self.geometry, self.degree).degrees) + 1)

    def gibbs(self, value: float) -> GibbsProblem:
        """Return the problem at a value of the parameter."""
        return _gibbs(self, value)

    def state(self, place: StateAt) -> GibbsState:
        """Return the Gibbs density of the field at a place."""
        return _state(self, place)

    def linearise(self, place: StateAt) -> Linearisation:
        """Return G, without its part along rotations, and its derivative at a place."""
        state = self.state(place)
        modes = state.modes

        def project(vector: FloatArray) -> FloatArray:
            return np.asarray(vector - modes @ (modes.T @ vector))

        def multiply(vector: FloatArray) -> FloatArray:
            across = project(vector)
            return project(state.product(across)) + vector - across

        # Psi is invariant under rotations, so that G has no part along them, but for what the
        # grid does not resolve: that must not be fought for.
        residual = project(state.residual)
        size = len(residual)
        if size <= LARGEST_MATRIX:
            return Linearisation(residual, np.concatenate([state.hessian, modes.T]))
        operator = LinearOperator((size, size), matvec=multiply, dtype=np.float64)
        return Linearisation(residual, operator)

    def residual(self, place: StateAt) -> FloatArray:
        """Return G with its part along rotations."""
        return self.state(place).residual

    def move(self, state: FloatArray, step: FloatArray) -> FloatArray:
        """Return the sum of state and step: the unknowns form a vector space."""
        return np.asarray(state + step)

    def longest_step(self, place: StateAt, direction: FloatArray) -> float:
        """Return the distance at which s F / kappa has changed by about 0.2."""
        problem = self.gibbs(place.value)
        change = problem.field(direction[:-1]) / problem.equation.diffusion
        return LONGEST_STEP / max(float(np.abs(change).max()), LONGEST_STEP)

    def rates(self, place: StateAt) -> Growth:
        """Return the negated eigenvalues of G_c without those of rotations; no atom splits.

        Of many unknowns those that are largest.
        """
        return _rates(self, place)

    def rounding(self, place: StateAt) -> float:
        """Return the size below which the sign of a rate is rounding."""
        del place
        return RATE_ROUNDING

    def polish(self, place: StateAt) -> StationaryDensity:
        """Return the state with its residual and stability."""
        return polished_density(self.state(place))

    def describe(self, place: StateAt) -> BranchPoint:
        """Return the length of the mean of x, and minus the least eigenvalue; no points."""
        return BranchPoint(
            place.value,
            np.empty((0, self.geometry.dimension)),
            order=mean_length(self.state(place).density),
            rate=float(self.rates(place).motions.max(initial=-np.inf)),
            unstable=self.count_unstable(place),
        )

    def find_null_vector(self, place: StateAt) -> FloatArray:
        """Return the change of the state that G_c makes smallest."""
        pairs = leading_modes(self.state(place))
        return np.asarray(pairs.vectors[:, np.argmin(np.abs(pairs.values - 1))])

    def find_start(self, density: Density, value: float) -> StateAt:
        """Return the stationary density beside a given one.

        Raises
        ------
        ValueError
            If Newton's method finds none, or one that is not beside it.
        """
        where = f"at {self.parameter} = {value:g}"
        near = self.gibbs(value).coefficients(density)
        found = self.find_state(near, value, is_damped=True)
        if found is None:
            raise ValueError(
                "start: Newton's method finds no stationary density beside the one given, "
                f"{where}; let a run come to rest there first"
            )
        if self._has_one_state(value):
            return found
        is_sphere = density.dimension > 2 and density.geometry.axis is None
        support = SPHERE_SUPPORT if is_sphere else None
        there = self.state(found).density
        distance = wasserstein(density, there, order=1, support=support)
        if distance > FARTHEST:
            raise ValueError(
                f"start: no stationary density beside the one given, {where}: the one that "
                f"Newton's method goes to is at the distance W1 = {distance:.3g}, which must "
                f"be at most {FARTHEST}; let a run come to rest there first"
            )
        return found

    def _has_one_state(self, value: float) -> bool:
        """Whether the free energy is convex at a value of the parameter."""
        equation = self.at(value)
        if equation.sign < 0:
            return True
        energy = convex_energy(equation, self.geometry.dimension, "start")
        bound = sum(
            kernel.amplitude * float(np.ptp(kernel.profile.value(COSINES))) / 2
            for kernel in energy.kernels
        )
        return bool(equation.diffusion > self.mass * bound)


@lru_cache(maxsize=8)
def _gibbs(problem: SmoothProblem, value: float) -> GibbsProblem:
    return GibbsProblem(
        equation=problem.at(value),
        geometry=problem.geometry,
        mass=problem.mass,
        degree=problem.degree,
    )


@lru_cache(maxsize=8)
def _state(problem: SmoothProblem, place: StateAt) -> GibbsState:
    return problem.gibbs(place.value).state(place.state)


@lru_cache(maxsize=8)
def _rates(problem: SmoothProblem, place: StateAt) -> Growth:
    return Growth(leading_modes(problem.state(place)).values - 1, np.empty((0, 1)))
