"""Several stored runs: where they are, and in what they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mfpde.commands.terminal import complain
from mfpde.settings.files import flatten
from mfpde.storage import StoreError, load, read_description
from mfpde.storage.files import has_journal
from mfpde.viewer import NamedRun

LONGEST = 36
"""Letters of a value beside a run on a page."""


def settings_of(store: str | Path) -> dict[str, Any]:
    """Return the settings of a store by dotted names; none if they cannot be read."""
    try:
        return flatten(read_description(store).settings or {})
    except (StoreError, FileNotFoundError):
        return {}


def describe_origin(store: str, statistics: Mapping[str, Any]) -> str:
    """Return settings of a run, where its wall time went, and what made it on which machine."""
    times = {
        f"{name.removesuffix('_seconds')} [s]": f"{value:.3g}"
        for name, value in statistics.items()
        if name.endswith("_seconds")
    }
    provenance = read_description(store).provenance
    records = [settings_of(store), times, provenance]
    return "\n\n".join(
        "\n".join(f"{name + ':':24} {value}" for name, value in record.items())
        for record in records
    )


# On a page


def is_store(path: str | Path) -> bool:
    """Whether there is the store of a run, which may not have ended."""
    return (Path(path) / "zarr.json").is_file() or has_journal(path)


def find_stores(place: Path) -> list[Path]:
    """Return the stores in a folder; else the place itself: to read it says what is wrong."""
    inside = [] if is_store(place) else filter(is_store, place.rglob("*.zarr"))
    return sorted(inside) or [place]


def read_runs(stores: Sequence[Path], *, track: bool) -> Iterator[NamedRun]:
    """Read runs one by one, with the settings in which they differ.

    Of several, those that cannot be read are told and left out.
    """
    settings = [settings_of(store) for store in stores]
    names = dict.fromkeys(name for given in settings for name in given)
    # Where there are no settings, nothing is known to differ.
    known = [given for given in settings if given]
    varied = [n for n in names if len({repr(given.get(n)) for given in known}) > 1]
    shown = 0
    for store, given in zip(stores, settings, strict=True):
        try:
            run = load(store)
            if not len(run.times):
                raise ValueError(f"{store} has no saved states to show")
        except ValueError as error:
            if len(stores) == 1:
                raise
            complain(f"left out: {error}")
            continue
        run = run.tracked() if track and run.track is None else run
        values = {name: given[name] for name in varied if name in given}
        yield NamedRun(str(store), run, {n: _shorten(v) for n, v in values.items()})
        shown += 1
    if not shown:
        raise ValueError("none of these stores can be shown")


def _shorten(value: Any) -> Any:
    return value if isinstance(value, bool | int | float) else str(value)[:LONGEST]
