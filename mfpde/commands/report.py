"""What is said of a run when it has ended, and particles beside it: an independent witness.

On zonal grids polar angles are compared: meridians are geodesics, and no path is shorter than
the difference of its ends' polar angles.  Particles are zonal up to their number, for which this
is a lower bound.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import mfpde
from mfpde.commands.terminal import save_picture, say
from mfpde.measures.distributions import AngularDistribution, angular_distance
from mfpde.measures.measure import AnyMeasure, as_measure
from mfpde.measures.wasserstein import wasserstein_report
from mfpde.notebook import format_table
from mfpde.runs.run import Run, spread_indices
from mfpde.settings import Settings
from mfpde.solver.solve import UNFINISHED
from mfpde.storage import PARTICLES, save


def conclude(
    run: Run, settings: Settings, store: str | None, *, figure: str | None, quiet: bool
) -> None:
    """Report on a run that ended, run the particles beside it, draw it.

    Particles and figure are made of a run that was not interrupted and is finite.
    """
    say(run, quiet=quiet)
    if run.stop.kind not in UNFINISHED:
        if settings.particles is not None:
            particles = mfpde.solve_particles(
                settings.dynamics,
                settings.start,
                t_end=run.final_time,
                save_at=run.times,
                method=settings.particles.method,
                count=settings.particles.count,
                progress=not quiet and sys.stderr.isatty(),
            )
            if store is not None:
                save(particles, Path(store, PARTICLES), overwrite=True)
            if not quiet:
                say(f"\n{compare_with_particles(run, particles)}\n")
        if figure is not None:
            _draw(run, figure, store, quiet=quiet)
    if store is not None:
        say(f"stored in {store}", quiet=quiet)


def _draw(run: Run, figure: str, store: str | None, *, quiet: bool) -> None:
    """Draw the run; a figure that cannot be written loses nothing else."""
    try:
        save_picture(mfpde.plotting.plot_run(run), figure, quiet=quiet)
    except OSError as error:
        kept = f"; the run is complete in {store}: mfpde plot {store}" if store else ""
        raise ValueError(
            f"the figure {figure} could not be written: {error.strerror or error}{kept}"
        ) from error


def compare_with_particles(run: Run, particles: Run) -> str:
    """Return a table of W1 between a run and particles at common saved times.

    Each distance stands beside the bound of its error: on the sphere cells are taken as points,
    and large measures coarsened.  Without the package that finds it there is a line in its place.
    """
    head = f"against {particles.statistics['particles']} particles ({particles.reason})"
    by_angles, rows = as_measure(run.final).geometry.axis is not None, []
    times = np.intersect1d(run.times, particles.times)
    try:
        for time in times[spread_indices(len(times))] if len(times) else ():
            pair = run.at(time), particles.at(time)
            if by_angles:
                rows.append([float(time), zonal_distance(*pair), 0.0])
            else:
                found = wasserstein_report(*pair, order=1)
                rows.append([float(time), found.value, found.error_bound])
    except ImportError as error:
        return f"{head}\nW1 is left out: {error}"
    between = " between their polar angles" if by_angles else ""
    legend = f"W1: Wasserstein distance{between} [rad]; ±W1: bound of its error"
    return f"{head}:\n{format_table(['time', 'W1', '±W1'], rows)}\n{legend}"


def zonal_distance(a: AnyMeasure, b: AnyMeasure) -> float:
    """W1 between the polar angles of two measures, in radians."""
    return angular_distance(AngularDistribution.of(a), AngularDistribution.of(b), 1)
