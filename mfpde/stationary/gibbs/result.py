"""The result: a stationary density with diffusion, how exact it is, and whether it is stable."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.notebook import Printed
from mfpde.stationary.gibbs.state import GibbsState

TOLERANCE = 1e-12
"""Of residuals and of eigenvalues."""


@dataclass(frozen=True, eq=False, repr=False)
class StationaryDensity(Printed, GibbsState):
    """A density rho with v rho = kappa grad rho.

    Attributes
    ----------
    problem, coefficients
        The equation on its grid, and the coefficients of the field, from which the rest
        follows: ``density`` too, on a zonal grid with the exact masses of its bands.
    iterations
        Iterations of Newton's method from the start of :func:`mfpde.stationary_density`; 0 on
        a branch.
    """

    iterations: int = 0

    @cached_property
    def residual(self) -> float:
        """Largest difference between s F and kappa log rho, up to a constant."""
        return float(np.abs(self.problem.field(self.gradient)).max())

    @property
    def converged(self) -> bool:
        """Whether the residual is at most 1e-12."""
        return self.residual <= TOLERANCE

    @property
    def gap(self) -> float | None:
        """In descent a bound of the free energy less the least one; None in ascent.

        Errors of the grid's quadrature are left aside; in ascent there may be several minima.
        """
        bound = self.size**2 / 2
        return bound if self.equation.sign < 0 else None

    @property
    def leading(self) -> FloatArray:
        """Largest eigenvalues mu of the interaction, 0 for rotations.

        All above 1/2 and the next one, down to 0 in descent.  The second derivative of
        kappa int rho log rho - s E, divided by kappa, is 1 - mu in L^2(1 / rho): a direction
        is unstable if mu > 1.  On a zonal grid those of the directions that are zonal too.
        """
        return self.leading_modes[0]

    @property
    def symmetry_dimension(self) -> int:
        """Number of independent rotations of the equation that change the state."""
        return int(self.rotation_modes.shape[1])

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
    def free_energy(self) -> float:
        """The free energy kappa int rho log rho - s E, which the flow never increases."""
        found = self.equation.lyapunov_function(self.density)
        assert found is not None
        return found

    def __str__(self) -> str:
        geometry = self.density.geometry
        relative = self.density.values * geometry.areas.sum() / self.density.total_mass
        kind = "zonal " if geometry.axis is not None else ""
        stable = "stable" if self.is_second_order else "unstable"
        advice = "; the cells may not resolve it: a finer grid helps"
        return "\n".join(
            [
                f"{self.equation}, {self.equation.convention}",
                f"stationary density, residual {self.residual:.1e}, {stable}: "
                f"{self.unstable_dimension} unstable {kind}directions, "
                f"{self.symmetry_dimension} rotation modes"
                f"{'' if self.converged else advice}",
                f"density over the uniform one: {relative.min():.6g} to "
                f"{relative.max():.6g}; |mean of x| {self.order:.6g}; free energy "
                f"{self.free_energy:.12g}",
            ]
        )
