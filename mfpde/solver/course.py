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
        self._note_skipped(loop, len(state.atom_masses), start_time)
        return self._to_end(loop, loop.run(state, start_time, self._present_conditions))

    def go_on(self, loop: TimeLoop) -> StopReason:
        """Run ``loop``, which was taken up in the first stage, to its end."""
        self._prepare(loop)
        return self._to_end(loop, loop.go_on(self._present_conditions))

    def _prepare(self, loop: TimeLoop) -> None:
        if self.refiner is not None:
            loop.finer_grid_wanted = self.refiner.wanted
        loop.layer_end = self.stages[0].end
        loop.is_smooth = self.discretization.is_smooth

    def _note_skipped(self, loop: TimeLoop, atoms: int, time: float) -> None:
        """Note that the smooth phase was left before ``time`` if it might begin there."""
        phase = self.discretization.smooth_phase(atoms=atoms)
        if phase is not None and not self.discretization.is_smooth:
            loop.smooth_phase, loop.resolved_until = phase.name, time

    def _to_end(self, loop: TimeLoop, reason: StopReason) -> StopReason:
        while True:
            if reason.kind == FINER_GRID and self.refiner is not None:
                self.refiner.double(loop, self.discretization, reason.message)
            elif reason.kind == NOT_RESOLVED:
                self.discretization = self.discretization.in_phase(is_smooth=False)
                geometry = loop.stepper.transport.grid.geometry
                loop.leave_smooth_phase(self.discretization.on(geometry))
            elif reason.kind == LAYER_ENDS:
                self._enter_next(loop)
            else:
                return reason
            reason = loop.go_on(self._present_conditions)

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
        geometry = loop.stepper.transport.grid.geometry
        atoms = len(loop.state.atom_masses)
        masses = loop.measured.masses
        self.discretization = anew.at_first(geometry, masses, atoms=atoms)
        if before.is_smooth:
            self._note_skipped(loop, atoms, loop.time)
        is_same = (
            equation is before.equation
            and self.discretization.is_smooth == before.is_smooth
        )
        stepping = loop.stepping if is_same else self.discretization.on(geometry)
        loop.recorder.equation = equation
        loop.is_smooth = self.discretization.is_smooth
        loop.change_layer(stepping, end=end)
