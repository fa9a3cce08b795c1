"""The page of ``mfpde view``: stored runs; of a folder of stores, all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mfpde.commands import DONE
from mfpde.commands.answers import check_file_place, complain, flat, is_store, say
from mfpde.storage import StoreError, load, stored_settings
from mfpde.sweeps.record import RUNS
from mfpde.viewer import NamedRun, write_page

LONGEST_VALUE = 40


def write_view(places: Sequence[str], out: str | None, *, follow: bool) -> int:
    """Write the page, and say where it is."""
    stores = [store for place in places for store in _stores_at(Path(place))]
    first = Path(places[0])
    # Beside a store, or inside of a folder of stores.
    beside = first.with_suffix(".html") if stores[0] == first else first / "view.html"
    path = Path(out) if out else beside
    check_file_place("--out", path)
    runs = _runs(stores, follow=follow, may_fail=len(stores) > len(places))
    write_page(runs, path, count=len(stores))
    say(f"written to {path} ({path.stat().st_size / 1e6:.1f} MB): open it in a browser")
    return DONE


def _stores_at(place: Path) -> list[Path]:
    """The store that is named, or those in the folder that is."""
    if is_store(place) or place.suffix == ".zarr" or not place.is_dir():
        # What is wrong with it, reading it says.
        return [place]
    # A sweep keeps its stores in a folder inside of its own.
    inside = [*place.glob("*.zarr"), *place.glob(f"{RUNS}/*.zarr")]
    found = sorted(store for store in inside if is_store(store))
    if not found:
        raise ValueError(
            f"the folder {place} holds no stores: give a store, as in run.zarr, or a folder "
            "with some, as a sweep leaves it"
        )
    return found


def _runs(
    stores: Sequence[Path], *, follow: bool, may_fail: bool
) -> Iterator[NamedRun]:
    """Read runs one by one; of a folder those that cannot be read are told and left out."""
    names = [store.stem for store in stores]
    if len(set(names)) < len(names):
        names = [str(store) for store in stores]
    varied = _varied_settings(stores) if len(stores) > 1 else [{} for _ in stores]
    shown = 0
    for store, name, parameters in zip(stores, names, varied, strict=True):
        try:
            run = load(store)
            if not len(run.times):
                raise ValueError(f"{store} has no saved states to show")
        except ValueError as error:
            if not may_fail:
                raise
            complain(f"left out: {error}")
            continue
        shown += 1
        is_followed = run.track is not None or not follow
        yield NamedRun(name, run if is_followed else run.tracked(), parameters)
    if not shown:
        raise ValueError("none of these stores can be shown")


def _varied_settings(stores: Sequence[Path]) -> list[dict[str, Any]]:
    """The settings in which the stores that hold some differ, of each."""
    settings = [
        {key: _cut(value) for key, value in flat(_settings(store))} for store in stores
    ]
    known = [one for one in settings if one]
    keys = dict.fromkeys(key for one in known for key in one)
    varied = [key for key in keys if len({repr(one.get(key)) for one in known}) > 1]
    return [{key: one[key] for key in varied if key in one} for one in settings]


def _settings(store: Path) -> Mapping[str, Any]:
    """Settings of a store; none where there are none, or they cannot be read."""
    try:
        settings = stored_settings(store) or {}
    except (StoreError, FileNotFoundError):
        return {}
    # Where the results are is no matter of what they are.
    return {name: one for name, one in settings.items() if name != "output"}


def _cut(value: Any) -> Any:
    if isinstance(value, bool | int | float):
        return value
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
