r"""Smooth densities as states of a branch, with diffusion kappa > 0.

v rho = kappa grad rho has the solutions rho = M e^{s F / kappa} / Z.  The unknowns are the
coefficients c of the interaction's field, G(c) = 0 says that rho makes that field itself, and
G_c is symmetric: ``mfpde/stationary/gibbs/state.py``.  Its negative eigenvalues count the
unstable directions.  Few unknowns are treated by the matrix of G_c, many by products with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.branches.arclength import Growth, Problem, StateAt
from mfpde.branches.linearised import (
    DenseLinearised,
    Direction,
    Linearised,
    SymmetricLinearised,
)
from mfpde.geometry import Geometry
from mfpde.measures.measure import Density
from mfpde.stationary.gibbs import (
    LARGEST_MATRIX,
    GibbsProblem,
    GibbsState,
    StationaryDensity,
    harmonics_on,
    leading_modes,
    leading_values,
    mean_length,
    polished_density,
)
from mfpde.stationary.symmetry import invariant_rotations

LONGEST_STEP = 0.2


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

    def rotations(self, value: float) -> FloatArray:
        """Generators of the equation's rotations at a parameter: more only at weight scale 0."""
        if self.geometry.axis is not None:
            # Zonal densities keep their axis.
            return np.empty((0, self.geometry.dimension, self.geometry.dimension))
        if self.parameter == "weight_scale" and value == 0:
            return invariant_rotations(self.at(0.0), self.geometry.dimension)
        return self._rotations

    @cached_property
    def _rotations(self) -> FloatArray:
        return invariant_rotations(self.equation, self.geometry.dimension)

    def gibbs(self, value: float) -> GibbsProblem:
        """The problem at a value of the parameter."""
        return _gibbs(self, value)

    def state(self, place: StateAt) -> GibbsState:
        """The Gibbs density of the field at a place."""
        return _state(self, place)

    def coefficients(self, density: Density, value: float) -> FloatArray:
        """Unknowns c that belong to a density."""
        return self.gibbs(value).coefficients(density)

    def density(self, place: StateAt) -> Density:
        """The density M e^{s F / kappa} / Z, from its mass in each cell."""
        return self.state(place).density

    def linearised(self, place: StateAt) -> Linearised:
        """Residual G and derivative G_c, with a row for each rotation of the equation."""
        state = self.state(place)
        modes = state.modes
        # Psi is invariant under rotations, so that G has no part along them, but for what the
        # grid does not resolve: that must not be fought for.
        across = state.residual - modes @ (modes.T @ state.residual)
        residual = np.concatenate([across, np.zeros(modes.shape[1])])
        if len(across) <= LARGEST_MATRIX:
            return DenseLinearised(residual, np.concatenate([state.hessian, modes.T]))

        def weakest() -> FloatArray:
            pairs = leading_modes(state)
            return np.asarray(pairs.vectors[:, np.argmin(np.abs(pairs.values - 1))])

        return SymmetricLinearised(residual, state.product, modes, weakest)

    def residual(self, place: StateAt) -> FloatArray:
        """Residual G without the rows of rotations."""
        return self.state(place).residual

    def moved(self, state: FloatArray, step: FloatArray) -> FloatArray:
        """The sum of state and step: the unknowns form a vector space."""
        return np.asarray(state + step)

    def longest(self, place: StateAt, direction: Direction) -> float:
        """Largest distance along a direction: s F / kappa changes by about 0.2 at most."""
        problem = self.gibbs(place.value)
        change = problem.field(direction.state)
        largest = float(np.abs(change).max()) / problem.equation.diffusion
        return LONGEST_STEP / max(largest, 1e-12)

    def rates(self, place: StateAt) -> Growth:
        """Negated eigenvalues of G_c without those of rotations; no atom splits.

        Of many unknowns those that are largest.
        """
        return Growth(leading_values(self.state(place)) - 1, np.empty((0, 1)))

    def polished(self, place: StateAt) -> StationaryDensity:
        """Return the state with its residual and stability."""
        return polished_density(self.state(place))

    def points(self, state: FloatArray) -> FloatArray:
        """No points, (0, d): events of a density happen everywhere."""
        del state
        return np.empty((0, self.geometry.dimension))

    def order(self, place: StateAt) -> float:
        """Length of the mean of x under the density of mass 1."""
        return mean_length(self.density(place))


@lru_cache(maxsize=8)
def _gibbs(problem: SmoothProblem, value: float) -> GibbsProblem:
    return GibbsProblem(
        equation=problem.at(value),
        geometry=problem.geometry,
        mass=problem.mass,
        degree=problem.degree,
        rotations=problem.rotations(value),
    )


@lru_cache(maxsize=8)
def _state(problem: SmoothProblem, place: StateAt) -> GibbsState:
    return problem.gibbs(place.value).state(place.state)
