"""The arguments that commands share, each with the words of its help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter, Token


def convert(kind: Any, tokens: Sequence[Token]) -> Any:
    """Return a number as Python reads it; cyclopts would round 2.7 to a whole one."""
    try:
        return kind(tokens[0].value)
    except (ValueError, OverflowError) as error:
        words = "whole number" if kind is int else "number"
        raise ValueError(f"must be a {words}") from error


def option(words: str, metavar: str | None = None) -> Parameter:
    """Return an option with its help."""
    return Parameter(help=words, metavar=metavar)


Count = Annotated[
    int, Parameter(converter=lambda _, tokens: convert(int, tokens), metavar="N")
]
Real = Annotated[
    float, Parameter(converter=lambda _, tokens: convert(float, tokens), metavar="X")
]
File = Annotated[str | None, Parameter(metavar="FILE")]
Numbers = Annotated[str, Parameter(metavar="V,V,V")]

Config = Annotated[
    str,
    option("Settings file (TOML). `mfpde settings` lists what it may hold."),
]
Changes = Annotated[
    tuple[str, ...],
    Parameter(
        name="--set",
        metavar="SECTION.KEY=VALUE",
        help="Change one setting, as in attention.beta=9; may be given several times.",
    ),
]
Store = Annotated[str, option("A stored run, as `mfpde run --out X.zarr` leaves it.")]
Figure = Annotated[str | None, option("Draw a picture there, as PDF and PNG.", "F.pdf")]
Csv = Annotated[str | None, option("Write the table there.", "T.csv")]
Quiet = Annotated[bool, option("No progress and no report, only errors.")]
