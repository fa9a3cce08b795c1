r"""Zonal kernels W(x.y): what an interaction F[mu](x) = int W(x.y) dmu(y) is made of.

A kernel is a function W of u = x.y in [-1, 1] and its derivative.  All but a bound of the
``third_derivative`` follows from their Chebyshev interpolants, and can be given where a formula
is known.  On S^(d-1) the series of W is (Funk-Hecke)

    W(u) = sum_l c_l P_l(u),  c_l = D_l lambda_l,  int W(x.y) Y_l(y) dsigma(y) = lambda_l Y_l(x)
    u P_l = ((l + d - 2) P_(l+1) + l P_(l-1)) / (2l + d - 2)

with the Gegenbauer polynomial P_l of degree l, P_l(1) = 1, the D_l harmonics Y_l of degree l, and
the uniform *probability* sigma.  In high dimension a quadrature against the law of x.y, which is
concentrated at 0, knows W(1) badly: the c_l follow from the Chebyshev polynomials by Clenshaw's
recurrence in them.  With singularities of W near [-1, 1] they grow with the dimension and cancel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.polynomial.chebyshev import chebval, poly2cheb
from numpy.polynomial.polynomial import polyder, polyval
from scipy.fft import dct
from scipy.sparse import diags

from mfpde.arrays import FloatArray, name_of, read_only, real_array
from mfpde.geometry import FieldAtPoints
from mfpde.geometry.harmonics import log_harmonic_counts, zonal_harmonics
from mfpde.terms.external import check_slopes

LARGEST_DEGREE = 1024
NOISE = 2e-14
"""Share of the largest Chebyshev coefficient below which they are rounding."""
NEGLIGIBLE = 1e-17
"""Share of a kernel below which degrees do not count."""
LARGEST_POWER = 64
SMALLEST_COEFFICIENT = 1e-100
"""Of polynomials."""
ROUNDING = 4e-15
LARGEST_LOSS = 1e-9
"""Largest share of a kernel by which the sum of its series may differ from it."""
COSINES = np.cos(np.linspace(0.0, np.pi, 513))
BETWEEN = np.cos(np.linspace(0.1, 3.0, 29))


class PointMasses(NamedTuple):
    """Points (n, d) on the sphere and their masses (n,)."""

    points: FloatArray
    masses: FloatArray


class KernelSeries(NamedTuple):
    """Coefficients c_l of W, eigenvalues lambda_l, error of the sum as a share of W's range."""

    counted: FloatArray
    eigenvalues: FloatArray
    error: float


class Kernel(ABC):
    """A function W(u) of u = x.y in [-1, 1]; give ``value`` and ``slope``, of arrays of any shape.

    It is compared and remembered by its identity, or by its fields if it is a frozen dataclass.
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
        return Chebyshev(chebyshev_coefficients(self.slope)).deriv()

    @property
    def third_derivative(self) -> float | None:
        """Bound of |d^3/ds^3 W(gamma(s).y)| along every great arc gamma; None if none is known.

        With u = gamma.y, u'' = -u and |u'| <= sqrt(1 - u^2).  Certificates take it on trust.
        """
        return None

    @cached_property
    def sharpness(self) -> float:
        """Inverse square max |W''| / max |W'| of the length on which W' varies."""
        largest = self.strength
        return float(np.abs(self.bend(COSINES)).max()) / largest if largest else 0.0

    @cached_property
    def strength(self) -> float:
        """The largest |W'|: no unit of mass pulls faster."""
        return float(np.abs(self.slope(COSINES)).max())

    @cached_property
    def chebyshev(self) -> FloatArray:
        """Coefficients of W in Chebyshev polynomials; ``ValueError`` if they do not end."""
        found = chebyshev_coefficients(self.value)
        if len(found) > LARGEST_DEGREE - LARGEST_DEGREE // 8:
            raise ValueError(
                f"kernel = {self!r} is not smooth enough: its series in polynomials of x.y "
                f"does not end within {LARGEST_DEGREE} degrees"
            )
        return found

    def spectrum(
        self, dimension: int, degree: int, *, counted: bool = False
    ) -> FloatArray:
        """Eigenvalues lambda_0..lambda_degree of W on S^(dimension-1), or D_l times these.

        ``ValueError`` if W is not smooth enough for its series to end within 1024 degrees, or,
        with ``counted``, for its sum to keep its digits in this dimension.
        """
        series = _resolve(self, dimension)
        if counted and series.error > LARGEST_LOSS:
            raise ValueError(
                f"kernel = {self!r} loses its digits on a zonal grid of dimension "
                f"{dimension}: terms of its series cancel to {series.error:.0e} of it; "
                "use a smoother kernel, or solve_particles"
            )
        return up_to(degree, series.counted if counted else series.eigenvalues)

    def band_limit(self, dimension: int, tolerance: float = NEGLIGIBLE) -> int:
        """Largest degree l >= 1 with D_l |lambda_l| above ``tolerance`` times the largest."""
        sizes = np.abs(_resolve(self, dimension).counted[1:])
        above = np.flatnonzero(sizes > tolerance * sizes.max())
        return 1 + int(above.max(initial=0))

    def expand(self, dimension: int) -> KernelSeries:
        """The Funk-Hecke series on S^(dimension-1), by default that of the polynomial."""
        return _sum_chebyshev(self.chebyshev, dimension)

    def tail(self, degree: int) -> float:
        """Bound of the distance of W on [-1, 1] from the polynomials of ``degree``."""
        sizes = np.abs(self.chebyshev)
        return float(sizes[degree + 1 :].sum() + ROUNDING * sizes.sum())

    def sums_between(self, atoms: PointMasses) -> FieldAtPoints:
        """The sum over atoms sum_j m_j W(x.y_j) and its gradient at the atoms themselves.

        Nothing cancels: with D = x_j - x_i, x_j.x_i - 1 = -|D|^2 / 2 and P_i x_j = D +
        |D|^2 x_i / 2; an atom's force on itself, which is zero, is left out.
        """
        points, masses = atoms
        chords = points[np.newaxis] - points[:, np.newaxis]
        deficits = -np.einsum("ijk,ijk->ij", chords, chords) / 2
        cosines = 1.0 + deficits
        weights = masses * self.slope(cosines)
        np.fill_diagonal(weights, 0.0)
        pulls = np.einsum("ij,ijk->ik", weights, chords)
        pulls -= (weights * deficits).sum(axis=1)[:, np.newaxis] * points
        return FieldAtPoints(self.value(cosines) @ masses, pulls)


@dataclass(frozen=True)
class ZonalKernel(Kernel):
    """The kernel of two functions: W and its derivative, of arrays of u = x.y.

    Begin with ``ZonalKernel(np.sin, np.cos)``.

    Parameters
    ----------
    function
        W, elementwise of an array of cosines u in [-1, 1] of any shape.
    derivative
        W', in the same way; ``ValueError`` if differences of W are something else.
    """

    function: Callable[[FloatArray], FloatArray]
    derivative: Callable[[FloatArray], FloatArray]

    def __repr__(self) -> str:
        return f"ZonalKernel({name_of(self.function)}, {name_of(self.derivative)})"

    def __post_init__(self) -> None:
        u = np.linspace(-0.93, 0.89, 7)  # beside where kernels may have corners
        found = (self.value(u + 1e-6) - self.value(u - 1e-6)) / 2e-6
        given = np.broadcast_to(self.slope(u), u.shape)
        allowed = 1e-3 * np.abs(given).max() + 1e-8 * np.abs(self.value(u)).max()
        check_slopes("derivative at u", u, given, found, allowed)

    def value(self, cosines: FloatArray) -> FloatArray:
        """W at u = ``cosines``."""
        return np.asarray(self.function(cosines), dtype=np.float64)

    def slope(self, cosines: FloatArray) -> FloatArray:
        """W' at u = ``cosines``."""
        return np.asarray(self.derivative(cosines), dtype=np.float64)


@dataclass(frozen=True)
class Polynomial(Kernel):
    """The kernel W(u) = sum_k c_k u^k, a polynomial in u = x.y.

    Begin with ``Polynomial((0.0, 0.0, 1.0))``.

    Parameters
    ----------
    coefficients
        c_0, c_1, ..., as a sequence of up to 65 numbers; the largest of c_1, c_2, ... is
        from 1e-100 to 1e100.  ``ValueError`` for others.
    """

    coefficients: Sequence[float]

    def __post_init__(self) -> None:
        given = real_array("coefficients", self.coefficients)
        is_list = given.ndim == 1 and 2 <= len(given) <= LARGEST_POWER + 1
        largest = float(np.abs(given[1:]).max()) if is_list else 0.0
        if not SMALLEST_COEFFICIENT <= largest <= 1 / SMALLEST_COEFFICIENT:
            raise ValueError(
                f"coefficients of shape {given.shape}, the largest of c_1, c_2, ... {largest:g}: "
                f"they must be 2 to {LARGEST_POWER + 1} numbers, that from "
                f"{SMALLEST_COEFFICIENT:g} to {1 / SMALLEST_COEFFICIENT:g}; a constant kernel "
                "moves nothing"
            )
        vars(self)["coefficients"] = tuple(given.tolist())

    def value(self, cosines: FloatArray) -> FloatArray:
        """W at u = ``cosines``."""
        return np.asarray(polyval(cosines, self.coefficients))

    def slope(self, cosines: FloatArray) -> FloatArray:
        """W' at u = ``cosines``."""
        return np.asarray(polyval(cosines, polyder(self.coefficients)))

    @cached_property
    def chebyshev(self) -> FloatArray:
        """Coefficients of W in Chebyshev polynomials."""
        return np.asarray(poly2cheb(self.coefficients))


@lru_cache(maxsize=256)
def find_slope(kernel: Kernel) -> ZonalKernel:
    """The derivative W' as a kernel."""
    return ZonalKernel(kernel.slope, kernel.bend)


@lru_cache(maxsize=256)
def _resolve(kernel: Kernel, dimension: int) -> KernelSeries:
    return kernel.expand(dimension)


def chebyshev_coefficients(function: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Chebyshev coefficients of ``function`` on [-1, 1], up to rounding or degree 1024."""
    for count in 16 * 2 ** np.arange(7):
        values = function(np.cos((np.arange(count) + 0.5) * np.pi / count))
        found = np.asarray(dct(values, type=2)) / count
        found[0] /= 2
        sizes = np.abs(found)
        noise = NOISE * sizes.max()
        # At the nodes alone a wave may look like a longer one.
        apart = np.abs(chebval(BETWEEN, found) - function(BETWEEN)).max()
        has_ended = sizes[-(count // 8) :].max() <= noise
        if has_ended and apart <= LARGEST_LOSS * sizes.max():
            break
    last = np.flatnonzero(sizes > noise)[-1:].sum()
    return np.where(sizes > noise, found, 0.0)[: last + 1]


def _sum_chebyshev(chebyshev: FloatArray, dimension: int) -> KernelSeries:
    """The series on S^(dimension-1), one degree more than ``chebyshev`` has."""
    # A large constant, which moves nothing, takes no digits from the rest.
    varying = np.concatenate([[0.0], chebyshev[1:]])
    count = len(varying) + 1
    l = np.arange(1, count, dtype=np.float64)
    upward = np.ones(count)
    upward[1:] = (l + dimension - 2) / (2 * l + dimension - 2)
    times_u = diags([upward[:-1], 1 - upward[1:]], [-1, 1], format="csr")
    first = np.eye(1, count)[0]
    ahead, here = np.zeros((2, count))
    for coefficient in varying[:0:-1]:
        ahead, here = here, 2 * (times_u @ here) - ahead + coefficient * first
    here = times_u @ here - ahead
    cosines = np.cos(np.linspace(0.0, np.pi, 65))
    values = chebval(cosines, varying)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = here @ zonal_harmonics(dimension, count - 1, cosines)
        error = float(np.abs(sums - values).max() / max(np.ptp(values), 1e-300))
        eigenvalues = here / np.exp(log_harmonic_counts(dimension, count))
    here[0] += chebyshev[0]
    eigenvalues[0] = here[0]
    error = error if np.isfinite(error) else np.inf
    return KernelSeries(read_only(here), read_only(eigenvalues), error)


def up_to(degree: int, values: FloatArray, beyond: float = 0.0) -> FloatArray:
    """The ``values`` of degrees 0..degree, ``beyond`` where there are none."""
    missing = max(degree + 1 - len(values), 0)
    return np.pad(values[: degree + 1], (0, missing), constant_values=beyond)
