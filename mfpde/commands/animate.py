"""``mfpde animate`` writes a stored run as a film."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from mfpde.commands import DONE
from mfpde.commands.answers import check_file_place, say
from mfpde.notebook import progress_bar
from mfpde.storage import PARTICLES, load


def animate(arguments: argparse.Namespace) -> int:
    """Write a stored run, or the particles beside it, as a film: mp4 or gif."""
    from mfpde.plotting import animate as written

    check_file_place("the film", arguments.film)
    group = PARTICLES if arguments.particles else None
    path = written(
        load(arguments.store, group=group),
        arguments.film,
        view=arguments.view,
        frames_per_second=arguments.frames_per_second,
        frames=arguments.frames,
        log=arguments.log,
        progress=None if arguments.quiet else _bar,
    )
    say(f"written to {path}")
    return DONE


def _bar(frames: Iterable[int]) -> Iterable[int]:
    with progress_bar(disable=not sys.stderr.isatty()) as bar:
        yield from bar.track(frames, description="drawing frames")
