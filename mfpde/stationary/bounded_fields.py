r"""The first variation F = A[mu] + V of unnormalised attention, with bounds of its derivatives.

Along a great arc u = gamma.y has u'' = -u, |u'| <= sqrt(1 - u^2), so that the shifted kernel
k = e^{beta (u-1)} / beta has

    k''  = e^{beta (u-1)} (beta u'^2 - u)                       >= -1
    k''' = e^{beta (u-1)} u' (beta^2 u'^2 - 3 beta u - 1)       within +-T_beta

T_beta is bounded in ``mfpde.terms.exponential_kernel``, V in ``external_bounds.py``.

Rounding: with the unit roundoff u = 2^-53 and first-order a-priori bounds of each sum
(products and sums of d, n and J terms; relative error 4 u of exp and of the normal cdf),

    |error of F| <= 2 u sum_attention A m ((d + 7) + (n + 6) / beta) + |error of V|

with m the mass and A the kernel's amplitude.  This is added to every gap.  Of a kernel of
one's own 1 and 1/beta are the largest |W'| and |W|, and its values are taken to be computed
to 6 u of the largest.  Errors of gradients and Hessians are bounded in the same way, with
max |W'|, and (1 + sharpness) max |W'| for the size of second derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.geometry.arcs import tangent_frames
from mfpde.stationary.external_bounds import (
    ROUNDOFF,
    ExternalBounds,
    external_bounds,
)
from mfpde.stationary.taylor_bounds import (
    ArcForms,
    DerivativeNoise,
    Expansion,
    ridge_forms,
)
from mfpde.terms import InteractionTerm
from mfpde.terms.kernels import KernelBounds

COSINES = np.cos(np.linspace(0.0, np.pi, 513))


@dataclass(frozen=True, eq=False)
class AtomicField:
    """The first variation F of atoms ``points`` (n, d) with ``masses`` (n,), by direct sums."""

    equation: MeanFieldEquation
    points: FloatArray
    masses: FloatArray

    @property
    def dimension(self) -> int:
        """Dimension d of the space that the sphere lies in."""
        return int(self.points.shape[1])

    @cached_property
    def external(self) -> ExternalBounds:
        """The potential V with its bounds."""
        return external_bounds(self.equation, self.dimension)

    @cached_property
    def curvature(self) -> float:
        """Constant L >= 0: second derivatives of F along great arcs are at least -L."""
        return self.external.curvature + _strength(self.equation, self.masses.sum())

    @cached_property
    def bend(self) -> float:
        """Constant T >= 0: third derivatives of F between kinks are within +-T."""
        mass = float(self.masses.sum())
        return self.external.bend + sum(
            mass * term.amplitude * bounds_of(term).third
            for term in self.equation.zonal_terms
        )

    @property
    def width(self) -> float:
        """A length over which the field varies."""
        return min(self.external.width, kernel_width(self.equation)) / 2

    @cached_property
    def rounding(self) -> float:
        """Bound of the rounding errors of values."""
        total, mass = self.external.rounding, float(self.masses.sum())
        for term in self.equation.zonal_terms:
            errors = term.strength * (self.dimension + 7)
            errors += largest_value(term) * (len(self.masses) + 6)
            total += 2 * ROUNDOFF * mass * errors
        return total

    @property
    def mean_rounding(self) -> float:
        """Bound of the rounding of a mean of F over the atoms, beside that of the values."""
        size = self.external.size + float(self.masses.sum()) * sum(
            map(largest_value, self.equation.zonal_terms)
        )
        return 2 * ROUNDOFF * (len(self.masses) + 2) * size

    @cached_property
    def noise(self) -> DerivativeNoise:
        """Bounds of the rounding errors of gradients and Hessians."""
        first, second = self.external.noise
        scale, count = 2 * ROUNDOFF * float(self.masses.sum()), len(self.masses)
        for term in self.equation.zonal_terms:
            errors = (self.dimension + 2) * term.sharpness
            errors += count + 3 * self.dimension + 16
            first += scale * term.strength * errors
            second += scale * term.strength * (1 + term.sharpness) * errors
        return DerivativeNoise(first, second)

    def values(self, points: FloatArray) -> FloatArray:
        """Values (n,) of F at ``points`` (n, d)."""
        total = np.zeros(len(points))
        cosines = points @ self.points.T
        for term in self.equation.zonal_terms:
            matrix = term.zonal_kernel.value(cosines)
            total += term.amplitude * (matrix @ self.masses)
        return total + self.external.values(points)

    def expansion(self, points: FloatArray, radii: FloatArray) -> Expansion:
        """Values, gradients and lower Hessians at ``points`` (n, d)."""
        frames = tangent_frames(points)
        values, forms = self.attraction(points, frames)
        lower = self.external.forms((points, frames, radii))
        return Expansion(
            values + self.external.values(points),
            forms.gradient + lower.gradient,
            forms.hessian + lower.hessian,
            self.noise,
        )

    def attraction(
        self, points: FloatArray, frames: FloatArray
    ) -> tuple[FloatArray, ArcForms]:
        """A[mu] (n,) with its gradients and Hessians at ``points`` (n, d), in ``frames``."""
        count, size, _ = frames.shape
        values = np.zeros(count)
        total = ArcForms(np.zeros((count, size)), np.zeros((count, size, size)))
        cosines = points @ self.points.T
        for term in self.equation.zonal_terms:
            kernel, weights = term.zonal_kernel, term.amplitude * self.masses
            slopes, bends = kernel.slope(cosines), kernel.bend(cosines)
            values += kernel.value(cosines) @ weights
            found = ridge_forms(
                slopes * weights, bends * weights, self.points, points, frames
            )
            total = ArcForms(*map(np.add, total, found))
        return values, total


@dataclass(frozen=True, eq=False)
class BandLimitedField:
    """The first variation F of point masses with given ``moments``, by their spectral field."""

    equation: MeanFieldEquation
    geometry: Geometry
    moments: ComplexArray
    mass: float

    @property
    def dimension(self) -> int:
        """Dimension d of the space that the sphere lies in."""
        return self.geometry.dimension

    @cached_property
    def external(self) -> ExternalBounds:
        """The potential V with its bounds."""
        return external_bounds(self.equation, self.dimension)

    @cached_property
    def curvature(self) -> float:
        """Constant L >= 0: second derivatives of F along great arcs are at least -L."""
        return self.external.curvature + _strength(self.equation, self.mass)

    @property
    def bend(self) -> float:
        """Zero, and not used: second derivatives of this field are not computed."""
        return 0.0

    @property
    def width(self) -> float:
        """A length over which the field varies."""
        return min(self.external.width, kernel_width(self.equation)) / 2

    @cached_property
    def degree(self) -> int:
        """Degree of the moments."""
        return self.equation.on(self.geometry).degree

    @cached_property
    def rounding(self) -> float:
        """Bound of rounding errors and of the kernel's degrees beyond those kept.

        Recurrences of length ``degree`` and transforms of the cells: 16 (degree + 1) +
        8 log2(cells) units, relative to the mass.
        """
        total, size = self.external.rounding, 4 * self.degree + 64
        for term in self.equation.zonal_terms:
            tail = kernel_tail(term, self.dimension, self.degree, size=size)
            total += self.mass * (self._roundings * largest_value(term) + tail)
        return total

    @property
    def _roundings(self) -> float:
        return 2 * ROUNDOFF * (16 * (self.degree + 1) + 8 * self._log_cells)

    @property
    def _log_cells(self) -> float:
        return float(np.log2(np.prod(self.geometry.shape)))

    @property
    def mean_rounding(self) -> float:
        """Bound of the rounding of a mean of F over the cells, beside that of the values."""
        size = self.external.size + self.mass * sum(
            map(largest_value, self.equation.zonal_terms)
        )
        # The sum over the cells is pairwise.
        return 2 * ROUNDOFF * (self._log_cells + 26) * size

    def field(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A[mu] (n,) and its gradient (n, d) at ``points``."""
        degrees = self.geometry.degrees(self.degree)
        symbol = np.zeros(self.degree + 1)
        for term in self.equation.zonal_terms:
            spectrum = term.zonal_kernel.spectrum(self.dimension, self.degree)
            symbol += term.amplitude * spectrum
        return self.geometry.field_at(symbol[degrees] * self.moments, points)

    def values(self, points: FloatArray) -> FloatArray:
        """Values (n,) of F at ``points`` (n, d)."""
        total, _ = self.field(points)
        return np.asarray(total + self.external.values(points))

    def expansion(self, points: FloatArray, radii: FloatArray) -> Expansion:
        """Values and gradients at ``points`` (n, d)."""
        frames = tangent_frames(points)
        values, slopes = self.field(points)
        gradient = np.einsum("nai,ni->na", frames, slopes)
        gradient += self.external.forms((points, frames, radii)).gradient
        pull = self.mass * sum(term.strength for term in self.equation.zonal_terms)
        noise = (
            self.external.noise.gradient + (self.degree + 1) * self._roundings * pull
        )
        return Expansion(
            values + self.external.values(points),
            gradient,
            None,
            noise=DerivativeNoise(noise, 0.0),
        )


def kernel_width(equation: MeanFieldEquation) -> float:
    """Return 1 / sqrt(beta), the width of the narrowest kernel, at most 1."""
    return float(1 / np.sqrt(max(1.0, equation.sharpness)))


def kernel_tail(
    term: InteractionTerm, dimension: int, degree: int, *, size: int
) -> float:
    """Bound of the part of a term's kernel beyond ``degree``."""
    return term.amplitude * term.zonal_kernel.tail(dimension, degree, size=size)


def largest_value(term: InteractionTerm) -> float:
    """The largest |W| of a term: 1 / beta for the shifted exponential kernel."""
    return term.amplitude * float(np.abs(term.zonal_kernel.value(COSINES)).max())


def bounds_of(term: InteractionTerm) -> KernelBounds:
    """Bounds of the kernel's derivatives; ``ValueError`` if it gives none."""
    if term.bounds is None:
        raise ValueError(
            f"kernel = {term!r}: a certificate needs ``bounds`` of its derivatives "
            "along great arcs (mfpde.terms.kernels.KernelBounds), and it gives none"
        )
    return term.bounds


def _strength(equation: MeanFieldEquation, mass: float) -> float:
    """Bound L of the fall of second derivatives of A[mu] below 0."""
    bounds = [t.amplitude * bounds_of(t).curvature for t in equation.zonal_terms]
    return float(mass * sum(bounds))
