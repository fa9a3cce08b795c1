r"""Donor blending on the circle, one periodic line (:mod:`mfpde.transport.line`).

Outflows are (2, ..., n), the mass per unit time that each cell would send through its lower and
its upper face.  The axes before the last one are those of rows: one density has none.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.compiled import compiled
from mfpde.geometry.base import as_kind
from mfpde.geometry.circle import Circle
from mfpde.geometry.remap import GHOSTS, wrap
from mfpde.grid_equation import GridEquation
from mfpde.transport.base import DEFAULT_RTOL
from mfpde.transport.euler_stages import FULL_DRAIN, SSPRK33, DrainingTransport
from mfpde.transport.line import face_blends, fifth_order_flux


@compiled
def fifth_order_outflows(
    density: FloatArray, velocity: FloatArray
) -> tuple[FloatArray, float]:
    """Donor-blended outflows with the unlimited fifth-order upwind flux as smooth part.

    The second result is the sum of density times blend, which the grid does not resolve.
    """
    n = density.shape[-1]
    rows, velocities = density.reshape(-1, n), velocity.reshape(-1, n)
    result, unresolved = np.empty((2, *density.shape)), 0.0
    sides = result.reshape(2, -1, n)
    for k in range(len(rows)):
        unresolved += _fill_outflows(sides[0, k], sides[1, k], rows[k], velocities[k])
    return result, unresolved


@compiled
def _fill_outflows(
    low: FloatArray, high: FloatArray, density: FloatArray, velocity: FloatArray
) -> float:
    """Fill in the outflows of a row; return its sum of density times blend."""
    n = len(density)
    v, r = wrap(velocity), wrap(density)
    f = r * v
    # Face i, below cell i, has the blend b[i + 3].
    b = wrap(face_blends(r)[:n])
    smooth = np.empty(n + 1)
    for i in range(n + 1):
        j = i - 1 + GHOSTS
        speed = 0.5 * abs(v[j] + v[j + 1])
        smooth[i] = (1.0 - b[i + GHOSTS]) * fifth_order_flux(f, r, j, speed)
    for i in range(n):
        j = i + GHOSTS
        share = (7.0 * (b[j] + b[j + 1]) - (b[j - 1] + b[j + 2])) * (1.0 / 12.0)
        donor = share * f[j]
        up = f[j] > 0.0
        high[i] = max(max(smooth[i + 1], 0.0) + (donor if up else 0.0), 0.0)
        low[i] = max(max(-smooth[i], 0.0) - (0.0 if up else donor), 0.0)
    # A sum in this order is a loop of its own, so that the other one runs on vectors.
    unresolved = 0.0
    for i in range(n):
        unresolved += max(b[i + GHOSTS], b[i + 1 + GHOSTS]) * density[i]
    return unresolved


@compiled
def drain_cells(masses: FloatArray, outflows: FloatArray, step: float) -> FloatArray:
    """One Euler stage: cells send min(step, draining time) times their outflows, no more."""
    cells, sides = masses.ravel(), outflows.reshape(2, -1)
    sent = np.empty(sides.shape)
    for i in range(len(cells)):
        total = sides[0, i] + sides[1, i]
        longest = cells[i] / total * FULL_DRAIN if total > 0.0 else step
        share = min(step, longest)
        sent[0, i] = share * sides[0, i]
        sent[1, i] = share * sides[1, i]
    result = receive_masses(sent.reshape(outflows.shape))
    after = result.reshape(-1)
    for i in range(len(cells)):
        after[i] += max(cells[i] - (sent[0, i] + sent[1, i]), 0.0)
    return result


@compiled
def receive_masses(sent: FloatArray) -> FloatArray:
    """What each cell gets (..., n) of what its neighbours send, (2, ..., n)."""
    n, result = sent.shape[-1], np.empty(sent.shape[1:])
    rows, sides = result.reshape(-1, n), sent.reshape(2, -1, n)
    for k in range(len(rows)):
        low, high = sides[0, k], sides[1, k]
        for i in range(n):
            rows[k, i] = (
                high[i - 1 if i > 0 else n - 1] + low[i + 1 if i < n - 1 else 0]
            )
    return result


@compiled
def net_rate(outflows: FloatArray) -> FloatArray:
    """Rate of change of each cell's mass, shape (..., n)."""
    return np.asarray(receive_masses(outflows) - (outflows[0] + outflows[1]))


class CircleTransport(DrainingTransport):
    """Base of the schemes with draining stages on the circle, one periodic line."""

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        super().__init__(grid, rtol)
        self.circle = as_kind("geometry", grid.geometry, Circle)
        if grid.diffusion > 0:
            # Splitting misses a state of balance, and asks for shorter steps than stages do.
            self.method_in_time = SSPRK33
            self.tolerance_share = 1.0

    drain = staticmethod(drain_cells)

    def rate(self, masses: FloatArray, outflows: FloatArray) -> FloatArray:
        """Rate of change of the cell masses."""
        return net_rate(outflows)


class DonorBlendedCircle(CircleTransport):
    """Donor blending with the fifth-order upwind difference in smooth regions."""

    def outflows(
        self, masses: FloatArray, moments: ComplexArray, velocity: FloatArray
    ) -> tuple[FloatArray, float]:
        """Outflows (2, ..., n) through the lower and the upper face, and unresolved mass."""
        density = np.asarray(masses / self.circle.spacing)
        result, unresolved = fifth_order_outflows(density, velocity[0])
        return result, unresolved * self.circle.spacing
