"""The density solver's entry point: from an equation and a start measure to a run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from numpy.typing import ArrayLike

from mfpde.arrays import check_kind, real_number
from mfpde.atoms import coarseness
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.memory import check_memory_of_run
from mfpde.measures.measure import AnyMeasure, Measure, as_measure
from mfpde.positions.blocks import check_discrete, is_discrete
from mfpde.positions.rows import PositionedDensity, RunState
from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.layers import Layers, checked_dynamics, largest_degree, stages_of
from mfpde.runs.progress import line_if
from mfpde.runs.run import Run
from mfpde.runs.stopping import FAILED, StoppingCondition, stopping_conditions
from mfpde.runs.times import DEFAULT_SAVES, end_time, save_times
from mfpde.solver.arguments import check_moment, choose_method
from mfpde.solver.diagnostics import Diagnostic, choose_diagnostics
from mfpde.solver.notes import find_notes
from mfpde.solver.recorder import LineObserver, Observer, Recorder
from mfpde.solver.time_loop import TimeLoop
from mfpde.tracking import Concentration, Tracker

UNFINISHED = ("interrupted", *FAILED)


def solve(
    equation: MeanFieldEquation | Layers,
    start: AnyMeasure | PositionedDensity,
    *,
    t_end: float | None = None,
    save_every: float | None = None,
    save_at: ArrayLike | None = None,
    stop: StoppingCondition | Sequence[StoppingCondition] = (),
    transport: str | None = None,
    atoms: Literal["grid", "exact"] = "grid",
    rtol: float = 1e-4,
    max_step: float | None = None,
    observe: Mapping[str, Callable[[Measure], float]] | None = None,
    diagnostics: Diagnostic | Sequence[Diagnostic] = (),
    progress: bool = False,
    track: Concentration | None = None,
    observer: Observer | None = None,
    start_time: float = 0.0,
    resume_from: Checkpoint | None = None,
) -> Run:
    r"""Solve d_t mu + div(mu v) = kappa Lap mu, v = s grad F, from ``start`` to ``t_end``.

    Begin with ``solve(equation, uniform(Circle(512)), t_end=20.0, save_every=0.5)``.

    Parameters
    ----------
    equation
        The equation, or :class:`Layers` of several, each of which acts for its time: steps end
        at the breakpoints, where each begins as a run from what the last one left.  A save at a
        breakpoint has the diagnostics of the layer that ends.
    start
        A density, a density with atoms (which move as exact points), or rows of densities at
        positions in a context (:class:`mfpde.PositionedDensity`).
    t_end
        End time; of layers at most their depth, which is the default.
    save_every, save_at
        Save at multiples of ``save_every`` (and at the start and the end), or exactly
        at the times ``save_at``; by default at 50 equal intervals; of layers at breakpoints
        and at equal intervals between them, about 50 in all.
    stop
        One or several conditions that end the run early: :class:`SteadyState`,
        :class:`StepLimit`, :class:`WallTimeLimit`.  A steady state ends the last layer only.
    transport
        A scheme, by name.  ``"donor_blended"``, on circle and sphere: of fifth (third) order
        where the density is smooth; atoms move on the grid, and within ten cells of one
        densities alternate by some 1e-3.  ``"semi_lagrangian"``, on circle and zonal grids:
        steps that no cell limits, of fourth order in time, least diffusive; atoms are pinned.
        ``"semi_lagrangian_donor_blended"``, on the circle: the former until 30 % of the mass are
        in structures of a cell or two, at ``run.statistics["semi_lagrangian_until"]``.
        ``"labels"``, on the sphere: the masses of cells are carried along characteristics, and
        what is saved is their push-forward; of a density alone, without diffusion.
        ``"spectral_labels"``, ``"spectral_donor_blended"``: so after a spectral phase, which
        lasts while the grid resolves the density, to ``spectral_until``.  No first phase begins
        with atoms or diffusion.  By default semi-Lagrangian on zonal grids and on the circle
        with exact atoms; spectral and labels on the sphere, where they can carry the run and
        the kernel's degree is at most 64; donor-blended for rows; else the two of several phases.
    atoms
        ``"grid"``: atoms form and move on the grid, to about a cell.  ``"exact"`` (circle
        and sphere, without diffusion): a cluster a few cells wide leaves the grid and goes
        on as a point with a covariance; it absorbs its tails, merges, and is given back
        where the flow expands; ``run.events`` lists what happened.  Once nearly all mass is
        in atoms, a stiff integrator moves them alone, over any time.
    rtol
        Error in time that a step may make, relative to how far it moves the moments that the
        interaction sees; each scheme takes a share of it (``tolerance_share`` of its class).
    max_step
        Largest step; none by default.
    observe
        Functions of the measure by name, recorded at every save, in addition to the
        diagnostics of every run.
    diagnostics
        One or several diagnostics of your own, with meaning and unit
        (``mfpde.solver.diagnostics``).
    progress
        Show a line of progress.
    track
        Follow the atoms from save to save with these settings: ``run.track``.
    observer
        A :class:`mfpde.solver.recorder.Observer`, which sees steps, saves, followed atoms and
        events as they happen, and the finished run (as storage does).
    start_time
        Time of ``start``, to continue an earlier run.  Layers go on in the one that acts from
        this time on.
    resume_from
        A checkpoint of this very run (``mfpde.storage.stored_checkpoint(path)``): it goes on to
        the bit, on the same machine and threads, with all other arguments as they were, ``start``
        too.  The result holds what is saved from there on; the store holds all of it.

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
        If the grid is too coarse for exact atoms to form at the right place, or if the start
        shares a symmetry with the equation along which the run is unstable; the second is in
        ``run.notes`` too.
    """
    dynamics = checked_dynamics(equation)
    rows = start if isinstance(start, PositionedDensity) else None
    edges = None if rows is None else rows.edges
    measure: RunState = as_measure(start, "start") if rows is None else rows
    start_time = real_number("start_time", start_time)
    t_end = end_time(dynamics, t_end, after=start_time)
    stages = stages_of(dynamics, start_time, t_end)
    times = save_times(
        t_end,
        start_time=start_time,
        save_every=save_every,
        save_at=save_at,
        default_saves=1 if is_discrete(dynamics) else DEFAULT_SAVES,
        breaks=[stage.end for stage in stages],
    )
    check_discrete(dynamics, [start_time, *times, t_end], max_step=max_step)
    if resume_from is not None:
        check_moment(resume_from, stages, times)
    method = choose_method(
        dynamics,
        measure,
        transport=transport,
        atoms=atoms,
        rtol=rtol,
        max_step=max_step,
    )
    conditions = stopping_conditions(stop)
    geometry, saves = measure.geometry, 2 if conditions else len(times)
    saves *= 1 if edges is None else len(edges)
    check_memory_of_run(geometry, largest_degree(dynamics, geometry), saves)
    layers = dynamics if isinstance(dynamics, Layers) else None
    tracker = None
    if track is not None:
        source = "the settings of what is followed"
        check_kind("track", track, Concentration, source=source)
        memory = resume_from.tracker if resume_from else None
        tracker = Tracker(track, dynamics, memory)
    has_radii = stages[0].equation.normalization is not None
    recorder = Recorder(
        stages[0].equation,
        geometry,
        choose_diagnostics(
            diagnostics, observe, of_rows=edges is not None, has_radii=has_radii
        ),
        tracker=tracker,
        layers=layers,
        edges=edges,
    )
    if method.exact_atoms and as_measure(measure).density.total_mass > 0:
        message = coarseness(dynamics.sharpest, geometry)
        if message is not None:
            warnings.warn(message, stacklevel=2)
    loop = TimeLoop(method, stages, recorder, times, conditions)
    with line_if(progress) as line:
        recorder.begin(observer, line and LineObserver(line))
        if resume_from is None:
            loop.start(measure, start_time)
        else:
            loop.resume(resume_from)
        reason = loop.run()
    statistics, ended = loop.statistics, loop.final_time
    if reason.kind not in UNFINISHED and isinstance(measure, Measure):
        notes = find_notes(
            dynamics,
            measure,
            solve,
            begun=start_time,
            ended=ended,
            times=recorder.times,
            states=recorder.states,
        )
        statistics |= {"notes": notes} if notes else {}
    run = recorder.finish(reason, loop.final, ended, statistics=statistics)
    for note in run.notes:
        warnings.warn(note, stacklevel=2)
    return run
