"""The display of a sweep while it goes on: how many runs have ended, what runs, the time left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from mfpde.arrays import printable
from mfpde.runs.progress import occasional_lines, progress_bar
from mfpde.storage import StoreError
from mfpde.sweeps.records import SweepRecords

if TYPE_CHECKING:
    from rich.console import Console

MOST_SHOWN = 3


class SweepProgress:
    """How many runs have ended, and how, and which have been running for longest.

    Parameters
    ----------
    records
        The records of the sweep.
    labels
        All runs in words, by their hashes.
    ended
        The number of runs that have ended before.
    """

    def __init__(
        self, records: SweepRecords, labels: Mapping[str, str], ended: int
    ) -> None:
        self._records, self._labels, self._began = records, labels, time.time()
        self.ended, self.total = ended, len(labels)
        self._states = Counter[str]()

    def count(self, states: Iterable[str]) -> Iterator[str]:
        """Count states of runs that have ended as they go by."""
        for state in states:
            self._states[state] += 1
            self.ended += 1
            yield state

    def __str__(self) -> str:
        told = {one: self._states[one] for one in ("stopped", "failed")}
        counts = [f"{count} {state}" for state, count in told.items() if count]
        words = ", ".join([f"{self.ended}/{self.total} runs", *counts])
        now, running = time.time(), []
        with suppress(StoreError):
            running = self._records.running(self._began)[:MOST_SHOWN]
        lines = [f"{now - r.since:.0f} s: {self._labels.get(r.name)}" for r in running]
        return printable("; ".join([words, *lines]))


def show_progress(
    states: Iterable[str], progress: SweepProgress, console: Console | None = None
) -> Iterator[str]:
    """Yield the states of runs as they end, and show the progress, by default on stderr.

    On a console that is no terminal a line is written every now and then.
    """
    from rich import progress as bars
    from rich.console import Console

    states, console = progress.count(states), console or Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        write_line = occasional_lines(console, str)
        for state in states:
            write_line(progress)
            yield state
        return
    columns = (
        bars.BarColumn(bar_width=20),
        bars.TimeRemainingColumn(compact=True),
        bars.TextColumn("left  {task.fields[progress]}", markup=False),
    )
    with progress_bar(*columns, console=console, refresh_per_second=2) as bar:
        total, ended = progress.total, progress.ended
        line = bar.add_task("", total=total, completed=ended, progress=progress)
        yield from bar.track(states, task_id=line)
