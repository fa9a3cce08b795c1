"""Signals, full disks, closed folders, two processes: what was saved stays, in one line."""

import ctypes
import fcntl
import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from processes import Processes, processes
from test_resume_exactly import CIRCLE, assert_same_stores

from mfpde.commands import command_line
from mfpde.commands.command_line import main
from mfpde.commands.interruption import Signalled, stopped_by_signals
from mfpde.commands.signals import (
    TerminatedError,
    ended_by_signals,
    raise_for,
    raise_if_dropped,
)
from mfpde.storage import StoreError, load, stored_checkpoint
from mfpde.storage.claim import claim, read_beside_writer, release

LONG = CIRCLE.replace("t_end = 2.0", "t_end = 1000.0").replace("0.02", "0.001")
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture(scope="module")
def commands(tmp_path_factory) -> Processes:
    with processes(tmp_path_factory.mktemp("signals")) as made:
        (made.folder / "run.toml").write_text(CIRCLE)
        (made.folder / "long.toml").write_text(LONG)
        yield made


def wait_for(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def started(commands: Processes, settings: str, store: str) -> int:
    """Start a run and return its process when it has saved its first states."""
    child = commands.start("run", settings, "--quiet", "--out", store)
    wait_for((commands.folder / store / "checkpoint" / "state").exists)
    return child


@pytest.mark.parametrize("number", CODES)
def test_a_signal_saves_and_the_run_goes_on_to_the_bit(commands, number) -> None:
    store, whole = f"{number}.zarr", f"{number} whole.zarr"
    options = ("run", "run.toml", "--quiet", "--out")
    assert commands.run(*options, whole) == 0
    os.kill(started(commands, "run.toml", store), number)
    assert commands.ended() == CODES[number]
    assert commands.said == f"interrupted; continue with: mfpde resume {store}\n"
    path = commands.folder / store
    # Not even the steps since the last save are lost.
    run = load(path)
    assert run.stop.kind == "interrupted"
    assert stored_checkpoint(path).checkpoint.time == run.final_time
    assert commands.run("resume", store, "--quiet") == 0
    assert_same_stores(commands.folder / whole, path)


def test_sigterm_outside_of_a_run_ends_the_command(monkeypatch, capsys) -> None:
    def killed(_) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        return 0

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(command_line, "_called", killed)
    assert main(["settings"]) == 143
    assert capsys.readouterr().err == "terminated\n"
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("number", CODES)
def test_a_signal_whose_error_python_drops_is_not_lost(number) -> None:
    """What is raised where C calls back goes no further, as in imports and the compiler."""

    @ctypes.CFUNCTYPE(None)
    def called_back() -> None:
        os.kill(os.getpid(), number)

    with ended_by_signals():
        called_back()
        with stopped_by_signals() as signalled:
            assert signalled.code == CODES[number]
        with pytest.raises(KeyboardInterrupt):
            raise_if_dropped()
    with ended_by_signals(), stopped_by_signals() as signalled:
        assert signalled.code is None


def test_a_signal_at_any_time_stops_a_command(commands) -> None:
    """Also while it is imported: a twentieth of them was lost there once."""
    os.kill(started(commands, "long.toml", "often.zarr"), signal.SIGTERM)
    assert commands.ended() == 143
    for wait in np.linspace(0.02, 0.5, 20):
        by = signal.SIGINT
        assert commands.stopped("resume", "often.zarr", after=wait, by=by) in (130, -2)


def test_a_second_signal_does_not_wait() -> None:
    signalled = Signalled()
    signalled.receive(signal.SIGINT)
    with pytest.raises(TerminatedError):
        signalled.receive(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        raise_for(signal.SIGINT)


# What a store is kept from --------------------------------------------------------------------


def test_two_processes_do_not_write_to_one_store(commands) -> None:
    child = started(commands, "long.toml", "one.zarr")
    path = commands.folder / "one.zarr"
    try:
        with pytest.raises(ValueError, match="is being written by another process"):
            claim(path)
        with _beside(commands) as other:
            for command in (
                ("resume", str(path), "--quiet"),
                ("run", "run.toml", "--quiet", "--overwrite", "--out", str(path)),
            ):
                assert other.run(*command) == 2
                assert other.said.count("\n") == 1
                assert "is being written by another process" in other.said
            # To read it is allowed, also while a state is being saved.
            assert other.run("show", str(path)) == 0
            for _ in range(30):
                assert len(load(path).times) > 0
    finally:
        os.kill(child, signal.SIGKILL)
        code = commands.ended()
    assert code == -9
    assert len(load(path).times) > 0
    # What was killed holds no store.
    assert commands.stopped("resume", "one.zarr", after=1.0, by=signal.SIGINT) == 130


def test_a_store_that_was_released_can_be_claimed_by_others(tmp_path) -> None:
    claim(tmp_path)
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(BlockingIOError):
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        release(tmp_path)
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(folder)


def test_what_is_being_saved_is_read_again(tmp_path) -> None:
    """While another process holds the store its records may not be whole."""
    left = iter([StoreError("half"), StoreError("half")])

    def read() -> str:
        error = next(left, None)
        if error is not None:
            raise error
        return "whole"

    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        assert read_beside_writer(tmp_path, read) == "whole"
    finally:
        os.close(folder)
    # Nobody writes: it is damaged.
    left = iter([StoreError("half"), StoreError("half"), StoreError("half")])
    with pytest.raises(StoreError):
        read_beside_writer(tmp_path, read)


def _beside(commands: Processes):
    folder = commands.folder / "beside"
    folder.mkdir()
    (folder / "run.toml").write_text(CIRCLE)
    return processes(folder)


def test_a_full_disk_keeps_the_last_checkpoint(commands) -> None:
    """A file of more bytes than are allowed is a disk that is full, to who writes."""
    fine = CIRCLE.replace("cells = 128", "cells = 8192").replace("2.0\ns", "0.3\ns")
    (commands.folder / "fine.toml").write_text(fine)
    command = ("run", "fine.toml", "--quiet", "--out")
    assert commands.run(*command, "full whole.zarr") == 0
    # The checkpoint fits in, a chunk of four densities does not.
    assert commands.run(*command, "full.zarr", largest_file=100_000) == 2
    assert commands.said.count("\n") == 1
    assert commands.said.startswith("mfpde run: File too large")
    path = commands.folder / "full.zarr"
    saves = len(load(path).times)
    assert 0 < saves < 4
    assert stored_checkpoint(path).checkpoint.saves == saves
    assert commands.run("resume", "full.zarr", "--quiet") == 0
    assert_same_stores(commands.folder / "full whole.zarr", path)


def test_a_folder_closed_for_writing_is_a_line(tmp_path, monkeypatch, capsys) -> None:
    """As the system's refusal: root, who runs tests in containers, may write anywhere."""

    def refused(*_, **__) -> None:
        raise PermissionError(13, "Permission denied", "x.zarr")

    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(CIRCLE)
    assert main(["run", "run.toml", "--quiet", "--out", "x.zarr"]) == 0
    before = {p: p.read_bytes() for p in Path("x.zarr").rglob("*") if p.is_file()}
    monkeypatch.setattr("mfpde.commands.answers.tempfile.TemporaryFile", refused)
    command = ["run", "run.toml", "--quiet", "--overwrite", "--out", "x.zarr"]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "--out x.zarr cannot be written: Permission denied" in said
    assert before == {p: p.read_bytes() for p in before}


def test_a_store_closed_for_writing_is_not_resumed(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(CIRCLE.replace("[solve]", "[solve]\nmax_steps = 20"))
    assert main(["run", "run.toml", "--quiet", "--out", "x.zarr"]) == 0
    before = {p: p.read_bytes() for p in Path("x.zarr").rglob("*") if p.is_file()}

    def refused(*_, **__) -> None:
        raise PermissionError(13, "Permission denied", "x.zarr/zarr.json")

    monkeypatch.setattr("zarr.storage._local._put", refused)
    assert main(["resume", "x.zarr", "--quiet"]) == 2
    said = capsys.readouterr().err
    assert said == "mfpde resume: Permission denied: x.zarr/zarr.json\n"
    assert before == {p: p.read_bytes() for p in before}
    assert json.loads(Path("x.zarr/zarr.json").read_text())
