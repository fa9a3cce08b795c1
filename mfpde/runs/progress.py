"""A progress line of a run: time, step, mass drift, energy and largest density."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mfpde.runs.observer import Progress

if TYPE_CHECKING:
    from rich.console import Console

REDRAW_SECONDS = 0.1
SECONDS_TO_FIRST_LINE = 3.0
SECONDS_BETWEEN_LINES = 10.0


Report = Callable[[Progress], None]


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
        Console to draw on, by default stderr.  On a console that is no terminal (a log, a
        notebook) a line is written every now and then, the first after some seconds.
    """
    from rich.console import Console

    if console is None:
        # In a notebook stderr is text in the cell, which needs no widgets.
        console = Console(stderr=True, force_jupyter=False)
    if not console.is_terminal:
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
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(compact=True),
    )
    with bars.Progress(*columns, console=console) as line:
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
