"""The course of a run: from layer to layer, and from grid to grid, in one time loop."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mfpde.runs.layers import Stage
from mfpde.runs.stopping import StoppingCondition, StopReason
from mfpde.solver.refinement import Discretization, Refiner
from mfpde.solver.time_loop import FINER_GRID, LAYER_ENDS, NOT_RESOLVED, TimeLoop
from mfpde.transport import State


@dataclass(eq=False)
class Course:
    """The stages that a time loop goes through, each under one equation.

    Attributes
    ----------
    discretization
        The way to solve the present equation.
    stages
        The present stage and those that follow.
    conditions
        What may stop the run; what judges rest may do so in the last stage alone.
    refiner
        Doubles the grid where it must be finer, if that is wanted.
    """

    discretization: Discretization
    stages: tuple[Stage, ...]
    conditions: tuple[StoppingCondition, ...]
    refiner: Refiner | None = None

    def run(self, loop: TimeLoop, state: State, start_time: float) -> StopReason:
        """Run ``loop``, which steps in the first stage, from ``state`` to its end."""
        self._prepare(loop)
        return self._to_end(loop, loop.run(state, start_time, self._present_conditions))

    def begun(
        self, loop: TimeLoop, state: State, start_time: float
    ) -> StopReason | None:
        """Stand at the start, and go through the phase in which the density is smooth.

        Returns
        -------
        The reason if the run ends there, else None.
        """
        self._prepare(loop)
        loop.stand_at(state, start_time)
        if loop.is_smooth:
            reason = loop.go_on(self._present_conditions)
            if reason.kind != NOT_RESOLVED:
                return self._to_end(loop, reason)
            self._leave_smooth_phase(loop)
        return loop.entered(self._present_conditions)[1]

    def go_on(self, loop: TimeLoop) -> StopReason:
        """Run ``loop``, which was taken up in the first stage, to its end."""
        self._prepare(loop)
        return self._to_end(loop, loop.go_on(self._present_conditions))

    def _prepare(self, loop: TimeLoop) -> None:
        if self.refiner is not None:
            loop.finer_grid_wanted = self.refiner.wanted
        loop.layer_end = self.stages[0].end
        loop.is_smooth = self.discretization.is_smooth

    def _to_end(self, loop: TimeLoop, reason: StopReason) -> StopReason:
        while True:
            if reason.kind == FINER_GRID and self.refiner is not None:
                self.refiner.double(loop, self.discretization, reason.message)
            elif reason.kind == NOT_RESOLVED:
                self._leave_smooth_phase(loop)
            elif reason.kind == LAYER_ENDS:
                self._enter_next(loop)
            else:
                return reason
            reason = loop.go_on(self._present_conditions)

    def _leave_smooth_phase(self, loop: TimeLoop) -> None:
        self.discretization = self.discretization.in_phase(is_smooth=False)
        geometry = loop.stepper.transport.grid.geometry
        loop.leave_smooth_phase(self.discretization.on(geometry))

    @property
    def _present_conditions(self) -> tuple[StoppingCondition, ...]:
        if len(self.stages) == 1:
            return self.conditions
        return tuple(c for c in self.conditions if not c.judges_rest)

    def _enter_next(self, loop: TimeLoop) -> None:
        """Let ``loop`` continue with the next stage, on the grid that it has reached."""
        before = self.discretization
        self.stages = self.stages[1:]
        equation, end = self.stages[0]
        anew = replace(before, equation=equation)
        self.discretization = anew.at_first(atoms=len(loop.state.atom_masses))
        geometry = loop.stepper.transport.grid.geometry
        is_same = (
            equation is before.equation
            and self.discretization.is_smooth == before.is_smooth
        )
        stepping = loop.stepping if is_same else self.discretization.on(geometry)
        loop.recorder.equation = equation
        loop.is_smooth = self.discretization.is_smooth
        loop.change_layer(stepping, end=end)
