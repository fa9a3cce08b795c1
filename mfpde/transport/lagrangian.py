r"""Lagrangian transport on S^2: labels that carry the masses of the cells along characteristics.

    x_i' = v(x_i),   v from the moments  sum_i m_i conj Y_lm(x_i)

Each label stands for a cell of the grid at the time when the scheme began; masses and signs are
kept exactly, no cell limits the step, and nothing spreads: a density that gathers into cores a
few cells wide goes on without the errors of first order that fluxes make there.  Sums over labels
are Gauss quadratures as long as the flow map is resolved.  A step is that of the classical
Runge-Kutta method of order 4.

A density on the grid is needed where a state is saved.  There it is the push-forward, spread over
the images of the cells (:mod:`mfpde.transport.push_forward`).  What has moved is multiplied by a
smooth factor, so that the density has the labels' moments up to degree 8 as far as a positive one
on the grid can (:func:`mfpde.transport.push_forward.fit_moments`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import normalize
from mfpde.geometry.base import as_kind
from mfpde.geometry.sphere import Sphere
from mfpde.grid_equation import GridEquation
from mfpde.measures.clouds import summed_motion
from mfpde.runge_kutta import CLASSICAL, combine, find_slopes, interpolate
from mfpde.terms.kernels import NEGLIGIBLE, PointMasses
from mfpde.transport.base import DEFAULT_RTOL, NOTHING, Flow, State, Step, Transport
from mfpde.transport.push_forward import KEPT_DEGREE, deposit_masses, fit_moments

LARGEST_DEGREE = 64
"""Degree of the interaction beyond which sums over labels cost more than fluxes."""
# Labels move at most so far in a step, in radians.
LONGEST_MOVE = 0.4
# Beside the largest degree of a kernel: far below the error in time.
_NEGLIGIBLE = 1e-8


class LagrangianSphere(Transport):
    """Transport by labels, which hold all the mass: the cells of its states are empty."""

    # The last stage says little about a label's error; kinks are crossed label by label.
    # Saves within steps are as good: moments err by 1e-4 to 4e-4 in 6 units of time.
    tolerance_share = 10.0
    goes_past_saves = True

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        super().__init__(replace(grid, negligible=_negligible(grid)), rtol)
        self.sphere = sphere = as_kind("geometry", grid.geometry, Sphere)
        self._centres = np.ascontiguousarray(sphere.points.reshape(-1, 3))
        # The state measured last, which is often asked for again, and what it was.
        self._known: tuple[State, State] | None = None

    def begin(self, state: State, labels: PointMasses | None = None) -> State:
        """The state whose labels carry the masses of cells, from their centres on.

        A density that has labels already goes on with them.
        """
        empty = np.zeros(self.sphere.shape)
        if labels is not None:
            return State(empty, *labels)
        return State(empty, self._centres.copy(), state.masses.ravel().copy())

    def restore(self, state: State) -> State:
        """The density of the labels on the grid; where they began, that of the start."""
        if self._known is None or self._known[0] is not state:
            masses = self._cell_masses(state)
            nobody = np.empty((0, 3)), np.empty(0)
            self._known = state, State(masses, *nobody)
        return self._known[1]

    def _cell_masses(self, state: State) -> FloatArray:
        masses = state.atom_masses.reshape(self.sphere.shape)
        if np.array_equal(state.points, self._centres):
            return masses.copy()
        labels = normalize(state.points)
        wanted = self.sphere.atom_moments(labels, state.atom_masses, KEPT_DEGREE)
        places = labels.reshape(*self.sphere.shape, 3)
        spread, resting = deposit_masses(places, masses, self.sphere)
        # What rests is in its own cell to the last digit: the factor corrects what has moved.
        return fit_moments(spread, wanted, self.sphere, kept=resting)

    def find_flow(self, state: State) -> Flow:
        """Find moments and velocities of the labels, which stand on the sphere."""
        labels = PointMasses(state.points, state.atom_masses)
        moments = self.sphere.atom_moments(*labels, self.grid.degree)
        moments = self.grid.with_masses(moments, state.masses, labels)
        nothing = np.zeros(moments.shape, dtype=np.complex128)
        velocities = self.grid.velocity_at(moments, state.points)
        return Flow(nothing, moments, NOTHING, velocities)

    def constrain(self, points: FloatArray) -> FloatArray:
        """Return where labels are put that ended a stage at ``points``: on the sphere."""
        return normalize(points)

    def step(self, state: State, dt: float) -> Step:
        """State after a step, whose error is measured by the last stage, at its end."""
        masses = state.atom_masses

        def move(velocities: FloatArray) -> State:
            points = state.points + dt * velocities
            return state.moved(state.masses, self.constrain(points))

        def velocities_at(mean: FloatArray) -> FloatArray:
            return self.find_flow(move(mean)).atom_velocities

        first = self.flow(state).atom_velocities
        velocities = find_slopes(CLASSICAL, velocities_at, first)
        new = move(combine(CLASSICAL.weights, velocities))
        lag = velocities[-1] - self.flow(new).atom_velocities
        motion = summed_motion(masses, state.cloud_size, first)
        allowed = self.rtol * self.tolerance_share * motion
        error = dt / 6 * summed_motion(masses, state.cloud_size, lag)
        return Step(new, self.relative_error(error, allowed, dt))

    def state_between(
        self, before: State, after: State, dt: float, share: float
    ) -> State:
        """Return the labels a ``share`` of a step after ``before``, on cubics."""
        ends = before.points, after.points
        velocities = (
            self.flow(before).atom_velocities,
            self.flow(after).atom_velocities,
        )
        points = interpolate(ends, velocities, dt, share)
        return before.moved(before.masses, self.constrain(points))

    def largest_step(self, state: State) -> float:
        """The step in which no label moves farther than 0.4; inf at rest."""
        velocities = self.flow(state).atom_velocities
        fastest = float(np.sqrt(np.einsum("ij,ij->i", velocities, velocities).max()))
        return LONGEST_MOVE / fastest if fastest > 0.0 else np.inf


def _negligible(grid: GridEquation) -> float:
    """Size of the degrees of kernels that labels leave out.

    Softmax divides by the mean kernel, which may be as small as the kernel's least value.
    """
    least = 1.0
    for term in grid.interactions:
        if term.is_zonal and term.needs_values:
            farthest, nearest = term.zonal_kernel.value(np.array([-1.0, 1.0]))
            least = min(least, abs(farthest / nearest))
    return max(NEGLIGIBLE, _NEGLIGIBLE * least)
