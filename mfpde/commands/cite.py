"""``mfpde cite`` prints BibTeX for the equation and the methods that a stored run used."""

from __future__ import annotations

import argparse

from mfpde.commands import DONE
from mfpde.commands.answers import say
from mfpde.runs.citations import cite as entries_of
from mfpde.storage import has_particles, load


def cite(arguments: argparse.Namespace) -> int:
    """Print the entries; particles beside the run were compared with it."""
    say(entries_of(load(arguments.store), compared=has_particles(arguments.store)))
    return DONE
