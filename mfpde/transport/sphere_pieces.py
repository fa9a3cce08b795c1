r"""Mass of a patch on S^2 shared by the centres of the cells that it covers.

A patch is taken in pieces no longer than a cell.  Each piece is a box along the meridian and the
ring, shared by the centres around by linear interpolation, which keeps mass, sign and the mean
place of an atom.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled_inside

# Of a longer patch the gaps are filled by those beside it: 1e-3 of the mass is elsewhere at most.
_MOST_PIECES = 8

Vector = tuple[float, float, float]


class Ground(NamedTuple):
    """A grid: ``colatitudes`` (nlat,) of its rings, the cells of each, corners of the cells.

    ``least_sine`` is the sine of the first ring's colatitude.
    """

    colatitudes: FloatArray
    nlon: int
    corners: FloatArray
    least_sine: float


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

    It is taken in pieces, none of which is longer than a cell, but for patches longer than eight.
    """
    nw, ne, sw, se = _row(patch, 0), _row(patch, 1), _row(patch, 2), _row(patch, 3)
    middle = _mean(_mean(nw, ne, 0.5), _mean(sw, se, 0.5), 0.5)
    sine = max(np.sqrt(middle[0] ** 2 + middle[1] ** 2), ground.least_sine)
    ring_step = np.pi / len(ground.colatitudes)
    longest = min(ring_step, 2.0 * np.pi / ground.nlon * sine)
    # Beside a pole cells are narrow, and a patch of usual size covers many.
    most = max(_MOST_PIECES, int(ring_step / longest) + 1)
    north_edge, south_edge = _difference(ne, nw), _difference(se, sw)
    west_edge, east_edge = _difference(sw, nw), _difference(se, ne)
    north, south = _length(north_edge), _length(south_edge)
    west, east = _length(west_edge), _length(east_edge)
    rows = min(int(max(west, east) / longest) + 1, most)
    columns = min(int(max(north, south) / longest) + 1, most)
    down = _scale(_mean(west_edge, east_edge, 0.5), 1.0 / rows)
    right = _scale(_mean(north_edge, south_edge, 0.5), 1.0 / columns)
    box = _box_of(middle, down, right, ground)
    share = 4.0 * mass / (rows * columns)
    # Where a patch narrows towards a side, less mass lies there.
    to_north, to_west = _share_of(north, south), _share_of(west, east)
    for a in range(rows):
        u = (a + 0.5) / rows
        of_row = share * ((1.0 - u) * to_north + u * (1.0 - to_north))
        low, high = _mean(nw, sw, u), _mean(ne, se, u)
        for b in range(columns):
            v = (b + 0.5) / columns
            of_column = (1.0 - v) * to_west + v * (1.0 - to_west)
            _share_box(result, _mean(low, high, v), box, of_row * of_column, ground)


class Box(NamedTuple):
    """A box along the meridian and the ring, in cells: at most one each way."""

    height: float
    width: float


@compiled_inside
def _box_of(middle: Vector, down: Vector, right: Vector, ground: Ground) -> Box:
    """The box with the second moments of a parallelogram with these edges."""
    x, y, z = middle
    squared_across = max(x * x + y * y, 1e-300)
    squared_radius = squared_across + z * z
    ring_step, column_step = np.pi / len(ground.colatitudes), 2.0 * np.pi / ground.nlon
    height = width = 0.0
    for edge in (down, right):
        # Along the meridian times the radii of ring and sphere, along the ring times its own.
        south = z * (x * edge[0] + y * edge[1]) - squared_across * edge[2]
        east = x * edge[1] - y * edge[0]
        height += south * south
        width += east * east
    height = np.sqrt(height / squared_across) / (squared_radius * ring_step)
    width = np.sqrt(width) / (squared_across * column_step)
    return Box(min(height, 1.0), min(width, 1.0))


class Three(NamedTuple):
    """The middle one of three neighbouring numbers, and the weights of the three."""

    middle: int
    before: float
    here: float
    behind: float


@compiled_inside
def _interpolate_box(place: float, width: float) -> Three:
    """Weights of an interval about ``place``, at most 1 wide, by linear interpolation.

    They are linear on each of its parts before and after a whole number: the middle of a part
    stands for it.
    """
    low, high = place - 0.5 * width, place + 0.5 * width
    whole = np.floor(high)
    before, behind = max(whole - low, 0.0), high - whole
    if before == 0.0:
        return Three(int(whole), 0.0, 1.0 - (place - whole), place - whole)
    to_before = 0.5 * before * before / width
    to_behind = 0.5 * behind * behind / width
    return Three(int(whole), to_before, 1.0 - to_before - to_behind, to_behind)


@compiled_inside
def _share_box(
    result: FloatArray, middle: Vector, box: Box, mass: float, ground: Ground
) -> None:
    """Add ``mass``, spread over a ``box`` about ``middle``, to the centres around."""
    nlat, nlon = result.shape
    x, y, z = middle
    place = _ring_place(np.arctan2(np.sqrt(x * x + y * y), z), ground.colatitudes)
    column = np.arctan2(y, x) * (nlon / (2.0 * np.pi)) + nlon
    rings, columns = (
        _interpolate_box(place, box.height),
        _interpolate_box(column, box.width),
    )
    shares = mass * rings.before, mass * rings.here, mass * rings.behind
    for k in range(3):
        share = shares[k]
        if share == 0.0:
            continue
        i, j = rings.middle + k - 1, columns.middle
        if i < 0 or i >= nlat:
            # Over the pole; a box may reach one ring farther than its middle.
            i, j = (-1 - i if i < 0 else 2 * nlat - 1 - i), j + nlon // 2
        j %= nlon
        result[i, j - 1] += share * columns.before
        result[i, j] += share * columns.here
        result[i, 0 if j + 1 == nlon else j + 1] += share * columns.behind


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
