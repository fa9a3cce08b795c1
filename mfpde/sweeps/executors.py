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
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from threadpoolctl import threadpool_limits

from mfpde.settings.base import SettingsError
from mfpde.sweeps.plan import PlannedRun
from mfpde.sweeps.records import SweepRecords, describe_error

MOST_RETRIES = 2
"""How often a run is given to a new executor after its worker was lost."""
SECONDS_TO_CONNECT = 20


def compute_runs(
    work: Callable[[PlannedRun], str],
    runs: Sequence[PlannedRun],
    records: SweepRecords,
    workers: int,
    scheduler: str | None,
) -> Iterator[str]:
    """Compute runs on an executor by ``work``, and yield the state of each that ends.

    Those of a lost worker go to a new executor, twice at most; the second time they are alone
    on it: another run may be what ends all workers.
    """
    waiting = {run.name: run for run in runs}
    lost: Counter[str] = Counter()
    while waiting:
        batch = [name for name in waiting if lost[name] < MOST_RETRIES]
        batch = batch or [*waiting][:1]
        since, there = time.time(), len(waiting)
        names: dict[futures.Future[str], str] = {}
        size = min(workers, len(batch))
        pool = _open_processes(size) if scheduler is None else _open_cluster(scheduler)
        with pool as executor:
            with suppress(futures.BrokenExecutor):
                for name in batch:
                    names[executor.submit(work, waiting[name])] = name
            for future in futures.as_completed(names):
                with suppress(futures.BrokenExecutor):
                    yield _read_state(future, names[future], records)
                    del waiting[names[future]]
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


def _read_state(future: futures.Future[str], name: str, records: SweepRecords) -> str:
    """Return the state in which a run ended; what went wrong around it is its error."""
    try:
        return future.result()
    except futures.BrokenExecutor:
        raise
    except futures.CancelledError as error:
        raise ConnectionError(
            "the Dask scheduler is lost; what is done is kept, and the same sweep goes on"
        ) from error
    except Exception as error:
        return records.fail(name, describe_error(error))


@contextmanager
def _open_processes(workers: int) -> Iterator[futures.Executor]:
    """Let the block have processes of this machine, which end with it and with this process."""
    context: Any = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["mfpde.sweeps.execution"])
    resource_tracker.ensure_running()
    # It is for the process of the sweep to answer an interruption.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    # What only this process holds is closed when it ends, however it ends.
    end, held = context.Pipe(duplex=False)
    executor = futures.ProcessPoolExecutor(
        workers, context, initializer=_begin_worker, initargs=(end,)
    )
    try:
        yield executor
    except BaseException:
        # Nobody waits for the runs that are under way.
        held.close()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def _begin_worker(end: Connection) -> None:
    """Leave interruptions to the process of the sweep, and end with its end of the pipe.

    Each worker has one thread: threads of several would wait for each other, and runs on the
    sphere take twice as long.
    """
    threadpool_limits(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_pipe, args=(end,), daemon=True).start()


def _end_with_pipe(end: Connection) -> None:
    end.poll(None)
    os._exit(1)


@contextmanager
def _open_cluster(address: str) -> Iterator[futures.Executor]:
    """Let the block have the Dask cluster whose scheduler is at ``address``."""
    try:
        import distributed

        connect: Any = distributed.Client
        client = connect(address, timeout=SECONDS_TO_CONNECT)
    except (ImportError, OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SettingsError(
            f"scheduler = {address!r} does not answer: {reason}; give the address that "
            "`dask scheduler` prints, as in tcp://host:8786 (pip install 'mfpde[sweeps]')"
        ) from error
    with client:
        yield client.get_executor()
