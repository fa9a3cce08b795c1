r"""Interactions on a grid: drift, potential and energy from the moments of a measure.

    F = a Z,        v = a grad Z          Z(x) = int W(x, y) dmu(y)
    F = a log Z,    v = a grad Z / Z      (softmax)

The coefficients of the mean kernel Z are linear in the moments.  For kernels of x.y they are the
moments times the kernel's eigenvalues (Funk-Hecke); one gradient synthesis is the drift, with
one more synthesis for the values by which a softmax divides.

For a head of attention, on the circle or the sphere, they are T mom(mu), and those of its
m_k = int y_k K dmu are T mom(y_k mu), with the transfer matrix T of :mod:`mfpde.terms.transfer`.
In the gradient form V = a D one gradient is enough, as P_x D m = grad Z / beta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from mfpde.arrays import BoolArray, ComplexArray, FloatArray
from mfpde.geometry import Geometry
from mfpde.geometry.base import Fields
from mfpde.terms.attention import Attention
from mfpde.terms.external import beyond_grids
from mfpde.terms.interaction import InteractionTerm
from mfpde.terms.kernels import find_slope
from mfpde.terms.softmax_sums import DIGITS, EMPTY, LARGE, NOISY, SMALL, TINY, Moments
from mfpde.terms.transfer import Transfer, shift_at, transfer


@dataclass(frozen=True, eq=False)
class InteractionOnGrid:
    """An interaction on ``geometry``, as it acts on moments up to ``degree``.

    The ``operator`` takes moments to the coefficients of Z: the eigenvalues of kernels of x.y, or
    the transfer matrix of a head.  The ``factor`` a makes a potential of Z or of log Z.
    ``softmax`` is the one of the ``terms`` that divides by Z, ``head`` the one with matrices.
    """

    geometry: Geometry
    degree: int
    operator: FloatArray | Transfer
    factor: float
    terms: Sequence[InteractionTerm]
    softmax: Attention | None = None
    head: Attention | None = None

    @classmethod
    def of_kernels(
        cls, terms: Sequence[InteractionTerm], geometry: Geometry, degree: int
    ) -> InteractionOnGrid:
        """The sum of ``terms`` without softmax, or one with it, by kernels of x.y."""
        counted = geometry.axis is not None
        spectra = [
            term.amplitude
            * term.zonal_kernel.spectrum(geometry.dimension, degree, counted=counted)
            for term in terms
        ]
        spectrum, first = np.sum(spectra, axis=0)[geometry.degrees(degree)], terms[0]
        if isinstance(first, Attention) and first.needs_values:
            # Its Z is int K dmu, and K = beta W.
            values, factor = first.beta * spectrum, 1 / first.beta
            return cls(geometry, degree, values, factor, terms, first)
        return cls(geometry, degree, spectrum, 1.0, terms)

    @classmethod
    def of_head(
        cls, head: Attention, geometry: Geometry, degree: int
    ) -> InteractionOnGrid:
        """``head`` on the grid, with its matrix; ``ValueError`` if it does not fit."""
        if geometry.axis is not None:
            raise ValueError(
                f"geometry = {geometry!r} takes no matrices (bilinear, value), Circle and "
                f"Sphere do{beyond_grids(geometry.dimension)}"
            )
        head.check_dimension(geometry.dimension)
        if head.beta == 0 and head.values_matrix.any():
            # P_x V int y dmu, whatever D: that is the gradient of int x.Vy dmu(y).
            head = Attention(0.0, bilinear=head.values_matrix)
        factor = (head.multiple or 0.0) * head.amplitude / (head.beta or 1.0)
        softmax = head if head.needs_values else None
        matrix = transfer(head, geometry)
        return cls(geometry, degree, matrix, factor, [head], softmax, head)

    def mean_kernel(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients of Z."""
        used = self._used(moments)
        if isinstance(self.operator, Transfer):
            return self.operator.apply(used)
        return np.asarray(used * self.operator)

    def energy(self, moments: ComplexArray) -> float:
        """The energy (a / 2) iint W dmu dmu, by Parseval; of softmax that without it."""
        acting = self._without_softmax
        coefficients, used = acting.mean_kernel(moments), acting._used(moments)
        return acting.factor * self.geometry.pairing(coefficients, used) / 2

    @cached_property
    def _without_softmax(self) -> InteractionOnGrid:
        if self.softmax is None:
            return self
        plain = replace(self.softmax, normalized=False)
        if self.head is None:
            return self.of_kernels([plain], self.geometry, self.degree)
        return self.of_head(plain, self.geometry, self.degree)

    def drift(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """The drift, (directions, ...) along the tangents."""
        matrix = self.operator
        is_shifted = isinstance(matrix, Transfer) and matrix.has_smooth_shift
        if is_shifted or not (self.head is None or self.head.is_gradient):
            vectors = self.vectors(moments, where)
            return np.asarray(np.einsum("a...i,i...->a...", where.tangents, vectors))
        mean = self.mean_kernel(moments)
        drift = where.gradient(mean)
        drift *= self.factor
        if self.softmax is None:
            return drift
        values, small, sums = self._divisors(moments, mean, where)
        drift /= values
        if sums is not None:
            tangents = where.tangents[:, small]
            drift[:, small] = np.einsum("ani,ni->an", tangents, sums[1])
        return drift

    def vectors(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """The sums int y W' dmu, V in front and over Z of softmax, (d, ...).

        Their tangential part is the drift.  ``ValueError`` on a zonal grid.
        """
        vectors = self._sum_vectors(moments, where)
        if self.softmax is None:
            return vectors
        mean = self.mean_kernel(moments)
        values, small, sums = self._divisors(moments, mean, where)
        vectors /= values
        if sums is not None:
            vectors[:, small] = sums[1].T
        return vectors

    def potential(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """The potential (...) of which the drift is the gradient."""
        mean = self.mean_kernel(moments)
        if self.softmax is None:
            return self.factor * where.synthesis(mean)
        values, small, sums = self._divisors(moments, mean, where)
        log_mean = np.log(values)
        if isinstance(self.operator, Transfer):
            # Of the shifted kernel, in place of the one with the operator's shift.
            shift = shift_at(self.softmax, where.points)
            log_mean += self.softmax.beta * (shift - self.softmax.size)
        potential = self.softmax.softmax_potential(log_mean)
        if sums is not None:
            potential[small] = sums[0]
        return potential

    def is_noisy(self, moments: ComplexArray, cells: BoolArray) -> bool:
        """Whether noise counts in the Z of a softmax at one of the marked ``cells``."""
        # Nowhere is Z below e^(-2 c) times the mass.
        if self.softmax is None or 2 * self.softmax.shift < -np.log(NOISY):
            return False
        values = self.geometry.synthesis(self.mean_kernel(moments))
        return bool((values[cells] < NOISY * moments[0].real).any())

    def _sum_vectors(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """The sums before softmax divides: kernels take the moments of y dmu as those of mu."""
        head, matrix, factor = self.head, self.operator, 1.0
        if head is not None and isinstance(matrix, Transfer) and head.beta:
            degree, apply_kernel = matrix.moment_degree + 1, matrix.apply
            factor, used = head.amplitude, self._used(moments, more=1)
        else:
            degree, used = self.degree, np.asarray(moments)
            apply_kernel = partial(np.multiply, self._slopes)
        rows = self.geometry.coordinate_moments(used, degree)
        rows = rows if head is None else head.values_matrix @ rows
        return factor * np.array([where.synthesis(row) for row in apply_kernel(rows)])

    @cached_property
    def _slopes(self) -> FloatArray:
        """The eigenvalues of the kernels W' of the terms."""
        geometry, degree = self.geometry, self.degree - 1
        spectra = [
            term.amplitude
            * find_slope(term.zonal_kernel).spectrum(geometry.dimension, degree)
            for term in self.terms
        ]
        return np.asarray(np.sum(spectra, axis=0)[geometry.degrees(degree)])

    def _used(self, moments: ComplexArray, more: int = 0) -> ComplexArray:
        """The moments that the operator takes, and those of so many ``more`` degrees."""
        given: ComplexArray = np.asarray(moments)
        if not isinstance(self.operator, Transfer):
            return given
        limit = self.operator.moment_degree + more
        return given[self.geometry.degrees(self.degree) <= limit]

    def _divisors(
        self, moments: ComplexArray, mean: ComplexArray, where: Fields
    ) -> tuple[FloatArray, BoolArray, tuple[FloatArray, FloatArray] | None]:
        """Values (...) of Z, by which a softmax divides, where they are small, and sums there.

        Without known masses, as in stages of schemes, there are no sums: quotients fade where Z
        is nothing but rounding, which is far from all mass.
        """
        values = where.synthesis(mean)
        # No kernel is above 1, and no Z above the mass.
        bound: Any = float(moments[0].real) if moments.ndim == 1 else 1.0
        is_zonal = self.geometry.axis is not None
        if is_zonal:
            # Moments have the rounding of the largest, those of a measure at the axis.
            fields: Any = where
            bound = fields.largest_terms(bound * self.operator)
        small = values < LARGE * bound
        if not small.any():
            return values, small, None
        sums, sources = None, moments.sources if isinstance(moments, Moments) else None
        if sources is not None:
            known = SMALL * bound if is_zonal else self._smallest_known(moments, mean)
            small = values < known
            if sources.matter_at(small, where):
                sums = sources.sums(self.terms[0], where.points[small])
        return np.maximum(values, np.maximum(EMPTY * bound, TINY)), small, sums

    def _smallest_known(self, moments: ComplexArray, mean: ComplexArray) -> float:
        """The value of Z on a circle or a sphere below which it has lost too many digits.

        It is a share of the largest terms of its sum, or what the series leaves out, which is as
        large as its last two degrees.
        """
        geometry, degree = self.geometry, self.degree
        if isinstance(self.operator, Transfer):
            degree = self.operator.field_degree
            largest = self.operator.largest_terms(self._used(moments))
        else:
            # What is summed has one sign where Z is largest.
            largest = float(geometry.synthesis(mean).max())
        last = geometry.degrees(degree) >= degree - 1
        harmonics = 2 if geometry.dimension == 2 else 2 * degree + 1
        left_out = np.sqrt(2 * harmonics) * np.linalg.norm(mean[last])
        return max(SMALL * largest, DIGITS * float(left_out))
