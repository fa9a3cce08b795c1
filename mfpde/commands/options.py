"""The arguments that commands share, each with the words of its help and its check."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

MOST_NUMBERS = 1_000_000
"""Numbers that first:last:count may span."""


def about(help: str) -> Parameter:
    """Return what gives an argument its help."""
    return Parameter(help=help)


def option(metavar: str, read: Callable[[str], Any] = str) -> Parameter:
    """Return what names the value of an option, and reads it."""
    return Parameter(
        metavar=metavar, n_tokens=1, converter=lambda _, tokens: read(tokens[0].value)
    )


def _read_whole(text: str) -> int:
    """Read a whole number; cyclopts would round 2.7 to one."""
    try:
        return int(text)
    except ValueError as error:
        raise ValueError(f"{text!r} must be a whole number") from error


def _read_numbers(text: str) -> list[float]:
    """Read numbers with commas, or first:last:count."""
    import numpy as np

    first, *rest = text.split(":")
    try:
        if len(rest) != 2:
            return [float(word) for word in text.split(",")]
        last, count = float(rest[0]), int(rest[1])
        if not 1 <= count <= MOST_NUMBERS:
            raise ValueError
        return [*map(float, np.linspace(float(first), last, count))]
    except ValueError as error:
        raise ValueError(
            f"{text!r} must be numbers with commas, as in 5,10,20, or first:last:count, as "
            f"in 5:20:16 (count from 1 to {MOST_NUMBERS})"
        ) from error


def check_place(path: str, *, is_store: bool = False) -> str:
    """Return the ``path`` of a file, or of a store, that can be written, or refuse it.

    The nearest folder that is there must take a file; nothing is left in it.
    """
    folder = Path(path).absolute().parent
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        why = error.strerror or str(error)
        raise ValueError(f"{path!r} cannot be written: {why} ({folder})") from error
    if Path(path).is_dir() and not is_store:
        inside = Path(path) / "figure.pdf"
        raise ValueError(
            f"{path!r} is a folder: give the name of a file in it, as in {inside}"
        )
    return path


Count = Annotated[int, option("N", _read_whole)]
Real = Annotated[float, Parameter(metavar="X")]
Numbers = Annotated[
    list[float],
    option("V,V,V", _read_numbers),
    about("Numbers with commas, or first:last:count."),
]
Names = Annotated[tuple[str, ...], Parameter(consume_multiple=1, metavar="NAME")]
Folder = Annotated[str | None, option("PATH", partial(check_place, is_store=True))]
File = Annotated[str | None, option("FILE", check_place)]
Figure = Annotated[File, about("Draw a picture there, as PDF and PNG.")]
Csv = Annotated[File, about("Write the numbers there, as a table (CSV).")]
Quiet = Annotated[bool, about("No progress and no report, only errors.")]
Config = Annotated[
    str, about("Settings file (TOML). `mfpde settings` lists what it may hold.")
]
Changes = Annotated[
    tuple[str, ...],
    Parameter("--set", metavar="SECTION.KEY=VALUE"),
    about("Change one setting, as in attention.beta=9; may be given several times."),
]
Store = Annotated[str, about("A stored run, as `mfpde run --out X.zarr` leaves it.")]
