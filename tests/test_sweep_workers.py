"""Sweeps by processes that get lost, on this machine and on a Dask cluster that is there."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import processes
import pytest
from stored import toml
from test_sweeps import same_numbers, source

import mfpde
from mfpde.sweeps.records import RunRecord, SweepRecords

PATIENCE = 120.0


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen]:
    """A Python process, which is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def cluster(tmp_path) -> Iterator[tuple[str, list[int]]]:
    """The address of a Dask cluster of this machine, and the processes of two workers."""
    distributed = pytest.importorskip("distributed")
    options = {"dashboard_address": None, "local_directory": str(tmp_path)}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options) as made:
        yield made.scheduler_address, [one.pid for one in made.workers.values()]


def begun_run(
    folder: Path, is_wanted: Callable[[RunRecord, SweepRecords], bool]
) -> RunRecord:
    records, until = SweepRecords(folder), time.monotonic() + PATIENCE
    while time.monotonic() < until:
        running = records.running(since=0.0)
        if running and is_wanted(running[0], records):
            return running[0]
        time.sleep(0.001)
    raise AssertionError("no runs are being computed")


def is_in_the_middle(_: RunRecord, records: SweepRecords) -> bool:
    return any(record.state == "finished" for record in records.all().values())


def has_saved(run: RunRecord, records: SweepRecords) -> bool:
    """Whether a run has something to go on from."""
    return processes.has_checkpoint(records.store(run.name))


def finished_in(folder: Path) -> dict[object, object]:
    """The records of runs that have ended, and the files of their stores with their times."""
    records = SweepRecords(folder)
    ended = {n: r for n, r in records.all().items() if r.state != "running"}
    files = [p for n in ended for p in records.store(n).rglob("*") if p.is_file()]
    # A lock is given up after the record says that a run has ended.
    kept = [path for path in files if path.parent.name != "lock"]
    return ended | {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in kept}


@pytest.mark.parametrize(
    "way", ["--workers", pytest.param("--scheduler", marks=pytest.mark.slow)]
)
def test_a_lost_worker_loses_nothing(way, request, tmp_path) -> None:
    """It is killed in the middle of a run: what had ended stays as it is, the rest goes on."""
    table = source(tmp_path / "out", t_end=20.0, cells=256, betas=4)
    (tmp_path / "sweep.toml").write_text(toml(table))
    sweep = mfpde.Sweep(tmp_path / "sweep.toml")
    is_cluster = way == "--scheduler"
    cluster = request.getfixturevalue("cluster") if is_cluster else ("2", [])
    value, workers = cluster
    command = ("-m", "mfpde", "sweep", str(tmp_path / "sweep.toml"), "--out")
    command = (*command, str(sweep.folder), way, value)
    with running(*command) as process:
        lost = begun_run(sweep.folder, is_in_the_middle).process
        assert not is_cluster or lost in workers
        os.kill(lost, signal.SIGSTOP)
        finished = finished_in(sweep.folder)
        os.kill(lost, signal.SIGKILL)
        said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    there = finished_in(sweep.folder)
    assert {one: there[one] for one in finished} == finished
    early = [record for record in finished.values() if isinstance(record, RunRecord)]
    assert early
    names = sorted(run.name for run in sweep.runs)
    stores = sorted(path.stem for path in (sweep.folder / "runs").iterdir())
    assert sorted(SweepRecords(sweep.folder).all()) == stores == names
    assert {record.state for record in sweep.records} == {"finished"}
    same_numbers(sweep, mfpde.Sweep(table, folder=tmp_path / "alone").run())
    with running(*command) as process:
        said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert finished_in(sweep.folder) == there


def test_a_run_of_a_lost_worker_goes_on_from_its_checkpoint(tmp_path) -> None:
    """It is not begun again, which empties its folder, and its end is to the bit the same."""
    table = source(tmp_path / "two", t_end=20.0, cells=2048)
    table["sweep"]["product"] = {"attention.beta": [4.0]}
    table["solve"]["save_every"] = 0.5
    sweep = mfpde.Sweep(table)
    with ThreadPoolExecutor() as pool:
        computed = pool.submit(sweep.run, workers=2)
        lost = begun_run(sweep.folder, has_saved)
        laid_beside = SweepRecords(sweep.folder).store(lost.name) / "notes.txt"
        laid_beside.touch()
        os.kill(lost.process, signal.SIGKILL)
        computed.result(PATIENCE)
    assert laid_beside.exists()
    there = {record.name: record for record in sweep.records}
    assert there[lost.name].process != lost.process
    same_numbers(sweep, mfpde.Sweep(table, folder=tmp_path / "one").run())


def test_a_run_that_ends_each_of_its_workers_is_given_up(tmp_path, monkeypatch) -> None:
    """It is computed three times, and the others end well."""
    monkeypatch.setattr(
        "mfpde.sweeps.sweep.execute", processes.end_process_at_beta_2_seed_3
    )
    sweep = mfpde.Sweep(source(tmp_path)).run(workers=2)
    assert len(sweep.reasons()) == 2
    for label, reason in sweep.reasons().items():
        assert "beta = 2, seed = 3" in label
        assert reason == "its worker was lost 3 times"
    assert sweep.table["state"].tolist().count("finished") == 10
    assert not multiprocessing.active_children()


def test_what_goes_wrong_around_a_run_is_its_error(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("mfpde.sweeps.sweep.execute", processes.raise_no_such_luck)
    sweep = mfpde.Sweep(source(tmp_path)).run(workers=2)
    assert set(sweep.reasons().values()) == {"OSError: no such luck"}
    assert len(sweep.reasons()) == len(sweep.runs)


def test_a_script_without_a_main_guard_is_told(tmp_path) -> None:
    """Its workers would run it again, and so end before they begin a run."""
    (tmp_path / "sweep.toml").write_text(toml(source(tmp_path / "out")))
    (tmp_path / "script.py").write_text(
        "import mfpde\nmfpde.Sweep('sweep.toml').run(workers=2)\n"
    )
    ended = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ended.returncode == 1
    assert 'under `if __name__ == "__main__":`' in ended.stderr.splitlines()[-1]
    assert not (tmp_path / "out" / "runs").exists()


def test_workers_end_with_the_process_of_their_sweep(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = source(Path("out"), t_end=20.0, cells=256, betas=26)
    Path("sweep.toml").write_text(toml(table))
    sweep = mfpde.Sweep("sweep.toml")
    command = ("-m", "mfpde", "sweep", "sweep.toml", "--workers", "2")
    with running(*command) as process:
        worker = begun_run(sweep.folder, is_in_the_middle).process
        assert worker != process.pid
        process.kill()
        process.wait()
        until = time.monotonic() + PATIENCE
        while Path(f"/proc/{worker}").exists():
            assert time.monotonic() < until
            time.sleep(0.01)
    assert "pending" in {record.state for record in sweep.records}
