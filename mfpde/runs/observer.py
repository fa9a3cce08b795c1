"""Observers of a run, which look on while it is computed and cannot change it.

The progress line is one: time, step, mass drift, energy and largest density.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mfpde.measures.events import Event
from mfpde.measures.measure import Measure
from mfpde.notebook import progress_bar
from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.run import Quantity, Run
from mfpde.tracking import Tracker

if TYPE_CHECKING:
    from rich.console import Console

REDRAW_SECONDS = 0.1
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


class Observer:
    """An onlooker of a run, ``solve(..., observer=...)``, whose methods do nothing by default.

    A subclass overrides the methods of what it wants to see.  At a save they are called in
    the order ``follow``, ``tell``, ``save``, ``keep``.  :class:`mfpde.storage.RunWriter` is
    an observer that stores the run as it goes.

    Attributes
    ----------
    watches_steps
        Whether :meth:`step` is called: its numbers cost an energy at every step.
    keeps_checkpoints
        Whether :meth:`keep` is called.
    """

    watches_steps: bool = False
    keeps_checkpoints: bool = False

    def begin(self, quantities: Mapping[str, Quantity]) -> None:
        """See, before the first save, what the diagnostics of the run mean, by name."""

    def step(self, progress: Progress) -> None:
        """See the numbers of each step, if ``watches_steps`` is true."""

    def follow(self, track: Tracker) -> None:
        """See the atoms that were followed up to this save, if the run has a track."""

    def tell(self, events: Sequence[Event]) -> None:
        """See all events so far that exact atoms tell of, at each save after the first event."""

    def save(
        self, time: float, measure: Measure, diagnostics: Mapping[str, float]
    ) -> None:
        """See a saved state with its diagnostics."""

    def keep(self, checkpoint: Checkpoint) -> None:
        """See, after each save and at the end, everything that the run needs to go on.

        It is called if ``keeps_checkpoints`` is true.  Then ``solve(..., resume_from=...)``
        goes on to the bit.
        """

    def finish(self, run: Run) -> None:
        """See the finished run."""


class StepObserver(Observer):
    """An observer that hands each step's numbers to a function."""

    watches_steps = True

    def __init__(self, report: Report) -> None:
        self._report = report

    def step(self, progress: Progress) -> None:
        """Report the numbers of a step."""
        self._report(progress)


def described(progress: Progress) -> str:
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
        yield _occasional_lines(console)
        return
    with _live_line(console) as report:
        yield report


def _occasional_lines(console: Console) -> Report:
    """Return a function that writes a line after some seconds, and then at intervals."""
    next_at = time.monotonic() + SECONDS_TO_FIRST_LINE

    def report(progress: Progress) -> None:
        nonlocal next_at
        now = time.monotonic()
        if now >= next_at:
            next_at = now + SECONDS_BETWEEN_LINES
            console.print(described(progress), markup=False, highlight=False)

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
        started_at: float | None = None
        drawn_at = 0.0
        latest: Progress | None = None

        def draw(progress: Progress) -> None:
            start = 0.0 if started_at is None else started_at
            line.update(
                task,
                total=progress.t_end - start,
                completed=progress.time - start,
                description=described(progress),
            )

        def report(progress: Progress) -> None:
            nonlocal started_at, drawn_at, latest
            if started_at is None:
                # A resumed run starts at a time of its own.
                started_at = max(progress.time - progress.step, 0.0)
            latest = progress
            # Steps come thousands a second: most of them need not be drawn.
            now = time.monotonic()
            if now - drawn_at >= REDRAW_SECONDS:
                drawn_at = now
                draw(progress)

        try:
            yield report
        finally:
            if latest is not None:
                draw(latest)
