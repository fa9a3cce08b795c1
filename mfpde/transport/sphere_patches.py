r"""Push-forward of a density on S^2 by labels: patches of mass, and the cells that they cover.

Label (i, j) carries the mass that cell (i, j) had when all labels stood at the centres.  Its
patch is the image of that cell.  The corners of the patch are interpolated from the labels
around, by cubics whose difference from the midpoint is limited; neighbours share them, so that
patches tile the sphere.  Where the labels do not resolve the flow map, as on both sides of a
separatrix whose labels part, the patch is the parallelogram of the smaller of a label's two
differences in each direction, and reaches over no gap.

The mass of a patch is spread evenly over pieces no longer than a cell, and each piece is shared by
the centres around by linear interpolation.  That keeps mass, sign, and the mean place of an atom.
A patch that is still its own cell is taken for a point at the centre, so that what rests keeps its
density.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled

# One-sided differences of labels that differ by more than a factor 4 are not resolved.
_LARGEST_ASYMMETRY = 0.6
_LARGEST_BEND = 0.25
_MOST_PIECES = 256


class Ground(NamedTuple):
    """A grid: ``colatitudes`` (nlat,) of its rings, the cells of each, corners of the cells."""

    colatitudes: FloatArray
    nlon: int
    corners: FloatArray


def ground_of(colatitudes: FloatArray, centres: FloatArray) -> Ground:
    """Return the grid with ``centres`` (nlat, nlon, 3) of cells on rings at ``colatitudes``."""
    corners = _corners(_continued(np.ascontiguousarray(centres)))
    return Ground(colatitudes, centres.shape[1], corners)


@compiled
def deposited(labels: FloatArray, masses: FloatArray, ground: Ground) -> FloatArray:
    """Masses of the cells (nlat, nlon) after labels have moved.

    Parameters
    ----------
    labels
        Unit vectors (nlat, nlon, 3), where the labels of the cells are now.
    masses
        Masses (nlat, nlon) that they carry.
    ground
        The rings of the grid.
    """
    nlat, nlon = masses.shape
    around = _continued(labels)
    corners = _corners(around)
    result = np.zeros((nlat, nlon))
    patch = np.empty((4, 3))
    for i in range(nlat):
        for j in range(nlon):
            if _is_resolved(around, i, j):
                for k in range(3):
                    patch[0, k] = corners[i, j, k]
                    patch[1, k] = corners[i, j + 1, k]
                    patch[2, k] = corners[i + 1, j, k]
                    patch[3, k] = corners[i + 1, j + 1, k]
            else:
                _fill_parallelogram(patch, around, i, j)
            _shrink(patch, labels[i, j], ground.corners[i : i + 2, j : j + 2])
            _spread_patch(result, patch, masses[i, j], ground)
    result *= masses.sum() / result.sum()
    return result


@compiled
def _continued(labels: FloatArray) -> FloatArray:
    """Labels (nlat + 4, nlon + 4, 3): two rings over each pole, two columns around."""
    nlat, nlon, _ = labels.shape
    result = np.empty((nlat + 4, nlon + 4, 3))
    for i in range(nlat + 4):
        ring, turn = i - 2, 0
        if ring < 0:
            ring, turn = -1 - ring, nlon // 2
        elif ring >= nlat:
            ring, turn = 2 * nlat - 1 - ring, nlon // 2
        for j in range(nlon + 4):
            column = (j - 2 + turn) % nlon
            for k in range(3):
                result[i, j, k] = labels[ring, column, k]
    return result


@compiled
def _fill_midpoint(
    out: FloatArray, a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray
) -> None:
    """Fill in the cubic's value midway from ``b`` to ``c``, (3,), between ``a`` and ``d``."""
    apart = bend = 0.0
    for k in range(3):
        difference = (b[k] + c[k] - a[k] - d[k]) / 16.0
        bend += difference * difference
        apart += (c[k] - b[k]) ** 2
    # A neighbour far beyond a separatrix would draw the corner to itself.
    share = min(1.0, _LARGEST_BEND * np.sqrt(apart / max(bend, 1e-300)))
    for k in range(3):
        difference = (b[k] + c[k] - a[k] - d[k]) / 16.0
        out[k] = 0.5 * (b[k] + c[k]) + share * difference


@compiled
def _corners(around: FloatArray) -> FloatArray:
    """Corners (nlat + 1, nlon + 1, 3) of the patches; those at a pole are one point."""
    nlat, nlon = around.shape[0] - 4, around.shape[1] - 4
    between = np.empty((nlat + 4, nlon + 1, 3))
    for i in range(nlat + 4):
        for j in range(nlon + 1):
            ring = around[i]
            _fill_midpoint(
                between[i, j], ring[j], ring[j + 1], ring[j + 2], ring[j + 3]
            )
    result = np.empty((nlat + 1, nlon + 1, 3))
    for i in range(nlat + 1):
        for j in range(nlon + 1):
            _fill_midpoint(
                result[i, j],
                between[i, j],
                between[i + 1, j],
                between[i + 2, j],
                between[i + 3, j],
            )
    for i in (0, nlat):
        for k in range(3):
            mean = 0.0
            for j in range(nlon):
                mean += result[i, j, k]
            for j in range(nlon + 1):
                result[i, j, k] = mean / nlon
    return result


@compiled
def _squared_distance(a: FloatArray, b: FloatArray) -> float:
    return float((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)


@compiled
def _distance(a: FloatArray, b: FloatArray) -> float:
    return float(np.sqrt(_squared_distance(a, b)))


@compiled
def _is_resolved(around: FloatArray, i: int, j: int) -> bool:
    """Whether the differences of label (i, j) to opposite neighbours are alike.

    There are four pairs of neighbours: along both lines of the lattice and both diagonals.
    """
    here = around[i + 2, j + 2]
    for down, right in ((1, 0), (0, 1), (1, 1), (1, -1)):
        ahead = around[i + 2 + down, j + 2 + right]
        behind = around[i + 2 - down, j + 2 - right]
        unlike = 0.0
        for k in range(3):
            unlike += (ahead[k] + behind[k] - 2.0 * here[k]) ** 2
        both = np.sqrt(_squared_distance(ahead, here))
        both += np.sqrt(_squared_distance(here, behind))
        if unlike > (_LARGEST_ASYMMETRY * both) ** 2:
            return False
    return True


@compiled
def _fill_parallelogram(patch: FloatArray, around: FloatArray, i: int, j: int) -> None:
    """Fill in the corners (4, 3) of the parallelogram of the smaller differences."""
    here = around[i + 2, j + 2]
    for k in range(3):
        for corner in range(4):
            patch[corner, k] = here[k]
    for direction in range(2):
        down, right = 1 - direction, direction
        ahead = around[i + 2 + down, j + 2 + right]
        behind = around[i + 2 - down, j + 2 - right]
        is_ahead = _squared_distance(ahead, here) < _squared_distance(here, behind)
        for k in range(3):
            half = 0.5 * (ahead[k] - here[k] if is_ahead else here[k] - behind[k])
            for corner in range(4):
                is_beyond = corner // 2 if direction == 0 else corner % 2
                patch[corner, k] += half if is_beyond else -half


@compiled
def _shrink(patch: FloatArray, label: FloatArray, cell: FloatArray) -> None:
    """Shrink a ``patch`` (4, 3) that is still the ``cell`` (2, 2, 3) of its ``label`` to a point.

    Linear interpolation gives the cell back from a point at its centre, and what rests keeps its
    density.  The patch has its whole size once a corner has moved by half a cell.
    """
    moved = 0.0
    for corner in range(4):
        there = cell[corner // 2, corner % 2]
        moved = max(moved, _squared_distance(patch[corner], there))
    across = _squared_distance(cell[0, 0], cell[1, 0])
    share = min(2.0 * np.sqrt(moved / across), 1.0)
    for corner in range(4):
        for k in range(3):
            patch[corner, k] = label[k] + share * (patch[corner, k] - label[k])


@compiled
def _share_of(one: float, other: float) -> float:
    """Share of one length in the sum of two; half if both are 0."""
    return one / (one + other) if one + other > 0.0 else 0.5


@compiled
def _spread_patch(
    result: FloatArray, patch: FloatArray, mass: float, ground: Ground
) -> None:
    """Add the ``mass`` of a ``patch`` (4, 3) to the cells that it covers, evenly.

    It is taken in pieces, none of which is longer than a cell.
    """
    nw, ne, sw, se = patch[0], patch[1], patch[2], patch[3]
    middle_x = nw[0] + ne[0] + sw[0] + se[0]
    middle_y = nw[1] + ne[1] + sw[1] + se[1]
    sine = 0.25 * np.sqrt(middle_x**2 + middle_y**2)
    sine = max(sine, np.sin(ground.colatitudes[0]))
    longest = min(np.pi / len(ground.colatitudes), 2.0 * np.pi / ground.nlon * sine)
    north, south = _distance(nw, ne), _distance(sw, se)
    west, east = _distance(nw, sw), _distance(ne, se)
    rows = min(int(max(west, east) / longest) + 1, _MOST_PIECES)
    columns = min(int(max(north, south) / longest) + 1, _MOST_PIECES)
    share = 4.0 * mass / (rows * columns)
    # Where a patch narrows towards a side, less mass lies there.
    to_north, to_west = _share_of(north, south), _share_of(west, east)
    point, down, right = np.empty(3), np.empty(3), np.empty(3)
    for a in range(rows):
        u = (a + 0.5) / rows
        of_row = (1.0 - u) * to_north + u * (1.0 - to_north)
        for b in range(columns):
            v = (b + 0.5) / columns
            of_column = (1.0 - v) * to_west + v * (1.0 - to_west)
            for k in range(3):
                at_west, at_east = sw[k] - nw[k], se[k] - ne[k]
                down[k] = ((1.0 - v) * at_west + v * at_east) / rows
                at_north, at_south = ne[k] - nw[k], se[k] - sw[k]
                right[k] = ((1.0 - u) * at_north + u * at_south) / columns
                on_north, on_south = nw[k] + v * at_north, sw[k] + v * at_south
                point[k] = (1.0 - u) * on_north + u * on_south
            _share_piece(
                result, (point, down, right), share * of_row * of_column, ground
            )


@compiled
def _share_piece(
    result: FloatArray,
    piece: tuple[FloatArray, FloatArray, FloatArray],
    mass: float,
    ground: Ground,
) -> None:
    """Add the ``mass`` of a piece, its middle and its two edges (3,), to the centres around.

    It is a box along the meridian and the ring with the second moments of the piece.
    """
    point, down, right = piece
    x, y, z = point[0], point[1], point[2]
    radius = np.sqrt(x * x + y * y + z * z)
    across = max(np.sqrt(x * x + y * y), 1e-300)
    nlat = len(ground.colatitudes)
    ring_step, column_step = np.pi / nlat, 2.0 * np.pi / ground.nlon
    height = width = 0.0
    for edge in (down, right):
        outward = (x * edge[0] + y * edge[1]) / across
        south = (z * outward - across * edge[2]) / radius
        east = (x * edge[1] - y * edge[0]) / across
        height += south * south
        width += east * east
    height = min(np.sqrt(height) / (radius * ring_step), 1.0)
    width = min(np.sqrt(width) / (across * column_step), 1.0)
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


@compiled
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


@compiled
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


@compiled
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
        j %= nlon
        result[i, j] += share * (1.0 - eastward)
        result[i, 0 if j + 1 == nlon else j + 1] += share * eastward
