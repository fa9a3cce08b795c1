"""What a time loop tells while it runs and when it has ended."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mfpde.measures.labelled import LabelledDensity
from mfpde.measures.measure import Measure
from mfpde.runs.progress import Progress
from mfpde.runs.stopping import StepRecord
from mfpde.solver.time_stepping import Point
from mfpde.terms import PointMasses
from mfpde.transport import Flow

if TYPE_CHECKING:
    from mfpde.solver.time_loop import TimeLoop

_AT_REST = 1e-14


def progress_of(loop: TimeLoop, flow: Flow) -> Progress:
    """Return the numbers of the last step of ``loop``, whose state has this ``flow``."""
    grid, state = loop.stepper.transport.grid, loop.state
    has_energy = loop.recorder.equation.has_energy
    atoms = PointMasses(state.points, state.atom_masses)
    return Progress(
        time=loop.time,
        t_end=loop.t_end,
        step=loop.last_step,
        mass_drift=state.total_mass - loop.first_mass,
        energy=grid.energy(state.masses, atoms, flow.moments) if has_energy else None,
        largest_density=float((loop.measured.masses / grid.geometry.areas).max()),
        steps=loop.steps,
    )


def saved_of(loop: TimeLoop, flow: Flow) -> Point:
    """Return the state that is saved now, and its flow, from the ``flow`` of the loop's state.

    Moments are those of the masses that are saved, from which energies follow.
    """
    state = loop.measured
    if state.masses is loop.state.masses:
        return Point(state, flow)
    atoms = PointMasses(state.points, state.atom_masses)
    grid = loop.recorder.equation.on(loop.recorder.geometry)
    moments = grid.moments(state.masses, atoms)
    # Labels are no atoms of what is saved.
    velocities = flow.atom_velocities[: len(state.points)]
    return Point(state, replace(flow, moments=moments, atom_velocities=velocities))


def left_by(loop: TimeLoop) -> Measure:
    """Return what ``loop`` leaves to a run that starts from it, with labels if it has them."""
    measure, state = loop.recorder.measure(loop.measured), loop.state
    if not loop.stepper.scheme.moves_labels:
        return measure
    density = measure.density
    return Measure(
        LabelledDensity(
            density.geometry, density.values, state.points, state.atom_masses
        ),
        measure.atoms,
    )


def step_record_of(loop: TimeLoop, recent: int) -> StepRecord:
    """Return the numbers by which the last step is judged, with the ``recent`` rates."""
    rates = loop.rates
    settled = len(rates) == recent and rates[-1] <= rates[0]
    return StepRecord(
        steps=loop.steps - loop.steps_before,
        time=loop.time,
        change_rate=rates[-1],
        slowing=settled or max(rates) < _AT_REST,
        started_at=loop.started_at,
    )


def statistics_of(loop: TimeLoop) -> dict[str, float | int | str]:
    """Return counts and times of the steps taken."""
    until = loop.resolved_until
    left = {} if until is None else {f"{loop.smooth_phase}_until": float(until)}
    return {
        "rtol": loop.stepper.rtol,
        "steps": loop.steps,
        "rejected": loop.rejected,
        "last_step": float(loop.last_step),
        **left,
        "wall_seconds": loop.seconds,
    }
