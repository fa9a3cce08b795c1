"""The display of a sweep while it goes on: how many runs have ended, what runs, the time left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from mfpde.arrays import printable
from mfpde.runs.progress import occasional_lines, progress_bar
from mfpde.storage import StoreError
from mfpde.sweeps.records import SweepRecords

if TYPE_CHECKING:
    from rich.console import Console

MOST_SHOWN = 3


class SweepProgress:
    """What is to be said of a sweep that goes on.

    Parameters
    ----------
    records
        The records of the sweep.
    labels
        The runs that are computed, in words, by their hashes.
    done
        The number of runs that were done before.
    """

    def __init__(
        self, records: SweepRecords, labels: Mapping[str, str], done: int
    ) -> None:
        self._records, self.labels, self._done = records, labels, done
        self._began, self.states = time.time(), Counter[str]()

    @property
    def ended(self) -> int:
        """The number of the runs that have ended."""
        return sum(self.states[one] for one in ("finished", "stopped", "failed"))

    @property
    def counts(self) -> str:
        """How many runs have ended, and how."""
        others = {
            "stopped at a limit": self.states["stopped"],
            "failed": self.states["failed"],
            "were done before": self._done,
        }
        parts = [f"{count} {words}" for words, count in others.items() if count]
        return ", ".join([f"{self.ended}/{len(self.labels)} runs", *parts])

    def list_running(self, most: int) -> list[str]:
        """Return a line about each of the runs that have been running for longest."""
        now = time.time()
        with suppress(StoreError):
            found = self._records.running(self._began)[:most]
            return [
                printable(f"{now - one.since:.0f} s  {self.labels.get(one.name, '')}")
                for one in found
            ]
        return []

    def __str__(self) -> str:
        return "; longest: ".join([self.counts, *self.list_running(1)])

    def __rich__(self) -> str:
        """Return what a bar shows at its end, each time that it is drawn."""
        return "\n".join(self.list_running(MOST_SHOWN)).replace("[", r"\[")


@contextmanager
def show_progress(
    progress: SweepProgress, console: Console | None = None
) -> Iterator[Callable[[str], None]]:
    """Show the progress while the block runs, which calls what it gets with each run's state.

    On a console that is no terminal a line is written every now and then.
    """
    from rich import progress as bars
    from rich.console import Console

    console = console or Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        write_line = occasional_lines(console, str)

        def take_and_write(state: str) -> None:
            progress.states[state] += 1
            write_line(progress)

        yield take_and_write
        return
    columns = (
        bars.BarColumn(bar_width=20),
        bars.TextColumn("{task.description}", markup=False),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(compact=True),
        bars.TextColumn("left"),
        bars.RenderableColumn(progress),
    )
    with progress_bar(*columns, console=console, refresh_per_second=2) as bar:
        line = bar.add_task(progress.counts, total=len(progress.labels))

        def take_and_draw(state: str) -> None:
            progress.states[state] += 1
            bar.update(line, completed=progress.ended, description=progress.counts)

        yield take_and_draw
