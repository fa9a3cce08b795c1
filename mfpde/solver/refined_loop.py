"""The layer above the time loop that takes a run from grid to grid."""

from __future__ import annotations

from dataclasses import dataclass

from mfpde.atoms import ExactAtoms
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.runs.run import Refinement
from mfpde.runs.stopping import StoppingCondition, StopReason
from mfpde.solver.recorder import Recorder
from mfpde.solver.refinement import (
    RefinementCriterion,
    cell_count,
    doubled,
    doubled_state,
)
from mfpde.solver.time_loop import FINER_GRID, TimeLoop
from mfpde.solver.time_stepping import TimeStepper
from mfpde.transport import Flow, Scheme, State


@dataclass(frozen=True, eq=False)
class Discretization:
    """The way to solve an equation on any grid: scheme, accuracy, exact atoms or not."""

    equation: MeanFieldEquation
    scheme: Scheme
    rtol: float
    exact_atoms: bool

    def on(self, geometry: Geometry) -> tuple[TimeStepper, ExactAtoms | None]:
        """Return the time stepper on ``geometry``, and the exact atoms if there are any."""
        scheme, equation = self.scheme, self.equation
        stepper = TimeStepper(
            scheme.transport(equation.on(geometry)),
            scheme,
            rtol=self.rtol,
            watch_energy=scheme.keeps_energy_monotone and equation.energy_is_lyapunov,
        )
        exact = ExactAtoms(equation, stepper.transport) if self.exact_atoms else None
        return stepper, exact


@dataclass(eq=False)
class Refiner:
    """A watch on a time loop that doubles its grid when the criterion asks for it.

    Attributes
    ----------
    discretization, criterion
        The way to solve on the next grid, and the criterion by which it is needed.
    most_cells
        Total number of cells that no grid may exceed.
    record
        Record in which refinements are noted, and the first one that was not allowed.
    """

    discretization: Discretization
    criterion: RefinementCriterion
    most_cells: int
    record: Recorder

    def run(
        self,
        loop: TimeLoop,
        state: State,
        *,
        start_time: float,
        conditions: tuple[StoppingCondition, ...],
    ) -> StopReason:
        """Run ``loop`` to its end, from grid to grid."""
        loop.finer_grid_wanted = self._wanted
        reason = loop.run(state, start_time, conditions)
        while reason.kind == FINER_GRID:
            self._double(loop, reason.message)
            reason = loop.go_on(conditions)
        return reason

    def _wanted(self, loop: TimeLoop, flow: Flow) -> str | None:
        transport = loop.stepper.transport
        if self.record.held_back:
            return None
        reason = self.criterion.reason(transport, loop.state, flow)
        if reason is None:
            return None
        if cell_count(doubled(transport.grid.geometry)) > self.most_cells:
            self.record.held_back = (
                f"at t = {loop.time:.6g} a finer grid was wanted ({reason}), but max_cells "
                f"= {self.most_cells} allows none"
            )
            return None
        return reason

    def _double(self, loop: TimeLoop, reason: str) -> None:
        before = loop.stepper.transport.grid.geometry
        stepper, atoms = self.discretization.on(doubled(before))
        state = doubled_state(loop.measured, before, stepper.transport)
        loop.change_grid(stepper, atoms, state)
        after = stepper.transport.grid.geometry
        self.record.refined(Refinement(loop.time, before, after, reason))
