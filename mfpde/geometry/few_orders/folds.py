"""Folds of single rings by their reflections, and back.

A ring of 4 q cells is folded by phi -> -phi, phi -> pi - phi and, for even orders, by
phi -> pi / 2 - phi into six parts, of which each has its own orders m:

    0, 1    cosines for m = 0 and m = 2 modulo 4, from j = 0 on
    2, 3    sines for m = 0 and m = 2 modulo 4, from j = 1 on
    4       cosines for odd m, from j = 0 on
    5       sines for odd m, from j = 1 on

The first four end at j = q / 2, where a cell that is folded onto itself counts twice.
"""

from __future__ import annotations

from typing import Any

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled_fused, inlined
from mfpde.geometry.octets import LANES, load, mirrored, store

PARTS = 6
COS_0, COS_2, SIN_0, SIN_2, COS_ODD, SIN_ODD = range(PARTS)

PAIRS = 3
"""Rings of a block that have a mirror image in it."""
RINGS = 2 * PAIRS


@inlined
def _folded(here: Any, behind: Any, before: Any, opposite: Any) -> Any:
    """Cosines of even and odd orders, then sines, from cells j, -j, 2 q - j, 2 q + j."""
    near, far = here + behind, before + opposite
    near_sine, far_sine = here - behind, before - opposite
    return near + far, near - far, near_sine - far_sine, near_sine + far_sine


@inlined
def _fold_cells(ring: FloatArray, j: int, parts: FloatArray, r: int) -> None:
    """Fill in the parts from the cells of a ring that are folded onto j, 1 <= j <= q / 2."""
    q = len(ring) // 4
    even, odd, even_sine, odd_sine = _folded(
        ring[j], ring[4 * q - j], ring[2 * q - j], ring[2 * q + j]
    )
    parts[COS_ODD, r, j], parts[SIN_ODD, r, j - 1] = odd, odd_sine
    other, odd, other_sine, odd_sine = _folded(
        ring[q - j], ring[3 * q + j], ring[q + j], ring[3 * q - j]
    )
    parts[COS_ODD, r, q - j], parts[SIN_ODD, r, q - j - 1] = odd, odd_sine
    parts[COS_0, r, j], parts[COS_2, r, j] = even + other, even - other
    parts[SIN_0, r, j - 1] = even_sine - other_sine
    parts[SIN_2, r, j - 1] = even_sine + other_sine


@inlined
def _fold_octet(ring: FloatArray, j: int, parts: FloatArray, r: int) -> None:
    """Do :func:`_fold_cells` for eight cells from j on."""
    q, end = len(ring) // 4, j + LANES - 1
    even, odd, even_sine, odd_sine = _folded(
        load(ring, (j,)),
        mirrored(load(ring, (4 * q - end,))),
        mirrored(load(ring, (2 * q - end,))),
        load(ring, (2 * q + j,)),
    )
    store(parts, (COS_ODD, r, j), odd)
    store(parts, (SIN_ODD, r, j - 1), odd_sine)
    other, odd, other_sine, odd_sine = _folded(
        mirrored(load(ring, (q - end,))),
        load(ring, (3 * q + j,)),
        load(ring, (q + j,)),
        mirrored(load(ring, (3 * q - end,))),
    )
    store(parts, (COS_ODD, r, q - end), mirrored(odd))
    store(parts, (SIN_ODD, r, q - end - 1), mirrored(odd_sine))
    store(parts, (COS_0, r, j), even + other)
    store(parts, (COS_2, r, j), even - other)
    store(parts, (SIN_0, r, j - 1), even_sine - other_sine)
    store(parts, (SIN_2, r, j - 1), even_sine + other_sine)


@compiled_fused
def fold(ring: FloatArray, parts: FloatArray, r: int) -> None:
    """Fill in row r of the parts (6, rows, cells) of a ring (nlon,)."""
    q = len(ring) // 4
    half = q // 2
    if half < LANES:
        for j in range(1, half + 1):
            _fold_cells(ring, j, parts, r)
    else:
        # The last eight may be partly those before.
        for j in range(1, half + 1, LANES):
            _fold_octet(ring, min(j, half - LANES + 1), parts, r)
    even, other = ring[0] + ring[2 * q], ring[q] + ring[3 * q]
    parts[COS_0, r, 0], parts[COS_2, r, 0] = even + other, even - other
    parts[COS_ODD, r, 0] = ring[0] - ring[2 * q]
    parts[SIN_ODD, r, q - 1] = ring[q] - ring[3 * q]


@inlined
def _unfolded(even: Any, odd: Any, even_sine: Any, odd_sine: Any) -> Any:
    """Cells j, -j, 2 q - j, 2 q + j from cosines and sines of even and odd orders."""
    near, far = even + even_sine, odd + odd_sine
    near_back, far_back = even - even_sine, odd - odd_sine
    return near + far, near_back + far_back, near_back - far_back, near - far


@inlined
def _unfold_cells(
    parts: FloatArray, r: int, j: int, ring: FloatArray, added: FloatArray
) -> None:
    """Fill in the cells of a ring that are folded onto j, 1 <= j <= q / 2."""
    q = len(ring) // 4
    cosine, other_cosine = parts[COS_0, r, j], parts[COS_2, r, j]
    sine, other_sine = parts[SIN_0, r, j - 1], parts[SIN_2, r, j - 1]
    here, behind, before, opposite = _unfolded(
        cosine + other_cosine,
        parts[COS_ODD, r, j],
        other_sine + sine,
        parts[SIN_ODD, r, j - 1],
    )
    ring[j] = here + added[j]
    ring[4 * q - j] = behind + added[4 * q - j]
    ring[2 * q - j] = before + added[2 * q - j]
    ring[2 * q + j] = opposite + added[2 * q + j]
    here, behind, before, opposite = _unfolded(
        cosine - other_cosine,
        parts[COS_ODD, r, q - j],
        other_sine - sine,
        parts[SIN_ODD, r, q - j - 1],
    )
    ring[q - j] = here + added[q - j]
    ring[3 * q + j] = behind + added[3 * q + j]
    ring[q + j] = before + added[q + j]
    ring[3 * q - j] = opposite + added[3 * q - j]


@inlined
def _put(ring: FloatArray, j: int, octet: Any, added: FloatArray) -> None:
    """Write eight cells of a ring from j on: ``octet`` plus the same cells of ``added``."""
    store(ring, (j,), octet + load(added, (j,)))


@inlined
def _unfold_octet(
    parts: FloatArray, r: int, j: int, ring: FloatArray, added: FloatArray
) -> None:
    """Do :func:`_unfold_cells` for eight cells from j on."""
    q, end = len(ring) // 4, j + LANES - 1
    cosine, other_cosine = load(parts, (COS_0, r, j)), load(parts, (COS_2, r, j))
    sine, other_sine = load(parts, (SIN_0, r, j - 1)), load(parts, (SIN_2, r, j - 1))
    here, behind, before, opposite = _unfolded(
        cosine + other_cosine,
        load(parts, (COS_ODD, r, j)),
        other_sine + sine,
        load(parts, (SIN_ODD, r, j - 1)),
    )
    _put(ring, j, here, added)
    _put(ring, 4 * q - end, mirrored(behind), added)
    _put(ring, 2 * q - end, mirrored(before), added)
    _put(ring, 2 * q + j, opposite, added)
    here, behind, before, opposite = _unfolded(
        cosine - other_cosine,
        mirrored(load(parts, (COS_ODD, r, q - end))),
        other_sine - sine,
        mirrored(load(parts, (SIN_ODD, r, q - end - 1))),
    )
    _put(ring, q - end, mirrored(here), added)
    _put(ring, 3 * q + j, behind, added)
    _put(ring, q + j, before, added)
    _put(ring, 3 * q - end, mirrored(opposite), added)


@compiled_fused
def unfold(parts: FloatArray, r: int, ring: FloatArray, added: FloatArray) -> None:
    """Fill in a ring (nlon,) from row r of its parts: the reverse of :func:`fold`.

    ``added`` is another ring to add.
    """
    q = len(ring) // 4
    half = q // 2
    even = parts[COS_0, r, 0] + parts[COS_2, r, 0]
    other = parts[COS_0, r, 0] - parts[COS_2, r, 0]
    odd, odd_sine = parts[COS_ODD, r, 0], parts[SIN_ODD, r, q - 1]
    ring[0], ring[2 * q] = even + odd + added[0], even - odd + added[2 * q]
    ring[q], ring[3 * q] = other + odd_sine + added[q], other - odd_sine + added[3 * q]
    if half < LANES:
        for j in range(1, half + 1):
            _unfold_cells(parts, r, j, ring, added)
    else:
        # The last eight may be partly those before.
        for j in range(1, half + 1, LANES):
            _unfold_octet(parts, r, min(j, half - LANES + 1), ring, added)
