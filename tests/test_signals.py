"""Signals, full disks, closed folders, two processes: what was saved stays, in one line."""

import ctypes
import errno
import fcntl
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle
from mfpde.measures.measure import perturbed_uniform
from mfpde.solver.solve import solve
from mfpde.storage import RunWriter, StoreError, load, save, stored_checkpoint
from mfpde.storage.claim import claim, read_beside_writer
from mfpde.terms import Attention

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
        with pytest.raises(StoreError, match="is being written by another process"):
            RunWriter.resumed(path)
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


@contextmanager
def another_thread() -> Iterator[Callable[..., Any]]:
    """Let the block have calls made by one other thread."""
    with ThreadPoolExecutor(1) as other:
        yield lambda *call: other.submit(*call).result()


def written(path: Path, *, overwrite: bool = True) -> None:
    save(RUN, path, overwrite=overwrite)


START = perturbed_uniform(Circle(32), 0.2)
RUN = solve(
    MeanFieldEquation(Attention(2.0), direction="ascent"),
    START,
    t_end=0.1,
    save_every=0.05,
)


def test_a_store_that_was_released_can_be_claimed_by_others(tmp_path) -> None:
    """And not before all that was claimed in each other is released."""
    first, second = claim(tmp_path), claim(tmp_path)
    with another_thread() as elsewhere:
        for held in (first, first, second):
            with pytest.raises(StoreError, match="is being written by another"):
                elsewhere(claim, tmp_path)
            held.release()
        elsewhere(claim, tmp_path).release()


@pytest.mark.parametrize("overwrite", [True, False])
def test_threads_do_not_write_to_one_store(tmp_path, *, overwrite) -> None:
    """One writes; others are told so, in a line, and spoil nothing."""
    path = tmp_path / "x.zarr"

    def said(_) -> str:
        try:
            written(path, overwrite=overwrite)
        except (StoreError, FileExistsError) as error:
            return str(error)
        return "written"

    with ThreadPoolExecutor(4) as threads:
        told = list(threads.map(said, range(12)))
    assert told.count("written") == 1 if not overwrite else "written" in told
    for line in told:
        assert re.fullmatch(r"written|.* is being written by .*|.* exists: .*", line)
    for one, other in zip(load(path).states, RUN.states, strict=True):
        np.testing.assert_array_equal(one.density.values, other.density.values)


def test_a_run_that_ended_meanwhile_is_not_replaced(tmp_path, monkeypatch) -> None:
    """The place was free when one asked, and another run was written before one had it."""
    path = tmp_path / "x.zarr"

    def claimed_late(place):
        monkeypatch.undo()
        written(path, overwrite=False)
        return claim(place)

    monkeypatch.setattr("mfpde.storage.new_store.claim", claimed_late)
    with pytest.raises(FileExistsError, match="exists: choose another path"):
        written(path, overwrite=False)
    assert len(load(path).times) == len(RUN.times)


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EBADF, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_a_line(
    code, tmp_path, monkeypatch, capsys
) -> None:
    """Nothing is written that two processes might write."""

    def failing(*_) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(CIRCLE)
    varied = '[sweep]\nfolder = "s"\n[sweep.product]\n"attention.beta" = [1, 2]\n'
    Path("sweep.toml").write_text(CIRCLE + varied)
    monkeypatch.setattr(fcntl, "flock", failing)
    for command in (["run", "run.toml", "--out", "x.zarr"], ["sweep", "sweep.toml"]):
        assert main([*command, "--quiet"]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "cannot be locked" in said
        assert os.strerror(code) in said
    with pytest.raises(StoreError, match="cannot be locked"):
        written(tmp_path / "y.zarr")


def test_a_lock_is_one_of_a_file_that_can_be_written(tmp_path, monkeypatch) -> None:
    """Network file systems lock no others."""
    original = fcntl.flock

    def as_on_nfs(file, operation) -> None:
        mode = fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE
        if operation & fcntl.LOCK_EX and mode == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        original(file, operation)

    monkeypatch.setattr(fcntl, "flock", as_on_nfs)
    written(tmp_path / "x.zarr")
    assert len(load(tmp_path / "x.zarr").times) == len(RUN.times)


@pytest.mark.parametrize("command", ["run", "resume"])
def test_particles_and_figures_are_written_by_the_process_that_ran(
    command, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "x.zarr"
    Path("run.toml").write_text(CIRCLE)
    if command == "resume":
        stop = ("--set", "solve.max_steps=5")
        assert main(["run", "run.toml", "--quiet", "--out", "x.zarr", *stop]) == 0
    concluded = []

    def conclude(*_, **__) -> None:
        with another_thread() as elsewhere:
            for write in (written, RunWriter.resumed):
                with pytest.raises(StoreError, match="is being written by another"):
                    elsewhere(write, path)
        concluded.append(command)

    monkeypatch.setattr("mfpde.commands.report.conclude", conclude)
    where = ["run.toml", "--out", "x.zarr"] if command == "run" else ["x.zarr"]
    assert main([command, *where, "--quiet"]) == 0
    assert concluded == [command]
    written(path)


def test_what_is_being_saved_is_read_again(tmp_path) -> None:
    """While another process holds the store its records may not be whole."""
    left = iter([StoreError("half"), StoreError("half")])

    def read() -> str:
        error = next(left, None)
        if error is not None:
            raise error
        return "whole"

    with another_thread() as elsewhere:
        held = elsewhere(claim, tmp_path)
        assert read_beside_writer(tmp_path, read) == "whole"
        held.release()
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
