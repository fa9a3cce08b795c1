r"""Mass of a patch on S^2 shared by the centres of the cells that it covers.

A patch is taken in pieces no longer than a cell.  Each piece is shared by the centres around by
linear interpolation, which keeps mass, sign and the mean place of an atom.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled_inside

_MOST_PIECES = 256

Vector = tuple[float, float, float]


class Ground(NamedTuple):
    """A grid: ``colatitudes`` (nlat,) of its rings, the cells of each, corners of the cells.

    ``least_sine`` is the sine of the first ring's colatitude.
    """

    colatitudes: FloatArray
    nlon: int
    corners: FloatArray
    least_sine: float


class Piece(NamedTuple):
    """The middle and the two edges of a parallelogram."""

    middle: Vector
    down: Vector
    right: Vector


@compiled_inside
def _row(rows: FloatArray, i: int) -> Vector:
    return rows[i, 0], rows[i, 1], rows[i, 2]


@compiled_inside
def _difference(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@compiled_inside
def _length(a: Vector) -> float:
    return float(np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]))


@compiled_inside
def _scale(a: Vector, factor: float) -> Vector:
    return factor * a[0], factor * a[1], factor * a[2]


@compiled_inside
def _mean(a: Vector, b: Vector, share: float) -> Vector:
    """Return the mean of ``a`` and ``b``, of which ``b`` has this share."""
    rest = 1.0 - share
    return (
        rest * a[0] + share * b[0],
        rest * a[1] + share * b[1],
        rest * a[2] + share * b[2],
    )


@compiled_inside
def _share_of(one: float, other: float) -> float:
    """Share of one length in the sum of two; half if both are 0."""
    return one / (one + other) if one + other > 0.0 else 0.5


@compiled_inside
def spread_patch(
    result: FloatArray, patch: FloatArray, mass: float, ground: Ground
) -> None:
    """Add the ``mass`` of a ``patch`` (4, 3) to the cells that it covers, evenly.

    It is taken in pieces, none of which is longer than a cell.
    """
    nw, ne, sw, se = _row(patch, 0), _row(patch, 1), _row(patch, 2), _row(patch, 3)
    middle_x = nw[0] + ne[0] + sw[0] + se[0]
    middle_y = nw[1] + ne[1] + sw[1] + se[1]
    sine = max(0.25 * np.sqrt(middle_x**2 + middle_y**2), ground.least_sine)
    longest = min(np.pi / len(ground.colatitudes), 2.0 * np.pi / ground.nlon * sine)
    north_edge, south_edge = _difference(ne, nw), _difference(se, sw)
    west_edge, east_edge = _difference(sw, nw), _difference(se, ne)
    north, south = _length(north_edge), _length(south_edge)
    west, east = _length(west_edge), _length(east_edge)
    rows = min(int(max(west, east) / longest) + 1, _MOST_PIECES)
    columns = min(int(max(north, south) / longest) + 1, _MOST_PIECES)
    share = 4.0 * mass / (rows * columns)
    # Where a patch narrows towards a side, less mass lies there.
    to_north, to_west = _share_of(north, south), _share_of(west, east)
    for a in range(rows):
        u = (a + 0.5) / rows
        of_row = (1.0 - u) * to_north + u * (1.0 - to_north)
        right = _scale(_mean(north_edge, south_edge, u), 1.0 / columns)
        for b in range(columns):
            v = (b + 0.5) / columns
            of_column = (1.0 - v) * to_west + v * (1.0 - to_west)
            down = _scale(_mean(west_edge, east_edge, v), 1.0 / rows)
            point = _mean(_mean(nw, ne, v), _mean(sw, se, v), u)
            _share_piece(
                result, Piece(point, down, right), share * of_row * of_column, ground
            )


@compiled_inside
def _share_piece(
    result: FloatArray,
    piece: Piece,
    mass: float,
    ground: Ground,
) -> None:
    """Add the ``mass`` of a piece to the centres around.

    It is a box along the meridian and the ring with the second moments of the piece.
    """
    x, y, z = piece.middle
    squared_across = max(x * x + y * y, 1e-300)
    squared_radius = squared_across + z * z
    across = np.sqrt(squared_across)
    nlat = len(ground.colatitudes)
    ring_step, column_step = np.pi / nlat, 2.0 * np.pi / ground.nlon
    # Edges along the meridian times ``across`` and the radius, along the ring times ``across``.
    outward = x * piece.down[0] + y * piece.down[1]
    south = z * outward - squared_across * piece.down[2]
    east = x * piece.down[1] - y * piece.down[0]
    height, width = south * south, east * east
    outward = x * piece.right[0] + y * piece.right[1]
    south = z * outward - squared_across * piece.right[2]
    east = x * piece.right[1] - y * piece.right[0]
    height, width = height + south * south, width + east * east
    height = min(np.sqrt(height) / (squared_radius * across * ring_step), 1.0)
    width = min(np.sqrt(width) / (squared_across * column_step), 1.0)
    ring = _ring_place(np.arctan2(across, z), ground.colatitudes)
    column = np.arctan2(y, x) / column_step + ground.nlon
    of_rings, of_columns = _halves(ring, height), _halves(column, width)
    for i in range(2):
        for j in range(2):
            share = mass * of_rings[i].share * of_columns[j].share
            if share > 0.0:
                _share_point(result, of_rings[i].place, of_columns[j].place, share)


class BoxHalf(NamedTuple):
    """A part of an interval between two whole numbers: its middle, and its share."""

    place: float
    share: float


@compiled_inside
def _halves(place: float, width: float) -> tuple[BoxHalf, BoxHalf]:
    """The parts of an interval about ``place``, at most 1 wide, before and after a number.

    On each the weights of the linear interpolation are linear: the middle stands for it.
    """
    low, high = place - 0.5 * width, place + 0.5 * width
    whole = np.floor(high)
    if low >= whole or width <= 0.0:
        return BoxHalf(place, 1.0), BoxHalf(place, 0.0)
    share = min((high - whole) / width, 1.0)
    return BoxHalf(0.5 * (low + whole), 1.0 - share), BoxHalf(
        0.5 * (whole + high), share
    )


@compiled_inside
def _ring_place(colatitude: float, colatitudes: FloatArray) -> float:
    """The number of a ring, between rings a fraction; from -1 to nlat over the poles."""
    nlat = len(colatitudes)
    # The nodes are nearly (i + 3/4) pi / (n + 1/2).
    north = int(colatitude * (nlat + 0.5) / np.pi + 0.25) - 1
    north = min(max(north, -1), nlat - 1)
    while north + 1 < nlat and colatitude >= colatitudes[north + 1]:
        north += 1
    while north >= 0 and colatitude < colatitudes[north]:
        north -= 1
    low = colatitudes[north] if north >= 0 else -colatitudes[0]
    is_last = north + 1 == nlat
    high = 2.0 * np.pi - colatitudes[nlat - 1] if is_last else colatitudes[north + 1]
    return float(north + (colatitude - low) / (high - low))


@compiled_inside
def _share_point(result: FloatArray, ring: float, column: float, mass: float) -> None:
    """Add ``mass`` at fractions of numbers of rings and columns to the four centres around."""
    nlat, nlon = result.shape
    north, west = int(np.floor(ring)), int(np.floor(column))
    southward, eastward = ring - north, column - west
    for side in range(2):
        i, j = north + side, west
        if i < 0 or i >= nlat:
            # Over the pole; a box may reach one ring farther than its middle.
            i, j = (-1 - i if i < 0 else 2 * nlat - 1 - i), west + nlon // 2
        share = mass * (southward if side else 1.0 - southward)
        while j >= nlon:
            j -= nlon
        result[i, j] += share * (1.0 - eastward)
        result[i, 0 if j + 1 == nlon else j + 1] += share * eastward
