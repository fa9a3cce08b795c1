r"""Conservative semi-Lagrangian remap of a line of equal cells, bounded or periodic.

In units of a cell, with C the cumulated mass and X(j) the foot of face j (the departure
point of a particle that ends at the face),

    new mass of cell j = C(X(j+1)) - C(X(j)),

where C is a piecewise quintic with the mass densities at the faces as slopes and their slopes
as second derivatives (White & Adcroft 2008), or a monotone cubic where these are limited.
There is no limit on the distance that the feet move, only on their order (time step times
velocity gradient below 1).  Mass is summed cell by cell from foot to foot, never as a
difference of prefix sums: so the new mass is positive also where it is small.
"""

from __future__ import annotations

import numpy as np
import scipy

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled, compiled_inside

GHOSTS = 3
"""Cells from elsewhere that a line needs at each end."""
FOLDED = -1e-12
"""Width of the image of a cell, in cells, below which it runs backwards; above is rounding."""
NARROWEST = 1e-12
"""Least width of an image, as a share of the circle."""


@compiled
def wrap(values: FloatArray) -> FloatArray:
    """Values continued around the circle by three at each end, shape (n + 6,)."""
    n = len(values)
    result = np.empty(n + 2 * GHOSTS)
    for i in range(n):
        result[i + GHOSTS] = values[i]
    for i in range(GHOSTS):
        result[i] = values[n - GHOSTS + i]
        result[n + GHOSTS + i] = values[i]
    return result


@compiled_inside
def minmod(a: float, b: float) -> float:
    """The one of two numbers of one sign that is closer to 0; 0 if their signs differ."""
    return max(min(a, b), 0.0) + min(max(a, b), 0.0)


@compiled_inside
def _face(m: FloatArray, k: int) -> float:
    """Mass density at the lower face of cell k, sixth order."""
    value = 37.0 * (m[k - 1] + m[k]) - 8.0 * (m[k - 2] + m[k + 1])
    return float((value + m[k - 3] + m[k + 2]) / 60.0)


@compiled_inside
def _edge(m: FloatArray, k: int, side: int) -> float:
    """Mass density of cell k at its face towards ``side`` (1 or -1), sixth order, limited.

    Monotonicity-preserving limits (MP5) of Suresh & Huynh (1997): they keep smooth
    extrema and let no jump ring.
    """
    behind, here, ahead, far = m[k - side], m[k], m[k + side], m[k + 2 * side]
    value = 37.0 * (here + ahead) - 8.0 * (behind + far)
    value = (value + m[k - 2 * side] + m[k + 3 * side]) / 60.0
    bend_behind = m[k - 2 * side] - 2.0 * behind + here
    bend = behind - 2.0 * here + ahead
    bend_ahead = here - 2.0 * ahead + far
    bend_low = minmod(
        minmod(4 * bend_behind - bend, 4 * bend - bend_behind),
        minmod(bend_behind, bend),
    )
    bend_high = minmod(
        minmod(4 * bend - bend_ahead, 4 * bend_ahead - bend), minmod(bend, bend_ahead)
    )
    upper = here + 2.0 * (here - behind)
    middle = 0.5 * (here + ahead - bend_high)
    curved = here + 0.5 * (here - behind) + 4.0 / 3.0 * bend_low
    smallest = max(min(min(here, ahead), middle), min(min(here, upper), curved))
    largest = min(max(max(here, ahead), middle), max(max(here, upper), curved))
    # The cell's own density is within both bounds.
    limited = min(max(value, smallest), largest)
    return float(min(max(limited, 0.0), 3.0 * here))


@compiled_inside
def _face_slope(m: FloatArray, k: int) -> float:
    """Slope of the mass density at the lower face of cell k, sixth order."""
    slope = 245.0 * (m[k] - m[k - 1]) - 25.0 * (m[k + 1] - m[k - 2])
    return float((slope + 2.0 * (m[k + 2] - m[k - 3])) / 180.0)


@compiled
def edge_densities(masses: FloatArray) -> FloatArray:
    """Densities (per cell) of each cell at its lower and its upper face, and slopes, (4, n).

    ``masses`` are those of n cells with three ghost cells at each end, (n + 6,).  Rows 0 and 1
    are densities between 0 and three times the cell's mass, so that the cubic with these end
    slopes is monotone (Fritsch & Carlson 1980).  Rows 2 and 3 are the amounts by which the
    density's slopes at the faces exceed those of the parabola with the cell's mass and its
    densities at the faces; they are 0 where these are limited, and limited by them.
    """
    n = len(masses) - 2 * GHOSTS
    result = np.empty((4, n))
    for i in range(n):
        result[0, i] = _edge(masses, i + GHOSTS, -1)
    for i in range(n):
        result[1, i] = _edge(masses, i + GHOSTS, 1)
    for i in range(n):
        k = i + GHOSTS
        low, high = result[0, i], result[1, i]
        bend = 3.0 * (low + high - 2.0 * masses[k])
        excess_low = _face_slope(masses, k) - (high - low) + bend
        excess_high = _face_slope(masses, k + 1) - (high - low) - bend
        limited = abs(low - _face(masses, k)) + abs(high - _face(masses, k + 1))
        largest = 0.1 * (abs(excess_low) + abs(excess_high))
        share = min(min(min(low, high), masses[k]) / max(largest, 1e-300), 1.0)
        smooth = share if limited <= 1e-13 * masses[k] else 0.0
        result[2, i] = max(smooth, 0.0) * excess_low
        result[3, i] = max(smooth, 0.0) * excess_high
    return result


@compiled_inside
def _part(mass: float, edges: FloatArray, start: float, end: float) -> float:
    """Mass between ``start`` and ``end`` in [0, 1] of a cell with its edge densities (4,)."""
    low, high, excess_low, excess_high = edges[0], edges[1], edges[2], edges[3]
    second = 3.0 * mass - 2.0 * low - high
    third = low + high - 2.0 * mass
    sum1 = start + end
    sum2 = start * start + start * end + end * end
    part = (end - start) * (low + second * sum1 + third * sum2)
    square_end = 0.5 * (end * (1.0 - end)) ** 2
    square_start = 0.5 * (start * (1.0 - start)) ** 2
    part += square_end * (excess_low * (1.0 - end) + excess_high * end)
    part -= square_start * (excess_low * (1.0 - start) + excess_high * start)
    return float(min(max(part, 0.0), mass))


@compiled
def sum_between_feet(
    masses: FloatArray, densities: FloatArray, feet: FloatArray
) -> FloatArray:
    """Masses between consecutive feet, shape (len(feet) - 1,).

    ``masses`` are those of cells (n,), ``densities`` those of :func:`edge_densities`, (4, n), and
    ``feet`` positions in cells from face 0, outside [0, n] taken around the circle.  A foot that
    lies behind the next, or beyond the last, is moved up to it, or back.
    """
    n = len(masses)
    count = len(feet) - 1
    result = np.empty(count)
    start = feet[0]
    k = int(np.floor(start))
    i = k % n
    below = start - k
    last = k + n
    for j in range(count):
        end, total = min(max(feet[j + 1], k + below), feet[count]), 0.0
        while end > k + 1.0 and k < last:
            part = _part(masses[i], densities[:, i], below, 1.0)
            total += part if below > 0.0 else masses[i]
            k += 1
            i = i + 1 if i < n - 1 else 0
            below = 0.0
        result[j] = total + _part(masses[i], densities[:, i], below, end - k)
        below = end - k
    return result


def masses_between(
    new_faces: FloatArray, masses: FloatArray, faces: FloatArray
) -> FloatArray:
    """Masses (..., m) between ``new_faces`` (m + 1,), from those between ``faces`` (n + 1,).

    By a monotone cubic in the mass (..., n) that is cumulated from face to face: none is
    negative.
    """
    cumulated = np.insert(masses.cumsum(axis=-1), 0, 0.0, axis=-1)
    curve = scipy.interpolate.PchipInterpolator(faces, cumulated, axis=-1)
    between = np.diff(curve(new_faces))
    return np.asarray(np.maximum(between, 0.0))


def push_masses(
    masses: FloatArray, lower: FloatArray, widths: FloatArray
) -> FloatArray:
    """Masses (n,) of the cells of a circle, once those of ``masses`` (n,) have been mapped.

    Cell i goes to what is between ``lower`` and ``lower + widths`` (n,), in cells from face 0.
    Without folds masses are read off a monotone cubic; with them each cell is
    spread evenly over its image.
    """
    n = len(masses)
    if widths.min() > FOLDED and abs(widths.sum() - n) < 0.5:
        steps = np.maximum(widths, NARROWEST * n)
        faces = lower[0] + np.insert(np.cumsum(steps), 0, 0.0) * (n / steps.sum())
        thrice = np.concatenate([faces[:-1] - n, faces[:-1], faces + n])
        return masses_between(np.arange(n + 1.0), np.tile(masses, 3), thrice)
    low, high = np.minimum(lower, lower + widths), np.maximum(lower, lower + widths)
    first = np.floor(low).astype(int)
    counts = np.floor(high).astype(int) - first + 1
    owners = np.repeat(np.arange(n), counts)
    cells = np.arange(len(owners)) + np.repeat(
        first - np.cumsum(counts) + counts, counts
    )
    parts = np.minimum(high[owners], cells + 1.0) - np.maximum(low[owners], cells)
    parts += NARROWEST
    shares = parts / np.bincount(owners, parts)[owners]
    pieces = masses[owners] * shares
    return np.asarray(np.bincount(np.mod(cells, n), pieces, minlength=n), float)
