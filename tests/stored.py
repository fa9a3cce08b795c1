"""Settings of short runs, and what tests of their stores compare."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import zarr

import mfpde
from mfpde.geometry import Geometry
from mfpde.storage import RunWriter
from mfpde.storage.records import to_json

CIRCLE = """
geometry = {kind = "circle", cells = 128}
attention = {beta = 4.0}
perceptron = {directions = [[1.0, 0.0]], weights = [0.3]}
equation = {direction = "ascent"}
start = {kind = "perturbed_uniform", amplitude = 0.3}
solve = {t_end = 2.0, save_every = 0.1, max_step = 0.02}
"""
ATOMS = """
geometry = {kind = "circle", cells = 64}
attention = {beta = 6.0}
equation = {direction = "ascent"}
solve = {t_end = 8.0, save_every = 0.5, atoms = "exact"}
[start]
kind = "bumps"
angles = [1.0, 3.5]
widths = [0.5, 0.5]
masses = [0.6, 0.4]
background = 0.1
"""
SPHERE = """
geometry = {kind = "sphere", nlat = 32, nlon = 64}
attention = {beta = 4.0}
perceptron = {directions = [[1.0, 0.0, 0.2], [-0.5, 1.0, 0.3]], weights = [1.0, 0.8]}
equation = {direction = "ascent"}
start = {kind = "perturbed_uniform", amplitude = 0.5}
solve = {t_end = 3.0, save_every = 0.1, max_step = 0.01}
"""
SPHERE_ATOMS = """
geometry = {kind = "sphere", nlat = 32, nlon = 64}
attention = {beta = 2.0}
equation = {direction = "ascent"}
solve = {t_end = 0.8, save_every = 0.2, atoms = "exact"}
[start]
kind = "bumps"
centres = [[1.0, 0.0, 0.0], [-0.6, 0.8, 0.0]]
widths = 0.2887
masses = [0.6, 0.4]
"""
LAYERS = """
geometry = {kind = "circle", cells = 64}
attention = {beta = 3.0}
equation = {direction = "ascent", diffusion = 0.01}
start = {kind = "perturbed_uniform", amplitude = 0.3}
solve = {save_every = 0.1}
[[layers]]
duration = 0.5
count = 3
[[layers]]
duration = 0.5
equation = {direction = "descent"}
"""
TRACKED = "[concentration]\n"


def toml(data: Mapping[str, Any]) -> str:
    """Write tables, lists of tables, lists and plain values as TOML, a line each."""
    lines = (f"{written(name)} = {written(value)}\n" for name, value in data.items())
    return "".join(lines)


def written(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = (f"{written(name)} = {written(part)}" for name, part in value.items())
        return f"{{{', '.join(inside)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    return json.dumps(value) if isinstance(value, bool | str) else repr(value)


class Evil:
    """What leaves a folder behind when it is read by pickle."""

    def __reduce__(self):
        return (os.mkdir, ("executed",))


class KilledError(BaseException):
    """Stands for the end of a process."""


@contextmanager
def raised_after(
    calls: int, error: type[BaseException] | BaseException, method: str = "save"
) -> Iterator[None]:
    """Let writers of stores raise ``error`` after so many calls of a method."""
    original, left = getattr(RunWriter, method), iter(range(calls))

    def called(writer: RunWriter, *given: Any) -> None:
        if next(left, None) is None:
            raise error
        original(writer, *given)

    with mock.patch.object(RunWriter, method, called):
        yield


def all_of(store: Path) -> dict[str, np.ndarray | str]:
    """Return every array and attribute of a store, without the clock and its own path."""
    group = zarr.open_group(store, mode="r")
    found = {name: np.asarray(array[...]) for name, array in group.arrays()}
    attributes = dict(group.attrs)
    statistics = json.loads(attributes.pop("statistics"))
    settings = json.loads(attributes.pop("settings"))
    del attributes["digest"], statistics["wall_seconds"]
    return {**found, **attributes, "statistics": statistics, "settings": settings}


def assert_same_stores(store: Path | str, other: Path | str) -> None:
    """Require two stores to be equal to the bit."""
    one, two = all_of(Path(store)), all_of(Path(other))
    assert one.keys() == two.keys()
    for name, value in one.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, two[name], err_msg=name, strict=True)
        else:
            assert value == two[name], name


def assert_same(one: Any, other: Any, *, without: Sequence[str] = ()) -> None:
    """Require runs, states, tracks, or what they consist of, to be equal to the bit."""
    if isinstance(one, mfpde.MeanFieldEquation):
        assert to_json(one) == to_json(other)
    elif isinstance(one, Geometry):
        assert one == other
    elif dataclasses.is_dataclass(one):
        assert type(one) is type(other)
        names = {field.name for field in dataclasses.fields(one)}
        # Labels that a density may have are not stored.
        for name in names.difference(without, ["quantities", "labels"]):
            assert_same(getattr(one, name), getattr(other, name))
    elif isinstance(one, Mapping):
        assert list(one) == list(other)
        assert_same([*one.values()], [*other.values()])
    elif isinstance(one, list | tuple):
        for part, another in zip(one, other, strict=True):
            assert_same(part, another)
    else:
        np.testing.assert_array_equal(one, other)


def has_journal(store: Path | str) -> bool:
    """Whether the run of a store has not ended."""
    return (Path(store) / "journal.sqlite").is_file()


def files_of(store: Path | str) -> dict[Path, bytes]:
    """Return what a store consists of, but for the lock."""
    files = [p for p in Path(store).rglob("*") if p.is_file() and "lock" not in p.parts]
    return {path: path.read_bytes() for path in files}


@contextmanager
def changed_json(place: Path) -> Iterator[dict[str, Any]]:
    """Let a block change what a JSON file holds."""
    record = json.loads(place.read_text())
    yield record
    place.write_text(json.dumps(record))


def line_of(capsys: Any) -> str:
    """Return what a command said on stderr: one line."""
    said = capsys.readouterr().err
    assert said.count("\n") == 1, said
    return said
