r"""A head of attention on the circle or the sphere, from the moments of a measure.

The coefficients of Z are T mom(mu), and those of m_k are T mom(y_k mu), with the transfer matrix
T of :mod:`mfpde.terms.transfer`; the moments of y_k dmu follow from those of mu up to one degree
more.  In the gradient form V = a D one gradient is enough, as P_x D m = grad Z / beta.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import BoolArray, ComplexArray, FloatArray
from mfpde.geometry import Geometry
from mfpde.geometry.base import Fields
from mfpde.terms.attention import Attention
from mfpde.terms.external import beyond_grids
from mfpde.terms.interaction_on_grid import InteractionOnGrid
from mfpde.terms.softmax_sums import NOISY, resolved_limit
from mfpde.terms.transfer import Transfer, transfer


@dataclass(frozen=True, eq=False)
class HeadOnGrid(InteractionOnGrid):
    """A head on a grid, given moments up to ``moment_degree``; None for the least, its own."""

    head: Attention
    transfer: Transfer
    moment_degree: int | None = None

    @classmethod
    def of(cls, head: Attention, geometry: Geometry) -> HeadOnGrid:
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
        return cls(geometry, softmax, factor, head, transfer(head, geometry))

    @property
    def degree(self) -> int:
        """Degree of the moments that are used: one more than the kernel's."""
        return self.transfer.moment_degree + 1

    @cached_property
    def _of_energy(self) -> Transfer:
        """The matrix of the energy's kernel, which has no softmax."""
        plain = Attention(self.head.beta, bilinear=self.head.bilinear)
        return transfer(plain, self.geometry)

    def _up_to(self, degree: int, moments: ComplexArray) -> ComplexArray:
        """The moments up to ``degree``, of those that are given."""
        degrees = self.geometry.degrees(self.moment_degree or self.degree)
        some: ComplexArray = np.asarray(moments)[degrees <= degree]
        return some

    def mean_kernel(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients of Z."""
        used = self._up_to(self.transfer.moment_degree, moments)
        coefficients: ComplexArray = self.transfer.apply(used[np.newaxis])[0]
        return coefficients

    def drift(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """P_x V m, over Z with softmax, (directions, ...) along the tangents."""
        head = self.head
        if head.is_gradient and self.transfer.shift.is_constant:
            return super().drift(moments, where)
        used = self._up_to(self.degree, moments)
        rows = head.values_matrix @ self.geometry.coordinate_moments(used)
        if self.softmax is not None:
            rows = np.concatenate([rows, [self._up_to(self.degree - 1, moments)]])
        coefficients = self.transfer.apply(rows)
        entries = np.array([where.synthesis(row) for row in coefficients])
        vectors = entries[: self.geometry.dimension]
        drift: FloatArray = np.einsum("a...i,i...->a...", where.tangents, vectors)
        if self.softmax is None:
            return head.amplitude * drift
        z = self.normalisation(entries[-1], where, moments, coefficients[-1])
        return z.drift(drift, 1.0, head)

    def log_scale(self, where: Fields) -> FloatArray:
        """Logarithm of the shifted mean kernel over Z."""
        return self.head.beta * (self.transfer.shift.at(where.points) - self.head.size)

    def energy(self, moments: ComplexArray) -> float:
        """The energy (a / 2 beta) iint K dmu dmu, by Parseval."""
        used = self._up_to(self._of_energy.moment_degree, moments)
        coefficients = self._of_energy.apply(used[np.newaxis])[0]
        factor = self.factor * self.head.energy_amplitude / self.head.amplitude
        return factor * self.geometry.pairing(coefficients, used) / 2

    def is_noisy(self, moments: ComplexArray, cells: BoolArray) -> bool:
        """Whether noise counts in the Z of a softmax at one of the marked ``cells``."""
        # Nowhere is Z below e^(-2 c) times the mass.
        if self.softmax is None or 2 * self.head.shift < -np.log(NOISY):
            return False
        values = self.geometry.synthesis(self.mean_kernel(moments))
        return bool((values[cells] < NOISY * moments[0].real).any())

    def smallest_resolved(self, moments: ComplexArray, mean: ComplexArray) -> float:
        """The value of Z, of coefficients ``mean``, below which it has lost its digits."""
        used = self._up_to(self.transfer.moment_degree, moments)
        largest = self.transfer.largest_terms(used)
        degree = self.transfer.field_degree
        return resolved_limit(self.geometry, mean, degree, largest)
