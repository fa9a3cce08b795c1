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

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled, compiled_inside
from mfpde.transport.sphere_pieces import Ground, spread_patch

# One-sided differences of labels that differ by more than a factor 4 are not resolved.
_LARGEST_ASYMMETRY = 0.6
_LARGEST_BEND = 0.25
# A label that has moved by a twentieth of a cell does not rest.
_PER_CELL_MOVED = 20.0


def ground_of(colatitudes: FloatArray, centres: FloatArray) -> Ground:
    """Return the grid with ``centres`` (nlat, nlon, 3) of cells on rings at ``colatitudes``."""
    corners = _corners(_extend_lattice(np.ascontiguousarray(centres)))
    return Ground(colatitudes, centres.shape[1], corners, float(np.sin(colatitudes[0])))


@compiled
def deposit_masses(
    labels: FloatArray, masses: FloatArray, ground: Ground
) -> FloatArray:
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
    around = _extend_lattice(labels)
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
            spread_patch(result, patch, masses[i, j], ground)
    result *= masses.sum() / result.sum()
    return result


def resting_masses(
    labels: FloatArray, masses: FloatArray, centres: FloatArray
) -> FloatArray:
    """Masses (nlat, nlon) of labels that stay in the centres of their cells.

    The share of a label falls from 1 at its centre to 0 a twentieth of a cell away.  ``labels``
    and ``masses`` are as in :func:`deposit_masses`; ``centres`` (nlat, nlon, 3) are the cells'.
    """
    moved = np.linalg.norm(labels - centres, axis=-1)
    shares = np.maximum(1.0 - _PER_CELL_MOVED * moved * len(labels) / np.pi, 0.0)
    return np.asarray(shares * masses)


@compiled
def _extend_lattice(labels: FloatArray) -> FloatArray:
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


@compiled_inside
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


@compiled_inside
def _squared_distance(a: FloatArray, b: FloatArray) -> float:
    return float((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)


@compiled_inside
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


@compiled_inside
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


@compiled_inside
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
