r"""The transfer matrix T of a kernel exp(beta (x.Dy - g(x))): from moments to coefficients.

    exp(beta (x.Dy - g(x))) = sum_ab T_ab phi_a(x) phi_b(y),   int K(., y) dmu = sum T_ab f_b phi_a

in the real parts and imaginary parts of a grid's moments f_b.  T follows from samples of the
kernel on a small grid, transformed in y and then in x: the transforms are exact for the
degrees that the kernel has, those of the exponential kernel with inverse temperature
beta |D|_2.  The kernel does not change under (x, y) -> (-x, -y), so that only degrees with
an even sum belong together, and T falls into two blocks.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, IntArray
from mfpde.compiled import compiled_sum
from mfpde.geometry import Geometry
from mfpde.geometry.memory import available_memory
from mfpde.geometry.real_parts import RealParts
from mfpde.terms.attention import Attention
from mfpde.terms.funk_hecke import band_limit
from mfpde.terms.interaction import RESOLVED_TOLERANCE

LARGEST_LOST = 11.0
"""Largest beta (|D|_2 - sigma_min) at which Z / exp(beta |D|_2) keeps its digits."""
RESOLVED = 1e-15
GROWTH = 1.3
NEGLIGIBLE = 1e-15


@dataclass(frozen=True, eq=False)
class Transfer:
    """The matrix T of a kernel in its two blocks, and what it maps from and to.

    Attributes
    ----------
    moments, fields
        The real numbers in moments of the measure, and in coefficients of the result.
    blocks
        The blocks of even and of odd degrees, both in the order of degrees.
    """

    moments: RealParts
    fields: RealParts
    blocks: tuple[FloatArray, FloatArray]

    @property
    def size(self) -> int:
        """Bytes of the blocks."""
        return sum(block.nbytes for block in self.blocks)

    def apply(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients (k, ...) of the fields int K dmu of measures with ``moments`` (k, ...)."""
        numbers = np.ascontiguousarray(moments).view(np.float64)
        found = np.zeros((len(numbers), 2 * self.fields.size))
        for parity, block in enumerate(self.blocks):
            _multiply_block(
                block,
                self._lengths[parity],
                self.moments.places_by_parity[parity],
                self.fields.places_by_parity[parity],
                numbers,
                found,
            )
        coefficients: ComplexArray = found.view(np.complex128)
        return coefficients

    def largest_terms(self, moments: ComplexArray) -> float:
        """Bound of the sum over b of |T_ab f_b| for all a, f the real parts of ``moments``."""
        numbers = np.abs(np.ascontiguousarray(moments).view(np.float64))
        return sum(
            float(np.abs(block).max(axis=0) @ numbers[places])
            for block, places in zip(
                self.blocks, self.moments.places_by_parity, strict=True
            )
        )

    @cached_property
    def _lengths(self) -> tuple[IntArray, ...]:
        """Numbers of entries up to the last of each row of the blocks that is not negligible.

        High degrees in x and in y hardly belong together: two thirds of T are below rounding.
        """
        largest = max(float(np.abs(block).max()) for block in self.blocks)
        lengths = []
        for block in self.blocks:
            counts = np.abs(block) > NEGLIGIBLE * largest
            ends = block.shape[1] - counts[:, ::-1].argmax(axis=1)
            lengths.append(np.where(counts.any(axis=1), ends, 0))
        return tuple(lengths)


@compiled_sum
def _multiply_block(
    block: FloatArray,
    lengths: IntArray,
    here: IntArray,
    there: IntArray,
    numbers: FloatArray,
    found: FloatArray,
) -> None:
    """Put T times the ``numbers`` (k, ...) at places ``here`` in ``found`` (k, ...)."""
    fields = len(numbers)
    sent = np.empty((fields, len(here)))
    for i in range(fields):
        for j, place in enumerate(here):
            sent[i, j] = numbers[i, place]
    for row, place in enumerate(there):
        for i in range(fields):
            total = 0.0
            for j in range(lengths[row]):
                total += block[row, j] * sent[i, j]
            found[i, place] = total


@dataclass(frozen=True)
class Shift:
    """The function g of exp(beta (x.Dy - g(x))): |D|_2, or |D^T x| (softmax).

    A softmax does not depend on g; where beta |D^T x| varies much, a constant g would lose
    the digits of Z where it is small.  The length is smoothed, g = sqrt(|D^T x|^2 + f^2),
    with the largest f that keeps Z above e^-11.
    """

    head: Attention
    is_constant: bool

    @classmethod
    def of(cls, head: Attention) -> Shift:
        """The shift with which the head's field keeps its digits."""
        constant = cls(head, is_constant=True)
        lost = head.beta * (head.size - constant.smallest)
        if not head.needs_values or lost <= LARGEST_LOST:
            return constant
        return cls(head, is_constant=False)

    @property
    def smallest(self) -> float:
        """The smallest singular value of D."""
        return float(np.linalg.svd(self.head.keys_matrix, compute_uv=False)[-1])

    def at(self, points: FloatArray) -> FloatArray:
        """Values of g at ``points`` (..., d)."""
        head = self.head
        if self.is_constant:
            return np.full(points.shape[:-1], head.size)
        # As smooth as it may be without Z falling below e^-LARGEST_LOST.
        smoothed = (self.smallest + LARGEST_LOST / head.beta) ** 2 - self.smallest**2
        squares = ((points @ head.keys_matrix) ** 2).sum(axis=-1)
        return np.asarray(np.sqrt(squares + smoothed))

    @property
    def degree(self) -> int:
        """About the degree at which the Fourier series of the kernel in x ends."""
        nearest_singularity = (
            self.smallest / self.head.size + LARGEST_LOST / self.head.shift
        )
        return int(-np.log(RESOLVED) / nearest_singularity)


_KEPT: dict[Hashable, Transfer] = {}
"""Matrices by their keys, the ones used longest ago first, which give way."""
MOST_KEPT = 2**29
"""Bytes of the matrices that are kept."""


def transfer(head: Attention, geometry: Geometry, shift: Shift) -> Transfer:
    """The transfer matrix of ``head`` on the grids of ``geometry``'s kind.

    It is computed once for all heads with its D, as long as it is one of the last in use.

    Raises
    ------
    ValueError
        If the grid does not resolve the kernel, or the matrix needs more memory than there
        is; the messages name the grid and the memory needed.
    """
    matrix = head.keys_matrix
    key = (head.beta, matrix.shape, matrix.tobytes(), shift.is_constant, geometry)
    found = _KEPT.pop(key, None) or _resolve(head, geometry, shift)
    _KEPT[key] = found
    for oldest in list(_KEPT):
        if sum(kept.size for kept in list(_KEPT.values())) > MOST_KEPT:
            _KEPT.pop(oldest, None)
    return found


def _resolve(head: Attention, geometry: Geometry, shift: Shift) -> Transfer:
    """The matrix with as many degrees in x as the kernel has."""
    inner = min(band_limit(head.shift, len(head.keys_matrix)), geometry.max_degree - 1)
    outer = inner
    while True:
        found = _sample_kernel(head, geometry, shift, inner=inner, outer=outer)
        last = _last_share(found)
        if shift.is_constant or last <= RESOLVED:
            return found
        if outer == geometry.max_degree and last <= RESOLVED_TOLERANCE:
            return found
        if outer == geometry.max_degree:
            needed = max(int(GROWTH * outer) + 1, shift.degree)
            raise ValueError(
                f"{geometry!r} is too coarse for {head!r}, whose softmax has degrees "
                f"above {outer}: it needs about {geometry.cells_for_degree(needed)}"
            )
        outer = min(int(GROWTH * outer) + 1, geometry.max_degree)


def check_resolved(head: Attention, geometry: Geometry, tolerance: float) -> None:
    """Raise ``ValueError`` if ``geometry`` does not hold the kernel's degrees and one more."""
    needed = band_limit(head.shift, len(head.keys_matrix), tolerance) + 1
    if geometry.max_degree < needed:
        raise ValueError(
            f"{geometry!r} is too coarse for beta |bilinear| = {head.shift:g}, whose kernel "
            f"has degrees up to {needed}: it needs {geometry.cells_for_degree(needed)}"
        )


def _last_share(found: Transfer) -> float:
    """Largest entry of the last two degrees in x, as a share of the largest of all."""
    largest, last = 0.0, 0.0
    for numbers, block in zip(found.fields.by_parity, found.blocks, strict=True):
        sizes = np.abs(block).max(axis=1)
        is_last = found.fields.degrees[numbers] >= found.fields.degree - 1
        largest = max(largest, float(sizes.max()))
        last = max(last, float(sizes[is_last].max()))
    return last / largest


def _sample_kernel(
    head: Attention, geometry: Geometry, shift: Shift, *, inner: int, outer: int
) -> Transfer:
    senders, receivers = geometry.with_degree(inner), geometry.with_degree(outer)
    points = receivers.points.reshape(-1, len(head.keys_matrix))
    _check_memory(head, _count(geometry, inner), _count(geometry, outer), len(points))
    moments = RealParts.of(geometry, inner)
    fields = RealParts.of(geometry, outer)
    sources = senders.points.reshape(-1, len(head.keys_matrix))
    shares = senders.areas / senders.areas.sum()
    rows = np.empty((len(points), len(moments.places)))
    shifts = shift.at(points)
    for k, (point, least) in enumerate(
        zip(points @ head.keys_matrix, shifts, strict=True)
    ):
        kernel = head.exponential.weight(sources @ point - least)
        found = senders.moments(kernel.reshape(senders.shape) * shares, inner)
        rows[k] = moments.taken(found) * moments.weights
    shares = receivers.areas / receivers.areas.sum()
    blocks = []
    for parity in (0, 1):
        there, columns = fields.by_parity[parity], moments.by_parity[parity]
        block = np.empty((len(there), len(columns)))
        for k, column in enumerate(columns):
            values = rows[:, column].reshape(receivers.shape) * shares
            block[:, k] = fields.taken(receivers.moments(values, outer))[there]
        blocks.append(block)
    return Transfer(moments, fields, (blocks[0], blocks[1]))


def _count(geometry: Geometry, degree: int) -> int:
    """How many real numbers there are, about, in the moments up to ``degree``."""
    return 2 * len(geometry.degrees(degree)) - degree - 1


def _check_memory(head: Attention, moments: int, fields: int, points: int) -> None:
    needed = 8 * moments * (fields / 2 + points)
    there, _ = available_memory()
    if needed > there:
        raise ValueError(
            f"beta |bilinear| = {head.shift:g} needs {needed / 1e9:.1f} GB for its transfer "
            f"matrix ({fields} x {moments}), and {there / 1e9:.1f} GB are free; use a "
            "smaller beta or matrix, or solve_particles"
        )
