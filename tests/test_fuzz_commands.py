"""Settings files of every kind: a run keeps mass and sign, or a command ends in a few lines.

Settings that work are changed at random: keys dropped, added and exchanged, values of other
kinds and sizes, other lengths, bytes that are no text.  Nothing that can stand in a file may end
in a traceback, and nothing may start that never ends.  What runs is finite, and is read from its
store to the bit.
"""

from __future__ import annotations

import contextlib
import copy
import io
import math
import tomllib
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from fuzzing import limited, toml
from hypothesis import given, settings
from hypothesis import strategies as st
from stored import assert_same

import mfpde
from mfpde.commands.command_line import main

pytestmark = pytest.mark.filterwarnings("ignore:the grid is coarse")
EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.toml"))
MOST_LINES = 12
MOST_STEPS = 12
ROUNDING = 1e-12
HANGS = 60.0
"""Seconds of work."""
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
    data["solve"] = {**data["solve"], **solve, **end, "max_steps": MOST_STEPS}
    if "particles" in data:
        data["particles"]["count"] = 10
    for layer in data.get("layers", []):
        layer |= {"duration": 0.1, "count": 2}
    return data


TEXTS = [*(path.read_text() for path in EXAMPLES), *OTHERS.split("---\n")]
WHOLE = [made_small(text) for text in TEXTS]
BUDGET = {("solve", "max_steps"), ("solve", "wall_time_limit")}
"""What keeps a run short; the tests leave it as it is."""
EXTREMES = (0.0, 5e-324, -5e-324, 1e-300, 1e8, -1e30, 1e50, -1e50)
ODD_VALUES = [
    *(0, -1, 1, 2, 3, 10**19, -(2**63), 10**400),
    *(5e-324, 1e300, -1e300, 0.5, -0.0, math.nan, math.inf, -math.inf),
    *(True, False, "", "ascent", "circle", "five", "nan", "\x00", "ä" * 300),
    *([], {}, [[]], [{}], [1, "a"], [[1.0], [2.0, 3.0]], {"kind": "circle"}),
    *([1.0, math.nan], [5e-324, 1e300], [[0.0, 0.0]], {"a": {"b": [1]}}),
]


def places_of(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all values in tables and lists."""
    parts: Any = data.items() if isinstance(data, dict) else ()
    parts = enumerate(data) if isinstance(data, list) else parts
    found = []
    for name, part in parts:
        found += [(*path, name), *places_of(part, (*path, name))]
    return [place for place in found if place not in BUDGET]


def change_one_value(draw: Random, data: dict[str, Any]) -> None:
    """Change one value of ``data`` in one of many ways."""
    *path, last = draw.choice(places_of(data))
    table: Any = data
    for key in path:
        table = table[key]
    way = draw.choice(["put", "put", "put", "drop", "add", "double", "swap"])
    # A value of its own: what a later change puts into it is in no other file.
    odd = copy.deepcopy(draw.choice(ODD_VALUES))
    if way == "drop":
        del table[last]
    elif way == "add" and isinstance(table, dict):
        table[draw.choice(["sed", "betta", "kind", "", "é.x"])] = odd
    elif way == "double" and isinstance(table[last], list):
        table[last] = table[last] * 2
    elif way == "swap":
        table[last] = copy.deepcopy(data[draw.choice(sorted(data))])
    else:
        table[last] = odd


def random_file(seed: int) -> bytes:
    """Return a settings file, mostly one that can be read."""
    draw = Random(seed)
    data = copy.deepcopy(draw.choice(WHOLE))
    for _ in range(draw.randint(1, 3)):
        if places_of(data):
            change_one_value(draw, data)
    if isinstance(data.get("solve"), dict):
        data["solve"]["max_steps"] = MOST_STEPS
    text = toml(data).encode("utf-8", "surrogatepass")
    at = draw.randint(0, len(text))
    spoilt = [text[:at], text[:at] + draw.randbytes(3) + text[at:], draw.randbytes(60)]
    return draw.choice([text] * 6 + [*spoilt, b""])


def random_settings(seed: int) -> dict[str, Any]:
    """Return settings whose sections are of any that work on a grid, with weights of any size."""
    draw = Random(seed)
    kind = draw.choice([*GRIDS])
    whole = [data for data in WHOLE if data["geometry"]["kind"] == kind]
    chosen = {name: draw.choice(whole) for name in sorted(set().union(*whole))}
    data = {name: copy.deepcopy(of[name]) for name, of in chosen.items() if name in of}
    if "weights" in data.get("perceptron", {}):
        data["perceptron"]["weights"][0] = draw.choice([0.7, -1.9, *EXTREMES])
    return data


def check_end(*arguments: str) -> int:
    """Run a command: exit code 0 or 3, or 2 with a few lines that begin with its name."""
    out, said = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(said),
        limited(HANGS),
    ):
        code = main(list(arguments))
    text = said.getvalue()
    assert code in (0, 2, 3), (code, text)
    assert "Traceback" not in text
    if code == 2:
        assert text.startswith(f"mfpde {arguments[0]}: "), text
        assert 1 <= text.count("\n") <= MOST_LINES, text
    return code


def check_store(path: Path) -> None:
    """Require mass, sign and finite numbers of a run, and that it is read as it is stored."""
    run = mfpde.load(path)
    for state in (*run.states, run.final):
        assert abs(state.total_mass - 1) <= ROUNDING
        assert np.isfinite(state.density.values).all()
        assert (state.density.values >= 0).all()
        assert (state.atoms.masses > 0).all()
        assert np.isfinite(state.atoms.points).all()
    if run.equation.energy_is_lyapunov:
        assert np.isfinite(run.energies).all()
    assert run.mass_drift <= ROUNDING
    mfpde.save(run, path, overwrite=True)
    assert_same(mfpde.load(path), run)


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "any.toml"


@pytest.mark.parametrize("data", WHOLE, ids=lambda data: data["geometry"]["kind"])
def test_the_settings_that_are_changed_work(data, path, capsys) -> None:
    path.write_text(toml(data), encoding="utf-8")
    store = ["--out", str(path.with_suffix(".zarr")), "--overwrite"]
    assert main(["run", str(path), "--quiet", *store]) == 0, capsys.readouterr().err
    check_store(path.with_suffix(".zarr"))


# Velocities above 1e154, as of a matrix with such an entry, have squares above the largest
# number: the run ends in values that are not finite, and the dissipation of its start warns.
@pytest.mark.filterwarnings("ignore:overflow encountered in square:RuntimeWarning")
@settings(deadline=None, max_examples=180)
@given(seed=st.integers(0, 2**32))
def test_any_file_is_taken_or_refused(path: Path, seed: int) -> None:
    path.write_bytes(random_file(seed))
    commands = {
        "run": ["--quiet"],
        "minimize": ["--tolerance", "1e-3"],
        "continuation": ["--parameter", "beta", "--values", "1,1.1"],
    }
    command = list(commands)[max(0, seed % 12 - 9)]
    check_end(command, str(path), *commands[command])


@pytest.mark.filterwarnings("ignore:.*attracts from one side:UserWarning")
@settings(deadline=None, max_examples=80)
@given(seed=st.integers(0, 2**32))
def test_what_runs_keeps_mass_and_sign_and_is_read_to_the_bit(path, seed: int) -> None:
    path.write_text(toml(random_settings(seed)), encoding="utf-8")
    store = path.with_suffix(".zarr")
    command = ["run", str(path), "--quiet", "--out", str(store), "--overwrite"]
    if check_end(*command) != 2:
        check_store(store)
