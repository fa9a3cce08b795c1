r"""A smooth stationary state of the equation with diffusion, and its stability.

Harmonics and the points where densities are integrated.

The interaction is K(x.y) / beta = sum_k Lambda_k B_k(x) B_k(y) with functions B_k of one
degree each.  On the circle and the sphere they are real harmonics at the cell centres,
orthonormal for the uniform probability (addition theorem: sum over one degree of
B_k(x) B_k(y) = Z_l(x, y)), and Lambda_k is the eigenvalue of K / beta of their degree.

On a zonal grid there is one function for each degree, P_l(x.e) with P_l(1) = 1, and
Lambda_l = D_l lambda_l / beta, D_l the number of harmonics: neither the norm of P_l nor D_l
is representable in high dimension.  Integrals over each band are Gauss sums in the polar
angle, so that neither they nor the masses of the bands depend on how wide the bands are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import roots_legendre

from mfpde.arrays import FloatArray, IntArray, read_only
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry, Zonal
from mfpde.geometry.zonal_fields import zonal_harmonics
from mfpde.measures.measure import Density

LARGEST_BASIS = 3000
NODES_PER_BAND = 6


@dataclass(frozen=True, eq=False)
class Harmonics:
    """Functions B_k, k = 1..n, at the nodes of a quadrature.

    Attributes
    ----------
    values
        B_k at the nodes, (nodes, n); those of one cell follow one another.
    degrees
        Degree of each B_k, (n,).
    points
        The nodes, unit vectors (nodes, d).
    shares
        Weights (nodes,) of the quadrature for the uniform probability.
    """

    values: FloatArray
    degrees: IntArray
    points: FloatArray
    shares: FloatArray


@lru_cache(maxsize=2)
def real_harmonics(geometry: Geometry, degree: int) -> Harmonics:
    """Harmonics of degree 1..``degree``, without constants.

    Raises
    ------
    ValueError
        If there are more than 3000.
    """
    if isinstance(geometry, Zonal):
        return _zonal(geometry, degree)
    degrees = geometry.degrees(degree)
    shares = (geometry.areas / geometry.areas.sum()).ravel()
    columns, found = [], []
    for index in np.flatnonzero(degrees > 0):
        for unit in (1.0, 1.0j):
            coefficients = np.zeros(len(degrees), dtype=np.complex128)
            coefficients[index] = unit
            values = geometry.synthesis(coefficients).ravel()
            size = np.sqrt(shares @ values**2)
            if size > 1e-8:
                columns.append(values / size)
                found.append(int(degrees[index]))
        if len(columns) > LARGEST_BASIS:
            raise ValueError(
                f"geometry = {geometry!r}: the kernel has degrees up to {degree}, more than "
                f"{LARGEST_BASIS} harmonics; a smaller beta is needed"
            )
    return Harmonics(
        values=read_only(np.stack(columns, axis=1)),
        degrees=np.array(found),
        points=geometry.points.reshape(-1, geometry.dimension),
        shares=read_only(shares),
    )


def _zonal(geometry: Zonal, degree: int) -> Harmonics:
    nodes, weights = roots_legendre(NODES_PER_BAND)
    offsets = geometry.spacing / 2 * nodes
    angles = (geometry.angles[:, np.newaxis] + offsets).ravel()
    logarithms = (geometry.dimension - 2) * np.log(np.sin(angles))
    shares = np.exp(logarithms - logarithms.max()) * np.tile(
        weights, len(geometry.angles)
    )
    values = zonal_harmonics(geometry.dimension, degree, np.cos(angles))[1:]
    return Harmonics(
        values=read_only(np.ascontiguousarray(values.T)),
        degrees=np.arange(1, degree + 1),
        points=geometry.points_at(angles),
        shares=read_only(shares / shares.sum()),
    )


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
