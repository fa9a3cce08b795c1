"""The arguments of ``mfpde sweep`` and ``mfpde import``; light, for ``mfpde --help`` reads it."""

from __future__ import annotations

import argparse
from typing import TypeAlias

import mfpde.sweeps

_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_sweep(commands: _Commands) -> None:
    """Add ``mfpde sweep``, whose help tells what a sweep file holds."""
    sweep = commands.add_parser(
        "sweep",
        help="run each combination of settings that a sweep file spans",
        description=mfpde.sweeps.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sweep.add_argument("config", metavar="SWEEP.toml", help="the sweep file")
    sweep.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="change one setting of all runs; may be given several times",
    )
    sweep.add_argument(
        "--out", metavar="DIR", help="the folder, in place of the file's"
    )
    sweep.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes (default 1)"
    )
    sweep.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="of a Dask cluster, as in tcp://host:8786",
    )
    sweep.add_argument(
        "--shard", metavar="I/N", help="only the I-th of N parts, for job arrays"
    )
    sweep.add_argument(
        "--retry-failed", action="store_true", help="compute anew what has failed"
    )
    sweep.add_argument(
        "--list",
        action="store_true",
        help="check all runs and list them with what became of them; compute nothing",
    )
    sweep.add_argument(
        "--plot",
        metavar="QUANTITY",
        help="draw a quantity of the summary, as in atoms, energy_last, atom_masses",
    )
    sweep.add_argument(
        "--against",
        metavar="PARAMETER",
        help="the swept setting to draw it against, by default the first of numbers but seeds",
    )
    sweep.add_argument(
        "--figure",
        metavar="F.pdf",
        help="where to draw it (PDF and PNG); by default in the sweep's folder",
    )
    sweep.add_argument("--csv", metavar="T.csv", help="where to write the table")
    sweep.add_argument("--quiet", action="store_true", help="no progress, no report")


def add_import(commands: _Commands) -> None:
    """Add ``mfpde import``."""
    parser = commands.add_parser(
        "import",
        help="turn a configuration of the authors' particle code into a sweep file",
        description="Turn a config.json of the particle code of the paper's authors into a "
        "sweep file, with the neurons of its parameter file. Every key that has no meaning "
        "here, or another one, is listed with the reason.",
    )
    parser.add_argument("config", metavar="CONFIG.json", help="the configuration")
    parser.add_argument(
        "--output",
        metavar="SWEEP.toml",
        help="where to write the sweep file; by default the configuration's name with .toml",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace a file that is there"
    )
