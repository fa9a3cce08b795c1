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
from processes import Processes, processes
from stored import (
    ATOMS,
    CIRCLE,
    LAYERS,
    SPHERE,
    SPHERE_ATOMS,
    TRACKED,
    KilledError,
    assert_same_stores,
    line_of,
)

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


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "x.zarr"


@pytest.fixture(scope="module")
def whole() -> mfpde.Run:
    return mfpde.solve(EQUATION, START, **ARGUMENTS)


def kill_after(saves: int, path: Path, **arguments) -> None:
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


def resume(path: Path, **arguments) -> mfpde.Run:
    checkpoint = stored_checkpoint(path)
    going_on = {
        "observer": RunWriter.resume(path, checkpoint),
        "resume_from": checkpoint,
    }
    return mfpde.solve(EQUATION, START, **ARGUMENTS | going_on | arguments)


def assert_same_runs(run: mfpde.Run, other: mfpde.Run) -> None:
    np.testing.assert_array_equal(run.times, other.times)
    for state, another in zip(run.states, other.states, strict=True):
        np.testing.assert_array_equal(state.density.values, another.density.values)
    assert run.statistics["steps"] == other.statistics["steps"]
    assert run.stop == other.stop
    assert list(run.track.verdicts) == list(other.track.verdicts)


@pytest.mark.parametrize("saves", [1, 4, 11])
def test_a_program_goes_on_to_the_bit_too(saves, path, whole) -> None:
    kill_after(saves, path)
    assert resume(path).times.tolist() == whole.times[saves:].tolist()
    assert_same_runs(load(path), whole)


def test_a_limit_of_steps_counts_the_steps_of_a_killed_run(path) -> None:
    limited = {"stop": [mfpde.StepLimit(60)]}
    stopped = mfpde.solve(EQUATION, START, **ARGUMENTS | limited)
    assert stopped.stop.kind == "step_limit"
    kill_after(5, path, **limited)
    resume(path, **limited)
    assert_same_runs(load(path), stopped)


def test_a_run_that_its_limit_stopped_goes_on_for_as_many_steps(path, whole) -> None:
    limited = {"stop": [mfpde.StepLimit(40)]}
    writer = RunWriter(path, EQUATION, START.geometry)
    first = mfpde.solve(EQUATION, START, observer=writer, **ARGUMENTS | limited)
    steps = [first.statistics["steps"]]
    while load(path).stop.kind not in ENDED:
        steps.append(resume(path, **limited).statistics["steps"])
    assert set(np.diff(steps[:-1])) <= {40}
    assert len(steps) > 2
    assert_same_runs(load(path), whole)


def test_other_arguments_are_refused(path) -> None:
    kill_after(4, path)
    with pytest.raises(ValueError, match=r"resume_from was taken at t = 0.29 after 4"):
        resume(path, save_every=0.25)


# Checkpoints on disk --------------------------------------------------------------------------


def kept_row(path: Path) -> Row:
    with closing(Journal(path)) as journal:
        return journal.read(CHECKPOINT)


def keep_in(path: Path, row: Row) -> None:
    """Put a row in place of the checkpoint, with the checksum that belongs to it."""
    with closing(Journal(path)) as journal:
        journal.write({CHECKPOINT: row})


def test_a_checkpoint_that_is_not_finite_replaces_none(path) -> None:
    kill_after(4, path)
    before, checkpoint = kept_row(path), stored_checkpoint(path)
    writer = RunWriter.resume(path, checkpoint)
    checkpoint.state.masses[3] = np.nan
    writer.keep(checkpoint)
    after = kept_row(path)
    assert after.text == before.text
    assert after.arrays.keys() == before.arrays.keys()
    for name, array in before.arrays.items():
        np.testing.assert_array_equal(after.arrays[name], array)


def test_a_checkpoint_runs_no_code(path) -> None:
    kill_after(4, path)

    class Evil:
        def __reduce__(self):
            return (Path.touch, (path.parent / "touched",))

    data = np.frombuffer(pickle.dumps(Evil()), dtype=np.uint8)
    keep_in(path, Row("{}", {"masses": data}))
    with pytest.raises(StoreError, match="is damaged: checkpoint"):
        stored_checkpoint(path)
    assert not (path.parent / "touched").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(
            {"geometry": mfpde.Circle(32)},
            r"checkpoint: arrays of the shapes",
            id="another grid",
        ),
        pytest.param({"saves": 9}, r"after 9 saves, of which there are 4", id="saves"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(change, said, path) -> None:
    """Its checksum is right: someone has made it so."""
    kill_after(4, path)
    keep_in(path, encode_checkpoint(replace(stored_checkpoint(path), **change)))
    with pytest.raises(StoreError, match=said):
        stored_checkpoint(path)


# Commands -------------------------------------------------------------------------------------


def kill_command(monkeypatch, *, saves: int, checkpoints: int) -> None:
    """Leave the store of ``mfpde run`` killed after as many saves and checkpoints."""
    Path("run.toml").write_text(LAYERS)
    left = {"save": iter(range(saves)), "keep": iter(range(checkpoints))}

    def counted(name):
        original = getattr(RunWriter, name)

        def called(writer, *given) -> None:
            if next(left[name], None) is None:
                raise KilledError
            original(writer, *given)

        return called

    with monkeypatch.context() as patch:
        for name in left:
            patch.setattr(RunWriter, name, counted(name))
        with pytest.raises(KilledError):
            main(["run", "run.toml", "--quiet", "--out", "x.zarr"])
    # A process that is killed holds no lock.
    gc.collect()


@pytest.fixture
def killed(tmp_path, monkeypatch) -> str:
    """Return the store of a killed ``mfpde run`` in the working directory."""
    monkeypatch.chdir(tmp_path)
    kill_command(monkeypatch, saves=99, checkpoints=4)
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
    assert "another equation than the one it was begun with" in line_of(capsys)


def test_a_damaged_checkpoint_is_named_and_the_run_begins_anew(killed, capsys) -> None:
    assert main(["run", "run.toml", "--quiet", "--out", "whole.zarr"]) == 0
    change = "UPDATE rows SET data = zeroblob(99) WHERE number = -3"
    with closing(sqlite3.connect(Path(killed) / "journal.sqlite")) as database:
        database.execute(change)
        database.commit()
    assert has_journal(killed)
    assert main(["resume", killed, "--quiet"]) == 0
    told = "journal.sqlite is damaged: checkpoint: it does not match its checksum"
    assert told in line_of(capsys)
    assert_same_stores("whole.zarr", killed)
    assert not has_journal(killed)


@pytest.mark.parametrize("saves", [0, 1])
def test_a_run_killed_before_its_first_checkpoint_begins_anew(
    saves, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kill_command(monkeypatch, saves=saves, checkpoints=0)
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    assert main(["run", "run.toml", "--quiet", "--out", "whole.zarr"]) == 0
    assert_same_stores("whole.zarr", "x.zarr")
