"""``mfpde minimize``: the measure of least energy of the equation in a settings file."""

from __future__ import annotations

import argparse

from mfpde.commands import DONE, NUMERICAL_FAILURE


def minimize(arguments: argparse.Namespace) -> int:
    """Minimise, print kind, energy, gap and atoms, and draw if a figure is asked for.

    The exit code is 3 if the gap is not as small as wanted; it is printed all the same.
    """
    from mfpde.commands.answers import check_file_place, say
    from mfpde.geometry import Circle, Sphere
    from mfpde.settings.settings import SettingsError, read_settings
    from mfpde.stationary import minimize as minimized
    from mfpde.stationary.certification import energy_scale

    check_file_place("--figure", arguments.figure)
    settings = read_settings(arguments.config, arguments.set)
    equation, geometry = settings.build_equation(), settings.build_geometry()
    if not isinstance(geometry, Circle | Sphere):
        raise SettingsError(
            f"geometry = {geometry!r}: minimize works on a circle or a sphere"
        )
    try:
        found = minimized(equation, geometry, tolerance=arguments.tolerance)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    say(str(found))
    if arguments.figure is not None:
        from mfpde.plotting import plot_certificate, save_figure

        pdf, png = save_figure(plot_certificate(found), arguments.figure)
        say(f"drawn in {pdf} and {png}")
    wanted = arguments.tolerance * energy_scale(equation)
    return DONE if found.gap <= wanted else NUMERICAL_FAILURE
