"""What computes the tasks of a sweep: this process, workers of this machine, or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from mfpde.sweeps.engines import (
    Wait,
    in_this_process,
    number_of_workers,
    on_workers,
    workers_of,
)
from mfpde.sweeps.execution import Outcome, Task
from mfpde.sweeps.workers import Workers


class Engine(NamedTuple):
    """What computes tasks, and by how many processes."""

    computed: Callable[[Sequence[Task], Wait], Iterator[Outcome]]
    processes: int


@contextmanager
def engine_of(workers: int, scheduler: str | None, pending: int) -> Iterator[Engine]:
    """Let the block have what computes so many ``pending`` runs.

    Raises
    ------
    SettingsError
        Without Dask where a ``scheduler`` is named, or if none answers there.
    """
    if scheduler is not None and pending:
        with workers_of(scheduler) as client:
            # More may come while the sweep goes on, also if there is none yet.
            processes = max(number_of_workers(client), 2)
            yield Engine(lambda tasks, wait: on_workers(client, tasks, wait), processes)
    elif workers > 1 and pending:
        with Workers(min(workers, pending)) as local:
            yield Engine(local.computed, workers)
    else:
        yield Engine(in_this_process, 1)
