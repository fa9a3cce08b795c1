"""Euler stages that drain cells: steps that conserve mass and sign, whatever their length.

The draining time of a cell is its mass over the sum of its outflows.  A cell sends
min(step, draining time) times its outflows, and a step is a convex sum of such stages
(:class:`EulerStages`).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled
from mfpde.grid_equation import GridEquation
from mfpde.transport.base import DEFAULT_RTOL, Flow, State
from mfpde.transport.fluxes import FluxTransport
from mfpde.transport.kinks import external_velocity_beside_kinks

# The step may outlast the draining time of cells that hold less than this share of the mass in
# the mean over the cells: they are drained completely, which keeps them positive.  It saves most
# of the steps that nearly empty cells would ask for.
IGNORED_SHARE = 1e-3
# A cell never gives up more than this share of what it has: the rest is rounding.
FULL_DRAIN = 1.0 - 1e-14


class EulerStages(NamedTuple):
    """A method of Euler stages E, each of the length ``length`` times the step.

    After u = E(u_0) it takes u <- (1 - share) u_0 + share E(u) for each of ``shares``.
    """

    length: float
    shares: tuple[float, ...]


SSPRK33 = EulerStages(1.0, (1 / 4, 2 / 3))
"""SSPRK(3,3), Shu & Osher (1988): u1 = E(u), u2 = (3u + E(u1))/4, u <- (u + 2 E(u2))/3."""
SSPRK43 = EulerStages(1 / 2, (1.0, 1 / 3, 1.0))
"""SSPRK(4,3): u2 = E(E(u)), u <- E((2u + E(u2))/3); Kraaijevanger (1991).  Its steps are twice
those of SSPRK(3,3), for four stages in place of three."""
SSPRK42 = EulerStages(1 / 3, (1.0, 1.0, 3 / 4))
"""SSPRK(4,2): three stages of a third of the step, u <- (u_0 + 3 E(u3))/4; Spiteri & Ruuth
(2002).  Its steps are three times those of Heun's method, for twice the stages."""


class DrainingTransport(FluxTransport):
    """Base of the schemes whose steps are Euler stages that conserve mass and sign.

    ``method_in_time`` is the Runge-Kutta method of these stages, ``draining_share`` the share of
    the draining time that a stage may last.
    """

    method_in_time = SSPRK43
    draining_share = 0.7

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        super().__init__(grid, rtol)
        geometry = grid.geometry
        self._external_velocity = external_velocity_beside_kinks(
            grid, geometry.points, geometry.tangents
        )

    @abstractmethod
    def drain(
        self, masses: FloatArray, outflows: FloatArray, step: float
    ) -> FloatArray:
        """Masses, a new array, after an Euler stage; no cell sends more than it has."""

    def advance(self, state: State, flow: Flow, step: float) -> State:
        """Return the state after the stages of a step, each of which conserves mass and sign.

        Points are mixed in the ambient space.  There the equation x' = v(x/|x|) keeps |x|,
        so that the methods keep their order if points are normalised when velocities are
        taken and at the end of the step.
        """
        length = self.method_in_time.length * step
        new = self.stage(state, flow, length)
        for share in self.method_in_time.shares:
            flow = self.find_flow(new)
            new = self.stage(new, flow, length)
            if share != 1.0:
                # Rounded shares need not add up to 1, and the mass would drift.
                masses = state.masses + share * (new.masses - state.masses)
                points = (1.0 - share) * state.points + share * new.points
                new = new.moved(masses, points)
        return new

    def stage(self, state: State, flow: Flow, step: float) -> State:
        """Return the Euler stage of cells and atoms (points not yet normalised)."""
        masses = self.drain(state.masses, flow.outflows, step)
        return state.moved(masses, state.points + step * flow.atom_velocities)

    def longest_stable_step(self, state: State, flow: Flow) -> float:
        """The step whose stages last ``draining_share`` of the draining time; inf at rest.

        Cells that hold next to nothing do not count.
        """
        least = IGNORED_SHARE * state.total_mass / state.masses.size
        share = self.draining_share / self.method_in_time.length
        return share * self.draining_time(state.masses, flow.outflows, least)

    def draining_time(
        self, masses: FloatArray, outflows: FloatArray, least: float
    ) -> float:
        """Shortest draining time of the cells that hold more than ``least``; inf for none."""
        sides = outflows.reshape(len(outflows), -1)
        return find_draining_time(masses.ravel(), sides, least)


@compiled
def find_draining_time(masses: FloatArray, outflows: FloatArray, least: float) -> float:
    """Shortest draining time by outflows (sides, n) of cells (n,) of more than ``least`` mass."""
    shortest = np.inf
    for i in range(len(masses)):
        leaving = outflows[0, i]
        for side in range(1, len(outflows)):
            leaving += outflows[side, i]
        if masses[i] > least and leaving > 0.0:
            shortest = min(shortest, masses[i] / leaving)
    return float(shortest)
