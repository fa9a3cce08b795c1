r"""Conservative semi-Lagrangian remap of a line of equal cells, bounded or periodic.

In units of a cell, with C the cumulated mass and X(j) the foot of face j (where a particle
that ends at the face came from),

    new mass of cell j = C(X(j+1)) - C(X(j)),

C a piecewise quintic with the mass densities at the faces as slopes and theirs as second
derivatives (White & Adcroft 2008); where those are limited, a monotone cubic.
There is no limit on the distance that the feet move, only on their order (time step times
velocity gradient below 1).  Mass is summed cell by cell from foot to foot, never as a
difference of prefix sums: so it is positive also where it is small.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled, inlined

GHOSTS = 3
FOOT_GHOSTS = 2
# Largest difference of velocities at neighbouring faces, in cells per step of a trace: the
# error of a step is its fifth power over 120.
_COMPRESSION_OF_A_STEP = 0.07


@inlined
def _median(value: float, low: float, high: float) -> float:
    return min(max(value, min(low, high)), max(low, high))


@inlined
def _common(a: float, b: float, c: float, d: float) -> float:
    """Minmod of four: the smallest if all have one sign, else 0."""
    smallest = min(min(a, b), min(c, d))
    largest = max(max(a, b), max(c, d))
    return max(smallest, 0.0) + min(largest, 0.0)


@inlined
def _edge(m: FloatArray, k: int, side: int) -> float:
    """Mass density of cell k at its face towards ``side`` (1 or -1), sixth order, limited.

    Monotonicity-preserving limits (MP5) of Suresh & Huynh (1997): they keep smooth
    extrema and let no jump ring.
    """
    behind = m[k - side]
    here = m[k]
    ahead = m[k + side]
    far = m[k + 2 * side]
    value = 37.0 * (here + ahead) - 8.0 * (behind + far)
    value = (value + m[k - 2 * side] + m[k + 3 * side]) / 60.0
    bend_behind = m[k - 2 * side] - 2.0 * behind + here
    bend = behind - 2.0 * here + ahead
    bend_ahead = here - 2.0 * ahead + far
    bend_low = _common(
        4 * bend_behind - bend, 4 * bend - bend_behind, bend_behind, bend
    )
    bend_high = _common(4 * bend - bend_ahead, 4 * bend_ahead - bend, bend, bend_ahead)
    upper = here + 2.0 * (here - behind)
    middle = 0.5 * (here + ahead - bend_high)
    curved = here + 0.5 * (here - behind) + 4.0 / 3.0 * bend_low
    smallest = max(min(min(here, ahead), middle), min(min(here, upper), curved))
    largest = min(max(max(here, ahead), middle), max(max(here, upper), curved))
    limited = _median(value, smallest, largest)
    return float(min(max(limited, 0.0), 3.0 * here))


@inlined
def _face(m: FloatArray, k: int) -> float:
    """Mass density at the lower face of cell k, sixth order."""
    value = 37.0 * (m[k - 1] + m[k]) - 8.0 * (m[k - 2] + m[k + 1])
    return float((value + m[k - 3] + m[k + 2]) / 60.0)


@inlined
def _face_slope(m: FloatArray, k: int) -> float:
    """Slope of the mass density at the lower face of cell k, sixth order."""
    slope = 245.0 * (m[k] - m[k - 1]) - 25.0 * (m[k + 1] - m[k - 2])
    return float((slope + 2.0 * (m[k + 2] - m[k - 3])) / 180.0)


@compiled
def edge_densities(masses: FloatArray) -> FloatArray:
    """Mass densities (per cell) of each cell at its lower and its upper face, and slopes.

    Parameters
    ----------
    masses
        Masses of n cells with three ghost cells at each end, shape (n + 6,).

    Returns
    -------
    Shape (4, n).  Densities between 0 and three times the cell's mass: then the cubic with
    these end slopes is monotone (Fritsch & Carlson 1980).  Rows 2 and 3: by how much the
    density's slopes at the faces exceed those of the parabola with the cell's mass and its
    densities at the faces; 0 where those are limited, and limited by the densities.
    """
    n = len(masses) - 2 * GHOSTS
    result = np.empty((4, n))
    for i in range(n):
        result[0, i] = _edge(masses, i + GHOSTS, -1)
    for i in range(n):
        result[1, i] = _edge(masses, i + GHOSTS, 1)
    for i in range(n):
        k = i + GHOSTS
        low = result[0, i]
        high = result[1, i]
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


@compiled
def _summed(velocities: FloatArray, weights: FloatArray, periodic: bool) -> FloatArray:
    """Weighted sum of face velocities (stages, n + 1) with ghost faces, (n + 5,).

    Beyond an end that is not periodic velocities are odd.
    """
    n = velocities.shape[1] - 1
    result = np.zeros(n + 1 + 2 * FOOT_GHOSTS)
    for s in range(len(weights)):
        weight = weights[s]
        if weight != 0.0:
            for j in range(n + 1):
                result[j + FOOT_GHOSTS] += weight * velocities[s, j]
    for g in range(1, FOOT_GHOSTS + 1):
        if periodic:
            result[FOOT_GHOSTS - g] = result[FOOT_GHOSTS + n - g]
            result[FOOT_GHOSTS + n + g] = result[FOOT_GHOSTS + g]
        else:
            result[FOOT_GHOSTS - g] = -result[FOOT_GHOSTS + g]
            result[FOOT_GHOSTS + n + g] = -result[FOOT_GHOSTS + n - g]
    return result


@inlined
def _smoothness(v: FloatArray, i: int) -> float:
    """1 where the six values from v[i] are smooth, 0 where there is a kink among them.

    By the second differences of their second differences: (k h)^2 of these in a wave, at
    least as large as the largest of them at a kink.
    """
    a = v[i] - 2.0 * v[i + 1] + v[i + 2]
    b = v[i + 1] - 2.0 * v[i + 2] + v[i + 3]
    c = v[i + 2] - 2.0 * v[i + 3] + v[i + 4]
    d = v[i + 3] - 2.0 * v[i + 4] + v[i + 5]
    largest = max(max(abs(a), abs(b)), max(abs(c), abs(d)))
    change = max(abs(a - 2.0 * b + c), abs(b - 2.0 * c + d))
    return float(min(max(2.0 - 2.0 * change / max(largest, 1e-300), 0.0), 1.0))


@compiled
def _interpolant(values: FloatArray) -> FloatArray:
    """Quintics through the six faces around each cell, (n, 6), from (n + 5,) face values.

    Coefficients of even and odd part about the cell's middle, each in Newton's form with
    nodes 1/4, 9/4 (and 25/4) of the squared distance.  The first of each are those of the
    linear interpolant, which is taken at kinks: there a quintic would make cells denser
    and thinner in turn.
    """
    n = len(values) - 1 - 2 * FOOT_GHOSTS
    result = np.empty((n, 6))
    for i in range(n):
        even1 = 0.5 * (values[i + 2] + values[i + 3])
        even2 = 0.5 * (values[i + 1] + values[i + 4])
        even3 = 0.5 * (values[i] + values[i + 5])
        odd1 = values[i + 3] - values[i + 2]
        odd2 = (values[i + 4] - values[i + 1]) * (1.0 / 3.0)
        odd3 = (values[i + 5] - values[i]) * 0.2
        share = _smoothness(values, i)
        result[i, 0] = even1
        result[i, 1] = share * 0.5 * (even2 - even1)
        result[i, 2] = share * (even3 - 3.0 * even2 + 2.0 * even1) * (1.0 / 24.0)
        result[i, 3] = odd1
        result[i, 4] = share * 0.5 * (odd2 - odd1)
        result[i, 5] = share * (odd3 - 3.0 * odd2 + 2.0 * odd1) * (1.0 / 24.0)
    return result


@compiled
def _fill_values(
    values: FloatArray, pieces: FloatArray, positions: FloatArray, periodic: bool
) -> None:
    """Interpolated values at ``positions`` (m,), one loop: each is independent of the last."""
    n = len(pieces)
    for j in range(len(positions)):
        position = positions[j]
        if not periodic:
            position = min(max(position, 0.0), float(n))
        below = np.floor(position)
        i = int(below)
        if i < 0 or i >= n:
            i = i % n if periodic else n - 1
            below = below if periodic else n - 1.0
        u = position - below - 0.5
        square = u * u
        near = square - 0.25
        far = square - 2.25
        even = pieces[i, 0] + near * (pieces[i, 1] + far * pieces[i, 2])
        odd = pieces[i, 3] + near * (pieces[i, 4] + far * pieces[i, 5])
        values[j] = even + u * odd


@compiled
def _trace(positions: FloatArray, velocity: FloatArray, periodic: bool) -> None:
    """Move ``positions`` back along the flow of duration 1, by steps of classical RK4."""
    n = len(positions)
    steepest = 0.0
    for j in range(len(velocity) - 1):
        steepest = max(steepest, abs(velocity[j + 1] - velocity[j]))
    if not steepest < np.inf:
        return
    count = max(int(np.ceil(steepest / _COMPRESSION_OF_A_STEP)), 1)
    pieces = _interpolant(velocity)
    stage = positions.copy()
    slope = np.empty(n)
    total = np.empty(n)
    step = 1.0 / count
    for _ in range(count):
        total[:] = 0.0
        for weight, ahead in ((1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)):
            _fill_values(slope, pieces, stage, periodic)
            for j in range(n):
                total[j] += weight * slope[j]
                stage[j] = positions[j] - ahead * step * slope[j]
        for j in range(n):
            positions[j] -= total[j] * step / 6.0
            stage[j] = positions[j]


@compiled
def feet(velocities: FloatArray, weights: FloatArray, periodic: bool) -> FloatArray:
    """Feet X(0..n), in cells from face 0, of the faces after flows in frozen velocities.

    Parameters
    ----------
    velocities
        In cells per unit time at the faces 0..n, one row for each stage, (stages, n + 1).
    weights
        One row for each flow in the order of time, (flows, stages): the flow of duration 1
        in the velocity sum_s weights[s] velocities[s].  Each is traced backwards by as many
        steps of the classical Runge-Kutta method as its compression asks for.
    periodic
        Whether face n is face 0; otherwise faces 0 and n do not move.
    """
    n = velocities.shape[1] - 1
    result = np.empty(n + 1)
    for j in range(n + 1):
        result[j] = j
    for leg in range(len(weights) - 1, -1, -1):
        if not np.any(weights[leg]):
            continue
        _trace(result, _summed(velocities, weights[leg], periodic), periodic)
    if periodic:
        result[n] = result[0] + n
    else:
        result[0] = 0.0
        result[n] = n
    for j in range(n):
        result[j + 1] = min(max(result[j + 1], result[j]), result[n])
    return result


@compiled
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
def remapped(masses: FloatArray, densities: FloatArray, feet: FloatArray) -> FloatArray:
    """Masses between consecutive feet, shape (len(feet) - 1,).

    Parameters
    ----------
    masses
        Cell masses (n,); positions outside [0, n] are taken around the circle.
    densities
        Result of :func:`edge_densities`, (4, n).
    feet
        Nondecreasing positions in cells from face 0.
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
        end = feet[j + 1]
        if end <= k + 1.0:
            above = end - k
            result[j] = _part(masses[i], densities[:, i], below, above)
            below = above
            continue
        total = _part(masses[i], densities[:, i], below, 1.0)
        k += 1
        i = i + 1 if i < n - 1 else 0
        while end > k + 1.0 and k < last:
            total += masses[i]
            k += 1
            i = i + 1 if i < n - 1 else 0
        below = end - k
        result[j] = total + _part(masses[i], densities[:, i], 0.0, below)
    return result
