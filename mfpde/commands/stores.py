"""Several stored runs: where they are, and in what they differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mfpde.commands.answers import complain
from mfpde.commands.report import zonal_distance
from mfpde.detection import concentration
from mfpde.measures.measure import AnyMeasure, Atoms
from mfpde.measures.wasserstein import is_zonal, wasserstein_report
from mfpde.notebook import format_table
from mfpde.runs.run import Run
from mfpde.storage import StoreError, load, stored_provenance, stored_settings
from mfpde.storage.files import has_journal
from mfpde.sweeps.records import RUNS
from mfpde.viewer import NamedRun

LONGEST = 36
"""Letters of a value in a column, or beside a run on a page."""


def flatten(record: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return the entries of nested tables by dotted names, as ``--set`` takes them."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            found |= flatten(value, f"{above}{name}.")
        elif value is not None:
            found[f"{above}{name}"] = value
    return found


def settings_of(store: str | Path) -> dict[str, Any]:
    """Return the settings of a store by dotted names; none if they cannot be read.

    Where the results are is no matter of what they are, and is left out.
    """
    try:
        settings = stored_settings(store) or {}
    except (StoreError, FileNotFoundError):
        return {}
    return flatten({name: one for name, one in settings.items() if name != "output"})


def describe_origin(store: str, statistics: Mapping[str, Any]) -> str:
    """Return where the wall time of a run went, and what made it on which machine."""
    times = {
        f"{name.removesuffix('_seconds')} [s]": f"{value:.3g}"
        for name, value in statistics.items()
        if name.endswith("_seconds")
    }
    records = [times, *map(flatten, stored_provenance(store))]
    return "\n\n".join(
        "\n".join(f"{name + ':':22} {value}" for name, value in record.items())
        for record in records
    )


def differing(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of which the values are not the same in all of the ``records``."""
    names = dict.fromkeys(name for record in records for name in record)
    return [n for n in names if len({repr(one.get(n)) for one in records}) > 1]


def compare_stores(path: str, other: str) -> str:
    """Return a table of what differs between two stores, and the distance of their ends."""
    runs = [load(path), load(other)]
    facts = [_facts(*pair) for pair in zip((path, other), runs, strict=True)]
    rows = [[n, *(one.get(n, "-") for one in facts)] for n in differing(facts)]
    short = [row for row in rows if max(map(len, row[1:])) <= LONGEST]
    parts = [format_table(["", path, other], short)] if rows else []
    parts += ["\n  ".join(row) for row in rows if row not in short]
    same = "the same settings, equation, origin, grid and numbers at the end"
    apart = _distance_of(runs[0].final, runs[1].final)
    return f"{chr(10).join(parts) or same}\n\nW1 of the last states: {apart}"


def _facts(path: str, run: Run) -> dict[str, str]:
    """Return all that is compared, by name, in words."""
    found = settings_of(path) | run.facts | run.final.facts | run.statistics
    for record in stored_provenance(path)[-1:]:
        found |= flatten(record)
    if run.equation is not None and not isinstance(run.final, Atoms):
        found |= concentration(run.final, run.equation).facts
    # No two runs take the same time.
    timed = [k for k in found if k.endswith("_seconds") or k == "computed by"]
    kept = {k: v for k, v in found.items() if k not in (*timed, "final state")}
    return {k: v if isinstance(v, str) else json.dumps(v) for k, v in kept.items()}


def _distance_of(a: AnyMeasure, b: AnyMeasure) -> str:
    """Say how far two states are apart, if they lie on one sphere."""
    try:
        if is_zonal(a) and is_zonal(b) and a.dimension == b.dimension:
            return f"{zonal_distance(a, b):.6g} rad, between their polar angles"
        found = wasserstein_report(a, b, order=1)
    except (ValueError, ImportError) as error:
        return f"none, {error}"
    bound = "" if found.method == "circle" else f" ± {found.error_bound:.2g}"
    return f"{found.value:.6g}{bound} rad"


# On a page


def is_store(path: str | Path) -> bool:
    """Whether there is the store of a run, which may not have ended."""
    return (Path(path) / "zarr.json").is_file() or has_journal(path)


def find_stores(place: Path) -> list[Path]:
    """Return the store that is named, or those in the folder that is."""
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


def read_runs(
    stores: Sequence[Path], *, track: bool, may_fail: bool
) -> Iterator[NamedRun]:
    """Read runs one by one, named by what tells them apart.

    Those that cannot be read are told and left out where they ``may_fail``.
    """
    names = [store.stem for store in stores]
    if len(set(names)) < len(names):
        names = [str(store) for store in stores]
    settings = [settings_of(store) for store in stores]
    # Where there are no settings, nothing is known to differ.
    varied = differing([one for one in settings if one])
    shown = 0
    for store, name, given in zip(stores, names, settings, strict=True):
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
        run = run.tracked() if track and run.track is None else run
        yield NamedRun(
            name, run, {key: _cut(given[key]) for key in varied if key in given}
        )
    if not shown:
        raise ValueError("none of these stores can be shown")


def _cut(value: Any) -> Any:
    if isinstance(value, bool | int | float):
        return value
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
