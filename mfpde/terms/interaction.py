r"""Interactions: the part of the first variation that depends on the measure.

    F[mu](x) = int W(x.y) dmu(y),   E[mu] = (1/2) iint W(x.y) dmu(x) dmu(y),   v = s grad F

with a zonal kernel W (Funk-Hecke; the aggregation equations of the sphere).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import FloatArray, IntArray, blocks_of_rows, check_kind, real_number
from mfpde.geometry import FieldAtPoints, Geometry
from mfpde.terms.external import tangential
from mfpde.terms.kernels import NEGLIGIBLE, Kernel, PointMasses

RESOLVED_TOLERANCE = 1e-10
SMALLEST_SUMMED_MEAN = 1e-5
"""Below this the kernel mean has lost five digits to cancellation in its series."""
MOST_PAIRS = 2**22
"""Of points and atoms whose kernels are held at a time."""
Mix: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]
Weigh: TypeAlias = Callable[[IntArray], FloatArray]
"""What takes rows (P, m) of numbers to their mixtures, and i (k,) to their weights (k, P)."""


@dataclass(frozen=True, kw_only=True)
class Positions(ABC):
    """Weights by which the measure that acts on a row mixes all rows, and omega of RoPE."""

    rope: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rope", real_number("rope", self.rope))

    @property
    def description(self) -> str:
        """What tokens see, in words."""
        rope = f", RoPE {self.rope:g}" if self.rope else ""
        return f"{type(self).__name__.lower()}{rope}"

    @abstractmethod
    def see(self, edges: FloatArray) -> tuple[Mix, Weigh]:
        """Return how rows mix and weigh all: r (P, m) to sum_j W_ij r_j, and i (k,) to W_ij.

        ``ValueError`` if weights are not those of the cells between ``edges`` (P + 1,).
        """

    def find_weights(self, edges: FloatArray) -> FloatArray:
        """Return the weights W (P, P) on cells with these ``edges`` (P + 1,)."""
        return self.see(edges)[1](np.arange(len(edges) - 1))


class InteractionTerm:
    """A term of the first variation that depends on the measure: its spectrum and its sums."""

    zonal_kernel: Kernel
    """The kernel W(x.y), amplitudes of conventions apart; of a head W(z.y)."""
    is_zonal: bool = True
    """Whether the kernel is a function of x.y alone; attention may have matrices."""
    positions: Positions | None = None
    """Whom a token at a position sees; None where all see all, or there are no positions."""
    energy_amplitude: float = 1.0
    """Factor of :attr:`zonal_kernel` in the energy."""
    amplitude: float = 1.0
    """Factor of the kernel in the field, softmax apart."""
    needs_values: bool = False
    """Whether the gradient needs the values of the mean kernel too (softmax)."""
    is_gradient: bool = True
    """Whether the drift at a measure is the gradient of a potential, A[mu]."""
    has_energy: bool = True
    """Whether that potential is the derivative of an energy by the measure."""
    description: str
    """The kind of the term and its kernel, in words."""
    formula: str
    """The kernel in words, as outputs state the convention."""
    width: str
    """What sets the width of the kernel, and with it its degree, in words."""

    @property
    def sharpness(self) -> float:
        """Inverse square of the length on which the kernel varies: beta |D|_2 of attention."""
        return self.zonal_kernel.sharpness

    @property
    def strength(self) -> float:
        """The largest speed at which a unit of mass pulls, softmax apart."""
        return self.amplitude * self.zonal_kernel.strength

    def band_limit(self, geometry: Geometry, negligible: float = NEGLIGIBLE) -> int:
        """Degree of the moments beyond which the interaction is ``negligible``, or the grid's.

        ``ValueError`` if the grid does not resolve the kernel (the message names one that does),
        or if on a zonal grid the kernel's series loses its digits.
        """
        kernel, dimension = self.zonal_kernel, geometry.dimension
        if geometry.axis is not None:
            kernel.spectrum(dimension, 1, counted=True)
        # Matrices take the moments of y dmu, too, which have one degree more.
        more = 0 if self.is_zonal else 1
        needed = kernel.band_limit(dimension, RESOLVED_TOLERANCE) + more
        if geometry.max_degree < needed:
            raise ValueError(
                f"{geometry!r} is too coarse for {self.width}, whose kernel has "
                f"degrees up to {needed}: it needs {geometry.cells_for_degree(needed)}"
            )
        return min(kernel.band_limit(dimension, negligible) + more, geometry.max_degree)

    def gradient_from(
        self, gradient: FloatArray, mean_kernel: FloatArray
    ) -> FloatArray:
        """The potential's gradient from that of int W dmu, whose values softmax divides by."""
        if self.needs_values:
            return np.asarray(gradient / (self.sharpness * mean_kernel))
        return gradient if self.amplitude == 1.0 else self.amplitude * gradient

    def drift_from_means(
        self, mean: FieldAtPoints, drift_at: Callable[[IntArray], FloatArray]
    ) -> FloatArray:
        """The drift (n, d) from int W dmu and its gradient at n points.

        A softmax divides by the ``mean``; where that is small it is ``drift_at`` these indices.
        """
        small = np.full(len(mean.values), self.needs_values)
        small &= self.sharpness * mean.values < SMALLEST_SUMMED_MEAN
        divisors = np.where(small, np.inf, mean.values)[:, np.newaxis]
        drift = self.gradient_from(mean.gradients, divisors)
        if small.any():
            drift[small] = drift_at(np.flatnonzero(small))
        return drift

    def field_of_atoms(self, points: FloatArray, atoms: PointMasses) -> FieldAtPoints:
        """The potential and its gradient at ``points`` (n, d), by the direct sum over atoms.

        The atoms may have other masses for each point, (n, k).  Where the drift is no gradient, it
        stands in the gradient's place, beside values 0.
        """
        values, vectors = self.sums_over_atoms(points, atoms)
        return FieldAtPoints(values, tangential(vectors, points))

    def sums_over_atoms(
        self, points: FloatArray, atoms: PointMasses
    ) -> tuple[FloatArray, FloatArray]:
        """The potential (n,), and the vectors (n, d) whose tangential part is the drift."""
        kernel, values = self.zonal_kernel, np.empty(len(points))
        vectors, every = np.empty(points.shape), (len(points), len(atoms.points))
        for block in blocks_of_rows(*every, MOST_PAIRS):
            cosines = np.clip(points[block] @ atoms.points.T, -1.0, 1.0)
            masses = np.broadcast_to(atoms.masses, every)[block]
            values[block] = np.einsum("ij,ij->i", kernel.value(cosines), masses)
            vectors[block] = kernel.slope(cosines) * masses @ atoms.points
        return self.amplitude * values, self.amplitude * vectors

    def pull_between_atoms(self, atoms: PointMasses) -> FloatArray:
        """Drifts (n, d) at the atoms themselves, to all their digits.

        An atom's force on itself, which is zero, is left out; with matrices it is not zero.
        """
        if not self.is_zonal:
            return self.field_of_atoms(atoms.points, atoms).gradients
        values, pulls = self.zonal_kernel.sums_between(atoms)
        return self.gradient_from(pulls, values[:, np.newaxis])

    def energy_of_atoms(self, atoms: PointMasses) -> float:
        """The energy (1/2) iint W dmu dmu of atoms, by the direct sum."""
        return float(atoms.masses @ self.field_of_atoms(atoms.points, atoms).values) / 2


@dataclass(frozen=True)
class Interaction(InteractionTerm):
    """The interaction F[mu](x) = int W(x.y) dmu(y) of a zonal kernel.

    Begin with ``Interaction(Polynomial((0.0, 0.0, 1.0)))``.

    Parameters
    ----------
    kernel
        W, a :class:`mfpde.terms.kernels.Kernel`; ``ValueError`` if it is none.
    """

    kernel: Kernel

    def __post_init__(self) -> None:
        source = "as ZonalKernel(W, W') of two functions of u = x.y"
        check_kind("kernel", self.kernel, Kernel, source=source)
        words = {"description": f"interaction ({self.kernel!r})", "width": repr(self)}
        vars(self).update(
            words, zonal_kernel=self.kernel, formula=f"W = {self.kernel!r}"
        )
