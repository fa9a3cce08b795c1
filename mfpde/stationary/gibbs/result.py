"""The result: a stationary density with diffusion, how exact it is, and whether it is stable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import Density
from mfpde.notebook import Printed
from mfpde.stationary.gibbs.stability import leading_modes
from mfpde.stationary.gibbs.state import GibbsState

TOLERANCE = 1e-12
"""Of residuals and of eigenvalues."""


@dataclass(frozen=True, eq=False, repr=False)
class StationaryDensity(Printed):
    """A density rho with v rho = kappa grad rho.

    On a zonal grid ``density`` holds the exact masses of its bands.

    Attributes
    ----------
    equation
        The equation, with its diffusion kappa > 0.
    density
        The stationary density.
    residual
        Largest difference between s F and kappa log rho, up to a constant.
    symmetry_dimension
        Number of independent rotations of the equation that change the state.
    gap
        In descent a bound of its free energy less the least one, errors of the grid's
        quadrature aside; None in ascent, where there may be several minima.
    iterations
        Iterations of Newton's method from the start of :func:`mfpde.stationary_density`; 0 on
        a branch.
    leading
        Largest eigenvalues mu of the interaction, 0 for rotations: all above 1/2 and the next
        one, down to 0 in descent.  The second derivative of
        kappa int rho log rho - s E, divided by kappa, is 1 - mu in L^2(1 / rho): a direction
        is unstable if mu > 1.  On a zonal grid those of the directions that are zonal too.
    state
        The field's coefficients, from which the rest follows.
    """

    equation: MeanFieldEquation
    density: Density
    residual: float
    symmetry_dimension: int
    gap: float | None
    iterations: int
    leading: FloatArray
    state: GibbsState

    @property
    def converged(self) -> bool:
        """Whether the residual is at most 1e-12."""
        return self.residual <= TOLERANCE

    @property
    def unstable_dimension(self) -> int:
        """Number of unstable directions."""
        return int((self.leading > 1 + TOLERANCE).sum())

    @property
    def strict_margin(self) -> float:
        """Smallest eigenvalue, those of the rotations left out."""
        return float(1 - self.leading.max(initial=0.0))

    @property
    def is_second_order(self) -> bool:
        """Whether no small change of the density grows."""
        return self.converged and self.unstable_dimension == 0

    @property
    def order(self) -> float:
        """Length of the mean of x under the density of mass 1: 0 if uniform, 1 for an atom."""
        return mean_length(self.density)

    @property
    def free_energy(self) -> float:
        """The free energy kappa int rho log rho - s E, which the flow never increases."""
        found = self.equation.lyapunov_function(self.density)
        assert found is not None
        return found

    def __str__(self) -> str:
        relative = self.density.values * self.density.geometry.areas.sum()
        relative = relative / self.density.total_mass
        kind = "zonal " if self.density.geometry.axis is not None else ""
        stable = "stable" if self.is_second_order else "unstable"
        advice = (
            ""
            if self.converged
            else "; the cells may not resolve it: a finer grid helps"
        )
        return "\n".join(
            [
                f"{self.equation}, {self.equation.convention}",
                f"stationary density, residual {self.residual:.1e}, {stable}: "
                f"{self.unstable_dimension} unstable {kind}directions, "
                f"{self.symmetry_dimension} rotation modes{advice}",
                f"density over the uniform one: {relative.min():.6g} to "
                f"{relative.max():.6g}; |mean of x| {self.order:.6g}; free energy "
                f"{self.free_energy:.12g}",
            ]
        )


def mean_length(density: Density) -> float:
    """Length of the mean of x under a density of mass 1."""
    geometry = density.geometry
    if geometry.axis is not None:
        along = geometry.moments(density.masses, 1)[1].real
        return float(np.abs(along) / density.total_mass)
    masses = density.masses.ravel()
    mean = masses @ geometry.points.reshape(len(masses), -1) / masses.sum()
    return float(np.linalg.norm(mean))


def polished_density(state: GibbsState, *, iterations: int = 0) -> StationaryDensity:
    """Return the density of a state for the result, with its residual and stability."""
    equation = state.problem.equation
    bound = float(state.residual @ state.residual) / 2
    return StationaryDensity(
        equation=equation,
        density=state.density,
        residual=state.largest_difference,
        symmetry_dimension=state.modes.shape[1],
        gap=bound if equation.sign < 0 else None,
        iterations=iterations,
        leading=leading_modes(state).values,
        state=state.problem.state(state.coefficients),
    )
