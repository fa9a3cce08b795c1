"""The arguments of the commands for stored runs: show, plot, view, animate, cite, compare."""

from __future__ import annotations

import argparse
from typing import TypeAlias

_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_stored(commands: _Commands) -> None:
    """Add the commands for stored runs to ``commands``."""
    show = commands.add_parser(
        "show", help="summarise a stored run, or say how two differ"
    )
    show.add_argument("store", metavar="X.zarr")
    show.add_argument("other", nargs="?", metavar="Y.zarr")
    show.add_argument(
        "--origin", action="store_true", help="also versions, commit and wall times"
    )
    cite = commands.add_parser("cite", help="print BibTeX for what a stored run used")
    cite.add_argument("store", metavar="X.zarr")
    plot = commands.add_parser("plot", help="draw a stored run as PDF and PNG")
    plot.add_argument("store", metavar="X.zarr")
    plot.add_argument("--out", metavar="F.pdf", help="by default beside the store")
    view = commands.add_parser(
        "view", help="write stored runs as one HTML page, to be opened in a browser"
    )
    view.add_argument(
        "stores",
        nargs="+",
        metavar="X.zarr",
        help="a run, two to compare, or a folder of stores as a sweep leaves it",
    )
    view.add_argument("--out", metavar="F.html", help="by default beside the store")
    view.add_argument(
        "--track",
        action="store_true",
        help="follow the atoms of runs that were stored without their paths",
    )
    _add_animate(commands)
    compare = commands.add_parser(
        "compare", help="compare a stored run with particles from the same start"
    )
    compare.add_argument("store", metavar="X.zarr")
    compare.add_argument(
        "--particles",
        type=int,
        metavar="N",
        help="by default those stored beside the run, else 2000",
    )


def _add_animate(commands: _Commands) -> None:
    film = commands.add_parser("animate", help="write a stored run as a film")
    film.add_argument("store", metavar="X.zarr")
    film.add_argument(
        "film", metavar="FILM.mp4", help="the file: .mp4 (needs ffmpeg) or .gif"
    )
    film.add_argument("--view", choices=("globe", "map", "curve"))
    film.add_argument("--frames-per-second", type=int, default=15, metavar="F")
    film.add_argument("--frames", type=int, metavar="N", help="so many saves at most")
    film.add_argument(
        "--log",
        action=argparse.BooleanOptionalAction,
        help="logarithmic scale; by default if a density exceeds 50 means",
    )
    film.add_argument(
        "--particles", action="store_true", help="the particles beside the run"
    )
    add_quiet(film)


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Add the switch ``--quiet`` to a command."""
    parser.add_argument("--quiet", action="store_true", help="no progress, no report")
