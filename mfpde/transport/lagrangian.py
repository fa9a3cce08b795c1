r"""Lagrangian transport on S^2: labels that carry the masses of the cells along characteristics.

    x_i' = v(x_i),   v from the moments  sum_i m_i conj Y_lm(x_i)

Each label stands for a cell of the grid at the time when the scheme began; masses and signs are
kept exactly, no cell limits the step, and nothing spreads: a density that gathers into cores a
few cells wide goes on without the errors of first order that fluxes make there.  Sums over labels
are Gauss quadratures as long as the flow map is resolved.  A step is that of the classical
Runge-Kutta method of order 4.

A density on the grid is needed where a state is saved.  There it is the push-forward, spread over
the images of the cells (:mod:`mfpde.transport.sphere_patches`).  What has moved is multiplied by a
smooth factor, so that the density has the labels' moments up to degree 8 as far as a positive one
on the grid can (:mod:`mfpde.transport.moment_fit`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.compiled import compiled
from mfpde.geometry.sphere import Sphere
from mfpde.grid_equation import GridEquation
from mfpde.terms import ZonalTerm
from mfpde.terms.kernels import NEGLIGIBLE, PointMasses
from mfpde.transport.base import Transport, geometry_of
from mfpde.transport.moment_fit import KEPT_DEGREE, with_moments
from mfpde.transport.sphere_patches import deposited, ground_of, resting_masses
from mfpde.transport.sphere_pieces import Ground
from mfpde.transport.state import Advance, Flow, State, normalised

LARGEST_DEGREE = 64
"""Degree of the interaction beyond which sums over labels cost more than fluxes."""
# Labels move at most so far in a step, in radians.
_LONGEST_MOVE = 0.4
# Beside the largest degree of a kernel: far below the error in time.
_NEGLIGIBLE = 1e-8


class LagrangianSphere(Transport):
    """Transport by labels, which hold all the mass: the cells of its states are empty."""

    def __init__(self, grid: GridEquation) -> None:
        super().__init__(replace(grid, negligible=_negligible(grid)))
        self.sphere = sphere = geometry_of(grid, Sphere, "Sphere")
        self._centres = np.ascontiguousarray(sphere.points.reshape(-1, 3))
        # The state measured last, which is often asked for again, and what it was.
        self._known: tuple[State, State] | None = None
        # The state whose flow was asked for last: a layer that ends there leaves it to the next.
        self._last: tuple[State, Flow] | None = None

    def evolved(self, state: State) -> State:
        """The state whose labels stand at the centres and carry the masses of the cells."""
        empty = np.zeros(self.sphere.shape)
        return State(empty, self._centres.copy(), state.masses.ravel().copy())

    def measured(self, state: State) -> State:
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
        labels = normalised(state.points)
        wanted = self.sphere.atom_moments(labels, state.atom_masses, KEPT_DEGREE)
        places = labels.reshape(*self.sphere.shape, 3)
        spread = deposited(places, masses, _ground_of(self.sphere))
        # What rests is in its own cell to the last digit: the factor corrects what has moved.
        resting = resting_masses(places, masses, self.sphere.points)
        kept = np.minimum(resting, spread)
        return with_moments(spread, wanted, self.sphere, kept=kept)

    def resumed(self, state: State) -> State:
        """The state of a checkpoint, or of one that knew no labels yet."""
        return state if len(state.points) else self.evolved(state)

    def flow(self, state: State) -> Flow:
        """Moments and velocities of the labels, which stand on the sphere."""
        if self._last is None or self._last[0] is not state:
            moments = self._moments(state.points, state)
            self._last = state, self._flow(state.points, moments)
        return self._last[1]

    def go_on_from(self, before: Transport) -> None:
        """Take over the moments of the labels, which do not change where equations do."""
        if before is self or not isinstance(before, LagrangianSphere):
            return
        known, degree = before._last, self.grid.degree
        if known is not None and degree <= before.grid.degree:
            state, flow = known
            kept = self.sphere.degrees(before.grid.degree) <= degree
            atoms = PointMasses(state.points, state.atom_masses)
            moments = np.asarray(flow.moments)[kept]
            moments = self.grid.with_masses(moments, state.masses, atoms)
            self._last = state, self._flow(state.points, moments)

    def _moments(self, points: FloatArray, state: State) -> ComplexArray:
        """Moments of the labels of ``state`` if they stand at ``points``."""
        atoms = PointMasses(points, state.atom_masses)
        moments = self.sphere.atom_moments(*atoms, self.grid.degree)
        return self.grid.with_masses(moments, state.masses, atoms)

    def _flow(self, points: FloatArray, moments: ComplexArray) -> Flow:
        return Flow(
            density_moments=np.zeros(moments.shape, dtype=np.complex128),
            moments=moments,
            velocity=np.zeros(1),
            outflows=np.zeros(1),
            unresolved_mass=0.0,
            atom_velocities=self.grid.velocity_at(moments, points),
        )

    def advanced(self, state: State, flow: Flow, step: float) -> Advance:
        """State after a step, and the flow of the last stage, at its end."""
        start, first = state.points, flow.atom_velocities

        def stage(velocities: FloatArray, length: float) -> Flow:
            points = carried(start, velocities, length)
            return self._flow(points, self._moments(points, state))

        second = stage(first, 0.5 * step).atom_velocities
        third = stage(second, 0.5 * step).atom_velocities
        last = stage(third, step)
        mean = mean_velocities(first, second, third, last.atom_velocities)
        return Advance(state.moved(state.masses, carried(start, mean, step)), last)

    def longest_step(self, state: State, flow: Flow) -> float:
        """The step in which no label moves farther than 0.4; inf at rest."""
        del state
        fastest = largest_speed(flow.atom_velocities)
        return _LONGEST_MOVE / fastest if fastest > 0.0 else np.inf

    def outflows(
        self, masses: FloatArray, moments: ComplexArray, velocity: FloatArray
    ) -> tuple[FloatArray, float]:
        """Nothing: the cells are empty."""
        del masses, moments, velocity
        return np.zeros(1), 0.0

    def drained(
        self, masses: FloatArray, outflows: FloatArray, step: float
    ) -> FloatArray:
        """Empty cells stay as they are."""
        del outflows, step
        return masses.copy()

    def rate(self, masses: FloatArray, outflows: FloatArray) -> FloatArray:
        """Empty cells do not change."""
        del outflows
        return np.zeros_like(masses)

    def rate_moments(self, masses: FloatArray, outflows: FloatArray) -> ComplexArray:
        """Moments of that: 0."""
        del masses, outflows
        degrees = self.sphere.degrees(self.grid.degree)
        return np.zeros(len(degrees), dtype=np.complex128)


@compiled
def carried(points: FloatArray, velocities: FloatArray, time: float) -> FloatArray:
    """Points (n, 3) that went straight on for a ``time``, scaled back to the sphere."""
    result = np.empty(points.shape)
    for p in range(len(points)):
        x = points[p, 0] + time * velocities[p, 0]
        y = points[p, 1] + time * velocities[p, 1]
        z = points[p, 2] + time * velocities[p, 2]
        scale = 1.0 / np.sqrt(x * x + y * y + z * z)
        result[p, 0], result[p, 1], result[p, 2] = scale * x, scale * y, scale * z
    return result


@compiled
def mean_velocities(
    first: FloatArray, second: FloatArray, third: FloatArray, fourth: FloatArray
) -> FloatArray:
    """Velocities (n, 3) of a step of the Runge-Kutta method, from those of its stages."""
    result = np.empty(first.shape)
    for p in range(len(first)):
        for i in range(3):
            middle = 2.0 * (second[p, i] + third[p, i])
            result[p, i] = (first[p, i] + middle + fourth[p, i]) / 6.0
    return result


@compiled
def largest_speed(velocities: FloatArray) -> float:
    """Length of the longest of ``velocities`` (n, 3)."""
    largest = 0.0
    for p in range(len(velocities)):
        x, y, z = velocities[p, 0], velocities[p, 1], velocities[p, 2]
        largest = max(largest, x * x + y * y + z * z)
    return float(np.sqrt(largest))


@lru_cache(maxsize=4)
def _ground_of(sphere: Sphere) -> Ground:
    """The cells of a grid, which all layers of a run share."""
    return ground_of(sphere.colatitudes, sphere.points)


def _negligible(grid: GridEquation) -> float:
    """Size of the degrees of kernels that labels leave out.

    Softmax divides by the mean kernel, which may be as small as the kernel's least value.
    """
    least = 1.0
    for term in grid.interactions:
        if isinstance(term, ZonalTerm) and term.needs_values:
            farthest, nearest = term.zonal_kernel.value(np.array([-1.0, 1.0]))
            least = min(least, abs(farthest / nearest))
    return max(NEGLIGIBLE, _NEGLIGIBLE * least)
