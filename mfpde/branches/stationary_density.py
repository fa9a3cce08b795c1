"""A smooth stationary state of the equation with diffusion, and its stability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import Density

TOLERANCE = 1e-12
ROUNDING = 1e-11


@dataclass(frozen=True, eq=False)
class StationaryDensity:
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
    hessian_eigenvalues
        Eigenvalues of the second derivative of kappa int rho log rho - s E, divided by
        kappa, in L^2(1 / rho), increasing: those of the directions that interact; it is 1 in
        all others.  Zero for rotations; negative: unstable.  On a zonal grid those of the
        directions that are zonal too.
    symmetry_dimension
        Number of independent rotations of the equation that change the state.
    """

    equation: MeanFieldEquation
    density: Density
    residual: float
    hessian_eigenvalues: FloatArray
    symmetry_dimension: int

    @property
    def converged(self) -> bool:
        """Whether the residual is at most 1e-12."""
        return self.residual <= TOLERANCE

    @property
    def unstable_dimension(self) -> int:
        """Number of unstable directions."""
        return int((self.hessian_eigenvalues < -ROUNDING).sum())

    @property
    def strict_margin(self) -> float:
        """Smallest eigenvalue, those of the rotations left out."""
        order = np.argsort(np.abs(self.hessian_eigenvalues), kind="stable")
        kept = self.hessian_eigenvalues[order[self.symmetry_dimension :]]
        return float(kept.min(initial=1.0))

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
        return "\n".join(
            [
                f"{self.equation}, {self.equation.convention}",
                f"stationary density, residual {self.residual:.1e}, {stable}: "
                f"{self.unstable_dimension} unstable {kind}directions, "
                f"{self.symmetry_dimension} rotation modes",
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
