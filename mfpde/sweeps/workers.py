"""Worker processes of this machine, which compute the tasks of a sweep.

Where the system can, a worker is a copy of this process (fork): it begins at once, with every
module and kernel that is loaded here.  Elsewhere, and once numba has threads of its own here,
which a copy would lack, it is a new process, which takes a second or two to begin.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as first_ready
from typing import Any, NamedTuple, cast

import numba
from numba.np.ufunc.parallel import threading_layer

from mfpde.sweeps.engines import (
    MOST_LOST_WORKERS,
    SECONDS_BETWEEN_LOOKS,
    Wait,
    given_up,
    in_one_line,
)
from mfpde.sweeps.execution import Outcome, Task, execute


class _Assigned(NamedTuple):
    """A task, and how many workers were lost with it."""

    task: Task
    lost: int = 0


class Workers:
    """Up to ``count`` processes, each of which computes one task at a time.

    The processes end with the block of the context manager, and with this process.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._context: Any = multiprocessing.get_context(_way_to_start())
        self._processes: dict[Connection, Any] = {}
        self._assigned: dict[Connection, _Assigned] = {}

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *reason: object) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.join()

    def computed(self, tasks: Sequence[Task], wait: Wait) -> Iterator[Outcome]:
        """Compute tasks, in order; a lost worker's is given to another one."""
        waiting = deque(_Assigned(task) for task in tasks)
        while waiting or self._assigned:
            while waiting and len(self._assigned) < self._count:
                self._assign(waiting.popleft())
            wait()
            ready = first_ready(list(self._assigned), SECONDS_BETWEEN_LOOKS)
            for pipe in [pipe for pipe in self._assigned if pipe in ready]:
                task, lost = self._assigned.pop(pipe)
                answer = self._answer(pipe)
                if isinstance(answer, Outcome):
                    yield answer
                elif answer is not None:
                    yield given_up(task, answer)
                elif lost < MOST_LOST_WORKERS:
                    waiting.appendleft(_Assigned(task, lost + 1))
                else:
                    yield given_up(task, f"its worker was lost {lost + 1} times")

    def _answer(self, pipe: Connection) -> Outcome | str | None:
        """What a worker has to say of its task; None if it is lost."""
        try:
            return cast("Outcome | str", pipe.recv())
        except (EOFError, OSError):
            self._processes.pop(pipe).join()
            pipe.close()
            return None

    def _assign(self, assigned: _Assigned) -> None:
        """Give a task to an idle worker, or to a new one."""
        idle = [pipe for pipe in self._processes if pipe not in self._assigned]
        pipe = idle[0] if idle else self._begun()
        self._assigned[pipe] = assigned
        try:
            pipe.send(assigned.task)
        except OSError:
            # It is found to be lost when its answer is read.
            return

    def _begun(self) -> Connection:
        """Begin a worker."""
        pipe, theirs = multiprocessing.Pipe()
        process = self._context.Process(
            target=_serve, args=(theirs, self._count), daemon=True
        )
        with warnings.catch_warnings():
            # Of other threads, which hold nothing that a worker needs.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        theirs.close()
        self._processes[pipe] = process
        return pipe


def _way_to_start() -> str:
    """Return the name that :mod:`multiprocessing` has for how workers begin."""
    layer: Any = threading_layer
    try:
        layer()
    except ValueError:
        return "fork" if sys.platform == "linux" else "spawn"
    return "spawn"


def _serve(pipe: Connection, count: int) -> None:
    """Compute what comes through the pipe, in one of ``count`` workers, until it is ended."""
    # A sweep that is interrupted ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Not those of a display, which the other process may have been drawing.
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    threading.Thread(target=_end_with_parent, daemon=True).start()
    numba.set_num_threads(max(numba.get_num_threads() // count, 1))
    while True:
        task = pipe.recv()
        try:
            answer: Outcome | str = execute(task)
        except Exception as error:
            answer = in_one_line(error)
        pipe.send(answer)


def _end_with_parent() -> None:
    """End this worker when the sweep's process has ended, however it did."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
