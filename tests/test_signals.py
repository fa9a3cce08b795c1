"""Signals, full disks, closed folders, two processes: what was saved stays, in one line."""

import ctypes
import os
import re
import resource
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from processes import Processes, has_checkpoint, processes
from stored import CIRCLE, assert_same_stores, files_of, line_of

import mfpde
from mfpde.commands import command_line, signals
from mfpde.commands.command_line import main
from mfpde.runs.progress import Progress
from mfpde.storage import RunWriter, StoreError, load, save, stored_checkpoint
from mfpde.storage.journal import Journal
from mfpde.storage.places import lock_store

LONG = CIRCLE.replace("t_end = 2.0", "t_end = 1000.0").replace("0.02", "0.001")
STEP = Progress(0.5, 1.0, 0.1, 1, 1.0, len, change_rate=1.0)
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
PATIENCE = 20.0
EQUATION = mfpde.MeanFieldEquation(mfpde.Attention(2.0), direction="ascent")
START = mfpde.perturbed_uniform(mfpde.Circle(32), 0.2)
RUN = mfpde.solve(EQUATION, START, t_end=0.1, save_every=0.05)
WRITTEN_BY_ANOTHER = "is being written by another"


@pytest.fixture(scope="module")
def commands(tmp_path_factory) -> Iterator[Processes]:
    with processes(tmp_path_factory.mktemp("signals")) as made:
        (made.folder / "run.toml").write_text(CIRCLE)
        (made.folder / "long.toml").write_text(LONG)
        yield made


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """Return a working directory with settings."""
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(CIRCLE)
    return tmp_path


def started(commands: Processes, settings: str, store: str) -> int:
    """Start a run and return its process when it has saved its first states."""
    child = commands.start("run", settings, "--quiet", "--out", store)
    end = time.monotonic() + PATIENCE
    while not has_checkpoint(commands.folder / store):
        assert time.monotonic() < end
        time.sleep(0.01)
    return child


@pytest.mark.parametrize("number", CODES)
def test_a_signal_saves_and_the_run_goes_on_to_the_bit(commands, number) -> None:
    store, whole = f"{number}.zarr", f"{number} whole.zarr"
    assert commands.run("run", "run.toml", "--quiet", "--out", whole) == 0
    os.kill(started(commands, "run.toml", store), number)
    assert commands.ended() == CODES[number]
    assert commands.said == f"interrupted; continue with: mfpde resume {store}\n"
    path = commands.folder / store
    # Not even the steps since the last save are lost.
    run = load(path)
    assert run.stop.kind == "interrupted"
    assert stored_checkpoint(path).time == run.final_time
    assert commands.run("resume", store, "--quiet") == 0
    assert_same_stores(commands.folder / whole, path)


def test_sigterm_outside_of_a_run_ends_the_command(monkeypatch, capsys) -> None:
    def killed(_) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        return 0

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(command_line, "_call", killed)
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

    with signals.ended_by_signals():
        called_back()
        assert signals.received == [number]
        assert signals.stop_by_signal().check(STEP).kind == "interrupted"
        with pytest.raises(KeyboardInterrupt):
            signals.raise_if_dropped()
    with signals.ended_by_signals():
        assert signals.stop_by_signal().check(STEP) is None


def test_a_signal_at_any_time_stops_a_command(commands) -> None:
    """Also while it is imported: a twentieth of them was lost there once."""
    os.kill(started(commands, "long.toml", "often.zarr"), signal.SIGTERM)
    assert commands.ended() == 143
    for wait in np.linspace(0.02, 0.5, 20):
        by = signal.SIGINT
        assert commands.stopped("resume", "often.zarr", after=wait, by=by) in (130, -2)


def test_a_second_signal_does_not_wait() -> None:
    with signals.ended_by_signals(), signals.handled_by(signals.raise_for_second):
        os.kill(os.getpid(), signal.SIGINT)
        assert signals.stop_by_signal().check(STEP).kind == "interrupted"
        with pytest.raises(signals.TerminatedError):
            os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        signals.raise_for(signal.SIGINT)


def test_two_processes_do_not_write_to_one_store(commands, here, capsys) -> None:
    child = started(commands, "long.toml", "one.zarr")
    path = commands.folder / "one.zarr"
    try:
        with pytest.raises(StoreError, match=WRITTEN_BY_ANOTHER):
            RunWriter.resume(path, None)
        for command in (
            ["resume", str(path), "--quiet"],
            ["run", "run.toml", "--quiet", "--overwrite", "--out", str(path)],
        ):
            assert main(command) == 2
            assert WRITTEN_BY_ANOTHER in line_of(capsys)
        # To read it is allowed, also while a state is being saved.
        assert main(["show", str(path)]) == 0
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


def write(path: Path, *, overwrite: bool = True) -> None:
    save(RUN, path, overwrite=overwrite)


def test_a_store_that_was_released_can_be_claimed_by_others(tmp_path) -> None:
    """And not before all that was claimed in each other is released."""
    first, second = lock_store(tmp_path), lock_store(tmp_path)
    with another_thread() as elsewhere:
        for held in (first, first, second):
            with pytest.raises(StoreError, match=WRITTEN_BY_ANOTHER):
                elsewhere(lock_store, tmp_path)
            held.close()
        elsewhere(lock_store, tmp_path).close()


def test_a_run_that_ended_meanwhile_is_not_replaced(tmp_path, monkeypatch) -> None:
    """The place was free when one asked, and another run was written before one had it."""
    path = tmp_path / "x.zarr"

    def locked_late(place):
        monkeypatch.undo()
        write(path, overwrite=False)
        return lock_store(place)

    monkeypatch.setattr("mfpde.storage.places.lock_store", locked_late)
    with pytest.raises(FileExistsError, match="exists: choose another path"):
        write(path, overwrite=False)
    assert len(load(path).times) == len(RUN.times)


class WithoutLocks:
    """A connection to a database on a file system that gives no locks."""

    def __init__(self, *given, **options) -> None:
        self._connection = sqlite3.connect(*given, **options)
        self.close = self._connection.close

    def execute(self, statement: str) -> Any:
        if statement == "BEGIN EXCLUSIVE":
            raise sqlite3.OperationalError("disk I/O error")
        return self._connection.execute(statement)


def test_a_file_system_without_locks_is_a_line(here, monkeypatch, capsys) -> None:
    """Nothing is written that two processes might write."""
    varied = '[sweep]\nfolder = "s"\n[sweep.product]\n"attention.beta" = [1, 2]\n'
    Path("sweep.toml").write_text(CIRCLE + varied)
    locks = SimpleNamespace(**vars(sqlite3))
    locks.connect = WithoutLocks
    monkeypatch.setattr("mfpde.storage.places.sqlite3", locks)
    for command in (["run", "run.toml", "--out", "x.zarr"], ["sweep", "sweep.toml"]):
        assert main([*command, "--quiet"]) == 2
        assert re.search("cannot be locked.*disk I/O error", line_of(capsys))
    with pytest.raises(StoreError, match="cannot be locked"):
        write(here / "y.zarr")


def test_particles_and_figures_are_written_by_the_process_that_ran(
    here, monkeypatch
) -> None:
    path, concluded = here / "x.zarr", []

    def conclude(*_, **__) -> None:
        refused = pytest.raises(StoreError, match=WRITTEN_BY_ANOTHER)
        with another_thread() as elsewhere, refused:
            elsewhere(write, path)
        concluded.append(path)

    monkeypatch.setattr("mfpde.commands.report.conclude", conclude)
    few = ("--set", "solve.max_steps=5")
    assert main(["run", "run.toml", "--out", "x.zarr", "--quiet", *few]) == 0
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    assert concluded == 2 * [path]
    write(path)


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Let no file grow above a size: to who writes, that is a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_keeps_the_last_checkpoint(here, capsys) -> None:
    command = ["run", "run.toml", "--quiet", "--set", "geometry.cells=1024", "--out"]
    assert main([*command, "whole.zarr"]) == 0
    with full_disk(100_000):
        assert main([*command, "x.zarr"]) == 2
    assert "x.zarr/journal.sqlite cannot be read or written" in line_of(capsys)
    assert 0 < len(load("x.zarr").times) < len(load("whole.zarr").times)
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    assert_same_stores("whole.zarr", "x.zarr")


def refused(*_, **__) -> None:
    """Raise as the system does: root, who runs tests in containers, may write anywhere."""
    raise PermissionError(13, "Permission denied", "x.zarr/journal.sqlite")


def test_a_folder_closed_for_writing_is_a_line(here, monkeypatch, capsys) -> None:
    command = ["run", "run.toml", "--quiet", "--out", "x.zarr"]
    assert main(command) == 0
    before = files_of("x.zarr")
    with monkeypatch.context() as patch:
        patch.setattr("mfpde.commands.options.tempfile.TemporaryFile", refused)
        assert main([*command, "--overwrite"]) == 2
    told = "--out: 'x.zarr' cannot be written: Permission denied"
    assert told in line_of(capsys)
    # Nor is one resumed that cannot be written.
    few = ("--set", "solve.max_steps=20", "--out", "y.zarr")
    assert main(["run", "run.toml", "--quiet", *few]) == 0
    monkeypatch.setattr(Journal, "_execute", refused)
    assert main(["resume", "y.zarr", "--quiet"]) == 2
    told = "mfpde resume: Permission denied: x.zarr/journal.sqlite\n"
    assert capsys.readouterr().err == told
    assert files_of("x.zarr") == before
