"""Stores that something has happened to: named in a line, never read as if they were whole."""

import dataclasses
import itertools
import json
import re
import shutil
import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path
from time import process_time

import numpy as np
import pytest
import stored
from equations import ascent

import mfpde
from mfpde.arrays import printable
from mfpde.commands.command_line import main
from mfpde.runs.stopping import StopReason
from mfpde.storage import StoreError, load

EQUATION = ascent(3.0, mfpde.Perceptron([[1.0, 0.0]], [0.4]))
START = mfpde.perturbed_uniform(mfpde.Circle(64), 0.2)
SETTINGS = """
geometry = {kind = "circle", cells = 64}
attention = {beta = 8.0}
equation = {direction = "ascent"}
solve = {t_end = 2.0, save_at = [0.0, 0.5, 1.0, 1.25], max_step = 0.03}
concentration = {}
[start]
kind = "bumps"
angles = [1.0, 3.5]
widths = [0.4, 0.4]
masses = [0.6, 0.4]
"""


def store_of(text: str, folder: Path) -> Path:
    """Return the store of a run with these settings."""
    (folder / "run.toml").write_text(text)
    command = ["run", str(folder / "run.toml"), "--quiet", "--out"]
    assert main([*command, str(folder / "x.zarr")]) == 0
    return folder / "x.zarr"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory) -> Path:
    """Return a store with tracked atoms and a last state that was not saved."""
    path = store_of(SETTINGS, tmp_path_factory.mktemp("stopped"))
    run = load(path)
    assert run.final_time > run.times[-1]
    return path


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory) -> Path:
    """Return the store of a run that a limit stopped, with tracked atoms: a journal."""
    limited = SETTINGS.replace("max_step =", "max_steps = 42, max_step =")
    path = store_of(limited, tmp_path_factory.mktemp("interrupted"))
    assert stored.has_journal(path)
    return path


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """Return an empty working directory but for settings."""
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(SETTINGS)
    return tmp_path


@pytest.fixture
def copy(stopped, here) -> Path:
    shutil.copytree(stopped, "x.zarr")
    return Path("x.zarr")


def refusal_of(capsys, *command: str) -> str:
    """Return the line with which a command is refused."""
    assert main([*command]) == 2
    said = stored.line_of(capsys)
    assert said.startswith(f"mfpde {command[0]}: ")
    return said


def damage(path: Path, way: str) -> None:
    """Do to a file what a disk, a program or a person may do to it."""
    data = path.read_bytes()
    path.unlink()
    half = len(data) // 2
    match way:
        case "a folder":
            path.mkdir()
        case "exchanged":
            # What another chunk of the same kind holds.
            others = {"energy": "mass", "mass": "energy"}
            other = path.parents[2] / others[path.parents[1].name]
            shutil.copy(next(other.rglob("c/*")), path)
        case "flipped":
            path.write_bytes(data[:half] + bytes([data[half] ^ 4]) + data[half + 1 :])
        case "cut short" | "garbled" | "empty" | "other JSON":
            left = {"cut short": data[:half], "garbled": b"\x93garbage {" * 9}
            path.write_bytes(left.get(way, b'["neither", 1]' * (way != "empty")))


CHUNKS = ("density/c/0/0", "energy/c/0", "time/c/0", "angle/c/0")
OTHER_CHUNKS = ("largest_density/c/0", "mass/c/0")
DESCRIPTIONS = ("", "density/", "time/", "energy/", "angle/", "largest_density/")
WAYS = [
    *itertools.product(CHUNKS, ("gone", "flipped", "cut short", "garbled")),
    *itertools.product(OTHER_CHUNKS, ("gone", "empty", "garbled")),
    *itertools.product(
        [f"{part}zarr.json" for part in DESCRIPTIONS],
        ("gone", "flipped", "cut short", "empty", "other JSON", "a folder"),
    ),
    ("density/c/0/0", "a folder"),
    ("energy/c/0", "exchanged"),
    ("mass/c/0", "exchanged"),
]


@pytest.mark.parametrize(("file", "way"), WAYS)
def test_every_damage_is_a_line_that_names_the_file(copy, capsys, *, file, way) -> None:
    damage(copy / file, way)
    assert file in refusal_of(capsys, "show", str(copy))
    if (file, way) == ("zarr.json", "flipped"):
        replace = ("run", "run.toml", "--quiet", "--overwrite", "--out", str(copy))
        assert file in refusal_of(capsys, *replace)


ATTRIBUTES = (
    *("equation", "geometry", "settings", "stop", "final_time", "statistics"),
    *("sightings", "junctions", "events", "provenance"),
)


@pytest.mark.parametrize("name", [*ATTRIBUTES, "format_version", "files", "digest"])
def test_an_attribute_that_was_changed_on_disk_is_refused(copy, name, capsys) -> None:
    """Without checksums what a store holds is not known to be what was written."""
    with stored.changed_json(copy / "zarr.json") as record:
        there = record["attributes"].pop(name)
        if name in ATTRIBUTES:
            record["attributes"][name] = 0.5 if name == "final_time" else there + " "
    said = refusal_of(capsys, "show", str(copy))
    assert name not in ATTRIBUTES or re.search(r"zarr.json is damaged: .* check", said)


def test_errors_of_stores_are_of_one_line() -> None:
    assert str(StoreError("what zarr\n  said")) == "what zarr said"


@pytest.mark.parametrize(("step", "age"), [(1, "a newer"), (-1, "an earlier")])
@pytest.mark.parametrize("is_journal", [True, False])
def test_a_store_of_another_version_is_left_alone(
    interrupted, copy, capsys, *, step, age, is_journal
) -> None:
    there = json.loads((copy / "zarr.json").read_text())
    own = there["attributes"]["format_version"]
    other = own + step
    if is_journal:
        shutil.rmtree(copy)
        shutil.copytree(interrupted, copy)
        with closing(sqlite3.connect(copy / "journal.sqlite")) as database:
            database.execute(f"PRAGMA user_version = {other}")
    else:
        with stored.changed_json(copy / "zarr.json") as record:
            record["attributes"]["format_version"] = other
    before = stored.files_of(copy)
    for command in (
        ["show", "x.zarr"],
        ["resume", "x.zarr"],
        ["run", "run.toml", "--out", "x.zarr", "--overwrite"],
    ):
        said = refusal_of(capsys, *command)
        assert f"was written by {age} version of mfpde (format {other})" in said
        assert f"this one reads format {own}" in said
    assert stored.files_of(copy) == before


@pytest.mark.parametrize("axis", [0, 1, "chunks"])
def test_a_size_that_no_file_holds_is_not_read(
    stopped, tmp_path, capsys, *, axis
) -> None:
    """Whatever array claims it: what is told is told in a second, in the memory of the run."""
    for number, file in enumerate(sorted(stopped.rglob("zarr.json"))):
        shape = json.loads(file.read_text()).get("shape")
        if shape is None or (axis == 1 and len(shape) == 1):
            continue
        copy = Path(shutil.copytree(stopped, tmp_path / f"{number}.zarr"))
        with stored.changed_json(copy / file.relative_to(stopped)) as record:
            record["shape"][axis if axis == 1 else 0] = 200_000_000
            if axis == "chunks":
                record["chunk_grid"]["configuration"]["chunk_shape"][0] = 200_000_000
        tracemalloc.start()
        began = process_time()
        assert "damaged" in refusal_of(capsys, "show", str(copy))
        assert process_time() - began < 5.0
        assert tracemalloc.get_traced_memory()[1] < 1e8
        tracemalloc.stop()


def test_every_damage_of_a_journal_is_a_line_or_harmless(
    interrupted, tmp_path, capsys
) -> None:
    whole = load(interrupted)
    data = (interrupted / "journal.sqlite").read_bytes()
    draws = np.random.default_rng(5)
    noticed = 0
    for number in range(160):
        copy = Path(shutil.copytree(interrupted, tmp_path / f"{number}.zarr"))
        changed = bytearray(data)
        if number % 4 == 3:
            changed = changed[: draws.integers(len(data))]
        else:
            changed[draws.integers(len(data))] ^= 1 << draws.integers(8)
        (copy / "journal.sqlite").write_bytes(bytes(changed))
        if main(["show", str(copy)]) != 0:
            noticed += 1
            assert stored.line_of(capsys).startswith("mfpde show: ")
            continue
        run = load(copy)
        stored.assert_same((run.times, run.states), (whole.times, whole.states))
        assert run.final_time == whole.final_time
    assert noticed > 50


def test_a_track_is_there_as_far_as_the_run_came(interrupted, stopped) -> None:
    there, whole = load(interrupted), load(stopped)
    saves = len(there.times)
    assert there.track.times.tolist() == whole.track.times[:saves].tolist()
    assert there.track.verdicts == whole.track.verdicts[:saves]
    stored.assert_same(there.track.seen, whole.track.seen[:saves])


OF_RUN = f"""{SETTINGS.partition("solve")[0]}
solve = {{t_end = 1.0}}
start = {{kind = "run", path = "PATH"}}
"""
LONG = SETTINGS.replace("2.0", "9" * 5000)
NEURONS = "perceptron = {directions = [1.0], weights = [1.0]}\nequation"
MANY_LAYERS = "[[layers]]\nduration = 1.0\ncount = 100000000000000000000000"
MANY_PARTICLES = "[particles]\ncount = 1000000000000000000000"
REFUSED = {
    OF_RUN.replace("PATH", "a\\u0000b"): "a path",
    OF_RUN.replace("PATH", ""): "must be a path",
    OF_RUN.replace('"PATH"', "3"): "path = 3 must be a text",
    "a" * 3 + " = " + "[" * 5000 + "]" * 5000: "too deep in each other",
    SETTINGS + MANY_PARTICLES: "at most 10000000",
    SETTINGS + MANY_LAYERS: "at most",
    LONG: "run.toml has a number that is too long",
    SETTINGS.replace("equation", NEURONS): "must have shape (units, d)",
}


@pytest.mark.parametrize("text", REFUSED, ids=REFUSED.values())
def test_settings_of_any_kind_are_refused_in_a_line(text, here, capsys) -> None:
    Path("run.toml").write_text(text)
    said = refusal_of(capsys, "run", "run.toml", "--quiet")
    assert said.count(REFUSED[text]) == 1


def test_an_error_that_nobody_has_foreseen_is_a_line(monkeypatch, capsys) -> None:
    def failing(_) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("sys.argv", ["mfpde", "settings"])
    for say, told in (
        (lambda _: bytes(2**60), "memory: there is not enough of it"),
        (failing, "RuntimeError: two lines (MFPDE_TRACEBACK=1 shows where)"),
    ):
        monkeypatch.setattr("mfpde.commands.run.say", say)
        assert main() == 2
        assert capsys.readouterr().err == f"mfpde settings: {told}\n"
    monkeypatch.setenv("MFPDE_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        main()


ESCAPES = "\x1b]0;owned\x07 \x1b[2J\x1b[31m \x9b1m \r \u202e \u2066"


def is_plain(text: str) -> bool:
    return all(one.isprintable() or one == "\n" for one in text)


def test_nothing_that_is_printed_is_obeyed_by_a_terminal(here, capsys) -> None:
    """Of stores, of settings, of names of files: it is shown as escapes."""
    ordinary = "θ = 3π/4 → 中, naïve\n\tβ ≤ 1 — “ok” 👍"
    assert printable(ordinary) == ordinary
    order = mfpde.Diagnostic("order", f"{ESCAPES} height", ESCAPES, lambda _: 0.5)
    times = {"t_end": 0.1, "save_at": [0.0, 0.1]}
    run = mfpde.solve(EQUATION, START, diagnostics=[order], **times)
    stopped = dataclasses.replace(run, stop=StopReason("t_end", ESCAPES))
    mfpde.save(stopped, "x.zarr")
    for more in ([], ["--origin"]):
        assert main(["show", "x.zarr", *more]) == 0
        shown = capsys.readouterr().out
        assert "\\x1b]0;owned\\x07" in shown
        assert is_plain(shown)
    Path("run.toml").write_text(SETTINGS.replace("beta", '"\\u001b[31m\\u202e"'))
    for command in (
        ["show", f"{ESCAPES}.zarr"],
        ["run", f"{ESCAPES}.toml"],
        ["run", "run.toml"],
        ["resume", f"{ESCAPES}.zarr"],
    ):
        assert main(command) == 2
        said = capsys.readouterr()
        assert "\\x1b" in said.err
        assert is_plain(said.err + said.out)


def test_a_store_that_is_in_the_way_says_how_its_run_goes_on(
    interrupted, here, capsys
) -> None:
    """One that was stopped or killed; one that has ended says how to go further."""
    shutil.copytree(interrupted, "x.zarr")
    run = ["run", "run.toml", "--quiet", "--out"]
    assert "`mfpde resume x.zarr` goes on with it" in refusal_of(capsys, *run, "x.zarr")
    assert main([*run, "y.zarr"]) == 0
    said = refusal_of(capsys, *run, "y.zarr")
    assert "choose another path" in said
    assert "mfpde resume" not in said
    told = '[start] kind = "run", path = "y.zarr"'
    assert told in refusal_of(capsys, "resume", "y.zarr")
    # What is said works.
    Path("on.toml").write_text(OF_RUN.replace("PATH", "y.zarr"))
    assert main(["run", "on.toml", "--quiet", "--out", "z.zarr"]) == 0
    stored.assert_same(load("z.zarr").states[0], load("y.zarr").final)
