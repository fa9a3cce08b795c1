"""``mfpde minimize`` and ``continuation`` of a settings file, ``mfpde phase-diagram``."""

from __future__ import annotations

import argparse

from mfpde.branches import continuation as followed
from mfpde.branches.arclength import check_parameter, equation_at
from mfpde.branches.following import BranchStart
from mfpde.commands import DONE, NUMERICAL_FAILURE
from mfpde.commands.answers import (
    check_file_place,
    circle_or_sphere,
    figure_saved,
    numbers_in,
    say,
)
from mfpde.measures.measure import Atoms
from mfpde.settings.settings import Settings, SettingsError, read_settings
from mfpde.stationary import maximize
from mfpde.stationary import minimize as minimized
from mfpde.stationary.certification import energy_scale
from mfpde.theory import phase_diagram as diagram_of


def minimize(arguments: argparse.Namespace) -> int:
    """Minimise, print kind, energy, gap and atoms, and draw if a figure is asked for.

    The exit code is 3 if the gap is not as small as wanted; it is printed all the same.
    """
    check_file_place("--figure", arguments.figure)
    settings = read_settings(arguments.config, arguments.set)
    equation, geometry = settings.build_equation(), settings.build_geometry()
    grid = circle_or_sphere(
        geometry, f"geometry = {geometry!r}: minimize works on a circle or a sphere"
    )
    try:
        found = minimized(equation, grid, tolerance=arguments.tolerance)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    say(str(found))
    if arguments.figure is not None:
        from mfpde.plotting import plot_certificate

        say(figure_saved(plot_certificate(found), arguments.figure))
    wanted = arguments.tolerance * energy_scale(equation)
    return DONE if found.gap <= wanted else NUMERICAL_FAILURE


def continuation(arguments: argparse.Namespace) -> int:
    """Follow the best stationary state at the first value, print the branch, and draw it.

    That is the minimiser of E in descent and its maximiser in ascent, whose masses are frozen
    from there on; with diffusion the stationary density beside the start in the settings.  The
    exit code is 3 if the branch ends before the last value.
    """
    check_file_place("--figure", arguments.figure)
    settings = read_settings(arguments.config, arguments.set)
    values = numbers_in("--values", arguments.values)
    try:
        start = _start(settings, arguments.parameter, values[0])
        found = followed(
            settings.build_equation(),
            start,
            arguments.parameter,
            values,
            switch=arguments.switch,
        )
    except ValueError as error:
        raise SettingsError(str(error)) from error
    say(str(found))
    if arguments.figure is not None:
        from mfpde.plotting import plot_continuation

        say(figure_saved(plot_continuation(found), arguments.figure))
    return DONE if found.is_complete else NUMERICAL_FAILURE


def _start(settings: Settings, parameter: str, value: float) -> BranchStart:
    geometry = settings.build_geometry()
    given = settings.build_equation()
    check_parameter(given, parameter)
    equation = equation_at(given, parameter, value)
    if equation.diffusion > 0:
        return settings.start.build(geometry)  # type: ignore[no-any-return]
    if equation.has_softmax:
        raise ValueError(
            "attention.normalized = true: the branch would start from the minimiser or the "
            "maximiser of E, and softmax attention is no gradient of E; give the atoms to "
            "start from to mfpde.continuation in Python, or set attention.normalized=false"
        )
    if equation.direction == "ascent":
        best = maximize(equation)
        return Atoms(best.points[:1])
    grid = circle_or_sphere(
        geometry,
        f"geometry = {geometry!r}: the minimiser that the branch starts from is known "
        "on a circle or a sphere",
    )
    found = minimized(equation, grid)
    if found.atoms is None:
        raise ValueError(
            f"{parameter} = {value:g}: the minimiser there is a {found.kind}, not of atoms; "
            "choose another first value"
        )
    return found.atoms


def phase_diagram(arguments: argparse.Namespace) -> int:
    """Print the table of a phase diagram, and draw it."""
    check_file_place("--figure", arguments.figure)
    betas = numbers_in("--betas", arguments.betas)
    if arguments.figure is not None and len(betas) < 2:
        raise SettingsError(
            f"--betas {arguments.betas!r}: a picture needs two values or more"
        )
    try:
        found = diagram_of(
            arguments.dimension,
            betas,
            kernel=arguments.kernel,
            degree=arguments.degree,
        )
    except ValueError as error:
        raise SettingsError(str(error)) from error
    say(str(found))
    if arguments.figure is not None:
        from mfpde.plotting import plot_phase_diagram

        say(figure_saved(plot_phase_diagram(found), arguments.figure))
    return DONE
