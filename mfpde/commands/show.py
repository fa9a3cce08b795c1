"""``mfpde show``, ``plot`` and ``compare``: what can be done with a stored run."""

from __future__ import annotations

import argparse
from pathlib import Path

from mfpde.commands import DONE
from mfpde.commands.answers import check_file_place, say
from mfpde.commands.report import distance_table, drawn, head, summary
from mfpde.settings.settings import SettingsError
from mfpde.storage import PARTICLES, has_particles, load

DEFAULT_PARTICLES = 2000


def show(arguments: argparse.Namespace) -> int:
    """Summarise a stored run, and the particles beside it."""
    run = load(arguments.store)
    say(summary(run))
    if has_particles(arguments.store):
        particles = load(arguments.store, group=PARTICLES)
        say(f"\nparticles beside: {len(particles.final)}")  # type: ignore[arg-type]
        say(distance_table(run, particles))
    return DONE


def plot(arguments: argparse.Namespace) -> int:
    """Draw a stored run as PDF and PNG."""
    path = arguments.out or Path(arguments.store).with_suffix(".pdf")
    check_file_place("--out", path)
    say(drawn(load(arguments.store), path))
    return DONE


def compare(arguments: argparse.Namespace) -> int:
    """Compare a stored run with particles from the same start, by W1 and W2."""
    from mfpde.commands.report import particle_run

    run = load(arguments.store)
    wanted = arguments.particles
    if wanted is None and has_particles(arguments.store):
        particles = load(arguments.store, group=PARTICLES)
    else:
        if wanted is not None and wanted < 1:
            raise SettingsError(f"--particles {wanted} must be at least 1")
        if not run.states or run.times[0] > 0:
            raise SettingsError(f"{arguments.store} has no state at t = 0")
        particles = particle_run(
            run,
            count=wanted or DEFAULT_PARTICLES,
            method="auto",
            start=run.states[0],
            quiet=False,
        )
    count = len(particles.final)  # type: ignore[arg-type]
    say(f"{head(run)}\n\nagainst {count} particles ({particles.reason}):")
    say(distance_table(run, particles, orders=(1, 2)))
    return DONE
