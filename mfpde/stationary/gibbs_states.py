r"""Gibbs densities of a field, and how far each is from making that field itself.

The interaction is K(x.y) / beta = sum_k Lambda_k B_k(x) B_k(y) with functions B_k of one
degree each (``harmonics.py``).  The unknowns are c_k = sqrt(Lambda_k) int B_k dmu, and

    F = V + sum_k sqrt(Lambda_k) c_k B_k,     rho = M e^{s F / kappa} / Z,
    G(c) = c - sqrt(Lambda) int B rho,
    G_c = 1 - (s M / kappa) sqrt(Lambda) Cov(B) sqrt(Lambda),

Cov the covariance under rho / M.  G and G_c are the gradient and the symmetric second
derivative of

    Psi(c) = |c|^2 / 2 - s kappa M log Z(c).

In descent Psi is strictly convex and -Psi, up to a constant, the dual of the free energy
Phi[rho] = kappa int rho log rho - s E[rho]: min Phi = max (-Psi), and

    Phi[rho] + Psi(c) + constant = |G(c)|^2 / 2

bounds Phi[rho] - min Phi.  In ascent minima of Psi are minima of Phi.  1 - G_c has eigenvalues
mu that fall quickly: the directions with mu > 1 are unstable, and rotations have mu = 1; in
descent none is above 0.

A product with G_c takes a synthesis, a multiplication at the nodes and integrals.  On a zonal
grid Lambda_l = D_l lambda_l / beta, D_l the number of harmonics: neither the norm of P_l nor D_l
is representable in high dimension.  Only changes that are zonal too are counted there.

Of heads Lambda is a matrix, positive semidefinite as D is, and sqrt(Lambda) its symmetric root;
what the constant B_0 = 1 adds to F, M sum_k Lambda_k0 B_k, counts as V.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import dia_array, diags_array
from scipy.sparse.linalg import LinearOperator, eigsh

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.geometry.base import RealHarmonics
from mfpde.measures.measure import Density
from mfpde.stationary.harmonics import Harmonics, harmonics_on, kernel_matrix
from mfpde.stationary.symmetry import find_span, invariant_rotations

LARGEST_MATRIX = 120
"""Up to as many unknowns all eigenvalues of the matrix take less."""
AT_ONCE = 6
"""Eigenvalues that are asked for at a time: more than of degree 1 on S^2, and the next."""


@dataclass(frozen=True, eq=False)
class GibbsProblem:
    """Densities of mass M on a grid that make their own field, by harmonics up to ``degree``.

    The ``equation`` has unnormalised attention and diffusion kappa > 0.
    """

    equation: MeanFieldEquation
    geometry: Geometry
    mass: float
    degree: int

    @property
    def harmonics(self) -> Harmonics:
        """The harmonics B at the nodes where densities are integrated."""
        return harmonics_on(self.geometry, self.degree)

    @cached_property
    def _matrix(self) -> FloatArray:
        return kernel_matrix(self.equation, self.geometry, self.degree)

    @cached_property
    def root(self) -> FloatArray | dia_array:
        """The root (n, n) of Lambda, diagonal for kernels of x.y."""
        if self._matrix.ndim == 1:
            return diags_array(np.sqrt(np.maximum(self._matrix[1:], 0.0)))
        values, vectors = np.linalg.eigh(self._matrix[1:, 1:])
        return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)

    @cached_property
    def potential(self) -> FloatArray:
        """The potential V at the nodes, with what the constant adds to F."""
        known = self.harmonics
        total = np.zeros(len(known.points))
        total += sum(term.value(known.points) for term in self.equation.externals)
        if self._matrix.ndim == 2:
            total += known.synthesis(self.mass * self._matrix[1:, 0])
        return total

    def coefficients(self, density: Density) -> FloatArray:
        """Unknowns c that belong to a density."""
        packed = RealHarmonics.of(self.geometry, self.degree)
        moments = packed.read(self.geometry.moments(density.masses, self.degree))
        return np.asarray(self.root @ moments[1:])

    def field(self, coefficients: FloatArray) -> FloatArray:
        """The field sum_k sqrt(Lambda_k) c_k B_k at the nodes."""
        return self.harmonics.synthesis(self.root @ coefficients)


@dataclass(frozen=True, eq=False)
class GibbsState:
    """The Gibbs density of the field with some ``coefficients`` c; each quantity computed once."""

    problem: GibbsProblem
    coefficients: FloatArray

    @property
    def equation(self) -> MeanFieldEquation:
        """The equation, with its diffusion kappa > 0."""
        return self.problem.equation

    @cached_property
    def _exponents(self) -> FloatArray:
        field = self.problem.field(self.coefficients) + self.problem.potential
        return np.asarray(self.equation.sign * field / self.equation.diffusion)

    @cached_property
    def _weights(self) -> FloatArray:
        shares, exponents = self.problem.harmonics.shares, self._exponents
        return np.asarray(shares * np.exp(exponents - exponents.max()))

    @cached_property
    def probabilities(self) -> FloatArray:
        """Density over M at the nodes, times their shares of the area."""
        return np.asarray(self._weights / self._weights.sum())

    @cached_property
    def potential(self) -> float:
        """The function Psi(c), Z taken against the uniform probability."""
        equation, c = self.equation, self.coefficients
        logarithm = float(np.log(self._weights.sum()) + self._exponents.max())
        scale = equation.sign * equation.diffusion * self.problem.mass
        return float(c @ c) / 2 - scale * logarithm

    @cached_property
    def gradient(self) -> FloatArray:
        """The gradient G (n,) of Psi."""
        problem = self.problem
        means = problem.harmonics.integrals(self.probabilities)
        return np.asarray(self.coefficients - problem.mass * (problem.root @ means))

    @property
    def size(self) -> float:
        """The length |G|."""
        return float(np.linalg.norm(self.gradient))

    def product(self, direction: FloatArray) -> FloatArray:
        """The product of G_c with a direction (n,)."""
        problem, probabilities = self.problem, self.probabilities
        values = problem.field(direction)
        values -= probabilities @ values
        changes = problem.harmonics.integrals(probabilities * values)
        factor = self.equation.sign * problem.mass / self.equation.diffusion
        return np.asarray(direction - factor * (problem.root @ changes))

    @cached_property
    def hessian(self) -> FloatArray:
        """Matrix (n, n) of G_c."""
        return np.stack([self.product(row) for row in np.eye(len(self.coefficients))])

    @cached_property
    def density(self) -> Density:
        """The density rho, by its exact mass in each cell of a zonal grid."""
        geometry = self.problem.geometry
        probabilities = self.probabilities.reshape(*geometry.shape, -1)
        masses = self.problem.mass * probabilities.sum(axis=-1)
        return Density(geometry, masses / geometry.areas)

    @property
    def order(self) -> float:
        """Length of the mean of x under the density of mass 1: 0 if uniform, 1 for an atom."""
        geometry, masses = self.problem.geometry, self.density.masses.ravel()
        if geometry.axis is not None:
            mean = geometry.moments(masses, 1)[1:].real
        else:
            mean = masses @ geometry.points.reshape(len(masses), -1)
        return float(np.linalg.norm(mean) / masses.sum())

    @cached_property
    def rotation_modes(self) -> FloatArray:
        """Orthonormal columns (n, k): changes of c by the rotations of the equation.

        At a stationary state G_c maps them to zero.
        """
        problem, geometry = self.problem, self.problem.geometry
        generators = invariant_rotations(self.equation, geometry.dimension)
        if geometry.axis is not None or not len(generators):
            return np.empty((len(self.coefficients), 0))
        # The density turned with the generator, d rho = -grad rho . Omega x: of degree L too.
        moments = geometry.moments(self.density.masses, problem.degree)
        slopes = geometry.gradient(moments) * geometry.areas / geometry.areas.sum()
        along = np.einsum("a...,a...i->...i", slopes, geometry.tangents)
        turned = np.einsum("gij,...j,...i->g...", generators, geometry.points, along)
        columns = [problem.harmonics.integrals(row.ravel()) for row in turned]
        return find_span(problem.root @ np.stack(columns, axis=1))

    @cached_property
    def leading(self) -> FloatArray:
        """Largest eigenvalues mu of 1 - G_c, the interaction's, decreasing; 0 for rotations.

        All above 1/2 and the next one, down to 0 in descent.  The second derivative of
        kappa int rho log rho - s E, divided by kappa, is 1 - mu in L^2(1 / rho): a direction
        is unstable if mu > 1.  On a zonal grid those of the directions that are zonal too.
        """
        size, known = len(self.coefficients), self.rotation_modes
        if size <= LARGEST_MATRIX:
            across = np.eye(size) - known @ known.T
            inside = across @ (np.eye(size) - self.hessian) @ across
            return np.asarray(np.linalg.eigvalsh(inside)[::-1])
        if self.equation.sign < 0:
            return np.zeros(1)

        def multiply(vector: FloatArray) -> FloatArray:
            rest = vector.ravel() - known @ (known.T @ vector.ravel())
            image = rest - self.product(rest)
            return np.asarray(image - known @ (known.T @ image))

        # ARPACK finds a multiple eigenvalue less often than it is there: a few at a time come
        # across those found before, from starts with a fixed seed, until none is above 1/2.
        matrix = LinearOperator((size, size), matvec=multiply, dtype=np.float64)
        generator, values = np.random.default_rng(0), np.empty(0)
        while not len(values) or values[-AT_ONCE:].max() > 1 / 2:
            # As much of each axis as 1 - G_c makes of it, roughly.
            start = self.problem.root @ generator.standard_normal(size)
            found, vectors = eigsh(matrix, AT_ONCE, which="LA", v0=start)
            values = np.append(values, found)
            known = np.concatenate([known, vectors], axis=1)
        return np.sort(values)[::-1]
