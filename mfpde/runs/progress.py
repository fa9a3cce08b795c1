"""The progress of what takes long, on one line: on a terminal, in a log, in a notebook's cell.

Bars are those of rich; a cell needs no widgets for them.  The line of a run says time, step, mass
drift, energy and largest density.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn

T = TypeVar("T")
SECONDS_BETWEEN_DRAWINGS = 0.25
SECONDS_TO_FIRST_LINE = 3.0
SECONDS_BETWEEN_LINES = 10.0


@dataclass(frozen=True)
class Progress:
    """The numbers that a run reports after a step.

    ``step`` is the step just taken, ``mass_drift`` the total mass minus that of the
    start, ``energy`` is None where there is none, ``steps`` counts the steps.
    """

    time: float
    t_end: float
    step: float
    mass_drift: float
    energy: float | None
    largest_density: float
    steps: int


Report = Callable[[Progress], None]


def describe_progress(progress: Progress) -> str:
    """Return time, step, mass drift, energy and largest density in one line."""
    energy = "" if progress.energy is None else f"  E {progress.energy:.6g}"
    return (
        f"t {progress.time:.4g}/{progress.t_end:g}  step {progress.steps}"
        f"  dt {progress.step:.2g}"
        f"  mass {progress.mass_drift:+.0e}{energy}"
        f"  max {progress.largest_density:.3g}"
    )


@contextmanager
def progress_line(console: Console | None = None) -> Iterator[Report]:
    """Show a line while the block runs; the block gives it a :class:`Progress`.

    Parameters
    ----------
    console
        Console to draw on, by default stderr.  In a notebook the line is in the output of the
        cell; on a console that is no terminal (a log) one is written every now and then, the
        first after some seconds.
    """
    from rich.console import Console

    if console is None:
        console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield occasional_lines(console, describe_progress)
        return
    with _live_line(console) as report:
        yield report


class _Throttle:
    """Says when it is time to draw again: ``first`` seconds from now, then every ``interval``."""

    def __init__(self, interval: float, first: float = 0.0) -> None:
        self._interval, self._next_at = interval, time.monotonic() + first

    def is_due(self) -> bool:
        """Whether it is time, until the next time."""
        now = time.monotonic()
        if now < self._next_at:
            return False
        self._next_at = now + self._interval
        return True


def occasional_lines(
    console: Console, describe: Callable[[T], str]
) -> Callable[[T], None]:
    """Return a function that writes a line after some seconds, and then at intervals."""
    throttle = _Throttle(SECONDS_BETWEEN_LINES, first=SECONDS_TO_FIRST_LINE)

    def report(progress: T) -> None:
        if throttle.is_due():
            console.print(describe(progress), markup=False, highlight=False)

    return report


@contextmanager
def _live_line(console: Console) -> Iterator[Report]:
    from rich import progress as bars

    columns = (
        bars.BarColumn(bar_width=20),
        bars.TextColumn("{task.description}", markup=False),
        bars.TimeRemainingColumn(compact=True),
        bars.TextColumn("left"),
    )
    with progress_bar(*columns, console=console) as line:
        task = line.add_task("starting", total=None)
        throttle = _Throttle(SECONDS_BETWEEN_DRAWINGS)
        first: Progress | None = None
        last: Progress | None = None

        def report(progress: Progress) -> None:
            nonlocal first, last
            first, last = first or progress, progress
            # Steps come thousands a second: most of them need not be drawn.
            if throttle.is_due():
                draw()

        def draw() -> None:
            if first is None or last is None:
                return
            # A resumed run starts at a time of its own.
            start = max(first.time - first.step, 0.0)
            line.update(
                task,
                total=last.t_end - start,
                completed=last.time - start,
                description=describe_progress(last),
            )

        try:
            yield report
        finally:
            draw()


def progress_bar(*columns: str | ProgressColumn, **options: Any) -> Bar:
    """Return rich's bar of progress, which in a notebook is drawn into the cell.

    Parameters
    ----------
    columns, options
        As for ``rich.progress.Progress``; without a ``console`` it is on stderr.
    """
    from rich.console import Console
    from rich.progress import Progress

    console = options.pop("console", None) or Console(stderr=True)
    if console.is_jupyter:
        return _cell_bar()(*columns, console=console, **options)
    return Progress(*columns, console=console, **options)


def _cell_bar() -> type[Bar]:
    """Return the class of bars in a cell, made where rich is there already."""
    from rich.progress import Progress

    class CellProgress(Progress):
        """A bar that is the output of a notebook's cell, drawn anew as it grows."""

        _output: Any = None

        def start(self) -> None:
            """Begin the output of the cell."""
            from IPython.display import display

            show: Callable[..., Any] = display
            self._output = show(self.make_tasks_table(self.tasks), display_id=True)
            self._throttle = _Throttle(SECONDS_BETWEEN_DRAWINGS)

        def refresh(self) -> None:
            """Draw the bar as it is now."""
            if self._output is not None:
                self._output.update(self.make_tasks_table(self.tasks))

        def stop(self) -> None:
            """Draw the bar as it ended."""
            self.refresh()
            self._output = None

        def update(self, *arguments: Any, **changes: Any) -> None:
            """Change a task, and draw the bar if it has not been for a while."""
            super().update(*arguments, **changes)
            if self._throttle.is_due():
                self.refresh()

    return CellProgress
