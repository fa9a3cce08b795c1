"""``mfpde study``: the run of a settings file on a ladder of grids."""

from __future__ import annotations

import argparse

from mfpde.commands import DONE
from mfpde.commands.answers import check_file_place, circle_or_sphere, figure_saved, say
from mfpde.geometry import Circle, Sphere
from mfpde.measures.measure import Density, Measure, as_measure, atoms_of
from mfpde.runs.run import Run
from mfpde.settings.settings import Settings, SettingsError, read_settings
from mfpde.studies import AtomConvergence
from mfpde.studies.study import convergence_of_starts

RUNGS = 3


def study(arguments: argparse.Namespace) -> int:
    """Check everything, solve on each grid, and print, write and draw what was found."""
    check_file_place("--csv", arguments.csv)
    check_file_place("--figure", arguments.figure)
    settings = read_settings(arguments.config, arguments.set)
    found = _found(settings, arguments)
    if not arguments.quiet:
        say(str(found))
    if arguments.csv is not None:
        found.write_csv(arguments.csv)
    if arguments.figure is not None:
        from mfpde.plotting import plot_convergence

        try:
            figure = plot_convergence(found)
        except ValueError as error:
            raise SettingsError(f"--figure {arguments.figure}: {error}") from error
        drawn = figure_saved(figure, arguments.figure)
        if not arguments.quiet:
            say(drawn)
    return DONE


def _found(settings: Settings, arguments: argparse.Namespace) -> AtomConvergence:
    grids = _grids(settings, arguments.cells)
    starts = [_density(settings.start.build(grid)) for grid in grids]
    wanted = settings.solve_arguments()
    options = {name: wanted[name] for name in ("stop", "transport", "max_step")}
    if arguments.rtol is not None:
        options["rtol"] = arguments.rtol
    try:
        return convergence_of_starts(
            settings.build_equation(),
            starts,
            t_end=wanted["t_end"],
            atoms=arguments.atoms,
            particles=arguments.particles,
            on_run=None if arguments.quiet else _say_done,
            **options,
        )
    except ValueError as error:
        raise SettingsError(str(error)) from error


def _density(start: Density | Measure) -> Density:
    if len(atoms_of(start).masses):
        raise SettingsError(
            "[start] has atoms, but a study begins with a density on each grid: choose a "
            "time before the first atom"
        )
    return as_measure(start).density


def _grids(settings: Settings, given: str | None) -> list[Circle | Sphere]:
    """Return the grids of ``--cells``, or a quarter, half and all of the settings'."""
    built = settings.build_geometry()
    geometry = circle_or_sphere(
        built, f"[geometry] atoms are studied on a circle or a sphere, not on {built!r}"
    )
    finest = geometry.shape[0]
    text = given or ",".join(str(finest >> k) for k in reversed(range(RUNGS)))
    words = [word.strip() for word in text.split(",")]
    wrong = next((word for word in words if not word.isdecimal()), None)
    if wrong is not None:
        raise SettingsError(
            f"--cells {text!r}: {wrong!r} is no whole number; give cells of a circle or "
            "rings of a sphere with commas, as in 256,512,1024"
        )
    try:
        return [type(geometry)(int(word)) for word in words]
    except ValueError as error:
        raise SettingsError(f"--cells {text!r}: {error}") from error


def _say_done(run: Run) -> None:
    numbers = run.statistics
    say(
        f"{run.final.geometry!r}: {numbers['steps']} steps, "  # type: ignore[union-attr]
        f"{float(numbers['wall_seconds']):.1f} s"
    )
