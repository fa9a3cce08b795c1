"""The display of a sweep while it goes on: done, failed, and what has been running for long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mfpde.arrays import printable
from mfpde.runs.progress import SECONDS_BETWEEN_LINES, SECONDS_TO_FIRST_LINE
from mfpde.sweeps.execution import Outcome
from mfpde.sweeps.record import Running, SweepFolder

if TYPE_CHECKING:
    from rich.console import Console

MOST_SHOWN = 3
SECONDS_BETWEEN_LOOKS = 0.5


@dataclass
class SweepProgress:
    """The counts of a sweep that goes on.

    Attributes
    ----------
    folder
        The sweep's folder.
    labels
        The runs that are to be computed, by hash, in words.
    skipped
        Number of runs that had ended before.
    """

    folder: SweepFolder
    labels: Mapping[str, str]
    skipped: int = 0
    finished: int = 0
    stopped: int = 0
    failed: int = 0
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        # Notes that processes left which were killed.
        self._left = set(self.folder.running())

    def take(self, outcome: Outcome) -> None:
        """Count a run that has ended."""
        self.finished += outcome.state == "finished"
        self.stopped += outcome.state == "stopped"
        self.failed += outcome.state == "failed"

    def running(self) -> list[Running]:
        """Return the runs that are being computed, the oldest first."""
        there = self.folder.running()
        return [one for one in there if one not in self._left]

    @property
    def ended(self) -> int:
        """Number of the runs that have ended."""
        return self.finished + self.stopped + self.failed

    def counts(self) -> str:
        """Return the counts in words."""
        parts = [f"{self.ended}/{len(self.labels)} runs"]
        if self.stopped:
            parts.append(f"{self.stopped} stopped at a limit")
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.skipped:
            parts.append(f"{self.skipped} were done before")
        return ", ".join(parts)

    def longest(self) -> list[str]:
        """Return lines about the runs that have been running for longest."""
        now = time.time()
        return [
            f"{max(now - one.since, 0.0):6.0f} s  {self.labels.get(one.name, one.name)}"
            for one in self.running()[:MOST_SHOWN]
        ]


@contextmanager
def sweep_shown(
    progress: SweepProgress, console: Console | None = None
) -> Iterator[Callable[[], None]]:
    """Show the progress while the block runs, which calls what it gets now and then.

    On a console that is no terminal a line is written every now and then.
    """
    from rich.console import Console

    if console is None:
        console = Console(stderr=True, force_jupyter=False)
    if not console.is_terminal:
        yield _occasional_lines(progress, console)
        return
    with _live(progress, console) as show:
        yield show


def _occasional_lines(progress: SweepProgress, console: Console) -> Callable[[], None]:
    next_at = time.monotonic() + SECONDS_TO_FIRST_LINE

    def show() -> None:
        nonlocal next_at
        now = time.monotonic()
        if now < next_at:
            return
        next_at = now + SECONDS_BETWEEN_LINES
        slow = progress.longest()
        text = progress.counts() + (f"; longest: {slow[0].strip()}" if slow else "")
        console.print(printable(text), markup=False, highlight=False)

    return show


@contextmanager
def _live(progress: SweepProgress, console: Console) -> Iterator[Callable[[], None]]:
    from rich import progress as bars
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    columns = (
        bars.BarColumn(bar_width=30),
        bars.TextColumn("{task.description}", markup=False),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(compact=True),
    )
    bar = bars.Progress(*columns, console=console)
    task = bar.add_task(progress.counts(), total=len(progress.labels))
    looked_at = -SECONDS_BETWEEN_LOOKS

    with Live(Group(bar), console=console, refresh_per_second=4) as live:

        def show() -> None:
            nonlocal looked_at
            now = time.monotonic()
            is_last = progress.ended == len(progress.labels)
            if now - looked_at < SECONDS_BETWEEN_LOOKS and not is_last:
                return
            looked_at = now
            bar.update(task, completed=progress.ended, description=progress.counts())
            lines = [Text(line, style="dim") for line in progress.longest()]
            live.update(Group(bar, *lines))

        try:
            yield show
        finally:
            bar.update(task, completed=progress.ended, description=progress.counts())
            live.update(Group(bar))
