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
from mfpde.branches.arclength import CONVERGED, Growth, Problem, StateAt
from mfpde.branches.linear_systems import Direction, Linearised
from mfpde.branches.result import BranchPoint
from mfpde.geometry import Geometry
from mfpde.measures.measure import Density
from mfpde.measures.wasserstein import network_simplex, wasserstein
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

LONGEST_STEP = 0.2
"""By so much s F / kappa changes in a step."""
ROUNDING = 1e-11
FARTHEST = 0.1
"""In W1: a stationary density further away is not the one that a start is beside."""
SPHERE_SUPPORT = 500
MOST_ITERATIONS = 100
SHORTEST_SHARE = 1e-4


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
        """Weights (k,) of the lengths, all 1."""
        return np.ones(len(harmonics_on(self.geometry, self.degree).degrees))

    def gibbs(self, value: float) -> GibbsProblem:
        """Return the problem at a value of the parameter."""
        return _gibbs(self, value)

    def state(self, place: StateAt) -> GibbsState:
        """Return the Gibbs density of the field at a place."""
        return _state(self, place)

    def linearise(self, place: StateAt) -> Linearised:
        """Return G, without its part along rotations, and its derivative at a place."""
        state = self.state(place)
        modes = state.modes

        def across(vector: FloatArray) -> FloatArray:
            return np.asarray(vector - modes @ (modes.T @ vector))

        def product(vector: FloatArray) -> FloatArray:
            along = modes @ (modes.T @ vector)
            return across(state.product(vector - along)) + along

        # Psi is invariant under rotations, so that G has no part along them, but for what the
        # grid does not resolve: that must not be fought for.
        residual = across(state.residual)
        size = len(residual)
        if size <= LARGEST_MATRIX:
            return Linearised(residual, np.concatenate([state.hessian, modes.T]))
        rows = LinearOperator((size, size), matvec=product, dtype=np.float64)
        return Linearised(residual, rows)

    def residual(self, place: StateAt) -> FloatArray:
        """Return G with its part along rotations."""
        return self.state(place).residual

    def move(self, state: FloatArray, step: FloatArray) -> FloatArray:
        """Return the sum of state and step: the unknowns form a vector space."""
        return np.asarray(state + step)

    def longest(self, place: StateAt, direction: Direction) -> float:
        """Return the distance at which s F / kappa has changed by about 0.2."""
        problem = self.gibbs(place.value)
        change = problem.field(direction.state)
        largest = float(np.abs(change).max()) / problem.equation.diffusion
        return LONGEST_STEP / max(largest, 1e-12)

    def rates(self, place: StateAt) -> Growth:
        """Return the negated eigenvalues of G_c without those of rotations; no atom splits.

        Of many unknowns those that are largest.
        """
        return Growth(leading_modes(self.state(place)).values - 1, np.empty((0, 1)))

    def rounding(self, place: StateAt) -> float:
        """Return the size below which the sign of a rate is rounding."""
        del place
        return ROUNDING

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

    def weakest(self, place: StateAt) -> FloatArray:
        """Return the direction in which G_c is smallest."""
        pairs = leading_modes(self.state(place))
        return np.asarray(pairs.vectors[:, np.argmin(np.abs(pairs.values - 1))])

    def find_start(self, density: Density, value: float) -> StateAt:
        """Return the stationary density beside a given one.

        Raises
        ------
        ValueError
            If Newton's method finds none, or one that is not beside it.
        """
        is_only = self._has_one_state(value)
        # On a sphere W1 is that between a few hundred points.
        is_sphere = density.dimension > 2 and density.geometry.axis is None
        if is_sphere and not is_only:
            network_simplex()
        where = f"at {self.parameter} = {value:g}"
        found = self._descend(StateAt(self.gibbs(value).coefficients(density), value))
        if found is None:
            raise ValueError(
                "start: Newton's method finds no stationary density beside the one given, "
                f"{where}; let a run come to rest there first"
            )
        if is_only:
            return found
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
        equation = self.at(value)
        if equation.sign < 0:
            return True
        energy = convex_energy(equation, self.geometry.dimension, "start")
        bound = sum(
            kernel.amplitude * float(np.ptp(kernel.profile.value(COSINES))) / 2
            for kernel in energy.kernels
        )
        return bool(equation.diffusion > self.mass * bound)

    def _descend(self, place: StateAt) -> StateAt | None:
        """Return the zero of G by Newton's method with steps cut so that |G| falls."""
        for _ in range(MOST_ITERATIONS):
            found = self.linearise(place)
            size = float(np.linalg.norm(found.residual))
            if size <= CONVERGED:
                break
            step, share = found.solve(-found.residual), 1.0
            while share > SHORTEST_SHARE:
                tried = StateAt(place.state + share * step, place.value)
                if np.linalg.norm(self.residual(tried)) < (1 - share / 4) * size:
                    break
                share /= 2
            else:
                break
            place = tried
        return self.find_zero(place)


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
