"""Sweeps by processes that get lost, on this machine and on a Dask cluster that is there."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import processes
import pytest
import xarray as xr
from test_sweeps import numbers, source

import mfpde
from mfpde.storage.lock import lock_store
from mfpde.sweeps import executors
from mfpde.sweeps import sweep as sweeps
from mfpde.sweeps.records import RunRecord, SweepRecords

PATIENCE = 120.0
SWEEP = """
[sweep]
folder = "out"
[sweep.product]
attention.beta = {{ from = 1, to = {betas}, count = {betas} }}
start.seed = [1, 2, 3]
[[sweep.cases]]
name = "up"
equation.direction = "ascent"
[[sweep.cases]]
name = "down"
equation.direction = "descent"
[[sweep.cases]]
name = "up, softmax"
equation.direction = "ascent"
attention.normalized = true
[[sweep.cases]]
name = "down, softmax"
equation.direction = "descent"
attention.normalized = true
[geometry]
kind = "circle"
cells = 256
[attention]
beta = 1
[equation]
direction = "ascent"
[start]
kind = "perturbed_uniform"
amplitude = 0.3
seed = 1
[solve]
t_end = 20.0
save_every = 20.0
"""


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


class Cluster(NamedTuple):
    """The address of a scheduler, its process, and those of its workers."""

    address: str
    scheduler: int
    workers: list[int]


@pytest.fixture
def cluster(tmp_path) -> Iterator[Cluster]:
    """A Dask cluster of this machine with two workers."""
    pytest.importorskip("distributed")
    there = tmp_path / "scheduler.json"
    quiet = ["--no-dashboard", "--scheduler-file", str(there)]
    with ExitStack() as stack:

        def start(kind: str, *options: str) -> int:
            command = ["-m", f"distributed.cli.dask_{kind}", *quiet, *options]
            return stack.enter_context(running(*command)).pid

        scheduler = start("scheduler", "--host", "127.0.0.1", "--port", "0")
        ones = ["--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path)]
        pids = [start("worker", *ones) for _ in range(2)]
        yield Cluster(address_of(there, workers=2), scheduler, pids)


def address_of(file: Path, *, workers: int) -> str:
    """The address of a scheduler, once its workers are there."""
    import distributed

    until = time.monotonic() + PATIENCE
    while not file.is_file() or not file.read_text():
        assert time.monotonic() < until
        time.sleep(0.05)
    address = json.loads(file.read_text())["address"]
    with distributed.Client(address) as client:
        client.wait_for_workers(workers, timeout=PATIENCE)
    return address


def process_in_the_middle(folder: Path) -> int:
    """The process that computes a run, once some have ended."""
    records, until = SweepRecords(folder), time.monotonic() + PATIENCE
    while time.monotonic() < until:
        running = records.running(since=0.0)
        if running and len(records.all()) > len(running):
            return running[0].process
        time.sleep(0.001)
    raise AssertionError("no runs are being computed")


def attempts_of(sweep: mfpde.Sweep) -> list[tuple[str, ...]]:
    """How the runs that have ended were computed."""
    return [tuple(record.attempts) for record in sweep.records if record.attempts]


@pytest.mark.parametrize(
    "betas",
    [
        pytest.param(2, id="24 runs"),
        pytest.param(13, id="156 runs", marks=pytest.mark.slow),
    ],
)
def test_a_cluster_that_is_there_loses_a_worker_and_no_run(
    cluster, tmp_path, monkeypatch, betas
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text(SWEEP.format(betas=betas))
    sweep = mfpde.Sweep("sweep.toml")
    assert len(sweep.runs) == 12 * betas
    command = ("-m", "mfpde", "sweep", "sweep.toml", "--scheduler", cluster.address)
    with running(*command) as process:
        lost = process_in_the_middle(sweep.folder)
        assert lost in cluster.workers
        os.kill(lost, signal.SIGKILL)
        said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    attempts = attempts_of(sweep)
    assert len(attempts) == len(sweep.runs)
    # What the lost worker had begun goes on.
    again = [each for each in attempts if each != ("begun",)]
    assert set(again) <= {("begun", then) for then in ("begun", "resumed", "read")}
    assert len(again) == 1
    alone = mfpde.Sweep("sweep.toml", folder=tmp_path / "alone").run()
    xr.testing.assert_identical(numbers(sweep.summary), numbers(alone.summary))
    with running(*command) as process:
        said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert attempts_of(sweep) == attempts


def finished_in(folder: Path) -> dict[object, object]:
    """The records of runs that have ended, and the files of their stores with their times."""
    records = SweepRecords(folder)
    ended = {n: r for n, r in records.all().items() if r.state != "running"}
    files = [p for n in ended for p in records.store(n).rglob("*") if p.is_file()]
    return ended | {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in files}


@pytest.mark.parametrize("way", ["--workers", "--scheduler"])
def test_no_run_that_has_finished_is_computed_again(way, request, tmp_path) -> None:
    """A worker is killed in the middle of a task: what had a record by then stays as it is."""
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP.format(betas=4))
    sweep = mfpde.Sweep(file, folder=tmp_path / "out")
    value = "2"
    if way == "--scheduler":
        value = request.getfixturevalue("cluster").address
    command = ("-m", "mfpde", "sweep", str(file), "--out", str(sweep.folder))
    with running(*command, way, value) as process:
        lost = process_in_the_middle(sweep.folder)
        os.kill(lost, signal.SIGSTOP)
        finished = finished_in(sweep.folder)
        os.kill(lost, signal.SIGKILL)
        said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    there = finished_in(sweep.folder)
    assert {one: there[one] for one in finished} == finished
    names = sorted(run.name for run in sweep.runs)
    assert sorted(SweepRecords(sweep.folder).all()) == names
    assert sorted(p.name for p in (sweep.folder / "runs").iterdir()) == [
        f"{name}.zarr" for name in names
    ]
    early = [record for record in finished.values() if isinstance(record, RunRecord)]
    assert early
    assert {tuple(record.attempts) for record in early} == {("begun",)}
    # An executor that has lost one of its processes ends the other; a cluster's does not.
    most = 2 if way == "--workers" else 1
    assert sum(len(each) > 1 for each in attempts_of(sweep)) <= most


def test_workers_that_come_late_share_in_the_runs(tmp_path) -> None:
    """A sweep that begins on a cluster without workers waits for them."""
    distributed = pytest.importorskip("distributed")
    sweep = mfpde.Sweep(source(tmp_path / "late"))
    with (
        distributed.LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            dashboard_address=None,
            preload=["mfpde.sweeps.execution"],
        ) as cluster,
        ThreadPoolExecutor() as pool,
    ):
        computed = pool.submit(sweep.run, scheduler=cluster.scheduler_address)
        cluster.scale(2)
        computed.result(PATIENCE)
    assert not sweep.failed
    assert attempts_of(sweep) == [("begun",)] * 12
    assert len({record.process for record in sweep.records}) == 2


def test_a_scheduler_that_is_lost_ends_the_sweep_with_its_reason(
    cluster, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(executors, "SECONDS_TO_CONNECT", 1)
    sweep = mfpde.Sweep(source(tmp_path / "lost", t_end=1e6, cells=256))
    with ThreadPoolExecutor() as pool:
        computed = pool.submit(sweep.run, scheduler=cluster.address)
        until = time.monotonic() + PATIENCE
        while not SweepRecords(sweep.folder).running(since=0.0):
            assert time.monotonic() < until
            time.sleep(0.01)
        os.kill(cluster.scheduler, signal.SIGKILL)
        with pytest.raises(ConnectionError, match="scheduler is lost"):
            computed.result(PATIENCE)


def test_workers_compute_each_run_once_and_end(tmp_path) -> None:
    sweep = mfpde.Sweep(source(tmp_path)).run(workers=2)
    assert not sweep.failed
    assert attempts_of(sweep) == [("begun",)] * 12
    assert not multiprocessing.active_children()


def test_a_run_that_ends_each_of_its_workers_is_given_up(tmp_path, monkeypatch) -> None:
    """It is computed three times, and the others end well."""
    monkeypatch.setattr(sweeps, "execute", processes.end_process_at_beta_2_seed_3)
    sweep = mfpde.Sweep(source(tmp_path)).run(workers=2)
    assert len(sweep.failed) == 2
    for label, reason in sweep.failed.items():
        assert "beta = 2, seed = 3" in label
        assert reason == "its worker was lost 3 times"
    states = sweep.summary["state"].values.ravel().tolist()
    assert states.count("finished") == 10


def test_what_goes_wrong_around_a_run_is_its_error(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sweeps, "execute", processes.raise_no_such_luck)
    sweep = mfpde.Sweep(source(tmp_path)).run(workers=2)
    assert set(sweep.failed.values()) == {"OSError: no such luck"}
    assert len(sweep.failed) == len(sweep.runs)


def test_a_script_without_a_main_guard_is_told(tmp_path) -> None:
    """Its workers would run it again, and so end before they begin a run."""
    (tmp_path / "sweep.toml").write_text(SWEEP.format(betas=2))
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
    Path("sweep.toml").write_text(SWEEP.format(betas=13))
    sweep = mfpde.Sweep("sweep.toml")
    command = ("-m", "mfpde", "sweep", "sweep.toml", "--workers", "2")
    with running(*command) as process:
        worker = process_in_the_middle(sweep.folder)
        assert worker != process.pid
        process.kill()
        process.wait()
        until = time.monotonic() + PATIENCE
        while Path(f"/proc/{worker}").exists():
            assert time.monotonic() < until
            time.sleep(0.01)
    assert "pending" in {record.state for record in sweep.records}


def test_a_copy_of_a_process_holds_none_of_its_stores(tmp_path) -> None:
    def claimed_by_copy() -> bool:
        copy = multiprocessing.get_context("fork").Process(
            target=lock_store, args=(tmp_path,)
        )
        copy.start()
        copy.join()
        return copy.exitcode == 0

    held = lock_store(tmp_path)
    try:
        assert not claimed_by_copy()
    finally:
        held.release()
    assert claimed_by_copy()
