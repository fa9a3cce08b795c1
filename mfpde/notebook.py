"""The display of results: one line at a prompt, a picture and a table in a notebook.

Results know their words and numbers; pictures and datasets are made in layers above them, and
so are runs from their stores.  Those functions are known here by name alone, and their modules
are loaded when one is first asked for.  Bars of progress are those of rich, drawn into the
cell, which needs no widgets.
"""

from __future__ import annotations

import base64
import html
import time
from collections.abc import Callable
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

PICTURE = "mfpde.plotting.pictures:small_png"
"""The small picture of a result: a PNG, or None where it has none."""
DATASET = "mfpde.storage.dataset:dataset_of"
"""The xarray Dataset of a run."""
STORED = "mfpde.storage.run_reader:load"
"""The run in the store at a path."""
PLOT = "mfpde.plotting:plot_run"
"""The figure of a run."""
SAVED = "mfpde.storage:save"
"""The store of a run, written to a path."""


def made(what: str, result: object, *places: object, **options: Any) -> Any:
    """Return what a layer above makes of a result, or a path: one of the names above."""
    return resolve_name(what)(result, *places, **options)


class Shown:
    """A result that a notebook shows as a small picture beside a table.

    A class brings ``facts``, the rows of the table; a picture is registered for it with
    ``mfpde.plotting.pictures.picture_of``.
    """

    @property
    def facts(self) -> dict[str, str]:
        """What a notebook says of the result in a table, by name; nothing by default."""
        return {}

    def _repr_html_(self) -> str:
        png = made(PICTURE, self)
        parts = [_table(type(self).__name__, self.facts), self._whole()]
        beside = "flex:1 1 24em;min-width:0;overflow-x:auto"
        words = f'<div style="{beside}">{"".join(parts)}</div>'
        if png is None:
            return words
        data = base64.b64encode(png).decode()
        picture = (
            f'<img alt="{type(self).__name__}" src="data:image/png;base64,{data}">'
        )
        style = "display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start"
        return f'<div style="{style}">{picture}{words}</div>'

    def _whole(self) -> str:
        """What ``print`` says of the result, below the table."""
        return ""


class Printed(Shown):
    """A result whose ``str`` is its table, of which a prompt shows the first line."""

    def __repr__(self) -> str:
        first = str(self).partition("\n")[0]
        return f"<{type(self).__name__}: {first}; print it for all>"

    def _whole(self) -> str:
        text = f"<pre>{html.escape(str(self))}</pre>"
        if not self.facts:
            return text
        return f"<details><summary>print(...)</summary>{text}</details>"


def _table(title: str, facts: dict[str, str]) -> str:
    if not facts:
        return ""
    left = 'style="text-align:left"'
    name_style = 'style="text-align:left;white-space:nowrap"'
    rows = "".join(
        f"<tr><th {name_style}>{html.escape(name)}</th><td {left}>{html.escape(value)}</td></tr>"
        for name, value in facts.items()
    )
    return f"<table><caption {left}>{html.escape(title)}</caption>{rows}</table>"


SECONDS_BETWEEN_DRAWINGS = 0.25


def progress_bar(*columns: str | ProgressColumn, **options: Any) -> Progress:
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
        return _cell_progress()(*columns, console=console, **options)
    return Progress(*columns, console=console, **options)


def _cell_progress() -> type[Progress]:
    """Return the class of bars in a cell, made where rich is there already."""
    from rich.progress import Progress

    class CellProgress(Progress):
        """A bar that is the output of a notebook's cell, drawn anew as it grows."""

        _drawn_at = -SECONDS_BETWEEN_DRAWINGS
        _output: Any = None

        def start(self) -> None:
            """Begin the output of the cell."""
            from IPython.display import display

            show: Callable[..., Any] = display
            self._output = show(self.make_tasks_table(self.tasks), display_id=True)

        def refresh(self) -> None:
            """Draw the bar as it is now."""
            if self._output is not None:
                self._drawn_at = time.monotonic()
                self._output.update(self.make_tasks_table(self.tasks))

        def stop(self) -> None:
            """Draw the bar as it ended."""
            self.refresh()
            self._output = None

        def update(self, *arguments: Any, **changes: Any) -> None:
            """Change a task, and draw the bar if it has not been for a while."""
            super().update(*arguments, **changes)
            if time.monotonic() - self._drawn_at >= SECONDS_BETWEEN_DRAWINGS:
                self.refresh()

    return CellProgress
