"""What a transport is: the measure of one equation, moved on one grid, a step at a time.

A scheme of one's own is a subclass that says how a step goes and how long one may be
(:meth:`Transport.step`, :meth:`Transport.largest_step`).  Those of fluxes through the sides of
cells share a step: :mod:`mfpde.transport.fluxes`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.compiled import compiled_sum
from mfpde.geometry.arcs import normalize
from mfpde.grid_equation import GridEquation
from mfpde.terms import PointMasses

DEFAULT_RTOL = 1e-4
LARGEST_ERROR = 2.0
"""Relative error up to which a step is accepted."""
_ROUNDING = 1e-14


class State(NamedTuple):
    """The evolving state, which is stored as it is.

    Attributes
    ----------
    masses
        Masses of the cells, ``geometry.shape``, or (P, ...) of P rows.
    points, atom_masses
        Points (n, d) of atoms or labels, and their constant masses (n,).
    cloud_size
        So many consecutive points are one atom: 1 for atoms without width.
    phase
        1 in the first phase of a transport that has two (:mod:`mfpde.transport.phases`), else 0.
    """

    masses: FloatArray
    points: FloatArray
    atom_masses: FloatArray
    cloud_size: int = 1
    phase: int = 0

    def moved(self, masses: FloatArray, points: FloatArray) -> State:
        """Return a state of the same atoms at other ``points``, with other cell masses."""
        # Twice as fast as _replace, and asked for in each stage.
        return State(masses, points, *self[2:])

    def on_sphere(self) -> State:
        """Return the state with its points scaled to unit length."""
        if len(self.atom_masses) == 0:
            return self
        return self.moved(self.masses, normalize(self.points))

    @property
    def total_mass(self) -> float:
        """Mass of cells and atoms."""
        return float(self.masses.sum() + self.atom_masses.sum())

    def motion_to(self, after: State) -> float:
        """Mass that changed cells until ``after``, and masses of atoms times their ways."""
        moved = 0.5 * float(np.abs(after.masses - self.masses).sum())
        if len(self.atom_masses):
            ways = np.linalg.norm(after.points - self.points, axis=1)
            moved += float(self.atom_masses @ ways)
        return moved


NOTHING = np.zeros(1)


class Flow(NamedTuple):
    """The motion of a state, computed once for all that ask.

    Attributes
    ----------
    density_moments, moments
        Moments of the cells, and of cells and atoms.
    velocity
        Velocity at the centres, in semi-Lagrangian schemes at the faces.
    atom_velocities
        Velocities (n, d) of the points.
    outflows, unresolved_mass
        Mass per unit time that cells send, (sides, *shape), and the mass in structures of a
        cell or two, in schemes of fluxes.
    """

    density_moments: ComplexArray
    moments: ComplexArray
    velocity: FloatArray
    atom_velocities: FloatArray
    outflows: FloatArray = NOTHING
    unresolved_mass: float = 0.0


class Step(NamedTuple):
    """A state after a step, and the error of the step over what is allowed of it.

    Steps of an error above 2 are repeated, shorter ones; nan says that numbers are no longer
    finite.  With an error of inf no step was made: the state is the one to go on from, of the
    same time.
    """

    state: State
    error: float


class Transport(ABC):
    """A scheme that moves the measure of one equation on one ``grid``, without losing mass.

    Parameters
    ----------
    grid
        The equation on the grid.
    rtol
        Error in the moments that a step may make, relative to how far it moves them.

    Attributes
    ----------
    tolerance_share
        Share of ``rtol`` that what the scheme measures as its error may reach.
    steps_to_hand_off
        Number of steps between two exchanges of mass with exact atoms; merge times of pairs on
        the sphere are those of 8 and of 16 steps, to 4e-4 of themselves.
    widest_birth
        Width in cells of the widest mass that becomes an exact atom: a wider one would feel that
        forces differ over it, a narrower one is met too late where the grid spreads it.
    goes_past_saves
        Whether the motion is so smooth in time that steps may go past saves.
    smooth_phase
        Name of the scheme that moves what the grid resolves, or empty: the time at which it
        ends is a statistic of the run.
    """

    tolerance_share = 0.1
    steps_to_hand_off = 8
    widest_birth = 2.2
    goes_past_saves = False
    smooth_phase = ""
    _external_velocity: FloatArray | None = None

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        self.grid = grid
        self.rtol = rtol
        degrees = grid.geometry.degrees(grid.degree)
        self._weights = np.where(degrees > 0, 1.0 / np.maximum(degrees, 1), 0.0)
        # Of the last three states: the next step begins at an end of this one.
        self._flows: list[tuple[State, Flow]] = []

    @abstractmethod
    def step(self, state: State, dt: float) -> Step:
        """Return the state after a time ``dt``, and the relative error of the step."""

    @abstractmethod
    def largest_step(self, state: State) -> float:
        """Return the longest step worth trying from ``state``; inf at rest."""

    def begin(self, state: State, labels: PointMasses | None = None) -> State:
        """Return the state that evolves, from masses of cells and atoms.

        ``labels`` are those that carried the density so far, if any did.
        """
        del labels
        return state.moved(self.represent_masses(state.masses), state.points)

    def restore(self, state: State) -> State:
        """Return the masses of cells and the atoms of a state that evolves."""
        return state.moved(self.restore_masses(state.masses), state.points)

    def represent_masses(self, masses: FloatArray) -> FloatArray:
        """Return masses of cells in the form that evolves; the mass is kept."""
        return masses.copy()

    def restore_masses(self, masses: FloatArray) -> FloatArray:
        """Return masses of cells from the form that evolves; the mass is kept."""
        return masses

    def crosses_saves(self, state: State) -> bool:
        """Whether steps from ``state`` may go past saves: :meth:`state_between` has theirs."""
        del state
        return self.goes_past_saves

    def state_between(
        self, before: State, after: State, dt: float, share: float
    ) -> State:
        """Return the state a ``share`` of the step ``dt`` from ``before`` to ``after``.

        Only a transport whose steps go past saves is asked.
        """
        raise NotImplementedError

    def flow(self, state: State) -> Flow:
        """Return moments and velocities of ``state``, found once for each state."""
        for known, flow in self._flows:
            if known is state:
                return flow
        flow = self.find_flow(state)
        self._flows = [*self._flows[-2:], (state, flow)]
        return flow

    def find_flow(self, state: State) -> Flow:
        """Find moments and velocities of ``state``."""
        grid, masses = self.grid, state.masses
        moments = density_moments = self.density_moments(masses)
        if len(state.atom_masses) == 0 and not grid.may_lose_mass:
            return Flow(moments, moments, self.velocity(moments), state.points)
        atoms = PointMasses(normalize(state.points), state.atom_masses)
        if len(state.atom_masses):
            moments = moments + grid.geometry.atom_moments(*atoms, grid.degree)
        if grid.may_lose_mass:
            moments = grid.with_masses(moments, self.restore_masses(masses), atoms)
        atom_velocities = grid.velocity_at(moments, atoms.points)
        return Flow(density_moments, moments, self.velocity(moments), atom_velocities)

    def density_moments(self, masses: FloatArray) -> ComplexArray:
        """Return the moments of masses of cells in the form that evolves."""
        return self.grid.geometry.moments(masses, self.grid.degree)

    def velocity(self, moments: ComplexArray) -> FloatArray:
        """Return the velocity where the scheme needs it, at the centres: (directions, *shape)."""
        return self.grid.velocity(moments, self._external_velocity)

    def size_of(self, moments: ComplexArray) -> float:
        """Return the norm of moments in which errors are measured: degrees l count as 1 / l."""
        return weighted_norm(self._weights, moments)

    def relative_error(self, error: float, allowed_rate: float, dt: float) -> float:
        """Return an error of the moments over what is allowed, at a rate, in a step ``dt``."""
        if not np.isfinite(error):
            return np.nan
        return float(error / (allowed_rate * dt + _ROUNDING))


@compiled_sum
def weighted_norm(weights: FloatArray, moments: ComplexArray) -> float:
    """Euclidean norm of moments (..., k) times weights (k,); numpy takes four times as long."""
    total, rows = 0.0, moments.reshape(-1, len(weights))
    for r in range(len(rows)):
        for k in range(len(weights)):
            real, imag = rows[r, k].real, rows[r, k].imag
            total += weights[k] * weights[k] * (real * real + imag * imag)
    return float(np.sqrt(total))
