"""``mfpde study``: the run of a settings file on a ladder of grids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mfpde.commands import DONE
from mfpde.commands.answers import check_file_place, circle_or_sphere, figure_saved, say
from mfpde.commands.options import (
    Changes,
    Config,
    Count,
    Csv,
    Figure,
    Numbers,
    Quiet,
    Real,
)

if TYPE_CHECKING:
    from mfpde.geometry import Circle, Geometry, Sphere
    from mfpde.measures.measure import Density, Measure
    from mfpde.runs.run import Run

RUNGS = 3
LEGEND = """\
positions in rad; difference: from the next coarser grid; order: that of convergence, log2 of the
ratio of two differences on grids that double"""


def study(
    config: Config,
    /,
    *,
    changes: Changes = (),
    cells: Numbers | None = None,
    atoms: Literal["exact", "grid"] = "exact",
    particles: Count | None = None,
    rtol: Real | None = None,
    csv: Csv = None,
    figure: Figure = None,
    quiet: Quiet = False,
) -> int:
    """Run on several grids, and say which digits of the atoms hold.

    Example: mfpde study run.toml --cells 256,512,1024 --csv atoms.csv

    Parameters
    ----------
    cells
        Cells, or rings of spheres; by default a quarter, half and all of the settings' grid.
    atoms
        Exact atoms beside the density, or all of the mass on the grid.
    particles
        How many to compare with; 0 for none.
    rtol
        Error in time; by default 1e-5.
    """
    check_file_place("--csv", csv)
    check_file_place("--figure", figure)
    from mfpde.settings.settings import read_settings, settings_from_dict
    from mfpde.studies.study import convergence_of_starts

    settings = read_settings(config, changes)
    starts = []
    for grid in _grids(settings.geometry, cells):
        kind, size = ("circle", "cells") if grid.dimension == 2 else ("sphere", "nlat")
        on_grid = {**settings.data, "geometry": {"kind": kind, size: grid.shape[0]}}
        starts.append(_density(settings_from_dict(on_grid).start))
    wanted = settings.solve_arguments()
    options = {name: wanted[name] for name in ("stop", "transport", "max_step")}
    if rtol is not None:
        options["rtol"] = rtol
    found = convergence_of_starts(
        settings.single_equation(),
        starts,
        t_end=wanted["t_end"],
        atoms=atoms,
        particles=particles,
        on_run=None if quiet else _say_done,
        **options,
    )
    if not quiet:
        say(f"{found}\n\n{LEGEND}")
    if csv is not None:
        found.write_csv(csv)
    if figure is not None:
        from mfpde.plotting import plot_convergence

        try:
            drawn = figure_saved(plot_convergence(found), figure)
        except ValueError as error:
            raise ValueError(f"--figure {figure}: {error}") from error
        if not quiet:
            say(drawn)
    return DONE


def _density(start: Density | Measure) -> Density:
    from mfpde.measures.measure import as_measure, atoms_of

    if len(atoms_of(start).masses):
        raise ValueError(
            "[start] has atoms, but a study begins with a density on each grid: choose a "
            "time before the first atom"
        )
    return as_measure(start).density


def _grids(built: Geometry, given: str | None) -> list[Circle | Sphere]:
    """Return the grids of ``--cells``, or a quarter, half and all of the settings'."""
    geometry = circle_or_sphere(
        built, f"[geometry] atoms are studied on a circle or a sphere, not on {built!r}"
    )
    finest = geometry.shape[0]
    text = given or ",".join(str(finest >> k) for k in reversed(range(RUNGS)))
    words = [word.strip() for word in text.split(",")]
    wrong = next((word for word in words if not word.isdecimal()), None)
    if wrong is not None:
        raise ValueError(
            f"--cells {text!r}: {wrong!r} is no whole number; give cells of a circle or "
            "rings of a sphere with commas, as in 256,512,1024"
        )
    try:
        return [type(geometry)(int(word)) for word in words]
    except ValueError as error:
        raise ValueError(f"--cells {text!r}: {error}") from error


def _say_done(run: Run) -> None:
    steps, seconds = run.statistics["steps"], float(run.statistics["wall_seconds"])
    say(f"{run.final.geometry!r}: {steps} steps, {seconds:.1f} s")  # type: ignore[union-attr]
