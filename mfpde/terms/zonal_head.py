r"""A head of attention on a zonal grid, whose matrices keep the axis e of the densities.

    D = a e e^T + b (1 - e e^T),    V = p e e^T + q (1 - e e^T)

Then a zonal measure moves along the meridians.  With theta and phi the angles of x and y to the
axis, and r = beta b sin(theta) sin(phi), the mean over the ring of y is

    Z(theta) = int G A(r) dmu,   G = e^(beta a cos(theta) cos(phi)),   A(r) = mean of e^(r u)
    v_theta  = - p sin(theta) int cos(phi) G A(r) dmu + q cos(theta) int sin(phi) G A'(r) dmu

with u = w.w' for uniform w' on the sphere S^(d-2) of directions, A(r) = 0F1(; (d-1)/2; r^2/4).
Every integrand is smooth in cos(phi), and its expansion in the harmonics P_l turns it into sums
over the moments of the measure; rounding grows with the number D_l of harmonics, to 1e-13 of the
largest value in dimension 8 and 1e-7 in dimension 64.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import gammaln, hyp0f1, ive

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry import Geometry
from mfpde.geometry.zonal_fields import harmonic_counts, zonal_harmonics
from mfpde.terms.funk_hecke import band_limit
from mfpde.terms.head import Head
from mfpde.terms.kernels import ROUNDING
from mfpde.terms.transfer import check_resolved

KEPT = 1e-12
"""Share of a matrix by which it may fail to keep the axis."""
LARGE = 30.0


class AxialMatrix(NamedTuple):
    """Factors along the axis and across it of a matrix that keeps the axis."""

    along: float
    across: float


class MeridianRows(NamedTuple):
    """Matrices (n, degree + 1) from moments to values at n angles.

    ``total`` gives Z and ``turning`` the component of V m along growing theta, both times
    e^-shift with a ``shift`` (n,) of the logits' own.
    """

    total: FloatArray
    turning: FloatArray
    shift: FloatArray


def axial_matrix(name: str, matrix: FloatArray, axis: FloatArray) -> AxialMatrix:
    """The factors of ``matrix`` (d, d) along and across ``axis`` (d,).

    Raises
    ------
    ValueError
        If the matrix is no multiple of the identity across the axis, or mixes both.
    """
    along = float(axis @ matrix @ axis)
    outer = np.outer(axis, axis)
    across = float((np.trace(matrix) - along) / (len(axis) - 1))
    rest = matrix - along * outer - across * (np.eye(len(axis)) - outer)
    if np.abs(rest).max() > KEPT * np.abs(matrix).max():
        raise ValueError(
            f"{name} does not keep the axis {axis.tolist()} of the zonal grid: it must be "
            "a e e^T + b (1 - e e^T) with e the axis, such as the diagonal matrix "
            "diag(b, ..., b, a)"
        )
    return AxialMatrix(along, across)


@dataclass(frozen=True, eq=False)
class ZonalHead:
    """A head on a zonal grid; ``moment_degree`` is that of the moments that it is given."""

    head: Head
    geometry: Geometry
    moment_degree: int

    @classmethod
    def least_degree(cls, head: Head, geometry: Geometry) -> int:
        """Degree of the moments that the head needs on ``geometry``.

        Raises
        ------
        ValueError
            If the matrices do not keep the axis, or the grid is too coarse.
        """
        head.check_dimension(geometry.dimension)
        axis: Any = geometry.axis
        axial_matrix("bilinear", head.bilinear, axis)
        axial_matrix("value", head.values_matrix, axis)
        check_resolved(head, geometry, 1e-10)
        return min(band_limit(head.shift, head.dimension), geometry.max_degree)

    @cached_property
    def degree(self) -> int:
        """Degree of the kernel's expansion."""
        return self.least_degree(self.head, self.geometry)

    @cached_property
    def _nodes(self) -> tuple[FloatArray, FloatArray]:
        """Angles phi and weights of the uniform probability, exact to twice the degree."""
        places, weights = leggauss(2 * self.degree + 64)
        angles = (places + 1) * np.pi / 2
        weights = weights * np.sin(angles) ** (self.head.dimension - 2)
        return angles, weights / weights.sum()

    @cached_property
    def _counted(self) -> FloatArray:
        return harmonic_counts(self.head.dimension, self.degree + 1)

    def _projected(self, values: FloatArray) -> FloatArray:
        """Factors (n, degree + 1) of the moments from integrands (n, nodes) of phi."""
        angles, weights = self._nodes
        harmonics = zonal_harmonics(self.head.dimension, self.degree, np.cos(angles))
        found = (values * weights) @ harmonics.T * np.sqrt(self._counted)
        noise = ROUNDING * np.linalg.norm(found, axis=1, keepdims=True)
        return np.where(np.abs(found) > noise, found, 0.0) * np.sqrt(self._counted)

    def _rows(self, theta: FloatArray) -> MeridianRows:
        head, axis = self.head, self.geometry.axis
        logit = axial_matrix("bilinear", head.bilinear, np.asarray(axis))
        value = axial_matrix("value", head.values_matrix, np.asarray(axis))
        phi, _ = self._nodes
        upright = head.beta * logit.along * np.outer(np.cos(theta), np.cos(phi))
        radius = head.beta * logit.across * np.outer(np.sin(theta), np.sin(phi))
        means, slopes = _ring_means(head.dimension, np.abs(radius))
        logits = upright + np.abs(radius)
        shift = (
            logits.max(axis=1) if head.needs_values else np.full(len(theta), head.shift)
        )
        kernel = np.exp(logits - shift[:, np.newaxis])
        total = self._projected(kernel * means)
        along = self._projected(kernel * means * np.cos(phi))
        away = self._projected(kernel * slopes * np.sign(radius) * np.sin(phi))
        turning = -value.along * np.sin(theta)[:, np.newaxis] * along
        turning += value.across * np.cos(theta)[:, np.newaxis] * away
        return MeridianRows(total, turning, shift)

    @cached_property
    def _kept(self) -> dict[Any, MeridianRows]:
        return {}

    def _rows_at(self, where: Any) -> MeridianRows:
        if where not in self._kept:
            self._kept[where] = self._rows(where.angles)
        return self._kept[where]

    def _used(self, moments: ComplexArray) -> FloatArray:
        return np.asarray(moments.real[: self.degree + 1])

    def drift(self, moments: ComplexArray, where: Any) -> FloatArray:
        """Component (1, n) of P_x V m (over Z with softmax) along growing theta."""
        return self._speeds(self._rows_at(where), moments)[np.newaxis]

    def _speeds(self, rows: MeridianRows, moments: ComplexArray) -> FloatArray:
        used = self._used(moments)
        speeds = rows.turning @ used
        if not self.head.needs_values:
            return np.asarray(self.head.amplitude * speeds)
        return np.asarray(speeds / np.maximum(rows.total @ used, np.finfo(float).tiny))

    def drift_at(self, moments: ComplexArray, points: FloatArray) -> FloatArray:
        """Vectors P_x V m (over Z with softmax) at ``points`` (..., d)."""
        axis = np.asarray(self.geometry.axis)
        cosines = points @ axis
        outward = cosines[..., np.newaxis] * points - axis
        sines = np.linalg.norm(outward, axis=-1)
        theta = np.arctan2(sines, cosines)
        speeds = self._speeds(self._rows(theta.ravel()), moments).reshape(theta.shape)
        scaled = np.divide(speeds, sines, out=np.zeros(sines.shape), where=sines > 0)
        return np.asarray(scaled[..., np.newaxis] * outward)

    def potential(self, moments: ComplexArray, where: Any) -> FloatArray:
        """The potential of which the drift is the gradient, (n,)."""
        return self._potential(where.angles, self._rows_at(where), moments)

    def potential_at(self, moments: ComplexArray, points: FloatArray) -> FloatArray:
        """The potential at ``points`` (..., d)."""
        cosines = np.clip(points @ np.asarray(self.geometry.axis), -1.0, 1.0)
        theta = np.arccos(cosines).ravel()
        values = self._potential(theta, self._rows(theta), moments)
        return values.reshape(cosines.shape)

    def _potential(
        self, theta: FloatArray, rows: MeridianRows, moments: ComplexArray
    ) -> FloatArray:
        head, used = self.head, self._used(moments)
        if head.beta == 0:
            logit = axial_matrix(
                "bilinear", head.bilinear, np.asarray(self.geometry.axis)
            )
            factor = (head.multiple or 0.0) * logit.along * used[1]
            return np.asarray(factor * np.cos(theta))
        totals = rows.total @ used
        if not head.needs_values:
            return np.asarray(
                (head.multiple or 0.0) * head.amplitude / head.beta * totals
            )
        logarithms = np.log(np.maximum(totals, np.finfo(float).tiny))
        return head.potential_from(logarithms + rows.shift - head.shift)

    def energy(self, moments: ComplexArray) -> float:
        """The energy (a / 2 beta) iint K dmu dmu."""
        head, used = self.head, self._used(moments)
        factor = (head.multiple or 0.0) * head.energy_amplitude
        if head.beta == 0:
            logit = axial_matrix(
                "bilinear", head.bilinear, np.asarray(self.geometry.axis)
            )
            return float(factor * logit.along * used[1] ** 2 / 2)
        plain = ZonalHead(
            Head(head.beta, head.bilinear), self.geometry, self.moment_degree
        )
        angles, _ = self._nodes
        totals = plain._rows(angles).total @ used
        coefficients = self._projected(totals[np.newaxis])[0]
        return float(factor / head.beta * (coefficients @ used) / 2)


def _ring_means(dimension: int, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The means e^-r A(r) and e^-r A'(r) over the directions of S^(d-2), r >= 0."""
    order = (dimension - 3) / 2
    small = np.minimum(radius, LARGE)
    scale = np.exp(-small)
    means = scale * hyp0f1(order + 1, small**2 / 4)
    slopes = scale * small / (2 * (order + 1)) * hyp0f1(order + 2, small**2 / 4)
    large = np.maximum(radius, LARGE)
    factor = np.exp(gammaln(order + 1) - order * np.log(large / 2))
    is_large = radius > LARGE
    return (
        np.where(is_large, factor * ive(order, large), means),
        np.where(is_large, factor * ive(order + 1, large), slopes),
    )
