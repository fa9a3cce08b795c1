"""A run that was killed and resumed is to the bit the run that was never stopped."""

import contextlib
import gc
import json
import pickle
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stored
from processes import Processes, processes

import mfpde
from mfpde import storage
from mfpde.commands.command_line import main
from mfpde.storage.journal import Journal, Row
from mfpde.storage.records import encode_checkpoint

RUNS = {
    "circle": stored.CIRCLE,
    "circle, tracked": stored.CIRCLE.replace("save_every = 0.1", "save_every = 0.5")
    + stored.TRACKED,
    "circle, atoms": stored.ATOMS,
    "circle, atoms, tracked": stored.ATOMS + stored.TRACKED,
    "circle, layers": stored.LAYERS,
    "sphere": stored.SPHERE,
    "sphere, tracked": stored.SPHERE.replace("save_every = 0.1", "save_every = 0.5")
    + stored.TRACKED,
    "sphere, atoms": stored.SPHERE_ATOMS,
    "zonal": stored.CIRCLE.replace(
        'kind = "circle", cells = 128', 'kind = "zonal", dimension = 5, cells = 64'
    ).replace("[[1.0, 0.0]]", "[1.0]"),
}


@pytest.fixture(scope="module")
def commands(tmp_path_factory) -> Processes:
    with processes(tmp_path_factory.mktemp("killed")) as made:
        yield made


@pytest.mark.parametrize("name", RUNS)
def test_a_killed_run_is_resumed_to_the_bit(name, commands, rng) -> None:
    folder = commands.folder
    (folder / "run.toml").write_text(RUNS[name])
    whole, killed = f"{name} whole.zarr", f"{name}.zarr"
    began = time.monotonic()
    assert commands.run("run", "run.toml", "--quiet", "--out", whole) == 0
    seconds = time.monotonic() - began
    command = ("run", "run.toml", "--quiet", "--out", killed)
    first, second = rng.uniform(0.1, 0.6, size=2) * seconds
    while commands.stopped(*command, after=first) != -9:
        # It had ended before, as the second time is quicker than the first.
        command, first = (*command[:3], "--overwrite", "--out", killed), first / 2
        assert first > 1e-3
    with contextlib.suppress(FileNotFoundError, storage.StoreError):
        # Exact atoms tell their events as the run goes.
        cut, complete = storage.load(folder / killed), storage.load(folder / whole)
        told = [one.kind for one in complete.events if one.time <= cut.final_time]
        assert stored.TRACKED in RUNS[name] or [one.kind for one in cut.events] == told
    for wait in (second, 0.0):
        if stored.has_journal(folder / killed):
            command = ("resume", killed, "--quiet")
        if wait:
            commands.stopped(*command, after=wait)
    if commands.run(*command) != 0:
        # It had ended before it was killed the second time.
        assert "has already ended" in commands.said
    stored.assert_same_stores(folder / whole, folder / killed)
    assert not stored.has_journal(folder / killed)
    if name == "sphere":
        # The spectral phase ends on the way.
        assert 0 < storage.load(folder / killed).statistics["spectral_until"] < 3.0


# What a loop holds ----------------------------------------------------------------------------


EQUATION = mfpde.MeanFieldEquation(mfpde.Attention(4.0), direction="ascent")
START = mfpde.perturbed_uniform(mfpde.Circle(64), 0.3)
ARGUMENTS = {
    "t_end": 1.0,
    "save_every": 0.1,
    "max_step": 0.01,
    "track": mfpde.Concentration(),
}


def scaled(radius: float | None) -> mfpde.MeanFieldEquation:
    """Softmax attention in pre-LN."""
    normalization = mfpde.Normalization("pre", radius=radius)
    options = {"direction": "ascent", "normalization": normalization}
    return mfpde.MeanFieldEquation(mfpde.Attention(3.0, True), **options)


NEURONS = mfpde.Perceptron([[1.0, 0.3], [-0.4, 0.8]], [0.8, -0.5], "tanh")
BLOCKS = (
    mfpde.Block(mfpde.Attention(3.0, True), 0.3),
    mfpde.Block(NEURONS, 0.5, direction="descent"),
)
ON_SPHERE = mfpde.perturbed_uniform(mfpde.Sphere(32), 0.3)
SHORT = {"t_end": 0.4, "save_every": 0.1}
PROGRAMS = {
    "attention": (EQUATION, START, ARGUMENTS),
    "discrete layers": (mfpde.DiscreteLayers([*BLOCKS, BLOCKS, BLOCKS]), START, {}),
    "radii": (scaled(0.5), START, SHORT),
    "radii on a sphere": (scaled(0.5), ON_SPHERE, SHORT),
    "radii of layers": (
        mfpde.Layers([(scaled(0.5), 0.2), (scaled(None), 0.2)]),
        START,
        SHORT,
    ),
}


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "x.zarr"


@pytest.fixture(scope="module")
def whole() -> mfpde.Run:
    return mfpde.solve(EQUATION, START, **ARGUMENTS)


def kill_after(saves: int, path: Path, name: str = "attention", **arguments) -> None:
    """Leave a store whose process was killed after so many checkpoints."""
    dynamics, start, given = PROGRAMS[name]
    writer = storage.RunWriter(path, dynamics, start.geometry)
    with (
        pytest.raises(stored.KilledError),
        stored.raised_after(saves, stored.KilledError, "save"),
    ):
        mfpde.solve(dynamics, start, observer=writer, **given | arguments)


def resume(path: Path, name: str = "attention", **arguments) -> mfpde.Run:
    checkpoint = storage.stored_checkpoint(path)
    going_on = {
        "observer": storage.RunWriter.resume(path, checkpoint),
        "resume_from": checkpoint,
    }
    dynamics, start, given = PROGRAMS[name]
    return mfpde.solve(dynamics, start, **given | going_on | arguments)


def assert_same_runs(run: mfpde.Run, other: mfpde.Run) -> None:
    stored.assert_same(run, other, without=["statistics"])
    assert run.statistics["steps"] == other.statistics["steps"]


@pytest.mark.parametrize("saves", [1, 2, 4, 10])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_goes_on_to_the_bit_too(name, saves, path) -> None:
    dynamics, start, given = PROGRAMS[name]
    whole = mfpde.solve(dynamics, start, **given)
    saves = min(saves, len(whole.times) - 1)
    kill_after(saves, path, name)
    assert resume(path, name).times.tolist() == whole.times[saves:].tolist()
    assert_same_runs(storage.load(path), whole)


def test_a_run_that_its_limit_stopped_goes_on_for_as_many_steps(path, whole) -> None:
    limited = {"stop": [mfpde.StepLimit(40)]}
    writer = storage.RunWriter(path, EQUATION, START.geometry)
    first = mfpde.solve(EQUATION, START, observer=writer, **ARGUMENTS | limited)
    # The steps of a run that is killed count too.
    again = path.with_name("y.zarr")
    kill_after(2, again, **limited)
    resume(again, **limited)
    assert_same_runs(storage.load(again), first)
    steps = [first.statistics["steps"]]
    while storage.load(path).stop.kind == "step_limit":
        steps.append(resume(path, **limited).statistics["steps"])
    assert set(np.diff(steps[:-1])) <= {40}
    assert len(steps) > 2
    assert_same_runs(storage.load(path), whole)


def test_other_arguments_are_refused(path) -> None:
    kill_after(4, path)
    with pytest.raises(ValueError, match=r"resume_from was taken at t = 0.29 after 4"):
        resume(path, save_every=0.25)


def test_a_checkpoint_that_is_not_finite_replaces_none(path) -> None:
    kill_after(4, path)
    checkpoint, before = (
        storage.stored_checkpoint(path),
        storage.stored_checkpoint(path),
    )
    writer = storage.RunWriter.resume(path, checkpoint)
    checkpoint.state.masses[3] = np.nan
    writer.keep(checkpoint)
    after = storage.stored_checkpoint(path)
    assert after.time == before.time
    np.testing.assert_array_equal(after.state.masses, before.state.masses)


def changed_row(path: Path, **change: Any) -> Row:
    return encode_checkpoint(replace(storage.stored_checkpoint(path), **change))


PICKLED = np.frombuffer(pickle.dumps(stored.Evil()), dtype=np.uint8)
ROWS: dict[str, tuple[Callable[[Path], Row], str]] = {
    "another grid": (
        lambda path: changed_row(path, geometry=mfpde.Circle(32)),
        "checkpoint: arrays of the shapes",
    ),
    "saves": (
        lambda path: changed_row(path, saves=9),
        "after 9 saves, of which there are 4",
    ),
    "pickled": (lambda _: Row("{}", {"masses": PICKLED}), "is damaged: checkpoint"),
}


@pytest.mark.parametrize(("row", "said"), ROWS.values(), ids=ROWS)
def test_a_checkpoint_that_does_not_fit_is_refused(
    row, said, path, monkeypatch
) -> None:
    """Its checksum is right: someone has made it so."""
    monkeypatch.chdir(path.parent)
    kill_after(4, path)
    changed = row(path)
    with closing(Journal(path)) as journal:
        journal.write({Journal.CHECKPOINT: changed})
    with pytest.raises(storage.StoreError, match=said):
        storage.stored_checkpoint(path)
    assert not Path("executed").exists()


# Commands -------------------------------------------------------------------------------------


@pytest.fixture
def killed(tmp_path, monkeypatch) -> str:
    """Return the store of a killed ``mfpde run`` in the working directory."""
    monkeypatch.chdir(tmp_path)
    kill_command("keep", 4)
    return "x.zarr"


def kill_command(method: str, calls: int) -> None:
    """Leave the store of ``mfpde run`` killed after so many saves or checkpoints."""
    Path("run.toml").write_text(stored.LAYERS)
    with (
        pytest.raises(stored.KilledError),
        stored.raised_after(calls, stored.KilledError, method),
    ):
        main(["run", "run.toml", "--quiet", "--out", "x.zarr"])
    # A process that is killed holds no lock.
    gc.collect()


def test_a_run_whose_settings_give_another_equation_is_not_resumed(
    killed, capsys
) -> None:
    settings = storage.read_description(killed).settings
    settings["attention"]["beta"] = 3.5
    with closing(Journal(killed)) as journal:
        attributes = json.loads(journal.read(Journal.BEGINNING).text)
        attributes["settings"] = json.dumps(settings)
        journal.write({Journal.BEGINNING: Row(json.dumps(attributes))})
    assert main(["resume", killed, "--quiet"]) == 2
    assert "another equation than the one it was begun with" in stored.line_of(capsys)


def test_a_damaged_checkpoint_is_named_and_the_run_begins_anew(killed, capsys) -> None:
    assert main(["run", "run.toml", "--quiet", "--out", "whole.zarr"]) == 0
    change = "UPDATE rows SET data = zeroblob(99) WHERE number = -3"
    with closing(sqlite3.connect(Path(killed) / "journal.sqlite")) as database:
        database.execute(change)
        database.commit()
    assert stored.has_journal(killed)
    assert main(["resume", killed, "--quiet"]) == 0
    told = "journal.sqlite is damaged: checkpoint: it does not match its checksum"
    assert told in stored.line_of(capsys)
    stored.assert_same_stores("whole.zarr", killed)
    assert not stored.has_journal(killed)


@pytest.mark.parametrize("method", ["save", "keep", "finish"])
def test_a_run_killed_at_its_first_save_or_after_its_last_is_whole_at_last(
    method, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kill_command(method, 0)
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    assert main(["run", "run.toml", "--quiet", "--out", "whole.zarr"]) == 0
    stored.assert_same_stores("whole.zarr", "x.zarr")
