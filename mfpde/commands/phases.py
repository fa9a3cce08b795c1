"""``mfpde phase-diagram``: where order begins and wins under attention with diffusion."""

from __future__ import annotations

import argparse

from mfpde.commands import DONE
from mfpde.commands.answers import check_file_place, figure_saved, numbers_in, say
from mfpde.settings.base import SettingsError
from mfpde.theory import phase_diagram as diagram_of


def phase_diagram(arguments: argparse.Namespace) -> int:
    """Print the table of a phase diagram, and draw it."""
    check_file_place("--figure", arguments.figure)
    betas = numbers_in("--betas", arguments.betas)
    if arguments.figure is not None and len(betas) < 2:
        raise SettingsError(
            f"--betas {arguments.betas!r}: a picture needs two values or more"
        )
    try:
        found = diagram_of(arguments.dimension, betas, kernel=arguments.kernel)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    say(str(found))
    if arguments.figure is not None:
        from mfpde.plotting import plot_phase_diagram

        say(figure_saved(plot_phase_diagram(found), arguments.figure))
    return DONE
