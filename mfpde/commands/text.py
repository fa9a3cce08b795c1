"""Words and tables on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from mfpde.arrays import IntArray


def say(text: str) -> None:
    """Write a line on stdout."""
    sys.stdout.write(f"{text}\n")


def complain(text: str) -> None:
    """Write a line on stderr."""
    sys.stderr.write(f"{text}\n")


def table(headers: Sequence[str], rows: Sequence[Sequence[float]]) -> str:
    """Return numbers in right-aligned columns under their headers."""
    cells = [list(headers), *([_shown(number) for number in row] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(headers))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    )


def spread(count: int, wanted: int) -> IntArray:
    """Return at most ``wanted`` of the indices 0..count-1, evenly, with both ends."""
    return np.unique(np.linspace(0, count - 1, min(wanted, count)).round().astype(int))


def _shown(number: float) -> str:
    return "-" if np.isnan(number) else f"{number:.6g}"
