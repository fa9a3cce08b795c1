"""What is said of runs: of one that has ended, with particles as a witness, and of stored ones.

On zonal grids the polar angles of a run and of particles are compared: meridians are geodesics,
and no path is shorter than the difference of its ends' polar angles.  Particles are zonal up to
their number, for which this is a lower bound.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import mfpde
from mfpde.commands.terminal import complain, save_picture, say
from mfpde.measures.distributions import AngularDistribution, angular_distance
from mfpde.measures.measure import as_measure
from mfpde.measures.wasserstein import wasserstein_report
from mfpde.notebook import format_table
from mfpde.runs.run import Run, spread_indices
from mfpde.settings import Settings
from mfpde.settings.files import flatten
from mfpde.solver.solve import UNFINISHED
from mfpde.storage import PARTICLES, StoreError, load, read_description, save
from mfpde.storage.journal import has_journal

if TYPE_CHECKING:
    from mfpde.viewer import NamedRun

LONGEST = 36
"""Letters of a value beside a run on a page."""


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
                ours, theirs = map(AngularDistribution.of, pair)
                rows.append([float(time), angular_distance(ours, theirs, 1), 0.0])
            else:
                found = wasserstein_report(*pair, order=1)
                rows.append([float(time), found.value, found.error_bound])
    except ImportError as error:
        return f"{head}\nW1 is left out: {error}"
    between = " between their polar angles" if by_angles else ""
    legend = f"W1: Wasserstein distance{between} [rad]; ±W1: bound of its error"
    return f"{head}:\n{format_table(['time', 'W1', '±W1'], rows)}\n{legend}"


def settings_of(store: str | Path) -> dict[str, Any]:
    """Return the settings of a store by dotted names; none if they cannot be read."""
    try:
        return flatten(read_description(store).settings or {})
    except (StoreError, FileNotFoundError):
        return {}


def describe_origin(store: str, statistics: Mapping[str, Any]) -> str:
    """Return settings of a run, where its wall time went, and what made it on which machine."""
    times = {
        f"{name.removesuffix('_seconds')} [s]": f"{value:.3g}"
        for name, value in statistics.items()
        if name.endswith("_seconds")
    }
    provenance = read_description(store).provenance
    records = [settings_of(store), times, provenance]
    return "\n\n".join(
        "\n".join(f"{name + ':':24} {value}" for name, value in record.items())
        for record in records
    )


def is_store(path: str | Path) -> bool:
    """Whether there is the store of a run, which may not have ended."""
    return (Path(path) / "zarr.json").is_file() or has_journal(path)


def find_stores(place: Path) -> list[Path]:
    """Return the stores in a folder; else the place itself: to read it says what is wrong."""
    inside = [] if is_store(place) else filter(is_store, place.rglob("*.zarr"))
    return sorted(inside) or [place]


def read_runs(stores: Sequence[Path], *, track: bool) -> Iterator[NamedRun]:
    """Read runs one by one, with the settings in which they differ.

    Of several, those that cannot be read are told and left out.
    """
    from mfpde.viewer import NamedRun

    settings = [settings_of(store) for store in stores]
    names = dict.fromkeys(name for given in settings for name in given)
    # Where there are no settings, nothing is known to differ.
    known = [given for given in settings if given]
    varied = [n for n in names if len({repr(given.get(n)) for given in known}) > 1]
    shown = 0
    for store, given in zip(stores, settings, strict=True):
        try:
            run = load(store)
            if not len(run.times):
                raise ValueError(f"{store} has no saved states to show")
        except ValueError as error:
            if len(stores) == 1:
                raise
            complain(f"left out: {error}")
            continue
        run = run.tracked() if track and run.track is None else run
        values = {name: given[name] for name in varied if name in given}
        yield NamedRun(str(store), run, {n: _shorten(v) for n, v in values.items()})
        shown += 1
    if not shown:
        raise ValueError("none of these stores can be shown")


def _shorten(value: Any) -> Any:
    return value if isinstance(value, bool | int | float) else str(value)[:LONGEST]
