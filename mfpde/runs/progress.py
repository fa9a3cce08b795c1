"""The progress of what takes long, on one line: on a terminal, in a log, in a notebook's cell.

The line of a run says time, step, mass drift, energy and largest density beside a bar of rich.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mfpde.arrays import shown

if TYPE_CHECKING:
    from rich.console import Console

SECONDS_BETWEEN_DRAWINGS = 0.25
SECONDS_TO_FIRST_LINE = 3.0
SECONDS_BETWEEN_LINES = 10.0


@dataclass(frozen=True, eq=False)
class Progress:
    """The numbers of a step, for observers and stopping conditions; ``str`` is a line of them.

    ``step`` is the step just taken, ``steps`` counts the steps, ``steps_before`` those of them
    that no limit counts.  ``first_mass`` is the total mass at the start, and
    ``diagnostic(name)`` computes a diagnostic of every run when asked.  ``change_rate`` is the
    mass that changed cells in the step, per unit time (half the L1 distance of the masses, plus
    the atoms' mass times their speed); if it did not grow over the last steps, the run
    ``is_slowing``.  ``started_at`` is a time of ``time.monotonic``.
    """

    time: float
    t_end: float
    step: float
    steps: int
    first_mass: float
    diagnostic: Callable[[str], float]
    change_rate: float = math.inf
    is_slowing: bool = False
    steps_before: int = 0
    started_at: float = 0.0

    def __str__(self) -> str:
        drift = self.diagnostic("mass") - self.first_mass
        energy = self.diagnostic("energy")
        words = "" if math.isnan(energy) else f"  E {energy:.6g}"
        return (
            f"t {self.time:.4g}/{self.t_end:g}  step {self.steps}  dt {self.step:.2g}"
            f"  mass {drift:+.0e}{words}  max {self.diagnostic('largest_density'):.3g}"
        )


LineReport = Callable[[float, object], None]
"""A function of the share that is done, and of words, whose ``str`` is taken when it is drawn."""


def line_if(progress: bool) -> AbstractContextManager[LineReport | None]:
    """Return the context of a line if ``progress``, else of None; ``ValueError`` if no bool."""
    if not isinstance(progress, bool):
        raise ValueError(f"progress = {shown(progress)} must be True or False")
    return progress_line() if progress else nullcontext()


@contextmanager
def progress_line(console: Console | None = None) -> Iterator[LineReport]:
    """Show a line while the block runs; the block gives it the share that is done, and words.

    It is drawn on a ``console``, by default stderr: in a notebook in the output of the cell; in a
    log, which is no terminal, one is written every now and then, the first after some seconds.
    """
    from rich import progress as bars
    from rich.console import Console

    console = console or Console(stderr=True)
    bar = bars.Progress(
        bars.BarColumn(bar_width=20),
        bars.TextColumn("{task.description}", markup=False),
        bars.TimeRemainingColumn(compact=True),
        bars.TextColumn("left"),
        console=console,
    )
    line, cell = bar.add_task("starting", total=1.0), None
    is_log = not (console.is_terminal or console.is_jupyter)
    if console.is_jupyter:
        from IPython.display import display

        # Without rich's own way into a cell, which needs widgets.
        show: Callable[..., Any] = display
        cell = show(bar.make_tasks_table(bar.tasks), display_id=True)

    def draw(share: float, words: object) -> None:
        if is_log:
            console.print(str(words), markup=False, highlight=False)
            return
        bar.update(line, completed=share, description=str(words))
        if cell is not None:
            cell.update(bar.make_tasks_table(bar.tasks))

    # Of steps there are thousands a second.
    interval = SECONDS_BETWEEN_LINES if is_log else SECONDS_BETWEEN_DRAWINGS
    next_at = time.monotonic() + (SECONDS_TO_FIRST_LINE if is_log else 0.0)
    last: list[tuple[float, object]] = []

    def report(share: float, words: object) -> None:
        nonlocal next_at
        last[:], now = [(share, words)], time.monotonic()
        if now >= next_at:
            next_at = now + interval
            draw(*last.pop())

    with bar if console.is_terminal else nullcontext():
        try:
            yield report
        finally:
            if last and not is_log:
                draw(*last.pop())
