r"""The transfer matrix T of a kernel exp(beta (z.y - g(x))): from moments to coefficients.

    exp(beta (z.y - g(x))) = sum_ab T_ab phi_a(x) phi_b(y),   int K(., y) dmu = sum T_ab f_b phi_a

with z = D^T x + w / beta, in the real and imaginary parts of a grid's moments f_b.  T follows
from samples of the kernel on a small grid, transformed in y and then in x: the transforms are
exact for the degrees that the kernel has, those of the exponential kernel with the largest
beta |z|.  T is held sparse: without w the kernel does not change under (x, y) -> (-x, -y), so
that only degrees with an even sum belong together, and high degrees in x and y hardly do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.sparse import csr_array

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry import Geometry
from mfpde.geometry.memory import check_memory
from mfpde.terms.attention import Attention
from mfpde.terms.interaction import RESOLVED_TOLERANCE

LARGEST_LOST = 11.0
"""Largest difference of beta |z| at two points at which Z / exp(beta |D|_2) keeps its digits."""
NEGLIGIBLE = 1e-15
"""Size beside the largest below which entries of T are left out."""
GROWTH = 1.3
MOST_KEPT = 256
"""Matrices that are kept for other equations with their D."""


def smoothing(head: Attention) -> float | None:
    """The square f^2 in the shift g(x) = sqrt(|z|^2 + f^2) of a softmax; None for g = max |z|.

    A softmax does not depend on g; where beta |z| varies much, Z would lose its digits with a
    constant g.  This f is the largest that keeps it above e^-11.
    """
    weight = float(np.linalg.norm(head.weight))
    least = float(np.linalg.norm(head.keys_matrix, -2)) - weight
    smallest = max(least, 2 * weight - head.size, 0.0)
    if not head.needs_values or head.beta * (head.size - smallest) <= LARGEST_LOST:
        return None
    return (smallest + LARGEST_LOST / head.beta) ** 2 - smallest**2


def shift_at(head: Attention, points: FloatArray) -> FloatArray:
    """Values of the shift g at ``points`` (..., d)."""
    square = smoothing(head)
    if square is None:
        return np.full(points.shape[:-1], head.size)
    lengths = (head.probes(points) ** 2).sum(axis=-1)
    return np.asarray(np.sqrt(lengths + square))


@dataclass(frozen=True, eq=False)
class Transfer:
    """A ``matrix`` T from moments up to ``moment_degree`` to coefficients up to ``field_degree``.

    Both are real and imaginary parts in turn; with ``has_smooth_shift`` g is no constant.
    """

    has_smooth_shift: bool
    moment_degree: int
    field_degree: int
    matrix: csr_array

    def apply(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients (..., n) of the fields int K dmu of measures with ``moments`` (..., m)."""
        parts = np.ascontiguousarray(moments).view(np.float64)
        found = np.ascontiguousarray((self.matrix @ parts.T).T)
        coefficients: ComplexArray = found.view(np.complex128)
        return coefficients

    def largest_terms(self, moments: ComplexArray) -> float:
        """Bound of the sum over b of |T_ab f_b| for all a, f the parts of ``moments``."""
        return float(self._largest @ np.abs(np.ascontiguousarray(moments).view(float)))

    @cached_property
    def _largest(self) -> FloatArray:
        """The largest |T_ab| of each b."""
        return np.asarray(abs(self.matrix).max(axis=0).toarray()).ravel()


def transfer(head: Attention, geometry: Geometry) -> Transfer:
    """The transfer matrix of ``head`` on the grids of ``geometry``'s kind.

    It is computed once for all heads with its D, as long as it is one of the last in use.
    ``ValueError`` names the grid that would resolve the kernel, or the memory needed.
    """
    is_smoothed, given = smoothing(head) is not None, (head.bilinear, None, head.source)
    return _resolve(Attention(head.beta, is_smoothed, "shifted", *given), geometry)


@lru_cache(maxsize=MOST_KEPT)
def _resolve(head: Attention, geometry: Geometry) -> Transfer:
    """The matrix with as many degrees in x as the kernel has."""
    is_smoothed, limit = head.needs_values, geometry.max_degree
    inner = outer = head.band_limit(geometry) - 1
    while True:
        found = _sample_kernel(head, geometry, inner, outer)
        sizes, degrees = np.abs(found), np.repeat(geometry.degrees(outer), 2)
        # What is left out is as large as the last two degrees.
        last = sizes[degrees >= outer - 1].max() / sizes.max()
        allowed = NEGLIGIBLE if outer < limit else RESOLVED_TOLERANCE
        if not is_smoothed or last <= allowed:
            found[sizes <= NEGLIGIBLE * sizes.max()] = 0.0
            return Transfer(is_smoothed, inner, outer, csr_array(found))
        wider = int(GROWTH * outer) + 1
        if outer == limit:
            raise ValueError(
                f"{geometry!r} is too coarse for {head!r}, whose softmax has degrees "
                f"above {outer}: it needs at least {geometry.cells_for_degree(wider)}"
            )
        outer = min(wider, limit)


def _sample_kernel(
    head: Attention, geometry: Geometry, inner: int, outer: int
) -> FloatArray:
    """T, of moments up to the degree ``inner`` and coefficients up to ``outer``."""
    senders, receivers = geometry.with_degree(inner), geometry.with_degree(outer)
    points = receivers.points.reshape(-1, geometry.dimension)
    sources = senders.points.reshape(-1, geometry.dimension)
    # A moment of an order m > 0 stands for that of -m, too.
    weights = geometry.multiplicities(len(geometry.degrees(inner)))
    columns, fields = 2 * len(weights), 2 * len(geometry.degrees(outer))
    check_memory(
        f"beta |bilinear| = {head.shift:g} with a transfer matrix ({fields} x {columns})",
        8.0 * columns * (fields + len(points)),
        "use a smaller beta or matrix, or solve_particles",
    )
    shares = senders.areas / senders.areas.sum()
    rows = np.empty((len(points), columns))
    targets, shifts = head.probes(points), shift_at(head, points)
    for row, target, least in zip(rows, targets, shifts, strict=True):
        products = sources @ target
        # At beta = 0 the kernel is that of the potential, x.Dy.
        kernel = products
        if head.beta:
            kernel = head.zonal_kernel.slope(1 + (products - least) / head.size)
        found = senders.moments(kernel.reshape(senders.shape) * shares, inner)
        row[:] = (found * weights).view(np.float64)
    shares = receivers.areas / receivers.areas.sum()
    coefficients = [
        receivers.moments(column.reshape(receivers.shape) * shares, outer)
        for column in rows.T
    ]
    return np.array(coefficients).view(np.float64).T
