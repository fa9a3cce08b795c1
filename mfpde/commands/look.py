"""Commands that look at a stored run: show, plot, view."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import mfpde
from mfpde.commands import DONE, options
from mfpde.commands.options import about
from mfpde.commands.terminal import save_picture, say


def show(
    store: options.Store,
    /,
    *,
    origin: Annotated[bool, about("Settings, wall times, versions too.")] = False,
) -> int:
    """Summarise a stored run.

    Example: mfpde show run.zarr --origin
    """
    from mfpde.commands import report, stores

    run = mfpde.load(store)
    say(run)
    if origin:
        say(f"\n{stores.describe_origin(store, run.statistics)}")
    beside = Path(store, mfpde.storage.PARTICLES)
    if stores.is_store(beside):
        say(f"\n{report.compare_with_particles(run, mfpde.load(beside))}")
    return DONE


def plot(
    store: options.Store,
    /,
    *,
    out: Annotated[options.File, about("Where; by default beside the store.")] = None,
) -> int:
    """Draw a stored run, as PDF and PNG.

    Example: mfpde plot run.zarr --out figures/run.pdf
    """
    figure = mfpde.plotting.plot_run(mfpde.load(store))
    save_picture(figure, out or Path(store).with_suffix(".pdf"))
    return DONE


def view(
    store: Annotated[str, about("A stored run, or a folder as a sweep leaves it.")],
    /,
    *others: Annotated[str, about("Others to be on the page, as one to compare.")],
    out: Annotated[options.File, about("Where; by default beside the store.")] = None,
    track: Annotated[bool, about("Follow atoms that were not followed.")] = False,
) -> int:
    """Write stored runs as one HTML page, to be opened in a browser.

    Example: mfpde view one.zarr other.zarr --out both.html
    """
    from mfpde.commands.stores import find_stores, read_runs
    from mfpde.viewer import write_page

    found = [one for place in (store, *others) for one in find_stores(Path(place))]
    first = Path(store)
    # Beside a store, or inside of a folder of stores.
    beside = first.with_suffix(".html") if found[0] == first else first / "view.html"
    runs = read_runs(found, track=track)
    path = write_page(runs, Path(out or beside), count=len(found))
    say(f"written to {path} ({path.stat().st_size / 1e6:.1f} MB): open it in a browser")
    return DONE
