"""Transport of rows: donor blending of each row, in one common step.

The stages couple the rows.  The step is that of the row that asks for the shortest, and the error
that of the moments of all rows together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, choice
from mfpde.compiled import compiled
from mfpde.geometry.gauss_legendre import group_means
from mfpde.grid_equation import GridEquation
from mfpde.positions.rows import PositionedDensity, RunState
from mfpde.positions.rows_equation import RowsEquation
from mfpde.transport import Scheme
from mfpde.transport.base import DEFAULT_RTOL, Flow, State
from mfpde.transport.circle import (
    DonorBlendedCircle,
    drain_cells,
    fifth_order_outflows,
    net_rate,
)
from mfpde.transport.euler_stages import DrainingTransport
from mfpde.transport.sphere import DonorBlendedSphere
from mfpde.transport.sphere_fluxes import DRAINING_TIME


class RowsTransport(DrainingTransport):
    """What is the same for rows (P, *shape) on each grid: norms, and flows without atoms."""

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        super().__init__(grid, rtol)
        # The same for all rows.
        self._external_velocity = self._external_velocity[:, np.newaxis]

    def find_flow(self, state: State) -> Flow:
        """Find moments, velocities and outflows of ``state``."""
        moments = self.density_moments(state.masses)
        velocity = self.velocity(moments)
        outflows, unresolved = self.outflows(state.masses, moments, velocity)
        return Flow(moments, moments, velocity, state.points, outflows, unresolved)

    def size_of(self, moments: ComplexArray) -> float:
        """Return the norm of the moments of all rows; degrees l count as 1 / l."""
        return float(np.linalg.norm(moments * self._weights))


class RowsOnCircle(RowsTransport, DonorBlendedCircle):
    """Rows of densities on the circle; outflows are (2, P, n)."""

    def outflows(
        self, masses: FloatArray, moments: ComplexArray, velocity: FloatArray
    ) -> tuple[FloatArray, float]:
        """Outflows (2, P, n) through the lower and the upper face, and unresolved mass."""
        spacing = self.circle.spacing
        found, unresolved = outflows_of_rows(np.asarray(masses / spacing), velocity[0])
        return found, unresolved * spacing

    def drained(
        self, masses: FloatArray, outflows: FloatArray, step: float
    ) -> FloatArray:
        """Masses after an Euler stage."""
        return drain_rows(masses, outflows, step)

    def rate(self, masses: FloatArray, outflows: FloatArray) -> FloatArray:
        """Rate of change of the cell masses."""
        return rates_of_rows(outflows)


class RowsOnSphere(RowsTransport, DonorBlendedSphere):
    """Rows of densities on the sphere, moved one by one; outflows are (P, 3, nlat, nlon)."""

    def represented(self, masses: FloatArray) -> FloatArray:
        """Masses spread linearly within the groups near the poles."""
        return _apply_to_rows(super().represented, masses)

    def outflows(
        self, masses: FloatArray, moments: ComplexArray, velocity: FloatArray
    ) -> tuple[FloatArray, float]:
        """Fluxes of each row, and unresolved mass."""
        velocities = np.ascontiguousarray(np.moveaxis(velocity, 0, 1))
        found = map(super().outflows, masses, moments, velocities)
        fluxes, unresolved = zip(*found, strict=True)
        return np.stack(fluxes), float(sum(unresolved))

    def drained(
        self, masses: FloatArray, outflows: FloatArray, step: float
    ) -> FloatArray:
        """Masses after an Euler stage, spread within groups."""
        steps = np.full(len(masses), step)
        return _apply_to_rows(super().drained, masses, outflows, steps)

    def rate(self, masses: FloatArray, outflows: FloatArray) -> FloatArray:
        """Rate of change of the cell masses, equal within groups."""
        return _apply_to_rows(super().rate, masses, outflows)

    def draining_time(
        self, masses: FloatArray, outflows: FloatArray, least: float
    ) -> float:
        """Shortest draining time of a group, beside cells of more than ``least`` mass."""
        times = outflows[:, DRAINING_TIME][masses > least]
        return float(times.min(initial=np.inf))

    def grid_error_rate(self, state: State, flow: Flow) -> float:
        r"""Size of the rates of moments by the fluxes less \int conj(grad Y_k).v dmu."""
        missed = self.density_moments(self.rate(state.masses, flow.outflows))
        velocities = np.moveaxis(flow.velocity, 0, 1)
        for row, masses, velocity in zip(missed, state.masses, velocities, strict=True):
            row -= self.sphere.drift_moments(masses, velocity, self.grid.degree)
        return self.size_of(missed)

    def find_defect(
        self, before: State, after: State, carried: FloatArray, dt: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return what a step misses in the masses of groups."""
        of_cells = super(DonorBlendedSphere, self).find_defect
        masses, points = of_cells(before, after, carried, dt)
        return np.stack([group_means(row, self._faces.sizes) for row in masses]), points


def scheme_of_rows(rows: RunState, transport: str | None, atoms: str) -> Scheme:
    """Return donor blending of ``rows``; ``ValueError`` for another scheme, or exact atoms."""
    assert isinstance(rows, PositionedDensity)
    edges = rows.edges
    choice("atoms", atoms, ["grid"])
    name = choice("transport", transport or "donor_blended", ["donor_blended"])

    def make(grid: GridEquation, rtol: float = DEFAULT_RTOL) -> RowsTransport:
        terms = grid.geometry, grid.interactions, grid.externals
        of_rows = RowsEquation(*terms, grid.sign, grid.diffusion, edges=edges)
        kind = RowsOnCircle if grid.geometry.dimension == 2 else RowsOnSphere
        return kind(of_rows, rtol)

    return Scheme(name, make)


def _apply_to_rows(
    function: Callable[..., FloatArray], *arguments: FloatArray
) -> FloatArray:
    """Return the results of ``function`` for each row of its ``arguments``."""
    return np.stack(list(map(function, *arguments)))


@compiled
def outflows_of_rows(
    densities: FloatArray, velocities: FloatArray
) -> tuple[FloatArray, float]:
    """Donor-blended outflows (2, P, n) of rows (P, n), and the sum that grids do not resolve."""
    rows, n = densities.shape
    result, total = np.empty((2, rows, n)), 0.0
    for r in range(rows):
        outflows, unresolved = fifth_order_outflows(densities[r], velocities[r])
        for side in range(2):
            for i in range(n):
                result[side, r, i] = outflows[side, i]
        total += unresolved
    return result, total


@compiled
def drain_rows(masses: FloatArray, outflows: FloatArray, step: float) -> FloatArray:
    """One Euler stage of rows (P, n) with outflows (2, P, n)."""
    rows, n = masses.shape
    result = np.empty((rows, n))
    for r in range(rows):
        drained = drain_cells(masses[r], outflows[:, r], step)
        for i in range(n):
            result[r, i] = drained[i]
    return result


@compiled
def rates_of_rows(outflows: FloatArray) -> FloatArray:
    """Rates of change (P, n) by outflows (2, P, n)."""
    rows, n = outflows.shape[1:]
    result = np.empty((rows, n))
    for r in range(rows):
        rate = net_rate(outflows[:, r])
        for i in range(n):
            result[r, i] = rate[i]
    return result
