"""What commands say, and what they draw."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import mfpde


def say(text: object, *, quiet: bool = False) -> None:
    """Write a line on stdout, unless it is to be ``quiet``."""
    from mfpde.arrays import printable

    if not quiet:
        sys.stdout.write(f"{printable(str(text))}\n")


def complain(text: str) -> None:
    """Write a line on stderr."""
    from mfpde.arrays import printable

    sys.stderr.write(f"{printable(text)}\n")


def save_picture(figure: Any, path: str | Path, *, quiet: bool = False) -> None:
    """Save a figure as PDF and PNG, and say where."""
    pdf, png = mfpde.plotting.save_figure(figure, path)
    say(f"drawn in {pdf} and {png}", quiet=quiet)


def answer(found: object, figure: str | None, plot: str, legend: str = "") -> None:
    """Print a result and a legend, and draw it by ``plot`` of mfpde where a figure is wanted."""
    say(f"{found}\n\n{legend}".strip())
    if figure is not None:
        save_picture(getattr(mfpde.plotting, plot)(found), figure)
