r"""Spectral transport on S^2, for a density that the grid resolves.

The moments g_k = \int conj Y_k dmu of all degrees that the grid represents follow

    d_t g_k = \int conj(grad Y_k).v dmu,

with v taken at the cell centres, and the integral by the grid's quadrature.  Where the density is
smooth both are spectrally accurate.  A filter damps degree l of n at the rate 72 (l/n)^8: a step
is that of the classical Runge-Kutta method for exp(72 (l/n)^8 t) g_k (Lawson 1967).

The mass is kept to rounding, but nothing keeps the density positive.  Where its negative part
weighs more than 1e-5 the grid does not resolve the density any more, and another scheme has to
go on from the step before.  What is saved is the positive part, scaled to the mass.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry import Sphere
from mfpde.geometry.base import as_kind
from mfpde.grid_equation import GridEquation
from mfpde.runge_kutta import interpolate
from mfpde.transport.base import DEFAULT_RTOL, Flow, State, Step
from mfpde.transport.fluxes import NEGLIGIBLE_RATE
from mfpde.transport.phases import SmoothTransport, is_positive

# Of the step times the largest speed times the highest degree; the method is stable up to 2.8.
_COURANT_NUMBER = 2.8
_FILTER_RATE = 72.0
_FILTER_ORDER = 8


class Spectral(SmoothTransport):
    """Spectral transport of a density without atoms.

    Its flows hold the moments of all degrees, ``density_moments``, and their rates, ``outflows``.
    """

    name = "spectral"
    # The last stage differs from the new state by more than the error of the method: with 5,
    # moments err by 5e-5 where softmax changes fast, else by 1e-6.
    tolerance_share = 5.0
    goes_past_saves = True

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        super().__init__(grid, rtol)
        self.sphere = geometry = as_kind("geometry", grid.geometry, Sphere)
        self._highest = geometry.max_degree
        degrees = geometry.degrees(self._highest)
        self._watched = np.flatnonzero(degrees <= grid.degree)
        shares = degrees / (self._highest + 1.0)
        self._filter_rates = -_FILTER_RATE * shares**_FILTER_ORDER
        self._probabilities = geometry.areas / geometry.areas.sum()

    def find_flow(self, state: State) -> Flow:
        """Find moments, velocity and rates of ``state``."""
        return self._flow(state, self.sphere.moments(state.masses, self._highest))

    def step(self, state: State, dt: float) -> Step:
        """Return the state after a step, whose error is measured by the last stage, at its end."""
        flow = self.flow(state)
        half = np.exp(dt / 2 * self._filter_rates)
        start = half * flow.density_moments
        first = half * flow.outflows.view(np.complex128)

        def rates_at(moments: ComplexArray) -> ComplexArray:
            there = state.moved(self._masses(moments), state.points)
            return self._flow(there, moments).outflows.view(np.complex128)

        second = rates_at(start + dt / 2 * first)
        third = rates_at(start + dt / 2 * second)
        last = rates_at(half * (start + dt * third))
        mean = (half * (first + 2 * (second + third)) + last) / 6
        new = state.moved(self._masses(half * start + dt * mean), state.points)
        after = self.flow(new)
        lag = (last - after.outflows.view(np.complex128))[self._watched]
        moved = self.size_of(after.moments - flow.moments)
        allowed = self.rtol * self.tolerance_share * moved / dt
        allowed += NEGLIGIBLE_RATE if state.cloud_size > 1 else 0.0
        error = self.relative_error(dt / 6 * self.size_of(lag), allowed, dt)
        return Step(new, error)

    def state_between(
        self, before: State, after: State, dt: float, share: float
    ) -> State:
        """Return the density whose moments are on cubics, a ``share`` of a step on."""
        first, last = self.flow(before), self.flow(after)
        ends = [f.density_moments.view(np.float64) for f in (first, last)]
        rates = first.outflows, last.outflows
        found = interpolate((ends[0], ends[1]), rates, dt, share)
        return before.moved(self._masses(found.view(np.complex128)), before.points)

    def _flow(self, state: State, all_moments: ComplexArray) -> Flow:
        moments = all_moments[self._watched]
        velocity = self.velocity(moments)
        rates = self.sphere.drift_moments(state.masses, velocity, self._highest)
        numbers = np.ascontiguousarray(rates).view(np.float64)
        return Flow(all_moments, moments, velocity, state.points, numbers)

    def _masses(self, moments: ComplexArray) -> FloatArray:
        return np.asarray(self.sphere.synthesis(moments) * self._probabilities)

    def largest_step(self, state: State) -> float:
        """Return the longest step for which the method is stable; inf at rest."""
        velocity = self.flow(state).velocity
        fastest = float(np.sqrt((velocity**2).sum(axis=0).max()))
        fastest *= self._highest
        return _COURANT_NUMBER / fastest if fastest > 0 else np.inf

    def carries(self, state: State) -> bool:
        """Whether the density is positive in the grid's degrees, and noise rules nothing."""
        flow = self.flow(state)
        if not is_positive(self._masses(flow.density_moments)):
            return False
        return not self.grid.has_lost_mass(flow.moments, state.masses)

    def restore_masses(self, masses: FloatArray) -> FloatArray:
        """Masses without the negative part, of the same total."""
        if masses.min() >= 0.0:
            return masses
        positive = np.maximum(masses, 0.0)
        return np.asarray(positive * (masses.sum() / positive.sum()))
