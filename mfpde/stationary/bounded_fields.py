r"""The first variation F = A[mu] + V of unnormalised attention, with bounds of its derivatives.

Along a great arc u = gamma.y has u'' = -u, |u'| <= sqrt(1 - u^2), so that the shifted kernel
k = e^{beta (u-1)} / beta has

    k''  = e^{beta (u-1)} (beta u'^2 - u)                       >= -1
    k''' = e^{beta (u-1)} u' (beta^2 u'^2 - 3 beta u - 1)       within +-T_beta

T_beta is bounded in ``mfpde.terms.exponential_bounds``, V in ``external_bounds.py``.

Rounding: with the unit roundoff u = 2^-53 and first-order a-priori bounds of each sum
(products and sums of d, n and J terms; relative error 4 u of exp and of the normal cdf),

    |error of F| <= 2 u sum_attention A m ((d + 7) + (n + 6) / beta) + |error of V|

with m the mass and A the kernel's amplitude.  This is added to every gap.
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
    Ball,
    ExternalBounds,
    external_bounds,
)
from mfpde.stationary.taylor_bounds import (
    ArcForms,
    Expansion,
    Ridges,
    largest,
    ridge_forms,
)
from mfpde.terms import Attention
from mfpde.terms.kernels import KernelSlopes

ROUNDING_SHARE = 1e-12


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
            mass * a.amplitude * a.zonal_kernel.bounds.third
            for a in self.equation.attentions
        )

    @property
    def width(self) -> float:
        """A length over which the field varies."""
        return min(self.external.width, kernel_width(self.equation)) / 2

    @cached_property
    def rounding(self) -> float:
        """Bound of the rounding errors of values."""
        total = self.external.rounding
        for attention in self.equation.attentions:
            share = float(len(self.masses))
            if attention.beta > 0:
                share = (share + 6) / attention.beta
            strength = attention.amplitude * float(self.masses.sum())
            total += 2 * ROUNDOFF * strength * (self.dimension + 7 + share)
        return total

    def values(self, points: FloatArray) -> FloatArray:
        """Values (n,) of F at ``points`` (n, d)."""
        total = np.zeros(len(points))
        deficits = points @ self.points.T - 1
        for attention in self.equation.attentions:
            amplitude = attention.amplitude
            matrix = attention.zonal_kernel.of_deficits(deficits, amplitude=amplitude)
            total += matrix @ self.masses
        return total + self.external.values(points)

    @cached_property
    def fifth(self) -> float:
        """Bound of the size of fifth derivatives of F between kinks."""
        mass = float(self.masses.sum())
        return self.external.fifth + sum(
            mass * a.amplitude * a.zonal_kernel.bounds.fifth
            for a in self.equation.attentions
        )

    def expansion(self, points: FloatArray, radii: FloatArray) -> Expansion:
        """Values, gradients and lower Hessians at ``points`` (n, d)."""
        place = points, tangent_frames(points), radii
        values, families = self.attraction(points)
        values += self.external.values(points)
        families += self.external.ridges(place)
        forms = ridge_forms(families, *place[:2])
        return Expansion(
            values, forms.gradient, forms.hessian, forms.cubic, self._rest(forms, place)
        )

    def attraction(self, points: FloatArray) -> tuple[FloatArray, list[Ridges]]:
        """A[mu] at ``points`` (n, d), and the atoms as ridges (``arc_forms.py``)."""
        values = np.zeros(len(points))
        families: list[Ridges] = []
        cosines = points @ self.points.T
        for attention in self.equation.attentions:
            slopes = self._slopes(attention, cosines)
            beta = attention.beta
            values += cosines @ self.masses if beta == 0 else slopes[0].sum(1) / beta
            families.append((slopes, self.points))
        return values, families

    def second_order(
        self, points: FloatArray, frames: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A[mu], its gradients (n, k) and Hessians (n, k, k), by few sums over the atoms."""
        count, d = points.shape
        identity = np.eye(frames.shape[1])
        values = np.zeros(count)
        gradient = np.zeros(frames.shape[:2])
        hessian = np.zeros((count, *identity.shape))
        squares = self.points[:, :, np.newaxis] * self.points[:, np.newaxis, :]
        powers = np.column_stack(
            [np.ones(len(self.points)), self.points, squares.reshape(-1, d * d)]
        )
        for attention in self.equation.attentions:
            beta = attention.beta
            pulls = attention.zonal_kernel.weight(points @ self.points.T - 1)
            strengths = attention.amplitude * self.masses
            sums = pulls @ (strengths[:, np.newaxis] * powers)
            first = sums[:, 1 : d + 1]
            radial = np.einsum("ni,ni->n", points, first)
            values += radial if beta == 0 else sums[:, 0] / beta
            gradient += np.einsum("nai,ni->na", frames, first)
            second = beta * sums[:, d + 1 :].reshape(count, d, d)
            hessian += frames @ second @ np.swapaxes(frames, 1, 2)
            hessian -= radial[:, np.newaxis, np.newaxis] * identity
        return values, gradient, hessian

    def _slopes(self, attention: Attention, cosines: FloatArray) -> KernelSlopes:
        weights = attention.amplitude * self.masses
        return attention.zonal_kernel.bounds.slopes(cosines - 1, weights)

    def _rest(self, forms: ArcForms, place: Ball) -> FloatArray | None:
        """The terms beyond the cubic form, as a bound (n,) of third derivatives.

        With D^4 at the centre, t^4 |D^4| / 24 + t^5 |D^5| / 120 <= t^3 rest / 6 up to the
        radius; neurons whose kinks lie in the ball, and rounding, add to the rest.
        """
        radii = place[2]
        if forms.quartic is None or not radii.any():
            return None
        rest = largest(forms.quartic) * radii / 4 + self.fifth * radii**2 / 20
        rest += ROUNDING_SHARE * (self.bend + self.fifth * radii)
        return rest + self.external.kink_bend(place)


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
        total = self.external.rounding
        cells = float(np.prod(self.geometry.shape))
        for attention in self.equation.attentions:
            strength = attention.amplitude * self.mass
            if attention.beta > 0:
                strength /= attention.beta
            errors = 2 * ROUNDOFF * (16 * (self.degree + 1) + 8 * np.log2(cells))
            total += strength * (errors + kernel_tail(attention, self))
        return total

    def field(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A[mu] (n,) and its gradient (n, d) at ``points``."""
        degrees = self.geometry.degrees(self.degree)
        symbol = np.zeros(self.degree + 1)
        for attention in self.equation.attentions:
            spectrum = attention.interaction_spectrum(self.dimension, self.degree)
            symbol += attention.amplitude * spectrum
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
        return Expansion(values + self.external.values(points), gradient, None)


def kernel_width(equation: MeanFieldEquation) -> float:
    """Return 1 / sqrt(beta), the width of the narrowest kernel, at most 1."""
    return float(1 / np.sqrt(max(1.0, equation.sharpness)))


def kernel_tail(attention: Attention, field: BandLimitedField) -> float:
    """Bound of the part of K beyond the field's degree: the sum of D_l lambda_l over it."""
    size = 4 * field.degree + 64
    return attention.zonal_kernel.tail(field.dimension, field.degree, size=size)


def _strength(equation: MeanFieldEquation, mass: float) -> float:
    return float(mass * sum(a.amplitude for a in equation.attentions))
