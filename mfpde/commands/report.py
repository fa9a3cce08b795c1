"""The report of a run, when it ends and by ``mfpde show``, ``plot``, ``compare``, ``cite``.

It can be compared with particles: the same equation from the same start, independently.
Zonal runs are compared by polar angles.  Between two zonal measures the Wasserstein distance
is that of their polar angles: meridians are geodesics, and no path is shorter than the
difference of its ends' polar angles.  Particles are zonal up to their number, for which this
is a lower bound.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from mfpde.commands import DONE
from mfpde.commands.answers import check_file_place, figure_saved, say, spread, table
from mfpde.detection import concentration
from mfpde.measures.circle_transport import polar_distance
from mfpde.measures.distributions import PolarDistribution, on_circle
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.measures.point_transport import network_simplex
from mfpde.measures.wasserstein import is_zonal, wasserstein_report
from mfpde.particles import solve_particles
from mfpde.runs.citations import cite as entries_of
from mfpde.runs.layers import largest_diffusion, layer_before
from mfpde.runs.run import Run
from mfpde.runs.wall_times import PARTS
from mfpde.settings.settings import Settings, SettingsError
from mfpde.solver.diagnostics import DIAGNOSTICS, UNKNOWN_UNIT
from mfpde.storage import PARTICLES, has_particles, load, save, stored_provenance


def zonal_distance(a: AnyMeasure, b: AnyMeasure, *, order: int = 1) -> float:
    """Wasserstein distance between the polar angles of two measures, in radians."""
    return polar_distance(PolarDistribution.of(a), PolarDistribution.of(b), order)


def particle_run(
    run: Run, *, count: int, method: str, start: AnyMeasure, quiet: bool
) -> Run:
    """Move particles from ``start`` up to the run's last time, saved when the run was.

    Raises
    ------
    SettingsError
        If there is nothing to compare with: no equation, no saves, diffusion, or the
        run is one of particles itself.
    """
    dynamics = None if len(run.layers or ()) < layer_count(run) else run.dynamics
    diffusion = 0.0 if dynamics is None else largest_diffusion(dynamics)
    obstacle = ""
    if dynamics is None:
        obstacle = "its equation has the user's own functions and was not stored"
    elif diffusion > 0:
        obstacle = f"they move without noise, but diffusion = {diffusion:g}"
    elif isinstance(run.final, Atoms):
        obstacle = "it is a run of particles itself"
    elif not len(run.times) or run.final_time <= 0:
        obstacle = "it has no saved state after the start"
    if dynamics is None or obstacle:
        raise SettingsError(f"the run cannot be compared with particles: {obstacle}")
    return solve_particles(
        dynamics,
        start,
        t_end=run.final_time,
        save_at=run.times,
        method=method,
        count=count,
        progress=not quiet and sys.stderr.isatty(),
    )


TIMES_SHOWN = 6
DEFAULT_PARTICLES = 2000


def conclude(run: Run, settings: Settings, *, quiet: bool) -> None:
    """Report on a run that ended, run the particles beside it, draw it.

    Particles and figure are made of a run that was not interrupted and is finite.
    """
    tell = _nothing if quiet else say
    tell(summary(run))
    if run.stop.kind not in ("interrupted", "non_finite", "step_too_small"):
        if settings.particles is not None:
            tell(_with_particles(run, settings, quiet=quiet))
        if settings.output.figure is not None:
            _draw(run, settings, tell)
    if settings.output.store is not None:
        tell(f"stored in {settings.output.store}")


def summary(run: Run) -> str:
    """Return what was solved, why it stopped, the diagnostics, and the atoms."""
    ending = f"stopped:    {run.reason}"
    if "mass" in run.diagnostics:
        ending += f"\nmass drift: {run.mass_drift:.1e}"
    notes = [f"note:       {note}" for note in run.notes]
    ending = "\n".join([ending, *run.refinement_lines, *notes])
    parts = [f"{head(run)}\n{ending}", diagnostics_table(run)]
    if run.equation is not None and not isinstance(run.final, Atoms):
        parts.append(str(concentration(run.final, run.equation)))
    if run.track is not None:
        parts.append(str(run.track))
    return "\n\n".join(part for part in parts if part)


def head(run: Run) -> str:
    """Return equation, kernel convention, grid or particles, and times."""
    equation = run.equation
    lines = ["equation:   not stored (it has the user's own functions)"]
    if equation is not None:
        terms = [term.description for term in equation.terms]
        diffusion = f", diffusion {equation.diffusion:g}" if equation.diffusion else ""
        lines = [
            f"equation:   {equation.direction} of {' + '.join(terms)}{diffusion}",
            f"convention: {equation.convention}",
        ]
    if layer_count(run):
        lines.insert(0, f"layers:     {_layers_line(run)}")
    if isinstance(run.final, Atoms):
        lines.append(f"particles:  {len(run.final)}")
    else:
        lines.append(f"geometry:   {as_measure(run.final).geometry!r}")
    saved = f"{len(run.times)} saves"
    if len(run.times):
        saved += f" from t = {run.times[0]:g} to {run.times[-1]:g}"
    lines.append(f"times:      {saved}; last t = {run.final_time:g}")
    return "\n".join(lines)


def layer_count(run: Run) -> int:
    """Return the number of layers of a run, also of one whose layers are not stored; or 0."""
    return (
        int(run.statistics.get("layers", 0)) if run.layers is None else len(run.layers)
    )


def _layers_line(run: Run) -> str:
    if run.layers is None:
        return (
            f"{layer_count(run)}, some with the user's own functions; the last reached:"
        )
    reached = layer_before(run.layers.breakpoints, run.final_time) + 1
    return (
        f"{len(run.layers)} of depth {run.layers.depth:g}; the last that was reached, "
        f"number {reached}:"
    )


def diagnostics_table(run: Run) -> str:
    """Return the diagnostics at some saved times; "" if nothing was saved."""
    scalars = {n: v for n, v in run.diagnostics.items() if v.ndim == 1}
    if not len(run.times) or not scalars:
        return ""
    rows = [
        [float(run.times[k]), *(float(values[k]) for values in scalars.values())]
        for k in spread(len(run.times), TIMES_SHOWN)
    ]
    # The user's own, where it is known what they mean.
    own = [q for name, q in run.quantities.items() if name not in DIAGNOSTICS]
    meanings = [
        f"{q.name}: {q.meaning} [{q.unit}]" for q in own if q.unit != UNKNOWN_UNIT
    ]
    return "\n".join([table(["time", *scalars], rows), *meanings])


def drawn(run: Run, path: str | Path) -> str:
    """Draw ``run`` as PDF and PNG, and say where."""
    from mfpde.plotting import plot_run

    return figure_saved(plot_run(run), path)


def distance_table(run: Run, particles: Run, *, orders: tuple[int, ...] = (1,)) -> str:
    """Return Wasserstein distances of a run and particles at common saved times.

    On a zonal grid they are those of the polar angles.  On the sphere each stands beside
    the bound of its error: cells are taken as points there, and large measures coarsened;
    without the package that finds them there is a line in their place.
    """
    by_angles = is_zonal(run.final)
    try:
        _check_solver(run)
    except ImportError as error:
        return f"W1 is left out: {error}"

    def distance(one: AnyMeasure, other: AnyMeasure, order: int) -> tuple[float, float]:
        if by_angles:
            return zonal_distance(one, other, order=order), 0.0
        found = wasserstein_report(one, other, order=order)
        # On the circle there is a formula.
        return found.value, 0.0 if found.method == "circle" else found.error_bound

    others = dict(zip(particles.times.tolist(), particles.states, strict=True))
    times = [time for time in run.times.tolist() if time in others]
    states = dict(zip(run.times.tolist(), run.states, strict=True))
    shown = [times[k] for k in spread(len(times), TIMES_SHOWN)] if times else []
    found = {
        t: [distance(states[t], others[t], order) for order in orders] for t in shown
    }
    title = "between their polar angles:\n" if by_angles else ""
    # On the sphere cells count as points: the distance at the start is no more than that.
    is_bounded = any(bound > 0 for pairs in found.values() for _, bound in pairs)
    names = [f"W{order}" for order in orders]
    if is_bounded:
        names = [text for name in names for text in (name, f"±{name}")]
    rows = [
        [t, *(number for pair in pairs for number in pair[: 1 + is_bounded])]
        for t, pairs in found.items()
    ]
    return title + table(["time", *names], rows)


def _check_solver(run: Run) -> None:
    """Raise ImportError if a distance from the run's states needs a package that is missing."""
    if not (on_circle(run.final) or is_zonal(run.final)):
        network_simplex()


def _draw(run: Run, settings: Settings, tell: Callable[[str], None]) -> None:
    """Draw the run; a figure that cannot be written loses nothing else."""
    figure, store = settings.output.figure, settings.output.store
    assert figure is not None
    try:
        tell(drawn(run, figure))
    except OSError as error:
        kept = f"; the run is complete in {store}: mfpde plot {store}" if store else ""
        raise SettingsError(
            f"the figure {figure} could not be written: {error.strerror or error}{kept}"
        ) from error


def _nothing(text: str) -> None:
    """Say nothing."""


def _with_particles(run: Run, settings: Settings, *, quiet: bool) -> str:
    wanted = settings.particles
    assert wanted is not None
    particles = particle_run(
        run,
        count=wanted.count,
        method=wanted.method,
        start=settings.build_start(),
        quiet=quiet,
    )
    if settings.output.store is not None:
        save(particles, settings.output.store, group=PARTICLES, overwrite=True)
    return (
        f"\nagainst {wanted.count} particles ({particles.reason}):\n"
        f"{distance_table(run, particles)}\n"
    )


def show(arguments: argparse.Namespace) -> int:
    """Summarise a stored run, and the particles beside it; or say how two runs differ."""
    if arguments.other is not None:
        from mfpde.commands.differences import differences

        say(differences(arguments.store, arguments.other))
        return DONE
    run = load(arguments.store)
    say(summary(run))
    if arguments.origin:
        say(origin(arguments.store, run))
    if has_particles(arguments.store):
        particles = load(arguments.store, group=PARTICLES)
        say(f"\nparticles beside: {len(particles.final)}")  # type: ignore[arg-type]
        say(distance_table(run, particles))
    return DONE


def origin(store: str, run: Run) -> str:
    """Return where a stored run was made, and where its wall time went."""
    seconds = [
        f"{part} {float(run.statistics[f'{part}_seconds']):.3g} s"
        for part in PARTS
        if f"{part}_seconds" in run.statistics
    ]
    lines = [f"wall time:  {', '.join(seconds)}"] if seconds else []
    for record in stored_provenance(store):
        versions = {n: v for n, v in record["versions"].items() if v is not None}
        known = ", ".join(f"{name} {version}" for name, version in versions.items())
        commit = record["commit"]
        checkout = "" if commit is None else f"; commit {commit}"
        lines += [f"made by:    {known}{checkout}", f"on:         {record['platform']}"]
    return "\n" + "\n".join(lines) if lines else ""


def cite(arguments: argparse.Namespace) -> int:
    """Print BibTeX for what a run used; particles beside it were compared with it."""
    say(entries_of(load(arguments.store), compared=has_particles(arguments.store)))
    return DONE


def plot(arguments: argparse.Namespace) -> int:
    """Draw a stored run as PDF and PNG."""
    path = arguments.out or Path(arguments.store).with_suffix(".pdf")
    check_file_place("--out", path)
    say(drawn(load(arguments.store), path))
    return DONE


def compare(arguments: argparse.Namespace) -> int:
    """Compare a stored run with particles from the same start, by W1 and W2."""
    run = load(arguments.store)
    _check_solver(run)
    wanted = arguments.particles
    if wanted is None and has_particles(arguments.store):
        particles = load(arguments.store, group=PARTICLES)
    else:
        if wanted is not None and wanted < 1:
            raise SettingsError(f"--particles {wanted} must be at least 1")
        if not run.states or run.times[0] > 0:
            raise SettingsError(f"{arguments.store} has no state at t = 0")
        particles = particle_run(
            run,
            count=wanted or DEFAULT_PARTICLES,
            method="auto",
            start=run.states[0],
            quiet=False,
        )
    count = len(particles.final)  # type: ignore[arg-type]
    say(f"{head(run)}\n\nagainst {count} particles ({particles.reason}):")
    say(distance_table(run, particles, orders=(1, 2)))
    return DONE
