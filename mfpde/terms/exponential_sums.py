r"""Direct sums over atoms of the kernel exp(beta (x.y - 1)).

Targets are taken in blocks, side by side, and every target adds up its atoms in their order:
the sums do not depend on the block, nor on the number of threads.  The largest of the terms
m e^(beta (x.y - 1)), with the atom's mass m, is taken out of them: for no masses does what
counts underflow.

Their exponential, for arguments up to 0, is one that the compiler can vectorise:

    e^x = 2^n e^r,   n = round(x / log 2),   r = x - n log 2,   |r| <= (log 2) / 2

with the Taylor polynomial of degree 13 for e^r (remainder 4e-18) and log 2 in two parts
(Cody & Waite, 1980); the error is within one unit in the last place.  The exponential of a
library is called once for each number, which costs four times as much in a double sum.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled, compiled_parallel

LOWEST = -708.0
"""Below this e^x leaves the range of normal numbers, and 0 is returned."""

PER_OCTAVE = 1.4426950408889634
OCTAVE_HIGH = 0.6931471803691238
OCTAVE_LOW = 1.9082149292705877e-10
# Adding 1.5 * 2^52 leaves the nearest whole number in the low bits of the sum.
ROUNDER = 6755399441055744.0
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = (
    1.0 / factorial(k) for k in range(2, 14)
)


def _reinterpreted(source: Any, target: Any) -> Any:
    """Return a compiled function that reads the bits of one type as another."""

    def typed(_context: Any, _value: Any) -> tuple[Any, Callable[..., Any]]:
        def generated(context: Any, builder: Any, _sig: Any, values: Any) -> Any:
            return builder.bitcast(values[0], context.get_value_type(target))

        return target(source), generated

    return intrinsic(typed)


_bits_of = _reinterpreted(types.float64, types.int64)
_number_of = _reinterpreted(types.int64, types.float64)


@compiled
def exponential(x: float) -> float:
    """Return the exponential e^x for x <= 0, and 0 below -708."""
    bounded = x if x >= LOWEST else LOWEST
    shifted = bounded * PER_OCTAVE + ROUNDER
    n = shifted - ROUNDER
    r = (bounded - n * OCTAVE_HIGH) - n * OCTAVE_LOW
    p = C12 + r * C13
    p = C11 + r * p
    p = C10 + r * p
    p = C9 + r * p
    p = C8 + r * p
    p = C7 + r * p
    p = C6 + r * p
    p = C5 + r * p
    p = C4 + r * p
    p = C3 + r * p
    p = C2 + r * p
    p = 1.0 + r * (1.0 + r * p)
    scaled = _number_of(_bits_of(p) + (_bits_of(shifted) << 52))
    return scaled if x >= LOWEST else 0.0


BLOCK = 128
# An atom of so small a share e^x in a target's sum is left out: a block of neighbours is far
# from most atoms if beta is large, and skips them.
LOWEST_SHARE = -50.0


_Arrays = tuple[FloatArray, FloatArray, FloatArray]


@compiled
def _inner_products(rows: FloatArray, point: FloatArray, products: FloatArray) -> None:
    """Fill in x.y for all targets x, given as ``rows`` of coordinates, shape (d, size)."""
    products[:] = 0.0
    for k in range(len(point)):
        row, y = rows[k], point[k]
        for i in range(len(products)):
            products[i] += row[i] * y


@compiled
def _log_masses(masses: FloatArray) -> FloatArray:
    """Logarithms of ``masses`` (n,), -inf where one is not positive."""
    result = np.full(len(masses), -np.inf)
    for j in range(len(masses)):
        if masses[j] > 0.0:
            result[j] = np.log(masses[j])
    return result


@compiled
def _largest_exponents(
    rows: FloatArray, atom_points: FloatArray, log_masses: FloatArray
) -> FloatArray:
    """Largest beta x.y_j + log m_j of each target, from ``rows`` of beta x, (d, size)."""
    logits = np.empty(rows.shape[1])
    largest = np.full(rows.shape[1], -np.inf)
    for j in range(len(log_masses)):
        _inner_products(rows, atom_points[j], logits)
        log_mass = log_masses[j]
        for i in range(len(logits)):
            here = logits[i] + log_mass
            largest[i] = here if here > largest[i] else largest[i]
    return largest


@compiled
def _turn_into_shares(logits: FloatArray, log_mass: float, largest: FloatArray) -> bool:
    """Replace beta x.y by an atom's shares in the sums; whether any is not negligible."""
    top = -np.inf
    for i in range(len(logits)):
        logits[i] = (logits[i] + log_mass) - largest[i]
        top = logits[i] if logits[i] > top else top
    # Also where all of the sum is 0, and the difference no number.
    if not top >= LOWEST_SHARE:
        return False
    for i in range(len(logits)):
        share = exponential(logits[i])
        logits[i] = share if logits[i] >= LOWEST_SHARE else 0.0
    return True


@compiled
def _block_sums(
    points: FloatArray,
    atom_points: FloatArray,
    log_masses: FloatArray,
    beta: float,
    first: int,
    result: _Arrays,
) -> None:
    """Fill in the sums of the BLOCK targets from ``first`` on."""
    peaks, sums, vectors = result
    size = min(BLOCK, len(points) - first)
    rows = beta * points[first : first + size].T.copy()
    largest = _largest_exponents(rows, atom_points, log_masses)
    shares = np.empty(size)
    totals = np.zeros(size)
    moments = np.zeros(rows.shape)
    for j in range(len(log_masses)):
        point = atom_points[j]
        _inner_products(rows, point, shares)
        if _turn_into_shares(shares, log_masses[j], largest):
            for i in range(size):
                totals[i] += shares[i]
            for k in range(len(point)):
                moment, y = moments[k], point[k]
                for i in range(size):
                    moment[i] += shares[i] * y
    peaks[first : first + size] = largest - beta
    sums[first : first + size] = totals
    vectors[first : first + size] = moments.T


@compiled
def serial_sums(
    points: FloatArray, atom_points: FloatArray, masses: FloatArray, beta: float
) -> _Arrays:
    """Peaks (n,), sums (n,) and vectors (n, d) at ``points`` (n, d), on one thread."""
    count = len(points)
    result = (np.empty(count), np.empty(count), np.empty(points.shape))
    log_masses = _log_masses(masses)
    for block in range((count + BLOCK - 1) // BLOCK):
        _block_sums(points, atom_points, log_masses, beta, block * BLOCK, result)
    return result


@compiled_parallel
def parallel_sums(
    points: FloatArray, atom_points: FloatArray, masses: FloatArray, beta: float
) -> _Arrays:
    """The same, the blocks shared among numba's threads."""
    count = len(points)
    result = (np.empty(count), np.empty(count), np.empty(points.shape))
    log_masses = _log_masses(masses)
    for block in numba.prange((count + BLOCK - 1) // BLOCK):
        _block_sums(points, atom_points, log_masses, beta, block * BLOCK, result)
    return result
