"""The course of a run: from layer to layer, and out of the smooth phase, in one time loop."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mfpde.atoms import ExactAtoms, state_of
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.grid_equation import GridEquation
from mfpde.measures.labelled import LabelledDensity
from mfpde.measures.measure import Measure
from mfpde.runs.layers import Layers, Stage, for_each_layer
from mfpde.runs.stopping import StoppingCondition, StopReason
from mfpde.solver.loop_report import left_by
from mfpde.solver.time_loop import (
    LAYER_ENDS,
    NOT_RESOLVED,
    Stepping,
    TimeLoop,
)
from mfpde.solver.time_stepping import TimeStepper
from mfpde.transport import Scheme, State, Transport

_MOST_NUMBERS_WAITING = 2**18
"""Cells times layers up to which equations on a grid are held for later layers."""


@dataclass(frozen=True, eq=False)
class Discretization:
    """The way to solve an equation on any grid: scheme, accuracy, exact atoms or not.

    ``is_smooth`` is whether the scheme is in its smooth phase.
    """

    equation: MeanFieldEquation
    scheme: Scheme
    rtol: float
    exact_atoms: bool
    is_smooth: bool = False

    def smooth_phase(self, *, atoms: int) -> Scheme | None:
        """The smooth phase of the scheme, without a number of atoms and diffusion."""
        has_phase = atoms == 0 and self.equation.diffusion == 0
        return self.scheme.while_smooth if has_phase else None

    def at_first(self, start: Measure) -> Discretization:
        """Return the way to begin with ``start``: the smooth phase, if there is one for it.

        With labels it goes on: they know the density better than the grid.
        """
        if self._labelled(start) is not None:
            return replace(self, is_smooth=False)
        phase = self.smooth_phase(atoms=len(start.atoms))
        density = start.density
        resolves = phase is not None and phase.resolves(
            self.equation.on(density.geometry), density.masses
        )
        return replace(self, is_smooth=resolves)

    def first_state(self, start: Measure, transport: Transport) -> State:
        """Return ``start`` in the form that the ``transport`` evolves."""
        masses, atoms = start.density.masses, start.atoms
        held = self._labelled(start)
        if held is not None:
            return State(np.zeros_like(masses), held.label_points, held.label_masses)
        if self.exact_atoms:
            return state_of(transport.represented(masses), atoms)
        return transport.evolved(State(masses, atoms.points.copy(), atoms.masses))

    def _labelled(self, start: Measure) -> LabelledDensity | None:
        """Return the density of ``start`` if it has labels and the scheme moves labels."""
        density = start.density
        if self.scheme.moves_labels and isinstance(density, LabelledDensity):
            return density
        return None

    def on(self, geometry: Geometry) -> Stepping:
        """Return the time stepper on ``geometry``, and the exact atoms if there are any."""
        equation = self.equation
        first = self.scheme.while_smooth if self.is_smooth else None
        scheme = self.scheme if first is None else first
        stepper = TimeStepper(
            scheme.transport(equation.on(geometry)),
            scheme,
            rtol=self.rtol,
        )
        # No cluster leaves the grid while that resolves everything.
        has_atoms = self.exact_atoms and not self.is_smooth
        exact = ExactAtoms(equation, stepper.transport) if has_atoms else None
        return Stepping(stepper, exact)


def waiting_layers(
    layers: Layers | None, geometry: Geometry
) -> tuple[GridEquation, ...]:
    """Return the equations of all layers on a grid, to be held until their turn comes.

    What takes much memory is made again, rather than held.
    """
    found: list[GridEquation] = []
    if layers is not None:
        numbers = len(layers) * math.prod(geometry.shape)
        if numbers <= _MOST_NUMBERS_WAITING:
            for_each_layer(layers, lambda e: found.append(e.on(geometry)))
    return tuple(found)


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
    waiting
        Equations of later stages on the grid, which are found again when they begin.
    """

    discretization: Discretization
    stages: tuple[Stage, ...]
    conditions: tuple[StoppingCondition, ...]
    waiting: tuple[GridEquation, ...] = ()

    def run(self, loop: TimeLoop, state: State, start_time: float) -> StopReason:
        """Run ``loop``, which steps in the first stage, from ``state`` to its end."""
        self._prepare(loop)
        self._note_skipped(loop, _atom_count(loop, state), start_time)
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
        self._note_skipped(loop, _atom_count(loop, state), start_time)
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
        loop.layer_end = self.stages[0].end
        loop.is_smooth = self.discretization.is_smooth

    def _note_skipped(self, loop: TimeLoop, atoms: int, time: float) -> None:
        """Note that the smooth phase was left before ``time`` if it might begin there."""
        phase = self.discretization.smooth_phase(atoms=atoms)
        if phase is not None and not self.discretization.is_smooth:
            loop.smooth_phase, loop.resolved_until = phase.name, time

    def _to_end(self, loop: TimeLoop, reason: StopReason) -> StopReason:
        while True:
            if reason.kind == NOT_RESOLVED:
                self._leave_smooth_phase(loop)
            elif reason.kind == LAYER_ENDS:
                self._enter_next(loop)
            else:
                return reason
            reason = loop.go_on(self._present_conditions)

    def _leave_smooth_phase(self, loop: TimeLoop) -> None:
        self.discretization = replace(self.discretization, is_smooth=False)
        geometry = loop.stepper.transport.grid.geometry
        loop.leave_smooth_phase(self.discretization.on(geometry))

    @property
    def _present_conditions(self) -> tuple[StoppingCondition, ...]:
        if len(self.stages) == 1:
            return self.conditions
        return tuple(c for c in self.conditions if not c.judges_rest)

    def _enter_next(self, loop: TimeLoop) -> None:
        """Let ``loop`` continue with the next stage, on the grid that it has reached.

        It begins with what a run that ended here would leave, as a run that starts from that.
        """
        before = self.discretization
        self.stages = self.stages[1:]
        equation, end = self.stages[0]
        anew = replace(before, equation=equation)
        geometry = loop.stepper.transport.grid.geometry
        # Labels go on as they are; what the grid would make of them nobody asks for here.
        left = None if loop.stepper.scheme.moves_labels else left_by(loop)
        self.discretization = anew if left is None else anew.at_first(left)
        if before.is_smooth and left is not None:
            self._note_skipped(loop, len(left.atoms), loop.time)
        is_same = (
            equation is before.equation
            and self.discretization.is_smooth == before.is_smooth
        )
        stepping = loop.stepping if is_same else self.discretization.on(geometry)
        loop.recorder.equation = equation
        loop.is_smooth = self.discretization.is_smooth
        first, transport = loop.state, stepping.stepper.transport
        if left is None:
            transport.go_on_from(loop.stepper.transport)
        else:
            first = self.discretization.first_state(left, transport)
        loop.change_layer(stepping, first, end=end)


def _atom_count(loop: TimeLoop, state: State) -> int:
    return len(loop.stepper.transport.measured(state).atom_masses)
