"""Settings of every kind run, with mass and sign kept; changes are taken, or told in few lines."""

from __future__ import annotations

import copy
import math
import tomllib
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored import assert_same, toml

import mfpde
from mfpde.commands.command_line import main
from mfpde.settings import SettingsError, settings_from_dict

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.toml"))
MOST_LINES = 12
ROUNDING = 1e-12
GRIDS = {
    "circle": {"kind": "circle", "cells": 48},
    "sphere": {"kind": "sphere", "nlat": 32},
    "zonal": {"kind": "zonal", "dimension": 4, "cells": 32},
}
OTHERS = """
geometry.kind = "circle"
attention = [{beta = 1.0, bilinear = [[1.0, 0.2], [0.0, 1.0]]}]
interaction = {kind = "exponential", beta = 2.0}
equation = {direction = "ascent", diffusion = 0.1}
concentration = {smallest_mass = 0.01, longest_gap = 5}
solve = {save_every = 0.01, rtol = 1e-3, max_step = 0.1}
[start]
kind = "bumps"
angles = [1.0, 3.5]
widths = [0.5, 0.6]
masses = [0.6, 0.4]
background = 0.1
---
geometry.kind = "zonal"
interaction = {kind = "polynomial", coefficients = [0.0, 1.0, 0.5]}
perceptron = {directions = [1.0], weights = [0.4], activation = "gelu"}
equation = {direction = "descent"}
start = {kind = "perturbed_uniform", amplitude = 0.3, seed = 1}
solve = {transport = "semi_lagrangian", save_at = [0.01, 0.02]}
---
geometry.kind = "sphere"
attention = {beta = 0.5, normalized = true}
equation = {direction = "ascent"}
start = {kind = "bumps", centres = [[0.0, 0.6, 0.8]], widths = 0.5}
particles = {count = 20, method = "direct"}
solve = {steady_state = 1e-8, atoms = "exact"}
---
geometry.kind = "circle"
attention = {beta = 1.0}
equation = {direction = "ascent"}
start = {kind = "samples", points = [[1.0, 0.0]], bandwidth = 1.0}
solve = {max_steps = 96}
[[layers]]
duration = 0.01
count = 2
[[layers]]
duration = 0.01
perceptron = {random = {units = 1, seed = 2}}
"""


def made_small(text: str) -> dict[str, Any]:
    """Return settings of the same kind that run in a moment, with nothing written."""
    data = tomllib.loads(text)
    data["geometry"] = GRIDS[data["geometry"]["kind"]]
    heads = data.get("attention", [])
    for head in [heads] if isinstance(heads, dict) else heads:
        head["beta"] = 1.0
    solve = {} if "save_at" in data["solve"] else {"save_every": 0.1}
    end = {} if "layers" in data else {"t_end": 0.3}
    data["solve"] = {**data["solve"], **solve, **end, "max_steps": 12}
    if "particles" in data:
        data["particles"]["count"] = 10
    for layer in data.get("layers", []):
        layer |= {"duration": 0.1, "count": 2}
    return data


TEXTS = [*(path.read_text() for path in EXAMPLES), *OTHERS.split("---\n")]
WHOLE = [made_small(text) for text in TEXTS]
DRIVEN = [data for data in WHOLE if "weights" in data.get("perceptron", {})]
SIZES = (0.0, 5e-324, -5e-324, 1e-300, 1e8, -1e30, 1e50, -1e50)
EXTREME = [copy.deepcopy(data) for data, _ in zip(cycle(DRIVEN), SIZES, strict=False)]
for one, size in zip(EXTREME, SIZES, strict=True):
    one["perceptron"]["weights"][0] = size
ODD_VALUES = [
    *(0, -1, 1, 2, 3, 10**19, -(2**63), 10**400),
    *(5e-324, 1e300, -1e300, 0.5, -0.0, math.nan, math.inf, -math.inf),
    *(True, False, "", "ascent", "circle", "five", "nan", "\x00", "ä" * 300),
    *([], {}, [[]], [{}], [1, "a"], [[1.0], [2.0, 3.0]], {"kind": "circle"}),
    *([1.0, math.nan], [5e-324, 1e300], [[0.0, 0.0]], {"a": {"b": [1]}}),
]


def values_in(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each table and list of settings with each of its keys."""
    for key in [*data] if isinstance(data, dict) else range(len(data)):
        yield data, key
        if isinstance(data[key], dict | list):
            yield from values_in(data[key])


# A matrix with an entry above 1e154 has squares above the largest number.
@pytest.mark.filterwarnings("ignore:overflow encountered in square:RuntimeWarning")
@pytest.mark.parametrize("data", WHOLE, ids=lambda data: data["geometry"]["kind"])
def test_any_value_is_taken_or_told_in_few_lines(data) -> None:
    data, lengths = copy.deepcopy(data), []
    for table, key in list(values_in(data)):
        sound = table[key]
        for odd in ODD_VALUES:
            table[key] = odd
            try:
                settings_from_dict(data)
            except SettingsError as error:
                lengths.append(len(str(error).splitlines()))
        table[key] = sound
    assert 1 <= min(lengths) <= max(lengths) <= MOST_LINES


@pytest.mark.parametrize("spoilt", [b"", b"[geometry", b"a = '\xff'", bytes(range(60))])
def test_a_file_that_is_no_settings_is_told_by_the_command(
    spoilt, tmp_path, capsys
) -> None:
    (tmp_path / "any.toml").write_bytes(spoilt)
    assert main(["run", str(tmp_path / "any.toml")]) == 2
    assert capsys.readouterr().err.startswith("mfpde run: ")


@pytest.mark.filterwarnings("ignore:.*attracts from one side:UserWarning")
@pytest.mark.parametrize(
    "data", [*WHOLE, *EXTREME], ids=lambda data: data["geometry"]["kind"]
)
def test_a_run_keeps_mass_and_sign_and_is_read_to_the_bit(data, tmp_path) -> None:
    path = tmp_path / "any.toml"
    path.write_text(toml(data), encoding="utf-8")
    store = path.with_suffix(".zarr")
    ended = main(["run", str(path), "--quiet", "--out", str(store)])
    assert ended == 0 or (ended == 3 and data in EXTREME)
    run = mfpde.load(store)
    for state in (*run.states, run.final):
        assert abs(state.total_mass - 1) <= ROUNDING
        assert np.isfinite(state.density.values).all()
        assert (state.density.values >= 0).all()
        assert (state.atoms.masses > 0).all()
        assert np.isfinite(state.atoms.points).all()
    if run.equation.energy_is_lyapunov:
        assert np.isfinite(run.energies).all()
    assert run.mass_drift <= ROUNDING
    mfpde.save(run, store, overwrite=True)
    assert_same(mfpde.load(store), run)
