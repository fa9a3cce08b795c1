"""Sweeps by processes that get lost, on this machine and on a Dask cluster that is there."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import ClassVar, NamedTuple

import pytest
import xarray as xr
from test_sweeps import numbers, source

import mfpde
from mfpde.storage.lock import lock_store
from mfpde.sweeps import engines, workers
from mfpde.sweeps.execution import tasks_of

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
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = Counter()
        for note in (folder / "running").glob("*.json"):
            with suppress(FileNotFoundError):
                found[json.loads(note.read_text())["process"]] += 1
        if list((folder / "records").glob("*.json")) and found:
            return found.most_common(1)[0][0]
        time.sleep(0.001)
    raise AssertionError("no runs are being computed")


def attempts_of(sweep: mfpde.Sweep) -> list[tuple[str, ...]]:
    """How the runs that have ended were computed."""
    return [tuple(record.attempts) for record in sweep.records if record is not None]


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


def finished_in(folder: Path) -> dict[Path, tuple[int, bytes]]:
    """The records there are, and all files of their runs' stores: when written, and what."""
    found = {}
    for record in (folder / "records").glob("*.json"):
        store = folder / "runs" / f"{record.stem}.zarr"
        for path in (record, *(p for p in store.rglob("*") if p.is_file())):
            found[path] = (path.stat().st_mtime_ns, path.read_bytes())
    return found


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
    assert {path: finished_in(sweep.folder)[path] for path in finished} == finished
    names = sorted(run.name for run in sweep.runs)
    assert sorted(p.name for p in (sweep.folder / "records").iterdir()) == [
        f"{name}.json" for name in names
    ]
    assert sorted(p.name for p in (sweep.folder / "runs").iterdir()) == [
        f"{name}.zarr" for name in names
    ]
    attempts = {r.name: tuple(r.attempts) for r in sweep.records if r is not None}
    early = {path.stem for path in finished if path.parent.name == "records"}
    assert early
    assert {attempts[name] for name in early} == {("begun",)}
    assert sum(len(each) > 1 for each in attempts.values()) <= 1


def loaded() -> bool:
    """Whether a worker has the package."""
    return "mfpde.solver.solve" in sys.modules


def test_workers_that_come_late_share_in_the_runs(tmp_path) -> None:
    """A sweep that begins on a cluster without workers waits for them; they have preloaded."""
    distributed = pytest.importorskip("distributed")
    sweep = mfpde.Sweep(source(tmp_path / "late"))
    with (
        distributed.LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            dashboard_address=None,
            preload=["mfpde.sweeps.worker_preload"],
        ) as cluster,
        distributed.Client(cluster) as client,
        ThreadPoolExecutor() as pool,
    ):
        computed = pool.submit(sweep.run, scheduler=cluster.scheduler_address)
        cluster.scale(2)
        computed.result(PATIENCE)
        client.wait_for_workers(2, timeout=PATIENCE)
        before = set(client.scheduler_info()["workers"])
        cluster.scale(3)
        client.wait_for_workers(3, timeout=PATIENCE)
        fresh = [one for one in client.scheduler_info()["workers"] if one not in before]
        assert client.run(loaded, workers=fresh) == dict.fromkeys(fresh, True)
    assert not sweep.failed
    assert attempts_of(sweep) == [("begun",)] * 12


def test_tasks_are_given_as_workers_take_them(tmp_path, monkeypatch) -> None:
    """Two to each worker: the others wait for who comes."""

    class Cluster:
        status = "running"
        given: ClassVar[list] = []

        def nthreads(self):
            return {"one": 1}

        def submit(self, function, task, **options):
            future = Future()
            self.given.append((task, future))
            return future

    class Future:
        status = "finished"
        is_done = False

        def add_done_callback(self, function):
            self.told = function

        def done(self):
            return self.is_done

        def result(self):
            return []

    seen = []

    def wait() -> None:
        ended = [future for _, future in cluster.given if future.is_done]
        seen.append(len(cluster.given) - len(ended))
        next_one = next((f for _, f in cluster.given if not f.is_done), None)
        if next_one is not None:
            next_one.is_done = True

    monkeypatch.setattr(engines, "SECONDS_BETWEEN_LOOKS", 0.0)
    cluster = Cluster()
    sweep = mfpde.Sweep(source(tmp_path))
    tasks = tasks_of(sweep.runs, sweep._folder, retry_failed=False)
    assert len(tasks) == 12
    assert list(engines.on_workers(cluster, tasks, wait)) == [[]] * 12
    assert [task for task, _ in cluster.given] == tasks
    assert max(seen) == engines.TASKS_AT_A_WORKER


def test_a_scheduler_that_is_lost_ends_the_sweep_with_its_reason(
    cluster, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(engines, "SECONDS_TO_CONNECT", 1)
    sweep = mfpde.Sweep(source(tmp_path / "lost", t_end=1e6, cells=256))
    with ThreadPoolExecutor() as pool:
        computed = pool.submit(sweep.run, scheduler=cluster.address)
        until = time.monotonic() + PATIENCE
        while not list((sweep.folder / "running").glob("*.json")):
            assert time.monotonic() < until
            time.sleep(0.01)
        os.kill(cluster.scheduler, signal.SIGKILL)
        with pytest.raises(ConnectionError, match="scheduler is lost"):
            computed.result(PATIENCE)


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_workers_begin_in_either_way(tmp_path, monkeypatch, way) -> None:
    monkeypatch.setattr(workers, "_way_to_start", lambda: way)
    sweep = mfpde.Sweep(source(tmp_path)).run(workers=2)
    assert not sweep.failed
    assert attempts_of(sweep) == [("begun",)] * 12
    assert not multiprocessing.active_children()


def test_a_task_that_ends_each_of_its_workers_is_given_up(
    tmp_path, monkeypatch
) -> None:
    def deadly(task):
        if task.run == first:
            os._exit(3)
        return execute(task)

    execute = workers.execute
    monkeypatch.setattr(workers, "_way_to_start", lambda: "fork")
    monkeypatch.setattr(workers, "execute", deadly)
    sweep = mfpde.Sweep(source(tmp_path))
    first = sweep.runs[0]
    sweep.run(workers=2)
    assert list(sweep.failed.values()) == ["its worker was lost 6 times"]
    assert len(attempts_of(sweep)) == len(sweep.runs)


def test_what_goes_wrong_around_a_task_is_the_error_of_its_runs(
    tmp_path, monkeypatch
) -> None:
    def broken(task):
        raise OSError("no such luck")

    monkeypatch.setattr(workers, "_way_to_start", lambda: "fork")
    monkeypatch.setattr(workers, "execute", broken)
    sweep = mfpde.Sweep(source(tmp_path)).run(workers=2)
    assert set(sweep.failed.values()) == {"OSError: no such luck"}
    assert len(sweep.failed) == len(sweep.runs)


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
    assert None in sweep.records


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
