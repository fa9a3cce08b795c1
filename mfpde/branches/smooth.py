r"""Smooth densities as states of a branch, with diffusion kappa > 0.

v rho = kappa grad rho has the solutions rho = M e^{s F / kappa} / Z.  The interaction is
K(x.y) / beta = sum_k Lambda_k B_k(x) B_k(y) with functions B_k of one degree each.  The
unknowns are c_k = sqrt(Lambda_k) int B_k dmu, and

    F = V + sum_k sqrt(Lambda_k) c_k B_k,     G(c) = c - sqrt(Lambda) int B dmu,
    G_c = 1 - (s M / kappa) sqrt(Lambda) Cov(B) sqrt(Lambda),

Cov the covariance under rho / M.  G_c is symmetric: it is the second derivative of the free
energy kappa int rho log rho - s E, divided by kappa, in the directions that interact (it is 1
in all others), so that its negative eigenvalues count the unstable directions.

On the circle and the sphere the B_k are real harmonics at the cell centres, orthonormal for
the uniform probability (addition theorem: sum over one degree of B_k(x) B_k(y) = Z_l(x, y)),
Lambda_k is the eigenvalue of K / beta of their degree, and integrals are sums over the cells.

On a zonal grid there is one function for each degree, P_l(x.e) with P_l(1) = 1, and
Lambda_l = D_l lambda_l / beta, D_l the number of harmonics: neither the norm of P_l nor D_l
is representable in high dimension.  Integrals over each band are Gauss sums in the polar
angle, so that neither they nor the masses of the bands depend on how wide the bands are.
Only changes that are zonal too are counted there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache, singledispatch

import numpy as np
from scipy.special import roots_legendre

from mfpde.arrays import FloatArray, IntArray, read_only
from mfpde.branches.arclength import Direction, Growth, Linearised, Problem, StateAt
from mfpde.branches.result import StationaryDensity, mean_length
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.geometry.zonal_fields import zonal_harmonics
from mfpde.measures.measure import Density
from mfpde.stationary.symmetry import invariant_rotations
from mfpde.terms import PointMasses

STILL = 1e-7
LONGEST_STEP = 0.2
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


@singledispatch
def _harmonics(geometry: Geometry, degree: int) -> Harmonics:
    """Harmonics of degree 1..``degree``, without constants.

    Raises
    ------
    ValueError
        If there are more than 3000, or the geometry is of another kind.
    """
    del degree
    raise ValueError(
        f"atoms: a density on {geometry!r}; it must be on a Circle, a Sphere or a Zonal "
        "grid"
    )


@_harmonics.register(Circle)
@_harmonics.register(Sphere)
def _(geometry: Circle | Sphere, degree: int) -> Harmonics:
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


@_harmonics.register(Zonal)
def _(geometry: Zonal, degree: int) -> Harmonics:
    nodes, weights = roots_legendre(NODES_PER_BAND)
    offsets = geometry.spacing / 2 * nodes
    angles = (geometry.angles[:, np.newaxis] + offsets).ravel()
    logarithms = (geometry.dimension - 2) * np.log(np.sin(angles))
    shares = np.exp(logarithms - logarithms.max())
    shares *= np.tile(weights, len(geometry.angles))
    values = zonal_harmonics(geometry.dimension, degree, np.cos(angles))[1:]
    return Harmonics(
        values=read_only(np.ascontiguousarray(values.T)),
        degrees=np.arange(1, degree + 1),
        points=geometry.points_at(angles),
        shares=read_only(shares / shares.sum()),
    )


_cached_harmonics = lru_cache(maxsize=2)(_harmonics)


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
        return np.ones(self.basis.shape[1])

    @property
    def harmonics(self) -> Harmonics:
        """The harmonics B at the nodes where densities are integrated."""
        return _cached_harmonics(self.geometry, self.degree)

    @property
    def basis(self) -> FloatArray:
        """Values of the harmonics B at the nodes, (nodes, k)."""
        return self.harmonics.values

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

    def coefficients(self, density: Density, value: float) -> FloatArray:
        """Unknowns c that belong to a density."""
        if self.geometry.axis is not None:
            moments = self.geometry.moments(density.masses, self.degree)[1:].real
        else:
            moments = self.basis.T @ density.masses.ravel()
        return np.asarray(self.roots(self.at(value)) * moments)

    def density(self, place: StateAt) -> Density:
        """The density M e^{s F / kappa} / Z, from its mass in each cell."""
        shape = self.geometry.shape
        probabilities = _point(self, place).probabilities.reshape(*shape, -1)
        masses = self.mass * probabilities.sum(axis=-1)
        return Density(self.geometry, masses / self.geometry.areas)

    def linearised(self, place: StateAt) -> Linearised:
        """Residual G and derivative G_c, with a row for each rotation of the equation."""
        point = _point(self, place)
        modes = point.modes
        # J is invariant under rotations, so that G has no part along them, but for what the
        # grid does not resolve: that must not be fought for.
        across = point.residual - modes @ (modes.T @ point.residual)
        return Linearised(
            np.concatenate([across, np.zeros(modes.shape[1])]),
            np.concatenate([point.hessian, modes.T]),
        )

    def residual(self, place: StateAt) -> FloatArray:
        """Residual G without the rows of rotations."""
        return _point(self, place).residual

    def moved(self, state: FloatArray, step: FloatArray) -> FloatArray:
        """The sum of state and step: the unknowns form a vector space."""
        return np.asarray(state + step)

    def longest(self, place: StateAt, direction: Direction) -> float:
        """Largest distance along a direction: s F / kappa changes by about 0.2 at most."""
        equation = self.at(place.value)
        change = self.basis @ (self.roots(equation) * direction.state)
        largest = float(np.abs(change).max()) / equation.diffusion
        return LONGEST_STEP / max(largest, 1e-12)

    def rates(self, place: StateAt) -> Growth:
        """Negated eigenvalues of G_c without those of rotations; no atom splits."""
        return Growth(-_point(self, place).eigenvalues, np.empty((0, 1)))

    def polished(self, place: StateAt) -> StationaryDensity:
        """Return the state with its residual and stability."""
        point = _point(self, place)
        difference = self.basis @ (self.roots(point.equation) * point.residual)
        count = point.modes.shape[1]
        eigenvalues = np.append(point.eigenvalues, np.zeros(count))
        return StationaryDensity(
            equation=point.equation,
            density=self.density(place),
            residual=float(np.abs(difference).max()),
            hessian_eigenvalues=np.sort(eigenvalues),
            symmetry_dimension=count,
        )

    def points(self, state: FloatArray) -> FloatArray:
        """No points, (0, d): events of a density happen everywhere."""
        del state
        return np.empty((0, self.geometry.dimension))

    def order(self, place: StateAt) -> float:
        """Length of the mean of x under the density of mass 1."""
        return mean_length(self.density(place))

    def roots(self, equation: MeanFieldEquation) -> FloatArray:
        """Square roots (k,) of the eigenvalues Lambda."""
        total = np.zeros(self.degree + 1)
        for attention in equation.zonal_terms:
            spectrum = attention.interaction_spectrum(
                self.geometry.dimension,
                self.degree,
                counted=self.geometry.symbols_count_harmonics,
            )
            total += attention.amplitude * spectrum
        return np.asarray(np.sqrt(total[self.harmonics.degrees]))


@dataclass(frozen=True, eq=False)
class _Point:
    """Quantities at one place of the branch, each computed once."""

    problem: SmoothProblem
    place: StateAt

    @cached_property
    def equation(self) -> MeanFieldEquation:
        return self.problem.at(self.place.value)

    @cached_property
    def roots(self) -> FloatArray:
        return self.problem.roots(self.equation)

    @cached_property
    def probabilities(self) -> FloatArray:
        """Density over M at the nodes, times their shares of the area."""
        harmonics, equation = self.problem.harmonics, self.equation
        potential = harmonics.values @ (self.roots * self.place.state)
        for term in equation.externals:
            potential += term.value(harmonics.points)
        exponents = equation.sign * potential / equation.diffusion
        weights = harmonics.shares * np.exp(exponents - exponents.max())
        return np.asarray(weights / weights.sum())

    @cached_property
    def means(self) -> FloatArray:
        """Integrals (k,) of B against the density over M."""
        return np.asarray(self.problem.basis.T @ self.probabilities)

    @cached_property
    def residual(self) -> FloatArray:
        """Residual G (k,), without the rows of rotations."""
        expected = self.problem.mass * self.roots * self.means
        return np.asarray(self.place.state - expected)

    @cached_property
    def hessian(self) -> FloatArray:
        """Derivative G_c (k, k)."""
        # A matrix times its own transpose takes half the work of two matrices.
        weighted = self.problem.basis * np.sqrt(self.probabilities)[:, np.newaxis]
        covariance = weighted.T @ weighted - np.outer(self.means, self.means)
        factor = self.equation.sign * self.problem.mass / self.equation.diffusion
        scaled = self.roots[:, np.newaxis] * covariance * self.roots
        return np.asarray(np.eye(len(self.roots)) - factor * scaled)

    @cached_property
    def eigenvalues(self) -> FloatArray:
        """Eigenvalues of G_c without the rotations, increasing."""
        count = self.modes.shape[1]
        if not count:
            return np.asarray(np.linalg.eigvalsh(self.hessian))
        # The rotations get an eigenvalue above all others, and are left out.
        across = self.hessian @ self.modes
        along = self.modes.T @ across
        above = 2 * float(np.abs(self.hessian).sum(axis=0).max())
        shift = self.modes @ (along + above * np.eye(count)) @ self.modes.T
        crossed = across @ self.modes.T
        transverse = self.hessian - crossed - crossed.T + shift
        return np.asarray(np.linalg.eigvalsh(transverse)[:-count])

    @cached_property
    def modes(self) -> FloatArray:
        """Orthonormal columns: changes of c by the rotations of the equation."""
        problem, equation = self.problem, self.equation
        geometry = problem.geometry
        generators = problem.rotations(self.place.value)
        if not len(generators):
            return np.empty((len(self.roots), 0))
        # The density turned with the generator: d rho = -rho (s/kappa) grad F . Omega x.
        masses = problem.density(self.place).masses
        grid = equation.on(geometry)
        nothing = PointMasses(np.empty((0, geometry.dimension)), np.empty(0))
        velocity = grid.velocity(grid.moments(masses, nothing))
        along = np.einsum("a...,a...i->...i", velocity, geometry.tangents)
        turned = np.einsum("gij,...j,...i->g...", generators, geometry.points, along)
        changes = (masses * turned).reshape(len(generators), -1)
        columns = self.roots[:, np.newaxis] * (problem.basis.T @ changes.T)
        columns /= equation.diffusion
        basis, sizes, _ = np.linalg.svd(columns, full_matrices=False)
        return np.asarray(basis[:, sizes > STILL])


_point = lru_cache(maxsize=8)(_Point)
