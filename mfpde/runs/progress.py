"""The progress of what takes long, on one line: on a terminal, in a log, in a notebook's cell.

Bars are those of rich; a cell needs no widgets for them.  The line of a run says time, step, mass
drift, energy and largest density.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn

SECONDS_BETWEEN_DRAWINGS = 0.25
SECONDS_TO_FIRST_LINE = 3.0
SECONDS_BETWEEN_LINES = 10.0


@dataclass(frozen=True, eq=False)
class Progress:
    """The numbers that a run reports after a step; ``str`` is one line of them.

    ``step`` is the step just taken, ``steps`` counts the steps, ``first_mass`` is the total mass
    at the start.  ``diagnostic(name)`` computes a diagnostic of every run when asked.
    """

    time: float
    t_end: float
    step: float
    steps: int
    first_mass: float
    diagnostic: Callable[[str], float]

    @property
    def mass_drift(self) -> float:
        """Total mass minus that of the start."""
        return self.diagnostic("mass") - self.first_mass

    @property
    def energy(self) -> float | None:
        """Energy of the state; None for an equation that has none."""
        energy = self.diagnostic("energy")
        return None if math.isnan(energy) else energy

    @property
    def largest_density(self) -> float:
        """Largest density of the state."""
        return self.diagnostic("largest_density")

    def __str__(self) -> str:
        energy = "" if self.energy is None else f"  E {self.energy:.6g}"
        return (
            f"t {self.time:.4g}/{self.t_end:g}  step {self.steps}  dt {self.step:.2g}"
            f"  mass {self.mass_drift:+.0e}{energy}  max {self.largest_density:.3g}"
        )


Report = Callable[[Progress], None]


class Throttle:
    """A function that is called now and then with what is given, and with the last at the end.

    It is called ``first`` seconds from now, then every ``interval``: of steps there are thousands
    a second.
    """

    def __init__(
        self, function: Callable[[Any], None], interval: float, first: float = 0.0
    ) -> None:
        self._function, self._interval = function, interval
        self._next_at = time.monotonic() + first
        self._waiting: list[Any] = []

    def __call__(self, value: Any) -> None:
        """Call the function if it is time to, else let the value wait."""
        self._waiting = [value]
        now = time.monotonic()
        if now >= self._next_at:
            self._next_at = now + self._interval
            self._call()

    def __enter__(self) -> Throttle:
        return self

    def __exit__(self, *_: object) -> None:
        self._call()

    def _call(self) -> None:
        while self._waiting:
            self._function(self._waiting.pop())


def occasional_lines(console: Console) -> Callable[[object], None]:
    """Return a function that writes a line after some seconds, and then at intervals."""

    def write(progress: object) -> None:
        console.print(str(progress), markup=False, highlight=False)

    return Throttle(write, SECONDS_BETWEEN_LINES, first=SECONDS_TO_FIRST_LINE)


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
    from rich import progress as bars
    from rich.console import Console

    console = console or Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield occasional_lines(console)
        return
    columns = (
        bars.BarColumn(bar_width=20),
        bars.TextColumn("{task.description}", markup=False),
        bars.TimeRemainingColumn(compact=True),
        bars.TextColumn("left"),
    )
    with progress_bar(*columns, console=console) as bar:
        line = bar.add_task("starting", total=None)

        def draw(now: Progress) -> None:
            bar.update(line, total=now.t_end, completed=now.time, description=str(now))

        with Throttle(draw, SECONDS_BETWEEN_DRAWINGS) as report:
            yield report


class NotebookCell:
    """What draws a bar into the output of a notebook's cell, where rich's own needs widgets."""

    auto_refresh, is_started = True, True

    def __init__(self, bar: Bar) -> None:
        self.bar, self.console = bar, bar.console
        self.output: Any = None
        self.is_stopped = threading.Event()

    def start(self, refresh: bool = True) -> None:
        """Begin the output, which is drawn then."""
        from IPython.display import display

        show: Callable[..., Any] = display
        self.output = show(self.bar.make_tasks_table(self.bar.tasks), display_id=True)
        threading.Thread(target=self._draw_now_and_then, daemon=True).start()

    def _draw_now_and_then(self) -> None:
        while not self.is_stopped.wait(SECONDS_BETWEEN_DRAWINGS):
            self.refresh()

    def refresh(self) -> None:
        """Draw the bar as it is now."""
        self.output.update(self.bar.make_tasks_table(self.bar.tasks))

    def stop(self) -> None:
        """Draw the bar as it ended."""
        self.is_stopped.set()
        self.refresh()


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
    bar = Progress(*columns, console=console, **options)
    if console.is_jupyter:
        bar.live = NotebookCell(bar)  # type: ignore[assignment]
    return bar
