r"""A head of attention on a zonal grid, whose matrices keep the axis e of the densities.

    D = a e e^T + b (1 - e e^T),    V = p e e^T + q (1 - e e^T)

Then a zonal measure moves along the meridians.  With theta and phi the angles of x and y to the
axis, z = beta D^T x has the length r and the angle alpha to the axis,

    r (cos alpha, sin alpha) = beta (a cos theta, b sin theta),

and the mean of e^(z.y) over the ring of y is a sum over the moments M_l of the measure,

    Z = int e^(z.y) dmu = sum_l D_l lambda_l(r) P_l(cos alpha) M_l           (Funk-Hecke)
    m = int y e^(z.y) dmu = grad_z Z,   v_theta = - p sin(theta) m_along + q cos(theta) m_across

with the derivatives of lambda_l by r and of P_l(cos alpha) by alpha.  No factor is a difference
of large numbers, so that the rows keep their digits in every dimension.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry import Geometry
from mfpde.geometry.zonal_fields import zonal_harmonics, zonal_slopes
from mfpde.terms.external import beyond_grids
from mfpde.terms.funk_hecke import band_limit, radial_factors
from mfpde.terms.head import Head
from mfpde.terms.kernels import PointMasses
from mfpde.terms.softmax_sums import Normalisation
from mfpde.terms.transfer import check_resolved

KEPT = 1e-12
"""Share of a matrix by which it may fail to keep the axis."""
LEAST_NODES = 64


class AxialMatrix(NamedTuple):
    """Factors along the axis and across it of a matrix that keeps the axis."""

    along: float
    across: float


class MeridianRows(NamedTuple):
    """Matrices (n, degree + 1) from moments to values at n angles.

    ``total`` gives Z and ``turning`` the component of V m along growing theta, both times
    e^-shift with a ``shift`` (n,) of the logits.
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
            f"{name} does not keep the axis of the zonal grid, the last one: it must be "
            "a e e^T + b (1 - e e^T) with e the axis, such as the diagonal matrix "
            f"diag(b, ..., b, a){beyond_grids(len(axis))}"
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
    def _factors(self) -> tuple[AxialMatrix, AxialMatrix]:
        """The factors of D and of V."""
        axis: Any = self.geometry.axis
        return (
            axial_matrix("bilinear", self.head.bilinear, axis),
            axial_matrix("value", self.head.values_matrix, axis),
        )

    def _rows(self, theta: FloatArray) -> MeridianRows:
        head, (logit, value) = self.head, self._factors
        cosines, sines = np.cos(theta), np.sin(theta)
        upward = head.beta * logit.along * cosines
        outward = head.beta * logit.across * sines
        radius, alpha = np.hypot(upward, outward), np.arctan2(outward, upward)
        factors = radial_factors(radius, head.dimension, self.degree)
        # A softmax has no shift; its own is the largest logit, r.
        shift = radius if head.needs_values else np.full(len(theta), head.shift)
        scale = np.exp(radius - shift)[:, np.newaxis]
        harmonics = zonal_harmonics(head.dimension, self.degree, np.cos(alpha)).T
        slopes = zonal_slopes(head.dimension, self.degree, alpha).T
        lengthwise = scale * factors.slopes * harmonics
        sideways = scale * factors.shares * slopes
        up, out = np.cos(alpha)[:, np.newaxis], np.sin(alpha)[:, np.newaxis]
        along = up * lengthwise - out * sideways
        across = out * lengthwise + up * sideways
        turning = -value.along * sines[:, np.newaxis] * along
        turning += value.across * cosines[:, np.newaxis] * across
        return MeridianRows(scale * factors.values * harmonics, turning, shift)

    @cached_property
    def _kept(self) -> dict[Any, MeridianRows]:
        return {}

    def _rows_at(self, where: Any) -> MeridianRows:
        if where not in self._kept:
            self._kept[where] = self._rows(where.angles)
        return self._kept[where]

    def _used(self, moments: ComplexArray) -> FloatArray:
        return np.asarray(moments).real[: self.degree + 1]

    @cached_property
    def _planar(self) -> Head:
        """The head in the plane of the axis, its first direction, and the point."""
        logit, value = self._factors
        given = None if self.head.value is None else np.diag(value)
        head = self.head
        return Head(head.beta, np.diag(logit), given, head.normalized, head.kernel)

    def _normalisation(
        self, rows: MeridianRows, where: Any, moments: ComplexArray
    ) -> Normalisation:
        """Z times e^-shift at points ``where``, which have these ``rows`` (n, degree + 1)."""
        used = self._used(moments)
        # Moments have the rounding of the first.
        largest = np.abs(rows.total).sum(axis=1) * used[0]
        shape = where.shape[:-1] if isinstance(where, np.ndarray) else (-1,)
        totals = (rows.total @ used).reshape(shape)
        return Normalisation(totals, largest.reshape(shape), where, moments)

    def drift(self, moments: ComplexArray, where: Any) -> FloatArray:
        """Component (1, n) of P_x V m (over Z with softmax) along growing theta."""
        rows = self._rows_at(where)
        speeds = (rows.turning @ self._used(moments))[np.newaxis]
        if not self.head.needs_values:
            return self.head.amplitude * speeds
        z = self._normalisation(rows, where, moments)
        return z.completed_drift(speeds / z.divisors, self._planar)

    def drift_at(self, moments: ComplexArray, points: FloatArray) -> FloatArray:
        """Vectors P_x V m (over Z with softmax) at ``points`` (..., d)."""
        axis = np.asarray(self.geometry.axis)
        cosines = points @ axis
        outward = cosines[..., np.newaxis] * points - axis
        sines = np.linalg.norm(outward, axis=-1)
        theta = np.arctan2(sines, cosines)
        rows = self._rows(theta.ravel())
        speeds = (rows.turning @ self._used(moments)).reshape(theta.shape)
        scaled = np.divide(speeds, sines, out=np.zeros(sines.shape), where=sines > 0)
        drift = np.asarray(scaled[..., np.newaxis] * outward)
        if not self.head.needs_values:
            return self.head.amplitude * drift
        z = self._normalisation(rows, points, moments)
        return z.completed_drift(drift / z.divisors[..., np.newaxis], self._planar)

    def potential(self, moments: ComplexArray, where: Any) -> FloatArray:
        """The potential of which the drift is the gradient, (n,)."""
        rows = self._rows_at(where)
        return self._potential(np.cos(where.angles), rows, where, moments)

    def potential_at(self, moments: ComplexArray, points: FloatArray) -> FloatArray:
        """The potential at ``points`` (..., d)."""
        cosines = np.clip(points @ np.asarray(self.geometry.axis), -1.0, 1.0)
        rows = self._rows(np.arccos(cosines).ravel())
        return self._potential(cosines, rows, points, moments)

    def _potential(
        self,
        cosines: FloatArray,
        rows: MeridianRows,
        where: Any,
        moments: ComplexArray,
    ) -> FloatArray:
        """The potential at points ``where``, with these ``cosines`` (...) to the axis."""
        head, used = self.head, self._used(moments)
        if head.beta == 0:
            factor = (head.multiple or 0.0) * self._factors[0].along * used[1]
            return np.asarray(factor * cosines)
        if not head.needs_values:
            factor = (head.multiple or 0.0) * head.amplitude / head.beta
            return np.asarray(factor * (rows.total @ used)).reshape(cosines.shape)
        z = self._normalisation(rows, where, moments)
        offset = (rows.shift - head.shift).reshape(cosines.shape)
        potential = head.potential_from(np.log(z.divisors) + offset)
        return z.completed_potential(potential, self._planar)

    def energy(
        self, masses: FloatArray, atoms: PointMasses, moments: ComplexArray
    ) -> float:
        """The energy (a / 2 beta) iint K dmu dmu, the integral of Z against the measure."""
        head, used = self.head, self._used(moments)
        factor = (head.multiple or 0.0) * head.energy_amplitude
        if head.beta == 0:
            return float(factor * self._factors[0].along * used[1] ** 2 / 2)
        zonal: Any = self.geometry
        plain = self._plain
        points, atom_masses = atoms
        total = zonal.smooth_integral(
            masses,
            mean=float(plain._mean_row @ used),
            slopes=head.beta * plain.drift(moments, zonal.faces)[0],
        )
        if len(atom_masses):
            angles = np.arccos(np.clip(points @ zonal.axis, -1.0, 1.0))
            total += float(atom_masses @ (plain._rows(angles).total @ used))
        return float(factor / head.beta * total / 2)

    @cached_property
    def _plain(self) -> ZonalHead:
        """The head V = D without softmax, whose drift is that of Z / beta."""
        return ZonalHead(
            Head(self.head.beta, self.head.bilinear), self.geometry, self.moment_degree
        )

    @cached_property
    def _mean_row(self) -> FloatArray:
        """Factors (degree + 1,) of the moments in the mean of Z over the uniform probability."""
        dimension = self.head.dimension
        count = 2 * self.degree + int(8 * np.sqrt(dimension)) + LEAST_NODES
        places, weights = leggauss(count)
        angles = (places + 1) * np.pi / 2
        weights = weights * np.sin(angles) ** (dimension - 2)
        return np.asarray(weights @ self._rows(angles).total / weights.sum())
