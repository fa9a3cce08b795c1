"""The density solver's entry point: from an equation and a start measure to a run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, real_array, real_number, shown
from mfpde.atoms import check_atoms, coarseness, state_of
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Measure, as_measure
from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.layers import (
    Dynamics,
    Layers,
    checked_dynamics,
    for_each_layer,
    stages_of,
)
from mfpde.runs.observer import Observer, Report, StepObserver, progress_line
from mfpde.runs.run import Run
from mfpde.runs.stopping import (
    SHORTEST_TIME,
    StoppingCondition,
    save_times,
    stopping_conditions,
)
from mfpde.runs.times import end_time, with_breakpoints
from mfpde.runs.wall_times import WallTimes
from mfpde.solver.course import Course, Discretization, Refiner
from mfpde.solver.diagnostics import Diagnostic, Recorder, chosen_diagnostics
from mfpde.solver.going_on import keep_last, let_keep, stages_left, take_up
from mfpde.solver.loop_report import statistics_of
from mfpde.solver.refinement import (
    DEFAULT_TOLERANCE,
    RefinementCriterion,
    cell_count,
    check_refine,
    largest_grid,
)
from mfpde.solver.time_loop import TimeLoop
from mfpde.tracking import Concentration, Tracker
from mfpde.transport import State, Transport, scheme_for
from mfpde.version import __version__

DEFAULT_SAVES = 50


def solve(
    equation: MeanFieldEquation | Layers,
    start: AnyMeasure,
    *,
    t_end: float | None = None,
    save_every: float | None = None,
    save_at: ArrayLike | None = None,
    stop: StoppingCondition | Sequence[StoppingCondition] = (),
    transport: str | None = None,
    atoms: Literal["grid", "exact"] = "grid",
    rtol: float = 1e-4,
    max_step: float | None = None,
    refine: bool = False,
    refine_tolerance: float | None = None,
    max_cells: int | None = None,
    observe: Mapping[str, Callable[[Measure], float]] | None = None,
    diagnostics: Diagnostic | Sequence[Diagnostic] = (),
    progress: bool | Report = False,
    track: Concentration | Tracker | None = None,
    observer: Observer | None = None,
    start_time: float = 0.0,
    first_step: float | None = None,
    resume_from: Checkpoint | None = None,
) -> Run:
    r"""Solve d_t mu + div(mu v) = kappa Lap mu, v = s grad F, from ``start`` to ``t_end``.

    Parameters
    ----------
    equation
        The equation, or :class:`Layers` of several, each of which acts for its time: steps end
        at the breakpoints, where the size of the steps is found anew.  A save at a
        breakpoint has the diagnostics of the layer that ends, and ``energy_after`` of the one
        that begins.
    start
        A density, or a density with atoms (which move as exact points).
    t_end
        End time; of layers at most their depth, which is the default.
    save_every, save_at
        Save at multiples of ``save_every`` (and at the start and the end), or exactly
        at the times ``save_at``; by default at 50 equal intervals, and at breakpoints.
    stop
        One or several conditions that end the run early: :class:`SteadyState`,
        :class:`StepLimit`, :class:`WallTimeLimit`.  A steady state ends the last layer only.
    transport
        ``"donor_blended"`` (fifth order in smooth regions, third order on the sphere;
        atoms move on the grid; where the blend ends, within ten cells of an atom, its
        differences have no limiter, and densities alternate from cell to cell by some 1e-3),
        ``"muscl"`` (second order, no overshoot: for discontinuous starts, and as a check),
        ``"monotone"`` (the discrete energy never moves the wrong way; atoms are pinned), or
        on the circle and zonal grids ``"semi_lagrangian"`` (steps that no cell limits, of
        fourth order in time, least diffusive: atoms on the grid are pinned), on the circle
        ``"semi_lagrangian_donor_blended"`` (the last until 30 % of the mass are in structures
        of a cell or two, at ``run.statistics["semi_lagrangian_until"]``, then donor-blended:
        two to five times faster than the latter alone on equal grids, but its first errors are
        those in time, 1e-7 to 1e-6 at the default ``rtol``), or on the sphere
        ``"spectral_donor_blended"`` (spectral as long as the grid resolves the density, which
        has no atoms and no diffusion, then donor-blended; ``run.statistics`` has the time
        ``spectral_until``).  By default semi-Lagrangian on zonal grids of dimension above 30
        and on the circle with exact atoms, the last on the sphere, else the first.
    atoms
        ``"grid"``: atoms form and move on the grid, to about a cell.  ``"exact"`` (circle
        and sphere, without diffusion): a cluster a few cells wide leaves the grid and goes
        on as a point with a covariance; it absorbs its tails, merges, and is given back
        where the flow expands; ``run.events`` lists what happened.  Once nearly all mass is
        in atoms, a stiff integrator moves them alone, over any time.
    rtol
        Error in time that a step may make, relative to how far it moves the moments
        that the interaction sees; on the sphere beside a share of the error of the grid.  The
        step follows this and the draining time of the cells.
    max_step
        Largest step; none by default.
    refine
        Double the grid (circle and sphere), with the same mass and atoms, whenever a core
        that forms is narrower than 4 cells, or the W1 distance of the density to its form on
        the 2:1 coarsened grid exceeds ``refine_tolerance`` (radians, by default 1e-4).
        ``run.refinements`` lists times and reasons.
    max_cells
        Total number of cells, nlat * nlon on a sphere, that no grid exceeds; by default
        that of the first doubling with 400 sqrt(beta) cells around a circle, or 23
        sqrt(beta) rings on a sphere.
    observe
        Functions of the measure by name, recorded at every save, in addition to the
        diagnostics of every run.
    diagnostics
        One or several diagnostics of your own, with meaning and unit
        (``mfpde.solver.diagnostics``).
    progress
        True for a progress line, or a function that is called with a
        :class:`mfpde.runs.observer.Progress` after every step.
    track
        Follow the atoms from save to save with these settings: ``run.track``.  A
        :class:`mfpde.tracking.Tracker` goes on from an earlier run.
    observer
        A :class:`mfpde.runs.observer.Observer`, which sees saves, followed atoms, events and
        refinements as they happen, and the finished run (as storage does).
    start_time, first_step
        Time of ``start`` and first step to try: to continue an earlier run.  Layers go on in
        the one that acts from this time on.
    resume_from
        A checkpoint of this very run (``RunWriter.resumed(path).checkpoint``): the run goes on
        from it, to the bit as if it had never stopped, on the same machine and threads.  All
        other arguments are those of the run that stopped, ``start`` too.  The result holds
        what is saved from there on; the store holds all of it.

    Returns
    -------
    Run
        Saved states, diagnostics, the last state, and why the run stopped.

    Raises
    ------
    ValueError
        Before any work, for wrong times, an unknown transport, terms that do not fit
        the geometry, a grid too coarse for beta, a mass that is not 1, atoms with
        diffusion, or exact atoms on a zonal grid; of layers the message names the first
        that does not fit.

    Warns
    -----
    UserWarning
        If the grid is too coarse for exact atoms to form at the right place.
    """
    watch = WallTimes()
    dynamics = checked_dynamics(equation)
    measure = as_measure(start)
    geometry = measure.geometry
    for_each_layer(dynamics, lambda layer: _check_start(measure, layer))
    start_time = real_number("start_time", start_time)
    t_end = end_time(dynamics, t_end, after=start_time)
    times = save_times(
        t_end - start_time,
        save_every=save_every,
        save_at=_since(start_time, save_at),
        default_saves=DEFAULT_SAVES,
    )
    rtol = real_number("rtol", rtol, above=0.0, at_most=1.0)
    longest = _positive_or_infinite("max_step", max_step)
    first = _positive_or_infinite("first_step", first_step)
    # Adding the start again must not move the last save past the end.
    times = np.minimum(times + start_time, t_end)
    if save_every is None and save_at is None:
        times = with_breakpoints(dynamics, times)
    stages = stages_of(dynamics, start_time, t_end, times)
    present = geometry if resume_from is None else resume_from.geometry
    stages = stages_left(resume_from, stages, times)
    first_equation = stages[0].equation
    layers = dynamics if isinstance(dynamics, Layers) else None
    conditions = stopping_conditions(stop)
    recorded = chosen_diagnostics(diagnostics, observe, of_layers=layers is not None)
    _check_observer(observer)
    check_refine(refine, geometry, tolerance=refine_tolerance, max_cells=max_cells)
    tracker = _tracker_of(track, dynamics, resume_from)
    scheme = scheme_for(transport, geometry, exact_atoms=atoms == "exact")
    finest = (
        largest_grid(geometry, dynamics.sharpest, max_cells) if refine else geometry
    )
    for_each_layer(dynamics, lambda layer: check_atoms(atoms, layer, geometry))
    if atoms == "exact" and measure.density.total_mass > 0:
        message = coarseness(dynamics.sharpest, finest)
        if message is not None:
            warnings.warn(message, stacklevel=2)
    with watch.compiling(), ExitStack() as stack:
        discretization = Discretization(first_equation, scheme, rtol, atoms == "exact")
        if layers is not None:
            # The finest of the layers decides, before any work.
            for_each_layer(layers, lambda e: scheme.transport(e.on(geometry)))
        discretization = _in_phase(discretization, measure, resume_from)
        stepping = discretization.on(present)
        exact = stepping.atoms
        record = Recorder(
            first_equation,
            present,
            recorded,
            tracker=tracker,
            # The very list that the exact atoms write to.
            events=[] if exact is None else exact.events,
            layers=layers,
            watch=watch,
        )
        loop = TimeLoop(
            stepping,
            record,
            times=times,
            t_end=t_end,
            longest=longest,
            first=first,
        )
        record.begin([observer, _step_observer(progress, stack)])
        refiner = None
        if refine:
            tolerance = (
                DEFAULT_TOLERANCE if refine_tolerance is None else refine_tolerance
            )
            refiner = Refiner(
                RefinementCriterion(tolerance),
                most_cells=cell_count(finest) if max_cells is None else max_cells,
                record=record,
            )
        course = Course(discretization, stages, conditions, refiner)
        let_keep(loop, record)
        with watch.part("transport"):
            if resume_from is None:
                state = _state_of(measure, stepping.stepper.transport, atoms == "exact")
                reason = course.run(loop, state, start_time)
            else:
                take_up(loop, record, resume_from)
                reason = course.go_on(loop)
            keep_last(loop, record, reason)
    statistics = {"method": scheme.name, "version": __version__, **statistics_of(loop)}
    statistics |= watch.statistics
    if layers is not None:
        statistics["layers"] = len(layers)
    return record.finish(reason, loop.measured, loop.time, statistics=statistics)


def _check_start(measure: Measure, equation: MeanFieldEquation) -> None:
    """Raise ``ValueError`` if the start is no probability, or has atoms and diffusion."""
    if abs(measure.total_mass - 1.0) > 1e-8:
        raise ValueError(
            f"start has total mass {measure.total_mass:.12g}; a probability has 1 "
            "(Density.normalized() scales it)"
        )
    if len(measure.atoms) and equation.diffusion > 0:
        raise ValueError(
            f"start has atoms and the equation diffusion = {equation.diffusion:g}, which "
            "dissolves atoms at once; start from a density"
        )


def _since(start_time: float, save_at: ArrayLike | None) -> FloatArray | None:
    return None if save_at is None else real_array("save_at", save_at) - start_time


def _positive_or_infinite(name: str, value: float | None) -> float:
    """Return ``value``, a length of time above 0, or infinity for None."""
    return np.inf if value is None else real_number(name, value, at_least=SHORTEST_TIME)


def _check_observer(observer: object) -> None:
    if not isinstance(observer, Observer | None):
        raise ValueError(
            f"observer = {shown(observer)} must be an Observer (mfpde.runs.observer)"
        )


def _tracker_of(
    track: Concentration | Tracker | None,
    dynamics: Dynamics,
    resume_from: Checkpoint | None,
) -> Tracker | None:
    """Return the tracker that follows the atoms of a run, or None without a track."""
    if track is None or isinstance(track, Tracker):
        return track
    # Users hand over other things too.
    given: object = track
    if not isinstance(given, Concentration):
        raise ValueError(
            f"track = {shown(given)} must be Concentration(...), the settings of what is "
            "followed, or None"
        )
    if resume_from is not None and resume_from.tracker is not None:
        return Tracker.recalled(given, dynamics, resume_from.tracker)
    return Tracker(given, dynamics)


def _in_phase(
    discretization: Discretization, start: Measure, resume_from: Checkpoint | None
) -> Discretization:
    if resume_from is None:
        density = start.density
        return discretization.at_first(
            density.geometry, density.masses, atoms=len(start.atoms)
        )
    return replace(discretization, is_smooth=bool(resume_from.numbers["is_smooth"]))


def _state_of(measure: Measure, transport: Transport, exact: bool) -> State:
    masses = transport.represented(measure.density.masses)
    if exact:
        return state_of(masses, measure.atoms)
    return State(masses, measure.atoms.points.copy(), measure.atoms.masses)


def _step_observer(progress: bool | Report, stack: ExitStack) -> Observer | None:
    if progress is True:
        return StepObserver(stack.enter_context(progress_line()))
    return StepObserver(progress) if callable(progress) else None
