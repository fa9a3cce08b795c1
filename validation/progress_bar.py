"""What is shown while the scripts run: a bar, and a line for each that is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from validation.results import Result


def described(result: Result) -> str:
    """Return verdict, script, number of quantities and seconds in one line."""
    kept = sum(quantity.holds for quantity in result.quantities)
    what = result.error or f"{kept} of {len(result.quantities)} quantities hold"
    mark = "ok  " if result.holds else "FAIL"
    return f"{mark} {result.script.key}: {what} ({result.seconds:.1f} s)"


@contextmanager
def progress_bar(
    total: int, console: Console | None = None
) -> Iterator[Callable[[Result], None]]:
    """Show a bar while the block runs; the block gives it each :class:`Result`.

    Parameters
    ----------
    total
        How many scripts there are.
    console
        Where to draw: stderr by default.  Where it is no terminal, only the lines.
    """
    from rich import progress as bars

    console = Console(stderr=True) if console is None else console
    columns = (
        bars.BarColumn(bar_width=20),
        bars.MofNCompleteColumn(),
        bars.TextColumn("{task.description}", markup=False),
        bars.TimeElapsedColumn(),
    )
    shown = console.is_terminal
    with bars.Progress(*columns, console=console, disable=not shown) as bar:
        task = bar.add_task("validation", total=total)

        def report(result: Result) -> None:
            console.print(described(result), markup=False, highlight=False)
            bar.advance(task)

        yield report
