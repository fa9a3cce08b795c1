"""The page itself: template, style, scripts, colours and runs in one file.

The page asks nothing of the network, and says so to the browser (its content security policy
allows no address at all).  The same runs give the same bytes.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps

from mfpde.arrays import check_kind, shown
from mfpde.plotting.palette import ATOM, DENSITY, DENSITY_MAP, NEURONS
from mfpde.runs.run import Run
from mfpde.viewer.exhibit import Exhibit, exhibit_of

ROOM = 7_000_000
"""Numbers of two bytes for the states of all runs: 19 MB if nothing deflates."""
MANY = 2
"""Of more runs a page leaves half of the room to what is told of each."""


class NamedRun(NamedTuple):
    """A run with its name on the page, and what tells it from the others."""

    name: str
    run: Run
    parameters: dict[str, Any]


def view(
    run: Run,
    *others: Run,
    path: str | Path = "view.html",
    names: Sequence[str] | None = None,
) -> Path:
    """Write runs as one HTML page that opens from disk, without any network.

    One run fills the page; two stand side by side with one slider; more are cards that open.
    The sphere is a globe to turn, a density on the circle or on a zonal grid a curve; with
    atoms and their paths (where the run has a track), the neurons' half-spaces and V, and the
    diagnostics.  A page stays below 20 MB: what had to be coarsened for that is said on it.

    Parameters
    ----------
    run, others
        Runs with saved states: on a circle, a sphere, a zonal grid, or particles on S^1 and
        S^2.  ``run.tracked()`` brings the paths of the atoms.
    path
        Where to write; missing folders are made.
    names
        What the runs are called on the page, one name for each; by default their numbers.

    Returns
    -------
    The path of the page.

    Raises
    ------
    ValueError
        If a run has no saved states or no picture, names do not fit the runs, or the path is
        a folder.
    """
    runs = [run, *others]
    for number, one in enumerate(runs, 1):
        check_kind(f"run {number}", one, Run, source="what solve returns or load reads")
    called = [f"run {k + 1}" for k in range(len(runs))] if names is None else names
    if isinstance(called, str) or len(called) != len(runs):
        raise ValueError(
            f"names = {shown(called)} must be a list with a name for each of the "
            f"{len(runs)} runs"
        )
    place = Path(path)
    if place.is_dir():
        raise ValueError(
            f"path = {str(path)!r} is a folder: give the name of a file in it, as in "
            f"{str(place / 'view.html')!r}"
        )
    named = [NamedRun(str(n), r, {}) for n, r in zip(called, runs, strict=True)]
    return write_page(named, place, count=len(named))


def write_page(runs: Iterable[NamedRun], path: Path, *, count: int) -> Path:
    """Write a page of ``count`` runs, which are taken one by one."""
    room = (ROOM if count <= MANY else ROOM // 2) // max(count, 1)
    exhibits = [
        exhibit_of(one.run, one.name, parameters=one.parameters, room=room)
        for one in runs
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page_of(exhibits), "utf-8")
    return path


def page_of(exhibits: Sequence[Exhibit]) -> str:
    """Return the page's text: its template with the parts that it names, and what is made."""
    names = ", ".join(exhibit.card["name"] for exhibit in exhibits[:MANY])
    if len(exhibits) > MANY:
        names = f"{len(exhibits)} runs"
    told = {
        "runs": [exhibit.card for exhibit in exhibits],
        "colours": {"density": _colours(DENSITY_MAP), "potential": _colours("RdBu_r")},
        "palette": {"density": DENSITY, "atom": ATOM, "neurons": NEURONS},
    }
    numbers = [
        f'<script type="text/plain" id="numbers-{k}">{exhibit.text}</script>'
        for k, exhibit in enumerate(exhibits)
    ]
    made = {
        "title": html.escape(names),
        # No text inside can end the script before its time.
        "runs": json.dumps(told, allow_nan=False, default=str).replace("<", "\\u003c"),
        "numbers": "\n".join(numbers),
    }
    return re.sub(
        "<!--(.+?)-->",
        lambda mark: made.get(mark[1]) or _part(mark[1]),
        _part("template.html"),
    )


def _part(name: str) -> str:
    return (files("mfpde.viewer") / "page" / name).read_text("utf-8")


def _colours(name: str) -> str:
    """The 256 colours of a map of the pictures, six hexadecimal digits each."""
    table = colormaps[name](np.linspace(0, 1, 256), bytes=True)
    return bytes(table[:, :3].tobytes()).hex()
