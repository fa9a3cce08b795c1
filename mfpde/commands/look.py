"""Commands that look at a stored run: show, plot, view, animate, compare, cite."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from mfpde.commands import DONE
from mfpde.commands.answers import check_file_place, figure_saved, say
from mfpde.commands.options import Count, File, Quiet, Store

DEFAULT_PARTICLES = 2000


def show(store: Store, other: str | None = None, /, *, origin: bool = False) -> int:
    """Summarise a stored run, or say how two differ.

    Example: mfpde show run.zarr --origin

    Parameters
    ----------
    other
        Another stored run: say what differs between the two.
    origin
        Say also which versions made it, and where the time went.
    """
    from mfpde.commands import report
    from mfpde.storage import PARTICLES, has_particles, load

    if other is not None:
        from mfpde.commands.differences import differences

        say(differences(store, other))
        return DONE
    run = load(store)
    say(report.summary(run))
    if origin:
        say(report.origin(store, run))
    if has_particles(store):
        particles = load(store, group=PARTICLES)
        say(f"\nparticles beside: {len(particles.final)}")  # type: ignore[arg-type]
        say(report.distance_table(run, particles))
    return DONE


def plot(store: Store, /, *, out: File = None) -> int:
    """Draw a stored run, as PDF and PNG.

    Example: mfpde plot run.zarr --out figures/run.pdf

    Parameters
    ----------
    out
        Where; by default beside the store.
    """
    path = out or Path(store).with_suffix(".pdf")
    check_file_place("--out", path)
    from mfpde.plotting import plot_run
    from mfpde.storage import load

    say(figure_saved(plot_run(load(store)), path))
    return DONE


def view(*stores: str, out: File = None, track: bool = False) -> int:
    """Write stored runs as one HTML page, to be opened in a browser.

    Example: mfpde view one.zarr other.zarr --out both.html

    Parameters
    ----------
    stores
        A run, two to compare, or a folder of stores as a sweep leaves it.
    out
        Where; by default beside the store.
    track
        Follow the atoms of runs that were stored without their paths.
    """
    if not stores:
        raise ValueError("STORES is missing: give a stored run, or a folder of some")
    from mfpde.commands.view import write_view

    return write_view(stores, out, follow=track)


def animate(
    store: Store,
    film: str,
    /,
    *,
    view: Literal["globe", "map", "curve"] | None = None,
    duration: float | None = None,
    frames_per_second: Count = 15,
    frames: Count | None = None,
    log: Annotated[bool | None, Parameter(negative="--no-log")] = None,
    particles: bool = False,
    quiet: Quiet = False,
) -> int:
    """Write a stored run as a film, one frame for each save.

    Example: mfpde animate run.zarr run.gif --frames 50

    Parameters
    ----------
    film
        The file: FILM.mp4 (needs ffmpeg) or FILM.gif.
    view
        Globe or map of a sphere, curve of a circle or zonal grid.
    duration
        Seconds that the film lasts, moving between saves.
    frames_per_second
        Speed of the film.
    frames
        Show at most so many saves, evenly.
    log
        Logarithmic scale or not; by default if a density exceeds 50 means.
    particles
        Show the particles beside the run instead.
    """
    check_file_place("the film", film)
    from mfpde.plotting import animate as write_film
    from mfpde.storage import PARTICLES, load

    path = write_film(
        load(store, group=PARTICLES if particles else None),
        film,
        view=view,
        duration=duration,
        frames_per_second=frames_per_second,
        frames=frames,
        log=log,
        progress=None if quiet else _bar,
    )
    say(f"written to {path}")
    return DONE


def _bar(frames: Iterable[int]) -> Iterable[int]:
    from mfpde.runs.progress import progress_bar

    with progress_bar(disable=not sys.stderr.isatty()) as bar:
        yield from bar.track(frames, description="drawing frames")


def compare(store: Store, /, *, particles: Count | None = None) -> int:
    """Compare a stored run with particles from the same start, by W1 and W2.

    Example: mfpde compare run.zarr --particles 4000

    Parameters
    ----------
    particles
        How many; by default those stored beside the run, else 2000.
    """
    from mfpde.commands import report
    from mfpde.storage import PARTICLES, has_particles, load

    run = load(store)
    report.check_distances(run)
    if particles is None and has_particles(store):
        others = load(store, group=PARTICLES)
    else:
        if particles is not None and particles < 1:
            raise ValueError(f"--particles {particles} must be at least 1")
        if not run.states or run.times[0] > 0:
            raise ValueError(f"{store} has no state at t = 0")
        count = particles or DEFAULT_PARTICLES
        others = report.particle_run(
            run, count=count, method="auto", start=run.states[0], quiet=False
        )
    count = len(others.final)  # type: ignore[arg-type]
    say(f"{report.head(run)}\n\nagainst {count} particles ({others.reason}):")
    say(report.distance_table(run, others, orders=(1, 2)))
    return DONE


def cite(store: Store, /) -> int:
    """Print BibTeX entries for what a stored run used.

    Example: mfpde cite run.zarr > used.bib
    """
    from mfpde.runs.citations import cite as entries_of
    from mfpde.storage import has_particles, load

    say(entries_of(load(store), compared=has_particles(store)))
    return DONE
