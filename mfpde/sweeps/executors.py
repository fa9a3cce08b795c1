"""What computes the runs of a sweep: this process, processes of this machine, a Dask cluster.

Processes and cluster are a :class:`concurrent.futures.Executor` each, and one loop serves both.
Processes are forked from a server that has loaded the package, once for all of them.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
)
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any

import numba

from mfpde.settings.base import SettingsError
from mfpde.sweeps.execution import Task, describe_error, execute

MOST_RETRIES = 2
"""How often a run is given to a new executor after its worker was lost."""
SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_TO_CONNECT = 20
PRELOADED = ["mfpde.sweeps.execution", "xarray", "zarr"]
"""What is loaded once for all worker processes."""
OpenExecutor = Callable[[int], AbstractContextManager[Executor]]
"""Opens an executor for so many runs."""


def compute_tasks(
    tasks: Sequence[Task], workers: int, scheduler: str | None
) -> Generator[str, None, None]:
    """Compute tasks in order, and yield the state of each that ends; "" while none does."""
    if scheduler is not None:
        yield from _compute_on(partial(_open_cluster, scheduler), tasks)
    elif workers > 1:
        yield from _compute_on(partial(_open_processes, workers), tasks)
    else:
        yield from map(execute, tasks)


def _compute_on(open_executor: OpenExecutor, tasks: Sequence[Task]) -> Iterator[str]:
    """Compute tasks on an executor; those of a lost worker go to a new one, twice at most.

    The second time they are alone on it: another run may be what ends all workers.
    """
    waiting = {task.run.name: task for task in tasks}
    lost: Counter[str] = Counter()
    while waiting:
        given = [name for name in waiting if lost[name] < MOST_RETRIES]
        given = given or [next(iter(waiting))]
        since, there = time.time(), len(waiting)
        with open_executor(len(given)) as executor:
            for name, state in _run_batch(executor, [waiting[n] for n in given]):
                waiting.pop(name, None)
                yield state
        records = tasks[0].records
        begun = [one.name for one in records.running(since) if one.name in waiting]
        if not begun and len(waiting) == there:
            raise ChildProcessError(
                "the worker processes end before they begin a run; a script has to ask for "
                'workers under `if __name__ == "__main__":`'
            )
        lost.update(begun)
        for name in begun:
            if lost[name] > MOST_RETRIES:
                del waiting[name]
                yield records.fail(name, f"its worker was lost {lost[name]} times")


def _run_batch(executor: Executor, batch: Sequence[Task]) -> Iterator[tuple[str, str]]:
    """Yield name and state of each run as it ends, but for lost workers; "" while none does."""
    ended: SimpleQueue[Future[str]] = SimpleQueue()
    given: dict[Future[str], Task] = {}
    with suppress(BrokenExecutor):
        for task in batch:
            future = executor.submit(execute, task)
            given[future] = task
            future.add_done_callback(ended.put)
    while given:
        try:
            future = ended.get(timeout=SECONDS_BETWEEN_LOOKS)
        except Empty:
            yield "", ""
            continue
        task = given.pop(future)
        try:
            state = future.result()
        except BrokenExecutor:
            continue
        except CancelledError as error:
            raise ConnectionError(
                "the Dask scheduler is lost; what is done is kept, and the same sweep goes on"
            ) from error
        except Exception as error:
            state = task.records.fail(task.run.name, describe_error(error))
        yield task.run.name, state


@contextmanager
def _open_processes(most: int, runs: int) -> Iterator[Executor]:
    """Let the block have processes of this machine, which end with it and with this process."""
    context: Any = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    theirs, ours = context.Pipe(duplex=False)
    workers = min(most, runs)
    executor = ProcessPoolExecutor(
        workers, context, initializer=_begin_worker, initargs=(theirs, workers)
    )
    try:
        yield executor
    except BaseException:
        ours.close()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        ours.close()
        theirs.close()


def _begin_worker(sweep: Connection, count: int) -> None:
    """Let this process, one of several, end when the pipe of their sweep does."""
    # An interruption ends the process of the sweep, and that closes the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with, args=(sweep,), daemon=True).start()
    # Its threads have not begun: to ask numba for fewer would begin them.
    config: Any = numba.config
    config.NUMBA_NUM_THREADS = max(config.NUMBA_NUM_THREADS // count, 1)


def _end_with(sweep: Connection) -> None:
    with suppress(EOFError, OSError):
        sweep.recv()
    os._exit(1)


@contextmanager
def _open_cluster(address: str, runs: int) -> Iterator[Executor]:
    """Let the block have the Dask cluster whose scheduler is at ``address``."""
    try:
        import distributed
    except ImportError as error:
        raise SettingsError(
            f"scheduler = {address!r} needs Dask, which is not installed: "
            "pip install 'mfpde[sweeps]'; or split the sweep by shard = '1/2', '2/2'"
        ) from error
    try:
        connect: Any = distributed.Client
        client = connect(address, timeout=SECONDS_TO_CONNECT)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SettingsError(
            f"scheduler = {address!r} does not answer: {reason}; give the address that "
            "`dask scheduler` prints, as in tcp://host:8786"
        ) from error
    with client:
        yield client.get_executor()
