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
    """How many runs of a sweep have ended, by their states, and which have run for longest.

    ``labels`` are the runs that are computed, in words, by their hashes.
    """

    def __init__(self, records: SweepRecords, labels: Mapping[str, str]) -> None:
        self.labels, self.counts = labels, Counter[str]()
        self._records, self._began = records, time.time()

    def __str__(self) -> str:
        ended = self.counts.total()
        told = [
            f"{self.counts[s]} {s}" for s in ("stopped", "failed") if self.counts[s]
        ]
        words = ", ".join([f"{ended}/{len(self.labels)} runs", *told])
        now, running = time.time(), []
        with suppress(StoreError):
            running = self._records.running(self._began)[:MOST_SHOWN]
        lines = [f"{now - r.since:.0f} s: {self.labels.get(r.name)}" for r in running]
        return printable("; ".join([words, *lines]))


def show_progress(
    states: Iterable[str], progress: SweepProgress, console: Console | None = None
) -> Iterator[str]:
    """Yield the states of runs as they end, and show the progress, by default on stderr.

    On a console that is no terminal a line is written every now and then.
    """
    from rich import progress as bars
    from rich.console import Console

    console = console or Console(stderr=True)
    columns = (
        bars.BarColumn(bar_width=20),
        bars.TimeRemainingColumn(compact=True),
        bars.TextColumn("left  {task.fields[progress]}", markup=False),
    )
    is_drawn = console.is_terminal or console.is_jupyter
    write_line = occasional_lines(console)
    with progress_bar(*columns, console=console, disable=not is_drawn) as bar:
        line = bar.add_task("", total=len(progress.labels), progress=progress)
        for state in bar.track(states, task_id=line):
            progress.counts[state] += 1
            if not is_drawn:
                write_line(progress)
            yield state
