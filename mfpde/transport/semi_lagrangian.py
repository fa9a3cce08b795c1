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
from mfpde.compiled import compiled
from mfpde.geometry.remap import edge_densities, sum_between_feet
from mfpde.runge_kutta import COMMUTATOR_FREE, weigh_stages_until
from mfpde.transport.base import Flow, State
from mfpde.transport.departure_points import find_departure_points
from mfpde.transport.fluxes import Change, FluxTransport, Passage, StepFarTooLongError

# The flows keep their order below about 1.
_LARGEST_COMPRESSION = 1.0
# A stage's flow that compresses so much is not worth tracing: the step is far too long.
HOPELESS_COMPRESSION = 50.0
# With exact atoms, between two exchanges of mass: what contracts to one must be met while it
# is a few cells wide, and tails be absorbed in small portions.
_COMPRESSION_BEFORE_ATOMS = 0.2
# A cell of less mass is neither the core of an atom to come nor a tail that matters.
_SMALLEST_CORE = 3e-5


class SemiLagrangian(FluxTransport):
    """Semi-Lagrangian transport on any line of equal cells, bounded or periodic.

    The flow's ``velocity`` is the face velocity at the faces 0..n in cells per unit time,
    (1, n + 1); its ``outflows`` are the same array.
    """

    periodic: bool
    tolerance_share = 1.0
    steps_to_hand_off = 1
    widest_birth = 2.0

    @abstractmethod
    def extended(self, masses: FloatArray) -> FloatArray:
        """Cell masses with three ghost cells at each end, (n + 6,)."""

    @abstractmethod
    def unresolved_mass(self, masses: FloatArray) -> float:
        """Mass in structures of a cell or two."""

    def outflows(
        self, masses: FloatArray, moments: ComplexArray, velocity: FloatArray
    ) -> tuple[FloatArray, float]:
        """The face velocity, and the unresolved mass."""
        return velocity, self.unresolved_mass(masses)

    def advance(self, state: State, flow: Flow, step: float) -> tuple[State, Flow]:
        """Return the state after a step of the method, and the flow of its last stage.

        Raises
        ------
        StepFarTooLongError
            If a stage is so fast that no step of this length can be accurate; the stage is
            not traced.
        """
        flows = [flow]
        edges = edge_densities(self.extended(state.masses))
        self._stages = edges, flows
        for _ in range(3):
            flows.append(self.find_flow(self._carry(state, edges, flows, step)))
            if is_hopeless(step * flows[-1].velocity[0]):
                raise StepFarTooLongError
        return self._carry(state, edges, flows, step), flows[-1]

    def find_defect(self, passage: Passage, dt: float) -> Change:
        """Return what a step misses: by the velocities in the last stage and at its end.

        Without diffusion both stand at one time and place but for the error, of order 4.
        """
        if self.grid.diffusion > 0:
            return super().find_defect(passage, dt)
        after, last, end = passage.after, passage.last_stage, self.flow(passage.after)
        return Change(
            self.rate(after.masses, dt / 6 * (last.outflows - end.outflows)),
            dt / 6 * (last.atom_velocities - end.atom_velocities),
        )

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
        return len(state.atom_masses) == 0

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
        return net_rate(self.extended(masses), outflows[0])

    def longest_stable_step(self, state: State, flow: Flow) -> float:
        """Longest step 1 / max |dv/dtheta| over all cells; inf at rest.

        With exact atoms of finite width the step is at most 0.2 over the fastest rate of
        contraction of a cell with a mass of at least 3e-5, which might become an atom.
        """
        steepest = _steepest(flow.velocity[0])
        if state.cloud_size > 1:
            contraction = _contraction(flow.velocity[0], state.masses)
            steepest = max(steepest, contraction / _COMPRESSION_BEFORE_ATOMS)
        return _LARGEST_COMPRESSION / steepest if steepest > 0 else np.inf


def is_hopeless(motion: FloatArray) -> bool:
    """Whether a stage moves faces (n + 1,) by so many cells that the step must fail."""
    return bool(_steepest(motion) > HOPELESS_COMPRESSION)


@compiled
def _steepest(velocity: FloatArray) -> float:
    largest = 0.0
    for j in range(len(velocity) - 1):
        largest = max(largest, abs(velocity[j + 1] - velocity[j]))
    return largest


@compiled
def _contraction(velocity: FloatArray, masses: FloatArray) -> float:
    """Fastest rate of contraction among the cells with a mass of at least 3e-5."""
    fastest = 0.0
    for i in range(len(masses)):
        if masses[i] >= _SMALLEST_CORE:
            fastest = max(fastest, velocity[i] - velocity[i + 1])
    return fastest


@compiled
def net_rate(extended: FloatArray, velocity: FloatArray) -> FloatArray:
    """Rate (n,) at which cells gain mass: upwind edge densities times face velocities."""
    edges = edge_densities(extended)
    n = edges.shape[1]
    through = np.empty(n + 1)
    for j in range(n + 1):
        below = edges[1, j - 1] if j > 0 else edges[1, n - 1]
        above = edges[0, j] if j < n else edges[0, 0]
        through[j] = velocity[j] * (below if velocity[j] > 0.0 else above)
    rate = np.empty(n)
    for i in range(n):
        rate[i] = through[i] - through[i + 1]
    return rate
