"""The report of a run, when it ends and by ``mfpde show`` and ``compare``.

It can be compared with particles: the same equation from the same start, independently.
Zonal runs are compared by polar angles.  Between two zonal measures the Wasserstein distance
is that of their polar angles: meridians are geodesics, and no path is shorter than the
difference of its ends' polar angles.  Particles are zonal up to their number, for which this
is a lower bound.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from mfpde.commands.answers import figure_saved, say, table
from mfpde.detection import concentration
from mfpde.measures.circle_transport import polar_distance
from mfpde.measures.distributions import PolarDistribution, on_circle
from mfpde.measures.measure import AnyMeasure, Atoms
from mfpde.measures.point_transport import network_simplex
from mfpde.measures.wasserstein import is_zonal, wasserstein_report
from mfpde.particles import solve_particles
from mfpde.runs.layers import largest_diffusion, layer_before
from mfpde.runs.run import Run
from mfpde.runs.wall_times import PARTS
from mfpde.settings.settings import Settings
from mfpde.solver.diagnostics import UNKNOWN_UNIT
from mfpde.storage import PARTICLES, save, stored_provenance

TIMES_SHOWN = 6
UNFINISHED = ("interrupted", "non_finite", "step_too_small")
COLUMNS = """\
in basin: mass that flows there; in core: what is there already, width/h: its width in cells;
exponents: how mass within a radius grows with it (0: an atom, as many as dimensions: a density);
contracts, grows: rates [1/time] of lengths and of the density there; coarse: what half of the
cells would change, as a share; pins: the force below which the grid would hold an atom fixed;
Q(r): largest mass in a ball of 1, 2, 4, ... cells"""
"""What the columns of a verdict mean."""


def conclude(run: Run, settings: Settings, *, quiet: bool) -> None:
    """Report on a run that ended, run the particles beside it, draw it.

    Particles and figure are made of a run that was not interrupted and is finite.
    """
    tell: Callable[[str], Any] = (lambda _: None) if quiet else say
    tell(summary(run))
    output = settings.output
    if run.stop.kind not in UNFINISHED:
        if settings.particles is not None:
            tell(_with_particles(run, settings, quiet=quiet))
        if output.figure is not None:
            tell(_drawn(run, output.figure, output.store))
    if output.store is not None:
        tell(f"stored in {output.store}")


def summary(run: Run) -> str:
    """Return what was solved, why it stopped, the diagnostics, and the atoms."""
    parts = [head(run), diagnostics_table(run)]
    if run.equation is not None and not isinstance(run.final, Atoms):
        found = concentration(run.final, run.equation)
        parts.append(f"{found}\n{COLUMNS}" if len(found.regions) else str(found))
    if run.track is not None:
        parts.append(str(run.track))
    return "\n\n".join(part for part in parts if part)


def head(run: Run) -> str:
    """Return what was solved and how it ended: the facts of a run, its equation in words."""
    facts, equation, count = run.facts, run.equation, layer_count(run)
    if equation is None:
        facts["equation"] = "not stored (it has the user's own functions)"
    else:
        terms = " + ".join(term.description for term in equation.terms)
        noise = f", diffusion {equation.diffusion:g}" if equation.diffusion else ""
        facts["equation"] = f"{equation.direction} of {terms}{noise}"
    if run.layers is not None:
        reached = layer_before(run.layers.breakpoints, run.final_time) + 1
        last = f"the last that was reached, number {reached}:"
        facts = {"layers": f"{count} of depth {run.layers.depth:g}; {last}", **facts}
    elif count:
        own = "some with the user's own functions; the last reached:"
        facts = {"layers": f"{count}, {own}", **facts}
    return "\n".join(f"{name + ':':13}{fact}" for name, fact in facts.items())


def layer_count(run: Run) -> int:
    """Return the number of layers of a run, also of one whose layers are not stored; or 0."""
    given = run.statistics.get("layers", 0) if run.layers is None else len(run.layers)
    return int(given)


def diagnostics_table(run: Run) -> str:
    """Return the diagnostics at some saved times, and what they are; "" if nothing was saved."""
    scalars = {n: v for n, v in run.diagnostics.items() if v.ndim == 1}
    if not len(run.times) or not scalars:
        return ""
    rows = [
        [float(run.times[k]), *(float(values[k]) for values in scalars.values())]
        for k in _spread(len(run.times))
    ]
    meanings = [
        f"{name}: {run.quantities[name].meaning} [{run.quantities[name].unit}]"
        for name in scalars
        if name in run.quantities and run.quantities[name].unit != UNKNOWN_UNIT
    ]
    return "\n".join([table(["time", *scalars], rows), *meanings])


def _spread(count: int) -> list[int]:
    """Return indices below ``count``, evenly, with both ends: some if they are many."""
    chosen = np.linspace(0, count - 1, min(TIMES_SHOWN, count)).round()
    return [int(k) for k in np.unique(chosen)]


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


# Particles beside a run


def particle_run(
    run: Run, *, count: int, method: str, start: AnyMeasure, quiet: bool
) -> Run:
    """Move particles from ``start`` up to the run's last time, saved when the run was.

    Raises
    ------
    ValueError
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
        raise ValueError(f"the run cannot be compared with particles: {obstacle}")
    return solve_particles(
        dynamics,
        start,
        t_end=run.final_time,
        save_at=run.times,
        method=method,
        count=count,
        progress=not quiet and sys.stderr.isatty(),
    )


def zonal_distance(a: AnyMeasure, b: AnyMeasure, *, order: int = 1) -> float:
    """Wasserstein distance between the polar angles of two measures, in radians."""
    return polar_distance(PolarDistribution.of(a), PolarDistribution.of(b), order)


def check_distances(run: Run) -> None:
    """Raise ImportError if a distance from the run's states needs a package that is missing."""
    if not (on_circle(run.final) or is_zonal(run.final)):
        network_simplex()


def distance_table(run: Run, particles: Run, *, orders: tuple[int, ...] = (1,)) -> str:
    """Return Wasserstein distances of a run and particles at common saved times.

    On a zonal grid they are those of the polar angles.  On the sphere each stands beside
    the bound of its error: cells are taken as points there, and large measures coarsened;
    without the package that finds them there is a line in their place.
    """
    by_angles = is_zonal(run.final)
    try:
        check_distances(run)
    except ImportError as error:
        return f"W1 is left out: {error}"

    def distance(one: AnyMeasure, other: AnyMeasure, order: int) -> list[float]:
        if by_angles:
            return [zonal_distance(one, other, order=order)]
        found = wasserstein_report(one, other, order=order)
        # On the circle there is a formula.
        bound = [] if found.method == "circle" else [found.error_bound]
        return [found.value, *bound]

    states = dict(zip(run.times.tolist(), run.states, strict=True))
    others = dict(zip(particles.times.tolist(), particles.states, strict=True))
    times = [time for time in states if time in others]
    rows = []
    for t in [times[k] for k in _spread(len(times))] if times else []:
        pairs = [distance(states[t], others[t], order) for order in orders]
        rows.append([t, *(number for pair in pairs for number in pair)])
    is_bounded = bool(rows) and len(rows[0]) > 1 + len(orders)
    names = [
        name
        for order in orders
        for name in ([f"W{order}", f"±W{order}"] if is_bounded else [f"W{order}"])
    ]
    title = "between their polar angles:\n" if by_angles else ""
    legend = "W1, W2: Wasserstein distances [rad]"
    if is_bounded:
        legend += "; ±: bounds of their errors"
    return f"{title}{table(['time', *names], rows)}\n{legend}"


def _with_particles(run: Run, settings: Settings, *, quiet: bool) -> str:
    wanted = settings.particles
    assert wanted is not None
    start = settings.start
    particles = particle_run(
        run, count=wanted.count, method=wanted.method, start=start, quiet=quiet
    )
    if settings.output.store is not None:
        save(particles, settings.output.store, group=PARTICLES, overwrite=True)
    return (
        f"\nagainst {wanted.count} particles ({particles.reason}):\n"
        f"{distance_table(run, particles)}\n"
    )


def _drawn(run: Run, figure: str, store: str | None) -> str:
    """Draw the run and say where; a figure that cannot be written loses nothing else."""
    from mfpde.plotting import plot_run

    try:
        return figure_saved(plot_run(run), figure)
    except OSError as error:
        kept = f"; the run is complete in {store}: mfpde plot {store}" if store else ""
        raise ValueError(
            f"the figure {figure} could not be written: {error.strerror or error}{kept}"
        ) from error
