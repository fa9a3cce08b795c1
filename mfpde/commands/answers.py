"""What commands share: words and tables on the terminal, figures, and checks before any work."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mfpde.arrays import IntArray, printable, whole_number
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.settings.base import SettingsError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mfpde.settings.base import Table

MOST_NUMBERS = 1_000_000
"""Numbers that first:last:count may span."""


def say(text: str) -> None:
    """Write a line on stdout."""
    sys.stdout.write(f"{printable(text)}\n")


def complain(text: str) -> None:
    """Write a line on stderr."""
    sys.stderr.write(f"{printable(text)}\n")


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


def figure_saved(figure: Figure, path: str | Path) -> str:
    """Save a figure as PDF and PNG, and say where."""
    from mfpde.plotting import save_figure

    pdf, png = save_figure(figure, path)
    return f"drawn in {pdf} and {png}"


def circle_or_sphere(geometry: Geometry, refusal: str) -> Circle | Sphere:
    """Return ``geometry``, or raise :class:`SettingsError` with ``refusal`` if it is zonal."""
    if not isinstance(geometry, Circle | Sphere):
        raise SettingsError(refusal)
    return geometry


def check_writable(name: str, path: str | Path | None) -> None:
    """Refuse a ``path`` that cannot be written; ``name`` says which option gave it.

    The nearest folder that is there must take a file; nothing is left in it.

    Raises
    ------
    SettingsError
        If the path is a folder itself where a file is wanted, or its folder takes none.
    """
    if path is None:
        return
    folder = Path(path).absolute().parent
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsError(
            f"{name} {path} cannot be written: {reason} ({folder})"
        ) from error


def check_file_place(name: str, path: str | Path | None) -> None:
    """Refuse a ``path`` for a file that cannot be written, or that is a folder."""
    check_writable(name, path)
    if path is not None and Path(path).is_dir():
        raise SettingsError(
            f"{name} {path} is a folder: give the name of a file in it, as in "
            f"{Path(path) / 'figure.pdf'}"
        )


def check_inside_folder(output: Table, chosen: Collection[str] = ()) -> None:
    """Refuse outputs of a settings file outside of the folder in which the command runs.

    Those that the command itself names, ``chosen`` as in output.store, may be anywhere.

    Raises
    ------
    SettingsError
        If a path leads out of the folder, also by way of a link.
    """
    options = {"store": "--out", "figure": "--figure"}
    for name, option in options.items():
        path = getattr(output, name)
        if path is None or f"output.{name}" in chosen:
            continue
        if not Path(path).resolve().is_relative_to(Path.cwd().resolve()):
            raise SettingsError(
                f"[output] {name} = {path!r} lies outside of the folder in which the run is "
                f"started, where a settings file writes nothing: name it by {option}"
            )


def numbers_in(option: str, text: str) -> list[float]:
    """Numbers with commas, or first:last:count, given to ``option``.

    Raises
    ------
    SettingsError
        If the text is neither.
    """
    words = text.split(":")
    try:
        if len(words) == 3:
            count = whole_number(
                "count", int(words[2]), at_least=1, at_most=MOST_NUMBERS
            )
            spaced = np.linspace(float(words[0]), float(words[1]), count)
            return [float(number) for number in spaced]
        return [float(word) for word in text.split(",")]
    except ValueError as error:
        raise SettingsError(
            f"{option} {text!r} must be numbers with commas, as in 5,10,20, or "
            f"first:last:count, as in 5:20:16 (count from 1 to {MOST_NUMBERS})"
        ) from error
