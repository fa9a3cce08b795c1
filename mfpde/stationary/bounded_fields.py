r"""The first variation F = A[mu] + V of unnormalised attention, with all that bounds it.

Along a great arc u = gamma.y has u'' = -u, |u'| <= sqrt(1 - u^2), so that the shifted kernel
k = e^{beta (u-1)} / beta has

    k''  = e^{beta (u-1)} (beta u'^2 - u)                       >= -1
    k''' = e^{beta (u-1)} u' (beta^2 u'^2 - 3 beta u - 1)       within +-T_beta

T_beta is bounded by intervals of u; V is bounded in ``external_bounds.py``.

Rounding: with the unit roundoff u = 2^-53 and first-order a-priori bounds of each sum
(products and sums of d, n and J terms; relative error 4 u of exp and of the normal cdf),

    |error of F| <= 2 u sum_attention A m ((d + 7) + (n + 6) / beta) + |error of V|

with m the mass and A the kernel's amplitude.  This is added to every gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.stationary.branch_and_bound import Expansion
from mfpde.stationary.cubic_bounds import cubic_bounds
from mfpde.stationary.external_bounds import ROUNDOFF, ExternalBounds, external_bounds
from mfpde.stationary.tangent_frames import tangent_frames
from mfpde.terms import Attention
from mfpde.terms.funk_hecke import counted_eigenvalues

INTERVALS = 20_000


@dataclass(frozen=True, eq=False)
class AtomicField:
    """F of atoms ``points`` (n, d) with ``masses`` (n,), by direct sums."""

    equation: MeanFieldEquation
    points: FloatArray
    masses: FloatArray

    @property
    def dimension(self) -> int:
        """Dimension d."""
        return int(self.points.shape[1])

    @cached_property
    def external(self) -> ExternalBounds:
        """V."""
        return external_bounds(self.equation, self.dimension)

    @cached_property
    def curvature(self) -> float:
        """L: second derivatives are at least -L."""
        return self.external.curvature + _strength(self.equation, self.masses.sum())

    @cached_property
    def bend(self) -> float:
        """T: third derivatives between kinks are within +-T."""
        total = self.external.bend
        for attention in self.equation.attentions:
            strength = attention.amplitude * float(self.masses.sum())
            total += strength * kernel_bend(attention.beta)
        return total

    @property
    def width(self) -> float:
        """A length over which the field varies."""
        return min(self.external.width, kernel_width(self.equation)) / 2

    @cached_property
    def rounding(self) -> float:
        """Bound of the rounding errors of values."""
        total = self.external.rounding
        for attention in self.equation.attentions:
            share = (len(self.masses) + 6) / max(attention.beta, 1e-3)
            if attention.beta == 0:
                share = float(len(self.masses))
            strength = attention.amplitude * float(self.masses.sum())
            total += 2 * ROUNDOFF * strength * (self.dimension + 7 + share)
        return total

    def values(self, points: FloatArray) -> FloatArray:
        """F at ``points`` (n, d)."""
        total = np.zeros(len(points))
        deficits = points @ self.points.T - 1
        for attention in self.equation.attentions:
            total += kernel(attention, deficits) @ self.masses
        for term in self.external.terms:
            total += term.value(points)
        return total

    def expansion(self, points: FloatArray, radii: FloatArray) -> Expansion:
        """Values, gradients and lower Hessians at ``points`` (n, d)."""
        frames = tangent_frames(points)
        count, size, d = frames.shape
        values, gradient = np.zeros(count), np.zeros((count, size))
        hessian = np.zeros((count, size, size))
        cosines = points @ self.points.T
        squares = np.einsum("ni,nj->nij", self.points, self.points).reshape(-1, d * d)
        for attention in self.equation.attentions:
            beta = attention.beta
            pull = attention.amplitude * np.exp(beta * (cosines - 1)) * self.masses
            moment = pull @ self.points
            values += kernel(attention, cosines - 1) @ self.masses
            gradient += np.einsum("nai,ni->na", frames, moment)
            second = beta * (pull @ squares).reshape(-1, d, d)
            hessian += frames @ second @ np.swapaxes(frames, 1, 2)
            radial = np.einsum("ni,ni->n", points, moment)
            hessian -= radial[:, np.newaxis, np.newaxis] * np.eye(size)
        place = points, frames, radii
        self.external.add_to((values, gradient, hessian), place)
        atoms = self.points, self.masses
        if not radii.any():
            return Expansion(values, gradient, hessian)
        bend = cubic_bounds(self.equation.attentions, self.external, atoms)(place)
        return Expansion(values, gradient, hessian, bend)


@dataclass(frozen=True, eq=False)
class SpectralField:
    """F of the point masses with given ``moments`` on a grid, by their spectral field."""

    equation: MeanFieldEquation
    geometry: Geometry
    moments: ComplexArray
    mass: float

    @property
    def dimension(self) -> int:
        """Dimension d."""
        return self.geometry.dimension

    @cached_property
    def external(self) -> ExternalBounds:
        """V."""
        return external_bounds(self.equation, self.dimension)

    @cached_property
    def curvature(self) -> float:
        """L: second derivatives are at least -L."""
        return self.external.curvature + _strength(self.equation, self.mass)

    @property
    def bend(self) -> float:
        """Not used: second derivatives are not computed."""
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
            strength = attention.amplitude * self.mass / max(attention.beta, 1e-3)
            if attention.beta == 0:
                strength = self.mass
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
        """F at ``points`` (n, d)."""
        total, _ = self.field(points)
        for term in self.external.terms:
            total = total + term.value(points)
        return np.asarray(total)

    def expansion(self, points: FloatArray, radii: FloatArray) -> Expansion:
        """Values and gradients at ``points`` (n, d)."""
        frames = tangent_frames(points)
        values, slopes = self.field(points)
        gradient = np.einsum("nai,ni->na", frames, slopes)
        self.external.add_to((values, gradient, None), (points, frames, radii))
        return Expansion(values, gradient, None)


def kernel(attention: Attention, deficits: FloatArray) -> FloatArray:
    """K / beta at x.y - 1 = ``deficits`` (x.y itself at beta = 0)."""
    if attention.beta == 0:
        return 1 + deficits
    scale = attention.amplitude / attention.beta
    return np.asarray(scale * np.exp(attention.beta * deficits))


def kernel_width(equation: MeanFieldEquation) -> float:
    """Return 1 / sqrt(beta), the width of the narrowest kernel, at most 1."""
    return float(1 / np.sqrt(max([1.0, *(a.beta for a in equation.attentions)])))


def kernel_tail(attention: Attention, field: SpectralField) -> float:
    """Sum of D_l lambda_l beyond the field's degree: what is left out of K at most."""
    if attention.beta == 0:
        return 0.0
    counted = counted_eigenvalues(
        attention.beta, field.dimension, 4 * field.degree + 64
    )
    return float(counted[field.degree + 1 :].sum())


@lru_cache(maxsize=64)
def kernel_bend(beta: float) -> float:
    """T_beta: third derivatives of the shifted kernel along great arcs are within it."""
    ends = np.linspace(-1.0, 1.0, INTERVALS + 1)
    low, high = ends[:-1], ends[1:]
    nearest = np.where(low > 0, low, np.where(high < 0, high, 0.0))
    reach = np.sqrt(1 - nearest**2)
    worst = np.zeros(INTERVALS)
    for end in (low, high):
        slope = 3 * beta * end + 1
        turning = np.sqrt(np.maximum(slope, 0) / max(3 * beta**2, 1e-300))
        for s in (reach, np.minimum(turning, reach)):
            worst = np.maximum(worst, np.abs(beta**2 * s**3 - slope * s))
    return float((np.exp(beta * (high - 1)) * worst).max() * (1 + 1e-9))


def _strength(equation: MeanFieldEquation, mass: float) -> float:
    return float(mass * sum(a.amplitude for a in equation.attentions))
