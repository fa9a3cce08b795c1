"""What is said of a run when it has ended, and particles beside it: an independent witness.

Zonal runs are compared by polar angles: meridians are geodesics, and no path is shorter than the
difference of its ends' polar angles.  Particles are zonal up to their number, for which this is a
lower bound.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

import mfpde
from mfpde.commands.answers import save_picture, say
from mfpde.measures.angular_transport import angular_distance
from mfpde.measures.distributions import AngularDistribution, on_circle
from mfpde.measures.measure import AnyMeasure
from mfpde.measures.point_transport import network_simplex
from mfpde.measures.wasserstein import is_zonal, wasserstein_report
from mfpde.notebook import format_table
from mfpde.runs.run import Run, spread_indices
from mfpde.settings import Settings
from mfpde.storage import PARTICLES, save

UNFINISHED = ("interrupted", "non_finite", "step_too_small")


def conclude(run: Run, settings: Settings, *, quiet: bool) -> None:
    """Report on a run that ended, run the particles beside it, draw it.

    Particles and figure are made of a run that was not interrupted and is finite.
    """
    say(run, quiet=quiet)
    output, wanted = settings.output, settings.particles
    if run.stop.kind not in UNFINISHED:
        if wanted is not None:
            particles = run_particles(
                run,
                settings.start,
                count=wanted.count,
                method=wanted.method,
                quiet=quiet,
            )
            if output.store is not None:
                save(particles, output.store, group=PARTICLES, overwrite=True)
            table = distance_table(run, particles)
            said = f"against {wanted.count} particles ({particles.reason}):"
            say(f"\n{said}\n{table}\n", quiet=quiet)
        if output.figure is not None:
            _draw(run, output.figure, output.store, quiet=quiet)
    if output.store is not None:
        say(f"stored in {output.store}", quiet=quiet)


def _draw(run: Run, figure: str, store: str | None, *, quiet: bool) -> None:
    """Draw the run; a figure that cannot be written loses nothing else."""
    try:
        save_picture(mfpde.plotting.plot_run(run), figure, quiet=quiet)
    except OSError as error:
        kept = f"; the run is complete in {store}: mfpde plot {store}" if store else ""
        raise ValueError(
            f"the figure {figure} could not be written: {error.strerror or error}{kept}"
        ) from error


def run_particles(
    run: Run, start: AnyMeasure, *, count: int, method: str = "auto", quiet: bool
) -> Run:
    """Move particles from ``start`` up to the run's last time, saved when the run was.

    Raises
    ------
    ValueError
        If the equation is not known, has diffusion, or the run has not begun.
    """
    if run.dynamics is None or len(run.layers or ()) < run.layer_count:
        raise ValueError(
            "the run cannot be compared with particles: its equation has the user's own "
            "functions and was not stored"
        )
    return mfpde.solve_particles(
        run.dynamics,
        start,
        t_end=run.final_time,
        save_at=run.times,
        method=method,
        count=count,
        progress=not quiet and sys.stderr.isatty(),
    )


def check_distances(run: Run) -> None:
    """Raise ImportError if a distance from the run's states needs a package that is missing."""
    if not (on_circle(run.final) or is_zonal(run.final)):
        network_simplex()


def zonal_distance(a: AnyMeasure, b: AnyMeasure, *, order: int = 1) -> float:
    """Wasserstein distance between the polar angles of two measures, in radians."""
    first, second = (AngularDistribution.of_polar(m).normalized() for m in (a, b))
    return angular_distance(first, second, order)


def distance_table(run: Run, particles: Run, *, orders: Sequence[int] = (1,)) -> str:
    """Return Wasserstein distances of a run and particles at common saved times.

    Each stands beside the bound of its error: on the sphere cells are taken as points, and large
    measures coarsened.  Without the package that finds them there is a line in their place.
    """
    try:
        check_distances(run)
    except ImportError as error:
        return f"W1 is left out: {error}"
    by_angles = is_zonal(run.final)
    headers, rows = ["time"], []
    for order in orders:
        headers += [f"W{order}", f"±W{order}"]
    times = np.intersect1d(run.times, particles.times)
    for time in times[spread_indices(len(times))] if len(times) else ():
        pair, row = (run.at(time), particles.at(time)), [float(time)]
        for order in orders:
            if by_angles:
                row += [zonal_distance(*pair, order=order), 0.0]
            else:
                found = wasserstein_report(*pair, order=order)
                row += [found.value, found.error_bound]
        rows.append(row)
    title = "between their polar angles:\n" if by_angles else ""
    legend = "W1, W2: Wasserstein distances [rad]; ±: bounds of their errors"
    return f"{title}{format_table(headers, rows)}\n{legend}"
