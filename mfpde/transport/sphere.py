"""Finite volumes on the sphere."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.geometry.base import as_kind
from mfpde.geometry.gauss_legendre import group_means, spread
from mfpde.geometry.sphere import Sphere
from mfpde.grid_equation import GridEquation
from mfpde.transport.base import DEFAULT_RTOL, Flow, State
from mfpde.transport.euler_stages import FULL_DRAIN, SSPRK42, DrainingTransport
from mfpde.transport.sphere_faces import faces_of
from mfpde.transport.sphere_fluxes import (
    DRAINING_TIME,
    EASTWARD,
    SOUTHWARD,
    fluxes_of,
)


class DonorBlendedSphere(DrainingTransport):
    """Donor blending with the third-order upwind difference in smooth regions.

    Cells have four sides, and move in groups near the poles.
    """

    method_in_time = SSPRK42
    # Beyond 1.6 steps are refused.
    draining_share = 1.2

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        super().__init__(grid, rtol)
        self.sphere = as_kind("geometry", grid.geometry, Sphere)
        self._faces = faces_of(self.sphere)
        if grid.diffusion > 0:
            # Profiles within groups, which every stage forms anew, are smoothed: an exchange of
            # this size at any step that is of use.
            self.net_tolerance = self.sphere.spacing**2
            # Half of what the grid itself makes of e^(V/kappa), |V| = 2 kappa (1e-4, 96 rings).
            self.gross_tolerance = 0.05 * self.sphere.spacing**2

    def represent_masses(self, masses: FloatArray) -> FloatArray:
        """Masses spread linearly within the groups near the poles."""
        result = masses.copy()
        spread(result, self._faces.sizes)
        return result

    def drain(
        self, masses: FloatArray, outflows: FloatArray, step: float
    ) -> FloatArray:
        """Masses after an Euler stage, spread within groups; never negative for any step."""
        sizes = self._faces.sizes
        result = masses + find_gains(send_masses(outflows, sizes, step), sizes)
        spread(result, sizes)
        # What is left of a group is not negative, but for rounding.
        return np.maximum(result, 0.0, out=result)

    def rate(self, masses: FloatArray, outflows: FloatArray) -> FloatArray:
        """Rate of change of the cell masses, equal within groups."""
        return group_means(find_gains(outflows, self._faces.sizes), self._faces.sizes)

    def grid_error_rate(self, state: State, flow: Flow) -> float:
        r"""Size of the rates of moments by the fluxes less \int conj(grad Y_k).v dmu."""
        masses, degree = state.masses, self.grid.degree
        missed = self.density_moments(self.rate(masses, flow.outflows))
        missed -= self.sphere.drift_moments(masses, flow.velocity, degree)
        return self.size_of(missed)

    def find_defect(
        self, before: State, after: State, carried: FloatArray, dt: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return what a step misses in the masses of groups.

        The limited profile of a group is not a smooth function of the masses, and says
        nothing about the error in time.
        """
        masses, points = super().find_defect(before, after, carried, dt)
        return group_means(masses, self._faces.sizes), points

    def draining_time(
        self, masses: FloatArray, outflows: FloatArray, least: float
    ) -> float:
        """Shortest draining time of a group, beside cells of more than ``least`` mass."""
        times = outflows[DRAINING_TIME][masses > least]
        return float(times.min(initial=np.inf))

    def outflows(
        self, masses: FloatArray, moments: ComplexArray, velocity: FloatArray
    ) -> tuple[FloatArray, float]:
        """Fluxes (3, ..., nlat, nlon) of :func:`fluxes_of`, and unresolved mass."""
        return fluxes_of(masses, velocity, self._faces)


@compiled
def send_masses(fluxes: FloatArray, sizes: IntArray, step: float) -> FloatArray:
    """Mass (2, ..., nlat, nlon) through south and east faces in an Euler stage.

    A group sends min(step, draining time) times its fluxes.
    """
    nlon, result = fluxes.shape[-1], np.empty((2, *fluxes.shape[1:]))
    moved, flows = result.reshape(2, -1, nlon), fluxes.reshape(3, -1, nlon)
    times = flows[DRAINING_TIME]
    for i in range(len(times)):
        size, here = sizes[i % len(sizes)], times[i]
        last, behind = nlon - size, times[min(i + 1, len(times) - 1)]
        east, eastward = moved[EASTWARD, i], flows[EASTWARD, i]
        # Nothing flows through a pole, to the first ring of the next row.
        _fill_moved(moved[SOUTHWARD, i], flows[SOUTHWARD, i], here, behind, step)
        _fill_moved(east[:last], eastward, here, here[size:], step)
        _fill_moved(east[last:], eastward[last:], here[last:], here, step)
    return result


@compiled
def _fill_moved(
    moved: FloatArray,
    fluxes: FloatArray,
    before: FloatArray,
    behind: FloatArray,
    step: float,
) -> None:
    """Fill in the mass through faces in the time for which the cell that sends it does so."""
    for j in range(len(moved)):
        forwards = max(fluxes[j], 0.0) * min(before[j] * FULL_DRAIN, step)
        moved[j] = forwards + min(fluxes[j], 0.0) * min(behind[j] * FULL_DRAIN, step)


@compiled
def find_gains(fluxes: FloatArray, sizes: IntArray) -> FloatArray:
    """What flows into each cell (..., nlat, nlon) less what flows out."""
    nlon, result = fluxes.shape[-1], np.empty(fluxes.shape[1:])
    flows, gains = fluxes.reshape(len(fluxes), -1, nlon), result.reshape(-1, nlon)
    north = np.zeros(nlon)
    for i in range(len(gains)):
        size, gain = sizes[i % len(sizes)], gains[i]
        south, east = flows[SOUTHWARD, i], flows[EASTWARD, i]
        for j in range(nlon):
            gain[j] = (north[j] - south[j]) - east[j]
        behind, ahead = east[nlon - size :], gain[size:]
        for j in range(size):
            gain[j] += behind[j]
        for j in range(nlon - size):
            ahead[j] += east[j]
        north = south
    return result
