r"""Push-forward of a density on S^2 by labels: patches of mass, and the cells that they cover.

Label (i, j) carries the mass that cell (i, j) had when all labels stood at the centres.  Its
patch is the image of that cell.  The corners of the patch are interpolated from the labels
around, by cubics whose difference from the midpoint is limited; neighbours share them, so that
patches tile the sphere.  Where the labels do not resolve the flow map, as on both sides of a
separatrix whose labels part, the patch is the parallelogram of the smaller of a label's two
differences in each direction, and reaches over no gap.

The mass of a patch is spread evenly over points half a cell apart, each of which is shared by
the four nearest centres bilinearly.  That keeps mass, sign, and the mean place of an atom.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled

# One-sided differences of labels that differ by more than a factor 4 are not resolved.
_LARGEST_ASYMMETRY = 0.6
_LARGEST_BEND = 0.25
# Of the colatitude: cells nearer to a pole are narrower than their points are apart.
_SMALLEST_SINE = 0.1
_MOST_POINTS = 256
# A patch of less density than this, a hundredth of the uniform one, needs fewer points.
_THIN = 1e-3


class Ground(NamedTuple):
    """The rings of a grid: their ``colatitudes`` (nlat,), and the cells of each."""

    colatitudes: FloatArray
    nlon: int


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
def _is_resolved(around: FloatArray, i: int, j: int) -> bool:
    """Whether the differences to both neighbours of label (i, j) are alike, both ways."""
    here = around[i + 2, j + 2]
    for direction in range(2):
        down, right = 1 - direction, direction
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
def _spread_patch(
    result: FloatArray, patch: FloatArray, mass: float, ground: Ground
) -> None:
    """Add the ``mass`` of a ``patch`` (4, 3) to the cells that it covers."""
    height = np.pi / len(ground.colatitudes)
    middle_x = patch[0, 0] + patch[1, 0] + patch[2, 0] + patch[3, 0]
    middle_y = patch[0, 1] + patch[1, 1] + patch[2, 1] + patch[3, 1]
    sine = 0.25 * np.sqrt(middle_x**2 + middle_y**2)
    width = 2.0 * np.pi / ground.nlon * max(sine, _SMALLEST_SINE)
    down = max(
        _squared_distance(patch[0], patch[2]), _squared_distance(patch[1], patch[3])
    )
    right = max(
        _squared_distance(patch[0], patch[1]), _squared_distance(patch[2], patch[3])
    )
    is_thin = mass * mass < _THIN**2 * down * right
    gap = min(height, width) * (1.0 if is_thin else 0.5)
    rows = min(int(np.sqrt(down) / gap) + 1, _MOST_POINTS)
    columns = min(int(np.sqrt(right) / gap) + 1, _MOST_POINTS)
    share = mass / (rows * columns)
    for a in range(rows):
        u = (a + 0.5) / rows
        for b in range(columns):
            v = (b + 0.5) / columns
            nw, ne = (1.0 - u) * (1.0 - v), (1.0 - u) * v
            sw, se = u * (1.0 - v), u * v
            x = (
                nw * patch[0, 0]
                + ne * patch[1, 0]
                + sw * patch[2, 0]
                + se * patch[3, 0]
            )
            y = (
                nw * patch[0, 1]
                + ne * patch[1, 1]
                + sw * patch[2, 1]
                + se * patch[3, 1]
            )
            z = (
                nw * patch[0, 2]
                + ne * patch[1, 2]
                + sw * patch[2, 2]
                + se * patch[3, 2]
            )
            _share_point(result, (x, y, z), share, ground)


@compiled
def _share_point(
    result: FloatArray,
    point: tuple[float, float, float],
    mass: float,
    ground: Ground,
) -> None:
    """Add the ``mass`` in the direction of ``point`` to the four nearest centres."""
    colatitudes, nlon = ground.colatitudes, ground.nlon
    nlat = len(colatitudes)
    x, y, z = point
    colatitude = np.arctan2(np.sqrt(x * x + y * y), z)
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
    to_south = mass * (colatitude - low) / (high - low)
    steps = (np.arctan2(y, x) / (2.0 * np.pi) + 1.0) * nlon
    whole = int(steps)
    eastward = steps - whole
    # Beyond a pole is the other side of the ring before it.
    opposite = nlon // 2
    west = whole + (opposite if north < 0 else 0)
    _share_along(result[max(north, 0)], west, mass - to_south, eastward)
    west = whole + (opposite if is_last else 0)
    _share_along(result[min(north + 1, nlat - 1)], west, to_south, eastward)


@compiled
def _share_along(ring: FloatArray, west: int, mass: float, eastward: float) -> None:
    """Add ``mass`` to cell ``west`` of a ring (nlon,), a share of it to the next cell."""
    nlon = len(ring)
    while west >= nlon:
        west -= nlon
    east = 0 if west + 1 == nlon else west + 1
    ring[west] += mass * (1.0 - eastward)
    ring[east] += mass * eastward
