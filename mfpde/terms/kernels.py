r"""Zonal kernels W(x.y): what an interaction F[mu](x) = int W(x.y) dmu(y) is made of.

A kernel is a function W of u = x.y in [-1, 1] and its derivative.  Everything else follows
from them and can be given where a formula is known:

    W''                     by Chebyshev interpolation of W'
    spectrum                lambda_l = int W(u) P_l(u) dp(u)      (Funk-Hecke)
    sharpness               max |W''| / max |W'|: that of exp(beta (u - 1)) is beta
    bounds                  of derivatives along great arcs, which certificates need

with P_l the Gegenbauer polynomial of degree l, P_l(1) = 1, and p the law of x.y for uniform y,
of density proportional to (1 - u^2)^((d-3)/2).  The number D_l of harmonics of degree l
gives W(u) = sum_l D_l lambda_l P_l(u).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.polynomial.legendre import leggauss

from mfpde.arrays import FloatArray, blocks_of_rows, named, read_only
from mfpde.geometry.zonal_fields import harmonic_counts
from mfpde.terms.zonal_series import ZonalSeries, zonal_series

NEGLIGIBLE = 1e-17
LARGEST_QUADRATURE = 2048
ROUNDING = 4e-15
LARGEST_LOSS = 1e-9
"""Largest share of a kernel by which the sum of its series may differ from it."""
LARGEST_BY_QUADRATURE = 3
"""Dimension up to which D_l times the rounding of lambda_l stays rounding."""
BLOCK = 2**22


class PointMasses(NamedTuple):
    """Points (n, d) on the sphere and their masses (n,)."""

    points: FloatArray
    masses: FloatArray


class KernelSums(NamedTuple):
    """Sums over atoms: sum_j m_j W(x.y_j) (n,), and sum_j m_j W'(x.y_j) y_j (n, d)."""

    values: FloatArray
    vectors: FloatArray


class KernelPulls(NamedTuple):
    """Weighted derivatives W' and W'' of a kernel, of one shape."""

    first: FloatArray
    second: FloatArray


class KernelSlopes(NamedTuple):
    """Derivatives W', W'', W''' and W'''' of a kernel, weighted, all of one shape."""

    first: FloatArray
    second: FloatArray
    third: FloatArray
    fourth: FloatArray


class KernelBounds(ABC):
    """Derivatives of a kernel and their bounds along great arcs, as certificates need them.

    They are taken on trust.  An energy whose minimum is certified is convex: the kernel's
    eigenvalues from degree 1 on must not be negative, which is checked.

    With u = gamma.y along a great arc gamma, u'' = -u and |u'| <= sqrt(1 - u^2).
    """

    @property
    @abstractmethod
    def curvature(self) -> float:
        """Constant L >= 0 with d^2/ds^2 W(gamma(s).y) >= -L."""

    @property
    @abstractmethod
    def third(self) -> float:
        """Bound of |d^3/ds^3 W(gamma(s).y)|."""

    @property
    @abstractmethod
    def fifth(self) -> float:
        """Bound of |d^5/ds^5 W(gamma(s).y)|."""

    @abstractmethod
    def slopes(self, deficits: FloatArray, weights: FloatArray) -> KernelSlopes:
        """Derivatives of W at u = 1 + ``deficits`` (n, m), times ``weights`` (m,)."""


class Kernel(ABC):
    """A function W(u) of u = x.y in [-1, 1]; give ``value`` and ``slope``.

    Both take and return arrays of any shape.  A kernel is compared and remembered by its
    identity, or by its fields if it is a frozen dataclass.
    """

    @abstractmethod
    def value(self, cosines: FloatArray) -> FloatArray:
        """W at u = ``cosines``."""

    @abstractmethod
    def slope(self, cosines: FloatArray) -> FloatArray:
        """W' at u = ``cosines``."""

    def bend(self, cosines: FloatArray) -> FloatArray:
        """W'' at u = ``cosines``; by default from a Chebyshev interpolant of W'."""
        return np.asarray(self._bend(cosines))

    @cached_property
    def _bend(self) -> Chebyshev:
        return _interpolant(self.slope).deriv()

    @property
    def bounds(self) -> KernelBounds | None:
        """Bounds of derivatives along great arcs; None, the default, if none are known."""
        return None

    @cached_property
    def sharpness(self) -> float:
        """The inverse square max |W''| / max |W'| of the length on which W' varies.

        At least 0; beta for the exponential kernel.
        """
        cosines = np.cos(np.linspace(0.0, np.pi, 513))
        largest = float(np.abs(self.slope(cosines)).max())
        if largest == 0.0:
            return 0.0
        return float(np.abs(self.bend(cosines)).max()) / largest

    @cached_property
    def strength(self) -> float:
        """The largest |W'|: no unit of mass pulls faster."""
        return float(np.abs(self.slope(np.cos(np.linspace(0.0, np.pi, 513)))).max())

    def spectrum(
        self, dimension: int, degree: int, *, counted: bool = False
    ) -> FloatArray:
        """Funk-Hecke eigenvalues lambda_0..lambda_degree of W on S^(dimension-1).

        They are with respect to the uniform *probability*.  With ``counted`` each is
        multiplied by D_l, the number of harmonics of its degree.

        Raises
        ------
        ValueError
            If W is not smooth enough for its series to end within 1024 degrees, or, with
            ``counted``, for its sum to keep its digits in this dimension.
        """
        whole = _expansion(self, dimension).eigenvalues
        if counted:
            series = _count_harmonics(self, dimension)
            if series.error > LARGEST_LOSS:
                raise ValueError(
                    f"kernel = {self!r} loses its digits on a zonal grid of dimension "
                    f"{dimension}: terms of its series cancel to {series.error:.0e} of it; "
                    "use a smoother kernel, or solve_particles"
                )
            whole = series.coefficients
        result = np.zeros(degree + 1)
        size = min(degree + 1, len(whole))
        result[:size] = whole[:size]
        return result

    def band_limit(self, dimension: int, tolerance: float = NEGLIGIBLE) -> int:
        """Largest degree l with D_l |lambda_l| above ``tolerance`` times the largest.

        It is at least 1.  Degree l contributes at most D_l |lambda_l| to W.
        """
        sizes = np.abs(_count_harmonics(self, dimension).coefficients)
        above = np.nonzero(sizes > tolerance * sizes.max())[0]
        return max(1, int(above[-1])) if len(above) else 1

    def of_deficits(
        self, deficits: FloatArray, *, amplitude: float = 1.0
    ) -> FloatArray:
        """W, times ``amplitude``, at u = 1 + ``deficits``."""
        return amplitude * self.value(np.clip(1.0 + deficits, -1.0, 1.0))

    def tail(self, dimension: int, degree: int, *, size: int) -> float:
        """Bound of the part of W beyond ``degree``: its series' sizes there, up to ``size``."""
        sizes = np.abs(self.spectrum(dimension, size, counted=True))
        return float(sizes[degree + 1 :].sum() + ROUNDING * sizes.sum())

    def pulls(self, deficits: FloatArray, weights: FloatArray) -> KernelPulls:
        """Derivatives W' and W'' at u = 1 + ``deficits``, times ``weights``."""
        cosines = 1.0 + deficits
        return KernelPulls(weights * self.slope(cosines), weights * self.bend(cosines))

    def sums(self, points: FloatArray, atoms: PointMasses) -> KernelSums:
        """Direct sums over ``atoms`` of W and of W' y at ``points``, shape (n, d)."""
        found = KernelSums(np.empty(len(points)), np.empty(points.shape))
        for block in blocks_of_rows(len(points), len(atoms.masses), BLOCK):
            cosines = np.clip(points[block] @ atoms.points.T, -1.0, 1.0)
            found.values[block] = self.value(cosines) @ atoms.masses
            slopes = self.slope(cosines) * atoms.masses
            found.vectors[block] = slopes @ atoms.points
        return found

    def pull_between(self, atoms: PointMasses) -> FloatArray:
        """Gradients (n, d) of sum_j m_j W(x.y_j) at the atoms themselves.

        Nothing cancels: with D = x_j - x_i, x_j.x_i - 1 = -|D|^2 / 2 and P_i x_j = D +
        |D|^2 x_i / 2; an atom's force on itself, which is zero, is left out.
        """
        points, masses = atoms
        chords = points[np.newaxis] - points[:, np.newaxis]
        squares = np.einsum("ijk,ijk->ij", chords, chords)
        weights = masses * self.slope(1.0 - squares / 2)
        np.fill_diagonal(weights, 0.0)
        pulls = np.einsum("ij,ijk->ik", weights, chords)
        shares = (weights * squares / 2).sum(axis=1)
        return np.asarray(pulls + shares[:, np.newaxis] * points)


@dataclass(frozen=True)
class ZonalKernel(Kernel):
    """The kernel of two functions: W and its derivative, of arrays of u = x.y.

    Begin with ``ZonalKernel(np.sin, np.cos)``.

    Parameters
    ----------
    function
        W, elementwise of an array of cosines u in [-1, 1] of any shape.
    derivative
        W', in the same way.

    Raises
    ------
    ValueError
        If differences of W are not W'.
    """

    function: Callable[[FloatArray], FloatArray]
    derivative: Callable[[FloatArray], FloatArray]

    def __repr__(self) -> str:
        return f"ZonalKernel({named(self.function)}, {named(self.derivative)})"

    def __post_init__(self) -> None:
        u = np.linspace(-0.93, 0.89, 7)  # beside where kernels may have corners
        found = (self.value(u + 1e-6) - self.value(u - 1e-6)) / 2e-6
        given = np.broadcast_to(self.slope(u), u.shape)
        rounding = 1e-8 * np.abs(self.value(u)).max()
        apart = np.abs(found - given) - 1e-3 * np.abs(given).max() - rounding
        worst = int(np.argmax(apart))
        if not apart[worst] <= 0:
            raise ValueError(
                f"derivative: at u = {u[worst]:g} it is {given[worst]:g}, but the slope of "
                f"function there is {found[worst]:g}"
            )

    def value(self, cosines: FloatArray) -> FloatArray:
        """W at u = ``cosines``."""
        return np.asarray(self.function(cosines), dtype=np.float64)

    def slope(self, cosines: FloatArray) -> FloatArray:
        """W' at u = ``cosines``."""
        return np.asarray(self.derivative(cosines), dtype=np.float64)


@lru_cache(maxsize=256)
def _count_harmonics(kernel: Kernel, dimension: int) -> ZonalSeries:
    """Products D_l lambda_l, l = 0, 1, ..., until negligible, and what their sum loses."""
    by_quadrature = _expansion(kernel, dimension).counted
    if dimension <= LARGEST_BY_QUADRATURE:
        return ZonalSeries(by_quadrature, 0.0)
    return zonal_series(kernel.value, dimension)


class _Expansion(NamedTuple):
    """Eigenvalues lambda_l and products D_l lambda_l, l = 0, 1, ..., until negligible."""

    eigenvalues: FloatArray
    counted: FloatArray


@lru_cache(maxsize=256)
def _expansion(kernel: Kernel, dimension: int) -> _Expansion:
    nodes = 64
    while nodes <= LARGEST_QUADRATURE:
        roots = np.sqrt(harmonic_counts(dimension, nodes // 2))
        projected = _projections(kernel, dimension, nodes)
        noise = ROUNDING * np.sqrt(nodes) * np.linalg.norm(projected)
        projected = np.where(np.abs(projected) > noise, projected, 0.0)
        if not projected[-nodes // 8 :].any():
            return _Expansion(
                read_only(projected / roots), read_only(projected * roots)
            )
        nodes *= 2
    raise ValueError(
        f"kernel = {kernel!r} is not smooth enough: its Funk-Hecke series on "
        f"S^{dimension - 1} does not end within {LARGEST_QUADRATURE // 2} degrees"
    )


def _projections(kernel: Kernel, dimension: int, nodes: int) -> FloatArray:
    """Integrals of W times the orthonormal polynomials sqrt(D_l) P_l, l < nodes / 2."""
    if dimension == 2:
        angles, weights = (np.arange(nodes) + 0.5) * np.pi / nodes, np.ones(nodes)
    else:
        # In the angle, where the integrand is smooth whatever the dimension.
        places, weights = leggauss(nodes)
        angles = (places + 1) * np.pi / 2
        weights = weights * np.sin(angles) ** (dimension - 2)
    u, weights = np.cos(angles), weights / weights.sum()
    found = np.empty(nodes // 2)
    values = weights * kernel.value(u)
    before, here, previous = np.zeros(nodes), np.ones(nodes), 0.0
    for l in range(nodes // 2):
        found[l] = values @ here
        # u p_l = c_l p_(l+1) + c_(l-1) p_(l-1) for orthonormal polynomials p_l.
        if dimension == 2:
            coefficient = np.sqrt(0.5) if l == 0 else 0.5
        else:
            upper, lower = (l + 1) * (l + dimension - 2), 2 * l + dimension
            coefficient = np.sqrt(upper / (lower * (lower - 2)))
        before, here = here, (u * here - previous * before) / coefficient
        previous = coefficient
    return found


def _interpolant(function: Callable[[FloatArray], FloatArray]) -> Chebyshev:
    """The Chebyshev interpolant of a function on [-1, 1], up to rounding or degree 1024."""
    degree = 16
    while True:
        found = Chebyshev.interpolate(function, degree)
        sizes = np.abs(found.coef)
        if degree >= 1024 or sizes[-4:].max() <= ROUNDING * max(sizes.max(), 1e-300):
            return found.trim(ROUNDING * max(float(sizes.max()), 1e-300))
        degree *= 2
