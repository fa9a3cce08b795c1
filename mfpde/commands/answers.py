"""What commands share: words and tables on the terminal, figures, and checks before any work."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mfpde.geometry import Circle, Geometry, Sphere
    from mfpde.settings.sections import Output

MOST_NUMBERS = 1_000_000
"""Numbers that first:last:count may span."""


def say(text: str) -> None:
    """Write a line on stdout."""
    from mfpde.arrays import printable

    sys.stdout.write(f"{printable(text)}\n")


def complain(text: str) -> None:
    """Write a line on stderr."""
    from mfpde.arrays import printable

    sys.stderr.write(f"{printable(text)}\n")


def table(headers: Sequence[str], rows: Sequence[Sequence[float]]) -> str:
    """Return numbers in right-aligned columns under their headers; NaN is ``-``."""
    shown = [["-" if x != x else f"{x:.6g}" for x in row] for row in rows]
    cells = [list(headers), *shown]
    widths = [max(len(line[k]) for line in cells) for k in range(len(headers))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    )


def flat(record: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Return the entries of nested tables by dotted names, as ``--set`` takes them."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{name}.")
        elif value is not None:
            yield f"{above}{name}", value


def is_store(path: str | Path) -> bool:
    """Whether there is the store of a run, which may not have ended."""
    from mfpde.storage.files import has_journal

    return (Path(path) / "zarr.json").is_file() or has_journal(path)


def figure_saved(figure: Figure, path: str | Path) -> str:
    """Save a figure as PDF and PNG, and say where."""
    from mfpde.plotting import save_figure

    pdf, png = save_figure(figure, path)
    return f"drawn in {pdf} and {png}"


def answer(found: object, figure: str | None, plot: str, legend: str = "") -> None:
    """Print a result and a legend, and draw it by ``plot`` of mfpde where a figure is wanted."""
    import mfpde

    say(f"{found}\n\n{legend}".strip())
    if figure is not None:
        say(figure_saved(getattr(mfpde, plot)(found), figure))


def circle_or_sphere(geometry: Geometry, refusal: str) -> Circle | Sphere:
    """Return ``geometry``, or raise ``ValueError`` with ``refusal`` if it is zonal."""
    from mfpde.geometry import Circle, Sphere

    if not isinstance(geometry, Circle | Sphere):
        raise ValueError(refusal)
    return geometry


def check_writable(name: str, path: str | Path | None) -> None:
    """Refuse a ``path`` that cannot be written; ``name`` says which option gave it.

    The nearest folder that is there must take a file; nothing is left in it.
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
        why = error.strerror or str(error)
        raise ValueError(
            f"{name} {path} cannot be written: {why} ({folder})"
        ) from error


def check_file_place(name: str, path: str | Path | None) -> None:
    """Refuse a ``path`` for a file that cannot be written, or that is a folder."""
    check_writable(name, path)
    if path is not None and Path(path).is_dir():
        raise ValueError(
            f"{name} {path} is a folder: give the name of a file in it, as in "
            f"{Path(path) / 'figure.pdf'}"
        )


def check_inside_folder(output: Output, chosen: Collection[str] = ()) -> None:
    """Refuse outputs of a settings file outside of the folder in which the command runs.

    Those that the command itself names, ``chosen`` as in output.store, may be anywhere; a
    link that leads out of the folder may not.
    """
    for name, option in {"store": "--out", "figure": "--figure"}.items():
        path = getattr(output, name)
        if path is None or f"output.{name}" in chosen:
            continue
        if not Path(path).resolve().is_relative_to(Path.cwd().resolve()):
            raise ValueError(
                f"[output] {name} = {path!r} lies outside of the folder in which the run is "
                f"started, where a settings file writes nothing: name it by {option}"
            )


def numbers_in(option: str, text: str) -> list[float]:
    """Return the numbers that ``option`` gives: with commas, or first:last:count."""
    import numpy as np

    from mfpde.arrays import whole_number

    words = text.split(":")
    try:
        if len(words) == 3:
            count = whole_number(
                "count", int(words[2]), at_least=1, at_most=MOST_NUMBERS
            )
            return [*map(float, np.linspace(float(words[0]), float(words[1]), count))]
        return [float(word) for word in text.split(",")]
    except ValueError as error:
        raise ValueError(
            f"{option} {text!r} must be numbers with commas, as in 5,10,20, or "
            f"first:last:count, as in 5:20:16 (count from 1 to {MOST_NUMBERS})"
        ) from error
