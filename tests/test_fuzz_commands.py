"""Settings files of every kind: a command ends with exit code 0, or 2 and a few lines.

Settings that work are changed at random: keys dropped, added and exchanged, values of other
kinds and sizes, other lengths, bytes that are no text.  Nothing that can stand in a file may end
in a traceback, and nothing may start that never ends.
"""

from __future__ import annotations

import contextlib
import copy
import io
import tomllib
from pathlib import Path
from typing import Any

import pytest
from fuzzing import few, limited, toml
from hypothesis import given
from hypothesis import strategies as st

from mfpde.commands.command_line import main

pytestmark = pytest.mark.filterwarnings("ignore:the grid is coarse")
EXAMPLES = Path(__file__).parents[1] / "examples"
MOST_LINES = 12
# Seconds of work.
HANGS = 60.0

SMALL = {
    "circle": {"kind": "circle", "cells": 48},
    "sphere": {"kind": "sphere", "nlat": 32},
    "zonal": {"kind": "zonal", "dimension": 4, "cells": 32},
}
OTHERS: list[dict[str, Any]] = [
    {
        "geometry": SMALL["circle"],
        "attention": [{"beta": 1.0, "bilinear": [[1.0, 0.2], [0.0, 1.0]]}],
        "interaction": {"kind": "exponential", "beta": 2.0},
        "equation": {"direction": "ascent", "diffusion": 0.1},
        "start": {
            "kind": "bumps",
            "angles": [1.0, 3.5],
            "widths": [0.5, 0.6],
            "masses": [0.6, 0.4],
            "background": 0.1,
        },
        "concentration": {
            "smallest_mass": 0.01,
            "longest_gap": 5,
        },
        "solve": {"save_every": 0.01, "rtol": 1e-3, "max_step": 0.1},
    },
    {
        "geometry": SMALL["zonal"],
        "interaction": {"kind": "polynomial", "coefficients": [0.0, 1.0, 0.5]},
        "perceptron": {"directions": [1.0], "weights": [0.4], "activation": "gelu"},
        "equation": {"direction": "descent"},
        "start": {"kind": "perturbed_uniform", "amplitude": 0.3, "seed": 1},
        "solve": {"transport": "semi_lagrangian", "save_at": [0.01, 0.02]},
    },
    {
        "geometry": SMALL["sphere"],
        "attention": {"beta": 0.5, "normalized": True},
        "equation": {"direction": "ascent"},
        "start": {
            "kind": "bumps",
            "centres": [[0.0, 0.6, 0.8]],
            "widths": 0.5,
        },
        "particles": {"count": 20, "method": "direct"},
        "solve": {"steady_state": 1e-8, "atoms": "exact"},
    },
    {
        "geometry": SMALL["circle"],
        "attention": {"beta": 1.0},
        "equation": {"direction": "ascent"},
        "start": {"kind": "samples", "points": [[1.0, 0.0]], "bandwidth": 1.0},
        "layers": [
            {"duration": 0.01, "count": 2},
            {"duration": 0.01, "perceptron": {"random": {"units": 1, "seed": 2}}},
        ],
        "solve": {"max_steps": 96},
    },
]


def made_small(data: dict[str, Any]) -> dict[str, Any]:
    """Return settings of the same kind that run in a moment, with nothing written."""
    data = copy.deepcopy(data)
    data["geometry"] = copy.deepcopy(SMALL[data["geometry"]["kind"]])
    for head in data.get("attention", []):
        if isinstance(head, dict):
            head["beta"] = 1.0
    if isinstance(data.get("attention"), dict):
        data["attention"]["beta"] = 1.0
    solve = {"save_every": 0.01} if "save_at" not in data["solve"] else {}
    if "layers" not in data:
        solve["t_end"] = 0.02
    data["solve"] = {**data["solve"], **solve, "max_steps": 3}
    if "particles" in data:
        data["particles"]["count"] = 10
    for layer in data.get("layers", []):
        layer["duration"], layer["count"] = 0.01, 2
    return data


WHOLE = [
    made_small(data)
    for data in (
        *(tomllib.loads(path.read_text()) for path in sorted(EXAMPLES.glob("*.toml"))),
        *OTHERS,
    )
]
BUDGET = {("solve", "max_steps"), ("solve", "wall_time_limit")}
"""What keeps a run short; the tests leave it as it is."""

ODD = st.one_of(
    st.sampled_from(
        [
            *(0, -1, 1, 2, 3, 10**19, -(2**63), 10**400),
            *(5e-324, 1e300, -1e300, 0.5, -0.0),
            *(float("nan"), float("inf"), float("-inf")),
            *(True, False, "", "ascent", "circle", "five", "nan", "\x00", "ä" * 300),
            *([], {}, [[]], [{}], [1, "a"], [[1.0], [2.0, 3.0]], {"kind": "circle"}),
            *([1.0, float("nan")], [5e-324, 1e300], [[0.0, 0.0]], {"a": {"b": [1]}}),
        ]
    ),
    st.floats(),
    st.integers(-100, 100),
    st.text(max_size=8),
    st.recursive(
        st.integers() | st.floats() | st.text(max_size=3) | st.booleans(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(max_size=3), inner, max_size=2)
        ),
        max_leaves=6,
    ),
)


def places_of(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all values in tables and lists."""
    if isinstance(data, dict):
        parts = list(data.items())
    elif isinstance(data, list):
        parts = list(enumerate(data))
    else:
        return []
    found = []
    for name, part in parts:
        here = (*path, name)
        found += [here, *places_of(part, here)]
    return [place for place in found if place not in BUDGET]


def odd(draw: st.DrawFn) -> Any:
    """Draw a value of its own: what a later change puts into it is in no other example."""
    return copy.deepcopy(draw(ODD))


def changed(draw: st.DrawFn, data: dict[str, Any]) -> None:
    """Change one value of ``data`` in one of many ways."""
    place = draw(st.sampled_from(places_of(data)))
    table: Any = data
    for key in place[:-1]:
        table = table[key]
    last = place[-1]
    way = draw(st.sampled_from(["put", "put", "put", "drop", "add", "double", "swap"]))
    if way == "drop":
        del table[last]
    elif way == "add" and isinstance(table, dict):
        table[draw(st.sampled_from(["sed", "betta", "kind", "", "é.x"]))] = odd(draw)
    elif way == "double" and isinstance(table[last], list):
        table[last] = table[last] * 2
    elif way == "swap":
        other = draw(st.sampled_from(sorted(data)))
        table[last] = copy.deepcopy(data[other])
    else:
        table[last] = odd(draw)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    data = copy.deepcopy(draw(st.sampled_from(WHOLE)))
    for _ in range(draw(st.integers(1, 3))):
        if not places_of(data):
            break
        changed(draw, data)
    if isinstance(data.get("solve"), dict):
        data["solve"]["max_steps"] = 3
    return data


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Return a settings file, mostly one that can be read."""
    text = toml(draw(tables())).encode("utf-8", "surrogatepass")
    way = draw(st.sampled_from(["whole"] * 6 + ["cut", "bytes", "noise", "empty"]))
    where = draw(st.integers(0, len(text)))
    match way:
        case "cut":
            return text[:where]
        case "bytes":
            return text[:where] + draw(st.binary(min_size=1, max_size=4)) + text[where:]
        case "noise":
            return draw(st.binary(max_size=60))
        case "empty":
            return b""
    return text


def ended_well(arguments: list[str]) -> None:
    """Run a command: exit code 0, or 2 (3) with a few lines that begin with its name."""
    out, said = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(said),
        limited(HANGS),
    ):
        code = main(arguments)
    text = said.getvalue()
    assert code in (0, 2, 3), (code, text)
    assert "Traceback" not in text
    if code == 2:
        assert text.startswith(f"mfpde {arguments[0]}: "), text
        assert 1 <= text.count("\n") <= MOST_LINES, text


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("data", WHOLE, ids=lambda data: data["geometry"]["kind"])
def test_the_settings_that_are_changed_work(data, folder, capsys) -> None:
    (folder / "run.toml").write_text(toml(data), encoding="utf-8")
    assert main(["run", "run.toml", "--quiet"]) == 0, capsys.readouterr().err


@given(data=files())
@few(150)
def test_any_file_runs_or_is_refused(data: bytes, tmp_path_factory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(data)
    ended_well(["run", str(path), "--quiet"])


@given(data=tables(), command=st.sampled_from(["minimize", "continuation"]))
@few(30)
def test_any_table_is_taken_or_refused_by_other_commands(
    data, command, tmp_path_factory
) -> None:
    path = tmp_path_factory.getbasetemp() / "other.toml"
    path.write_text(toml(data), encoding="utf-8", errors="surrogatepass")
    more = {
        "minimize": ["--tolerance", "1e-3"],
        "continuation": ["--parameter", "beta", "--values", "1,1.1"],
    }
    ended_well([command, str(path), *more[command]])


@given(
    changes=st.lists(
        st.tuples(
            st.sampled_from(
                ["attention.beta", "solve.t_end", "start.kind", "a.b", "geometry.cells"]
            )
            | st.text(max_size=6),
            st.text(max_size=10)
            | st.sampled_from(["nan", "1e300", "5e-324", "[", "{}", "-1", "''"]),
        ),
        min_size=1,
        max_size=2,
    )
)
@few(25)
def test_any_override_is_taken_or_refused(changes, tmp_path_factory) -> None:
    path = tmp_path_factory.getbasetemp() / "override.toml"
    path.write_text(toml(WHOLE[-3]), encoding="utf-8")
    sets = [f"--set={name}={value}" for name, value in changes]
    ended_well(["run", str(path), "--quiet", "--set=solve.max_steps=3", *sets])


WORDS = st.one_of(
    st.sampled_from(["0", "-1", "nan", "inf", "1e300", "5e-324", "9" * 30, "five", ""]),
    st.text(max_size=5),
)


@given(dimension=WORDS, betas=st.lists(WORDS, min_size=1, max_size=3))
@few(15)
def test_any_phase_diagram_is_drawn_or_refused(dimension, betas) -> None:
    given_betas = ",".join(betas)
    ended_well(["phase-diagram", f"--dimension={dimension}", f"--betas={given_betas}"])


@given(name=st.text(max_size=20))
@few(15)
def test_any_name_of_a_store_is_refused(name, tmp_path_factory) -> None:
    with contextlib.chdir(tmp_path_factory.getbasetemp()):
        for command in ("show", "resume", "plot"):
            ended_well([command, f"./none{name}"])
