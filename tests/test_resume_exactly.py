"""A run that was killed and resumed is to the bit the run that was never stopped."""

import gc
import json
import pickle
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zarr
from processes import Processes, processes

import mfpde
from mfpde.commands.command_line import main
from mfpde.runs.stopping import ENDED
from mfpde.storage import (
    RunWriter,
    StoreError,
    load,
    read_description,
    stored_checkpoint,
)
from mfpde.storage.files import has_journal
from mfpde.storage.journal import BEGINNING, CHECKPOINT, Journal, Row
from mfpde.storage.records import encode_checkpoint

CIRCLE = """
[geometry]
kind = "circle"
cells = 128
[attention]
beta = 4.0
[perceptron]
directions = [[1.0, 0.0]]
weights = [0.3]
[equation]
direction = "ascent"
[start]
kind = "perturbed_uniform"
amplitude = 0.3
[solve]
t_end = 2.0
save_every = 0.1
max_step = 0.02
"""
ATOMS = """
[geometry]
kind = "circle"
cells = 64
[attention]
beta = 6.0
[equation]
direction = "ascent"
[start]
kind = "bumps"
angles = [1.0, 3.5]
widths = [0.5, 0.5]
masses = [0.6, 0.4]
background = 0.1
[solve]
t_end = 8.0
save_every = 0.5
atoms = "exact"
"""
SPHERE = """
[geometry]
kind = "sphere"
nlat = 32
nlon = 64
[attention]
beta = 4.0
[perceptron]
directions = [[1.0, 0.0, 0.2], [-0.5, 1.0, 0.3]]
weights = [1.0, 0.8]
[equation]
direction = "ascent"
[start]
kind = "perturbed_uniform"
amplitude = 0.5
[solve]
t_end = 3.0
save_every = 0.1
max_step = 0.01
"""
SPHERE_ATOMS = """
[geometry]
kind = "sphere"
nlat = 32
nlon = 64
[attention]
beta = 2.0
[equation]
direction = "ascent"
[start]
kind = "bumps"
centres = [[1.0, 0.0, 0.0], [-0.6, 0.8, 0.0]]
widths = 0.2887
masses = [0.6, 0.4]
[solve]
t_end = 0.8
save_every = 0.2
atoms = "exact"
"""
LAYERS = """
[geometry]
kind = "circle"
cells = 64
[attention]
beta = 3.0
[equation]
direction = "ascent"
diffusion = 0.01
[start]
kind = "perturbed_uniform"
amplitude = 0.3
[[layers]]
duration = 0.5
count = 3
[[layers]]
duration = 0.5
equation = { direction = "descent" }
[solve]
save_every = 0.1
"""
TRACKED = "[concentration]\n"
RUNS = {
    "circle": CIRCLE,
    "circle, tracked": CIRCLE.replace("save_every = 0.1", "save_every = 0.5") + TRACKED,
    "circle, atoms": ATOMS,
    "circle, atoms, tracked": ATOMS + TRACKED,
    "circle, layers": LAYERS,
    "sphere": SPHERE,
    "sphere, tracked": SPHERE.replace("save_every = 0.1", "save_every = 0.5") + TRACKED,
    "sphere, atoms": SPHERE_ATOMS,
}


@pytest.fixture(scope="module")
def commands(tmp_path_factory) -> Processes:
    with processes(tmp_path_factory.mktemp("killed")) as made:
        yield made


def all_of(store: Path) -> dict[str, np.ndarray | str]:
    """Every array and attribute of a store, without the clock and its own path."""
    group = zarr.open_group(store, mode="r")
    found = {name: np.asarray(array[...]) for name, array in group.arrays()}
    attributes = dict(group.attrs)
    statistics = json.loads(attributes.pop("statistics"))
    settings = json.loads(attributes.pop("settings"))
    del attributes["digest"], statistics["wall_seconds"]
    return {**found, **attributes, "statistics": statistics, "settings": settings}


def assert_same_stores(store: Path, other: Path) -> None:
    one, two = all_of(store), all_of(other)
    assert one.keys() == two.keys()
    for name, value in one.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, two[name], err_msg=name, strict=True)
        else:
            assert value == two[name], name


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
    for wait in (second, 0.0):
        if has_journal(folder / killed):
            command = ("resume", killed, "--quiet")
        if wait:
            commands.stopped(*command, after=wait)
    if commands.run(*command) != 0:
        # It had ended before it was killed the second time.
        assert "has already ended" in commands.said
    assert_same_stores(folder / whole, folder / killed)
    assert not has_journal(folder / killed)
    if name == "sphere":
        # The spectral phase ends on the way.
        assert 0 < load(folder / killed).statistics["spectral_until"] < 3.0


# What a loop holds ----------------------------------------------------------------------------


EQUATION = mfpde.MeanFieldEquation(mfpde.Attention(4.0), direction="ascent")
START = mfpde.perturbed_uniform(mfpde.Circle(64), 0.3)
ARGUMENTS = {
    "t_end": 1.0,
    "save_every": 0.1,
    "max_step": 0.01,
    "track": mfpde.Concentration(),
}


class KilledError(BaseException):
    """Stands for the end of the process."""


def killed_after(saves: int, path: Path, **arguments) -> None:
    """Leave a store whose process was killed after so many checkpoints."""
    left = iter(range(saves - 1))

    class Writer(RunWriter):
        def keep(self, checkpoint) -> None:
            super().keep(checkpoint)
            if next(left, None) is None:
                raise KilledError

    writer = Writer(path, EQUATION, START.geometry)
    with pytest.raises(KilledError):
        mfpde.solve(EQUATION, START, observer=writer, **ARGUMENTS | arguments)


def resumed(path: Path, **arguments) -> mfpde.Run:
    checkpoint = stored_checkpoint(path)
    writer = RunWriter.resume(path, checkpoint)
    return mfpde.solve(
        EQUATION,
        START,
        observer=writer,
        resume_from=checkpoint,
        **ARGUMENTS | arguments,
    )


def assert_same_runs(run: mfpde.Run, other: mfpde.Run) -> None:
    np.testing.assert_array_equal(run.times, other.times)
    for state, another in zip(run.states, other.states, strict=True):
        np.testing.assert_array_equal(state.density.values, another.density.values)
    assert run.statistics["steps"] == other.statistics["steps"]
    assert run.stop == other.stop
    for verdict, another in zip(run.track.verdicts, other.track.verdicts, strict=True):
        assert verdict == another


@pytest.mark.parametrize("saves", [1, 4, 11])
def test_a_program_goes_on_to_the_bit_too(saves, tmp_path) -> None:
    whole = mfpde.solve(EQUATION, START, **ARGUMENTS)
    killed_after(saves, tmp_path / "x.zarr")
    second = resumed(tmp_path / "x.zarr")
    assert second.times.tolist() == whole.times[saves:].tolist()
    assert_same_runs(load(tmp_path / "x.zarr"), whole)


def test_a_limit_of_steps_counts_the_steps_of_a_killed_run(tmp_path) -> None:
    limited = {"stop": [mfpde.StepLimit(60)]}
    whole = mfpde.solve(EQUATION, START, **ARGUMENTS | limited)
    assert whole.stop.kind == "step_limit"
    killed_after(5, tmp_path / "x.zarr", **limited)
    resumed(tmp_path / "x.zarr", **limited)
    assert_same_runs(load(tmp_path / "x.zarr"), whole)


def test_a_run_that_its_limit_stopped_goes_on_for_as_many_steps(tmp_path) -> None:
    whole = mfpde.solve(EQUATION, START, **ARGUMENTS)
    path = tmp_path / "x.zarr"
    limited = ARGUMENTS | {"stop": [mfpde.StepLimit(40)]}
    writer = RunWriter(path, EQUATION, START.geometry)
    counts = [mfpde.solve(EQUATION, START, observer=writer, **limited).statistics]
    while load(path).stop.kind not in ENDED:
        counts.append(resumed(path, stop=[mfpde.StepLimit(40)]).statistics)
    steps = [count["steps"] for count in counts]
    assert set(np.diff(steps[:-1])) <= {40}
    assert len(steps) > 2
    assert_same_runs(load(path), whole)


def test_other_arguments_are_refused(tmp_path) -> None:
    killed_after(4, tmp_path / "x.zarr")
    with pytest.raises(ValueError, match=r"resume_from was taken at t = 0.29 after 4"):
        resumed(tmp_path / "x.zarr", save_every=0.25)


# Checkpoints on disk --------------------------------------------------------------------------


def kept_checkpoint(path: Path) -> dict[str, list]:
    """Return the checkpoint in the journal of a store."""
    with closing(Journal(path)) as journal:
        row = journal.read(CHECKPOINT)
    arrays = {name: np.asarray(array).tolist() for name, array in row.arrays.items()}
    return {"text": row.text, **arrays}


def keep_in(path: Path, row: Row) -> None:
    """Put a row in place of the checkpoint, with the checksum that belongs to it."""
    with closing(Journal(path)) as journal:
        journal.write({CHECKPOINT: row})


def test_a_checkpoint_that_is_not_finite_replaces_none(tmp_path) -> None:
    path = tmp_path / "x.zarr"
    killed_after(4, path)
    before = kept_checkpoint(path)
    checkpoint = stored_checkpoint(path)
    writer = RunWriter.resume(path, checkpoint)
    checkpoint.state.masses[3] = np.nan
    writer.keep(checkpoint)
    assert kept_checkpoint(path) == before


def test_a_checkpoint_runs_no_code(tmp_path) -> None:
    path = tmp_path / "x.zarr"
    killed_after(4, path)

    class Evil:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "touched",))

    data = np.frombuffer(pickle.dumps(Evil()), dtype=np.uint8)
    keep_in(path, Row("{}", {"masses": data}))
    with pytest.raises(StoreError, match="is damaged: checkpoint"):
        stored_checkpoint(path)
    assert not (tmp_path / "touched").exists()


def test_a_checkpoint_of_another_grid_is_refused(tmp_path) -> None:
    """Its checksum is right: someone has made it so."""
    path = tmp_path / "x.zarr"
    killed_after(4, path)
    other = replace(stored_checkpoint(path), geometry=mfpde.Circle(32))
    keep_in(path, encode_checkpoint(other))
    with pytest.raises(StoreError, match=r"checkpoint: arrays of the shapes"):
        stored_checkpoint(path)


def test_a_checkpoint_without_its_saves_is_refused(tmp_path) -> None:
    path = tmp_path / "x.zarr"
    killed_after(4, path)
    other = replace(stored_checkpoint(path), saves=9)
    keep_in(path, encode_checkpoint(other))
    with pytest.raises(StoreError, match=r"after 9 saves, of which there are 4"):
        stored_checkpoint(path)


@pytest.fixture
def killed(tmp_path, monkeypatch) -> str:
    """Return the store of a killed ``mfpde run`` in the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(LAYERS)
    original, left = RunWriter.keep, iter(range(4))

    def keep(writer, checkpoint) -> None:
        original(writer, checkpoint)
        if next(left, None) is None:
            raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(RunWriter, "keep", keep)
        with pytest.raises(KilledError):
            main(["run", "run.toml", "--quiet", "--out", "x.zarr"])
    # A process that is killed holds no lock.
    gc.collect()
    return "x.zarr"


def test_a_run_whose_settings_give_another_equation_is_not_resumed(
    killed, capsys
) -> None:
    settings = read_description(killed).settings
    settings["attention"]["beta"] = 3.5
    with closing(Journal(killed)) as journal:
        attributes = json.loads(journal.read(BEGINNING).text)
        attributes["settings"] = json.dumps(settings)
        journal.write({BEGINNING: Row(json.dumps(attributes))})
    assert main(["resume", killed, "--quiet"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "another equation than the one it was begun with" in said


def test_a_damaged_checkpoint_is_named_and_the_run_begins_anew(killed, capsys) -> None:
    assert main(["run", "run.toml", "--quiet", "--out", "whole.zarr"]) == 0
    change = "UPDATE rows SET data = zeroblob(99) WHERE number = -3"
    with closing(sqlite3.connect(Path(killed) / "journal.sqlite")) as database:
        database.execute(change)
        database.commit()
    assert main(["resume", killed, "--quiet"]) == 0
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert (
        "journal.sqlite is damaged: checkpoint: it does not match its checksum" in said
    )
    assert_same_stores(Path("whole.zarr"), Path(killed))


@pytest.mark.parametrize("saves", [0, 1])
def test_a_run_killed_before_its_first_checkpoint_begins_anew(
    saves, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(LAYERS)
    original, left = RunWriter.save, iter(range(saves))

    def save(writer, *arguments) -> None:
        if next(left, None) is None:
            raise KilledError
        original(writer, *arguments)

    def keep(writer, checkpoint) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(RunWriter, "save", save)
        patch.setattr(RunWriter, "keep", keep)
        with pytest.raises(KilledError):
            main(["run", "run.toml", "--quiet", "--out", "x.zarr"])
    gc.collect()
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    assert main(["run", "run.toml", "--quiet", "--out", "whole.zarr"]) == 0
    assert_same_stores(Path("whole.zarr"), Path("x.zarr"))


def test_a_run_that_has_ended_keeps_no_journal(killed) -> None:
    assert has_journal(killed)
    assert main(["resume", killed, "--quiet"]) == 0
    assert not has_journal(killed)
