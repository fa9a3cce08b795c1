"""The engines of a sweep: this process alone, or the workers of a Dask cluster.

The worker processes of this machine are in :mod:`mfpde.sweeps.workers`.

An engine takes tasks and yields their outcomes as they come.  A worker that is lost loses nothing
but the time since the last checkpoint: its runs are given to others.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mfpde.settings.base import SettingsError
from mfpde.sweeps.execution import Outcome, Task, execute
from mfpde.sweeps.record import RunRecord

if TYPE_CHECKING:
    from distributed import Client

Wait = Callable[[], None]
"""What an engine calls while it waits: a display that is drawn anew."""
MOST_LOST_WORKERS = 5
"""A task whose workers are lost more often is what kills them."""
SECONDS_TO_CONNECT = 20
SECONDS_BETWEEN_LOOKS = 0.2
SECONDS_BETWEEN_COUNTS = 1.0
TASKS_AT_A_WORKER = 2
"""Tasks that a worker of a cluster has at a time: the one that it computes, and the next."""
_ONE_TASK_OF_A_PROCESS = threading.Lock()
REMEDY = "pip install 'mfpde[sweeps]'"


def in_this_process(tasks: Sequence[Task], wait: Wait) -> Iterator[Outcome]:
    """Compute one task after the other."""
    for task in tasks:
        wait()
        yield execute(task)


@contextlib.contextmanager
def workers_of(address: str) -> Iterator[Client]:
    """Let the block have the workers of the Dask scheduler at ``address``.

    Raises
    ------
    SettingsError
        If Dask is not installed, or nothing answers there.
    """
    _, distributed = _libraries(f"scheduler = {address!r}")
    try:
        client = distributed.Client(address, timeout=SECONDS_TO_CONNECT)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SettingsError(
            f"scheduler = {address!r} does not answer: {reason}; give the address that "
            "`dask scheduler` prints, as in tcp://host:8786"
        ) from error
    with client:
        yield client


def on_workers(client: Client, tasks: Sequence[Task], wait: Wait) -> Iterator[Outcome]:
    """Compute tasks, in order, on the workers of ``client``; a lost worker's are given to others.

    Each worker has two at a time, so that it need not wait for the next one, and a worker that
    comes late finds what the others have not been given.

    Raises
    ------
    ConnectionError
        If the scheduler is lost and does not come back.
    """
    some_ended = threading.Event()

    def submitted(task: Task, attempt: int) -> Any:
        key = f"{task.key}-{attempt}-{time.time_ns()}"
        future: Any = client.submit(_executed_alone, task, key=key, pure=False)
        future.add_done_callback(lambda _: some_ended.set())
        return future

    waiting = deque((task, 0) for task in tasks)
    given: dict[Any, tuple[Task, int]] = {}
    there = _WorkersThere(client)
    while waiting or given:
        while waiting and len(given) < TASKS_AT_A_WORKER * max(there.count(), 1):
            task, lost = waiting.popleft()
            given[submitted(task, lost)] = (task, lost)
        some_ended.wait(SECONDS_BETWEEN_LOOKS)
        some_ended.clear()
        if client.status == "closed":
            raise ConnectionError(
                "the Dask scheduler is lost; what is done is kept, and the same sweep goes on"
            )
        for future in [future for future in given if future.done()]:
            task, lost = given.pop(future)
            if future.status == "finished":
                yield future.result()
            elif lost < MOST_LOST_WORKERS and _is_loss(future):
                waiting.appendleft((task, lost + 1))
            else:
                yield given_up(task, _reason(future))
        wait()


class _WorkersThere:
    """How many workers a cluster has, asked for now and then."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._count, self._asked_at = 0, -math.inf

    def count(self) -> int:
        """Return their number, as it was a moment ago."""
        if time.monotonic() > self._asked_at + SECONDS_BETWEEN_COUNTS:
            # A scheduler that is lost is found by the client's status.
            with contextlib.suppress(OSError):
                self._count = number_of_workers(self._client)
            self._asked_at = time.monotonic()
        return self._count


def number_of_workers(client: Client) -> int:
    """Return how many workers the cluster of ``client`` has at present."""
    threads: Any = client.nthreads()  # type: ignore[no-untyped-call]
    return len(threads)


def _executed_alone(task: Task) -> Outcome:
    """Compute a task while no other thread of the worker does: warnings are one process's.

    Parallel kernels take the threads that the worker was given.
    """
    import numba
    from distributed import get_worker

    worker: Any = get_worker()
    most: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    with _ONE_TASK_OF_A_PROCESS:
        numba.set_num_threads(min(worker.state.nthreads, most))
        return execute(task)


def _is_loss(future: Any) -> bool:
    """Whether a future was cancelled with its worker, not given up by the scheduler."""
    return future.status in ("cancelled", "lost")


def _reason(future: Any) -> str:
    """Why a task is given up."""
    if future.status == "error":
        return in_one_line(future.exception())
    return f"its worker was lost {MOST_LOST_WORKERS + 1} times"


def in_one_line(error: BaseException) -> str:
    """Return an error in words."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def given_up(task: Task, reason: str) -> Outcome:
    """Record that the run of a task failed where no worker could record it."""
    name = task.run.name
    record = task.folder.record(name)
    if record is None or not record.has_ended():
        record = RunRecord(name, "failed", reason)
        task.folder.keep(record)
        task.folder.end(name)
    return Outcome(name, record.state)


def _libraries(wanted: str) -> tuple[Any, Any]:
    try:
        import dask
        import distributed
    except ImportError as error:
        raise SettingsError(
            f"{wanted} needs Dask, which is not installed: {REMEDY}; or split the sweep by "
            "shard = '1/2', '2/2', each in a process of its own"
        ) from error
    return dask, distributed
