r"""Conservative semi-Lagrangian transport, of fourth order in time.

A stage moves the cell masses of the step's start along flows of frozen velocities, traced
back from the faces to their departure points (``mfpde.transport.departure_points``,
``mfpde.geometry.remap``): the step is not limited by cells, and it ends with one remap.  As the
velocity depends on the measure, the flows are combined by the commutator-free Lie group method
of order 4 (Celledoni, Marthinsen & Owren 2003),

    mu_2 = exp(F_1/2) mu,   mu_3 = exp(F_2/2) mu,   mu_4 = exp(F_3 - F_1/2) exp(F_1/2) mu,
    mu_new = exp((-F_1 + 2 F_2 + 2 F_3 + 3 F_4)/12) exp((3 F_1 + 2 F_2 + 2 F_3 - F_4)/12) mu,

F_i the step times the velocity of mu_i, exp(F) mu the measure moved along F for unit time.
For a velocity that does not depend on the measure all flows commute and the step is exact.
For the atoms' points, which move by adding steps, it is the classical Runge-Kutta method.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry.base import Fields
from mfpde.geometry.remap import edge_densities, sum_between_feet
from mfpde.grid_equation import GridEquation
from mfpde.runge_kutta import COMMUTATOR_FREE, weigh_stages_until
from mfpde.transport.base import Flow, State, Transport
from mfpde.transport.departure_points import find_departure_points
from mfpde.transport.fluxes import FluxTransport

# The flows keep their order below about 1.
_LARGEST_COMPRESSION = 1.0
# A stage's flow that compresses so much is not worth tracing: the step is far too long.
_HOPELESS_COMPRESSION = 50.0
# With exact atoms, between two exchanges of mass: what contracts to one must be met while it
# is a few cells wide, and tails be absorbed in small portions.
_COMPRESSION_BEFORE_ATOMS = 0.2
# A cell of less mass is neither the core of an atom to come nor a tail that matters.
_SMALLEST_CORE = 3e-5


class SemiLagrangian(FluxTransport):
    """Semi-Lagrangian transport on any line of equal cells, bounded or periodic.

    The flow's ``velocity`` is the face velocity at the faces 0..n in cells per unit time,
    (1, n + 1); its ``outflows`` are the same array.  ``line`` and ``external`` are the fields and
    the external velocity (faces,) at the faces: on a periodic line the upper ones of the cells,
    else all.
    """

    periodic: bool
    tolerance_share = 1.0
    steps_to_hand_off = 1
    goes_past_saves = True
    widest_birth = 2.0

    def __init__(
        self, grid: GridEquation, rtol: float, line: Fields, external: FloatArray
    ) -> None:
        super().__init__(grid, rtol)
        self._faces, self._external = line, external

    def velocity(self, moments: ComplexArray) -> FloatArray:
        """Velocity at the faces 0..n in cells per unit time, (1, n + 1)."""
        velocity = self.grid.attention_velocity(moments, self._faces)[0]
        velocity = (velocity + self._external) / self.grid.geometry.spacing
        if self.periodic:
            return np.append(velocity[-1], velocity)[np.newaxis]
        # By symmetry; rounding would leave 1e-16.
        velocity[[0, -1]] = 0.0
        return np.asarray(velocity[np.newaxis])

    @abstractmethod
    def extend(self, masses: FloatArray) -> FloatArray:
        """Cell masses with three ghost cells at each end, (n + 6,)."""

    @abstractmethod
    def unresolved_mass(self, masses: FloatArray) -> float:
        """Mass in structures of a cell or two."""

    def outflows(
        self, masses: FloatArray, moments: ComplexArray, velocity: FloatArray
    ) -> tuple[FloatArray, float]:
        """The face velocity, and the unresolved mass."""
        return velocity, self.unresolved_mass(masses)

    def advance(self, state: State, flow: Flow, step: float) -> State | None:
        """Return the state after a step of the method; None if a stage is far too fast."""
        flows = [flow]
        edges = edge_densities(self.extend(state.masses))
        self._stages = edges, flows
        for _ in range(3):
            stage = self._carry(state, edges, flows, step)
            # Nobody asks how much of a stage's mass is unresolved.
            flows.append(Transport.find_flow(self, stage))
            if step * _steepest(flows[-1].velocity) > _HOPELESS_COMPRESSION:
                return None
        return self._carry(state, edges, flows, step)

    def find_defect(
        self, before: State, after: State, carried: FloatArray, dt: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return what a step misses: by the velocities in the last stage and at its end.

        Without diffusion both stand at one time and place but for the error, of order 4.
        """
        if self.grid.diffusion > 0:
            return super().find_defect(before, after, carried, dt)
        last, end = self._stages[1][-1], self.flow(after)
        missed = self.rate(after.masses, dt / 6 * (last.velocity - end.velocity))
        return missed, dt / 6 * (last.atom_velocities - end.atom_velocities)

    def _carry(
        self, state: State, edges: FloatArray, flows: Sequence[Flow], step: float
    ) -> State:
        """Stage ``len(flows) + 1`` of the method, or the new state after four."""
        count = len(flows)
        weights = step * COMMUTATOR_FREE[count - 1, :, :count]
        masses = self._move(state.masses, edges, flows, weights)
        points = state.points
        for share, flow in zip(weights.sum(axis=0), flows, strict=True):
            # In most stages only one velocity counts.
            if share != 0.0 and len(state.atom_masses):
                points = points + share * flow.atom_velocities
        return state.moved(masses, points)

    def _move(
        self,
        masses: FloatArray,
        edges: FloatArray,
        flows: Sequence[Flow],
        weights: FloatArray,
    ) -> FloatArray:
        """Masses with densities ``edges``, moved by ``weights`` of the flows' velocities."""
        velocities = np.concatenate([flow.velocity for flow in flows])
        positions = find_departure_points(velocities, weights, self.periodic)
        return sum_between_feet(masses, edges, positions)

    def crosses_saves(self, state: State) -> bool:
        """Whether steps may go past saves: they do, without atoms."""
        return self.goes_past_saves and len(state.atom_masses) == 0

    def state_between(
        self, before: State, after: State, dt: float, share: float
    ) -> State:
        """Return the density a ``share`` of the last step, ``dt``, after its start.

        It is moved along the velocity that is quadratic in time through those of the stages.
        """
        edges, flows = self._stages
        weights = dt * weigh_stages_until(share)
        masses = self._move(before.masses, edges, flows, weights)
        return before.moved(masses, before.points)

    def rate(self, masses: FloatArray, outflows: FloatArray) -> FloatArray:
        """Rate at which the remap moves mass for a step near 0."""
        low, high = edge_densities(self.extend(masses))[:2]
        velocity = outflows[0]
        # On a bounded line the velocities at both ends are 0.
        below, above = np.append(high[-1], high), np.append(low, low[0])
        through = velocity * np.where(velocity > 0.0, below, above)
        return np.asarray(through[:-1] - through[1:])

    def longest_stable_step(self, state: State, flow: Flow) -> float:
        """Longest step 1 / max |dv/dtheta| over all cells; inf at rest.

        With exact atoms of finite width the step is at most 0.2 over the fastest rate of
        contraction of a cell with a mass of at least 3e-5, which might become an atom.
        """
        steepest = _steepest(flow.velocity)
        if state.cloud_size > 1:
            growth = np.diff(flow.velocity[0])[state.masses >= _SMALLEST_CORE]
            contraction = -float(growth.min(initial=0.0))
            steepest = max(steepest, contraction / _COMPRESSION_BEFORE_ATOMS)
        return _LARGEST_COMPRESSION / steepest if steepest > 0 else np.inf


def _steepest(velocity: FloatArray) -> float:
    """Largest difference of velocities (1, n + 1) at neighbouring faces."""
    return float(np.abs(np.diff(velocity)).max())
