"""``mfpde view``: stored runs as one HTML page; of a folder of stores, all of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mfpde.commands import DONE
from mfpde.commands.answers import check_file_place, complain, say
from mfpde.runs.run import Run
from mfpde.settings.base import SettingsError
from mfpde.storage import StoreError, load, stored_settings
from mfpde.sweeps.record import RUNS
from mfpde.viewer import NamedRun, write_page

STORE = "*.zarr"
LONGEST_VALUE = 40
NOT_SHOWN = ("output.",)


def view(arguments: argparse.Namespace) -> int:
    """Write the page, and say where it is."""
    stores = _stores(arguments.stores)
    path = Path(arguments.out) if arguments.out else _beside(arguments.stores[0])
    check_file_place("--out", path)
    is_one_of_many = len(stores) > len(arguments.stores)
    runs = _runs(stores, follow=arguments.track, may_fail=is_one_of_many)
    write_page(runs, path, count=len(stores))
    say(f"written to {path} ({path.stat().st_size / 1e6:.1f} MB): open it in a browser")
    return DONE


def _beside(place: str) -> Path:
    """Name the page beside a store, or inside of a folder of stores."""
    path = Path(place)
    return path.with_suffix(".html") if _is_store(path) else path / "view.html"


def _is_store(path: Path) -> bool:
    return (path / "zarr.json").is_file()


def _stores(places: Sequence[str]) -> list[Path]:
    """Stores that are named, and those in folders that are.

    Raises
    ------
    SettingsError
        If there is nothing at a place, or a folder holds no stores.
    """
    found: list[Path] = []
    for place in places:
        path = Path(place)
        if _is_store(path) or path.suffix == ".zarr" or not path.is_dir():
            # What is wrong with it, reading it says.
            found.append(path)
            continue
        # A sweep keeps its stores in a folder inside of its own.
        inside = sorted(
            store
            for pattern in (STORE, f"{RUNS}/{STORE}")
            for store in path.glob(pattern)
            if _is_store(store)
        )
        if not inside:
            raise SettingsError(
                f"the folder {place} holds no stores: give a store, as in run.zarr, or a "
                "folder with some, as a sweep leaves it"
            )
        found += inside
    return found


def _runs(
    stores: Sequence[Path], *, follow: bool, may_fail: bool
) -> Iterator[NamedRun]:
    """Read runs one by one; of a folder those that cannot be read are told and left out."""
    names = [store.stem for store in stores]
    if len(set(names)) < len(names):
        names = [str(store) for store in stores]
    told = _differences(stores) if len(stores) > 1 else [{} for _ in stores]
    shown = 0
    for store, name, parameters in zip(stores, names, told, strict=True):
        try:
            run = _loaded(store)
        except (StoreError, SettingsError) as error:
            if not may_fail:
                raise
            complain(f"left out: {error}")
            continue
        if follow and run.track is None:
            run = run.tracked()
        shown += 1
        yield NamedRun(name, run, parameters)
    if not shown:
        raise SettingsError("none of these stores can be shown")


def _loaded(store: Path) -> Run:
    run = load(store)
    if not len(run.times):
        raise SettingsError(f"{store} has no saved states to show")
    return run


def _differences(stores: Sequence[Path]) -> list[dict[str, Any]]:
    """The settings in which the stores that hold some differ, of each."""
    settings = [_flat(_settings(store)) for store in stores]
    known = [one for one in settings if one]
    keys = list(dict.fromkeys(key for one in known for key in one))
    varied = [
        key
        for key in keys
        if not key.startswith(NOT_SHOWN)
        and len({repr(one.get(key)) for one in known}) > 1
    ]
    return [{key: one[key] for key in varied if key in one} for one in settings]


def _settings(store: Path) -> Mapping[str, Any]:
    """Settings of a store; none where there are none, or they cannot be read."""
    try:
        return stored_settings(store) or {}
    except (StoreError, FileNotFoundError):
        return {}


def _flat(settings: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Settings by dotted names, as ``--set`` takes them; long lists are cut."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            found.update(_flat(value, f"{above}{key}."))
            continue
        if not isinstance(value, bool | int | float):
            value = str(value)
            if len(value) > LONGEST_VALUE:
                value = f"{value[: LONGEST_VALUE - 1]}…"
        if value != "None":
            found[f"{above}{key}"] = value
    return found
