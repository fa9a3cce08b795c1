"""The display of results: one line at a prompt, a picture and a table in a notebook.

Results know their words and numbers; pictures and datasets are made in layers above them, and
so are runs from their stores.  Those functions are known below by name alone, and their modules
are loaded when one is first asked for.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence
from pkgutil import resolve_name
from typing import Any


def call_above(what: str, result: object, *places: object, **options: Any) -> Any:
    """Return what a function of a layer above, ``"module:name"``, makes of a result, or a path."""
    return resolve_name(f"mfpde.{what}")(result, *places, **options)


class Shown:
    """A result that a prompt shows in a line, a notebook as a small picture beside a table.

    A class brings ``facts``, the rows of the table; a picture is registered for it with
    ``mfpde.plotting.pictures.picture_of``.
    """

    @property
    def facts(self) -> dict[str, str]:
        """What a notebook says of the result in a table, by name; nothing by default."""
        return {}

    def __repr__(self) -> str:
        words = ", ".join(f"{name} {value}" for name, value in self.facts.items())
        return f"<{type(self).__name__}: {words}>"

    def _repr_html_(self) -> str:
        title, png = (
            type(self).__name__,
            call_above("plotting.pictures:small_png", self),
        )
        style = "flex:1 1 24em;min-width:0;overflow-x:auto"
        table = _table(title, self.facts)
        words = f'<div style="{style}">{table}{self._whole()}</div>'
        if png is None:
            return words
        data = base64.b64encode(png).decode()
        picture = f'<img alt="{title}" src="data:image/png;base64,{data}">'
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
    left, unbroken = "text-align:left", "text-align:left;white-space:nowrap"
    rows = "".join(
        f'<tr><th style="{unbroken}">{html.escape(name)}</th>'
        f'<td style="{left}">{html.escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    return (
        f'<table><caption style="{left}">{html.escape(title)}</caption>{rows}</table>'
    )


def format_table(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows in columns: words left, numbers to 6 digits right, NaN as ``-``."""
    columns = []
    for header, *values in zip(headers, *rows, strict=True):
        are_words = bool(values) and isinstance(values[0], str)
        cells = values if are_words else ["-" if x != x else f"{x:.6g}" for x in values]
        width = max(map(len, [header, *cells]))
        pad = str.ljust if are_words else str.rjust
        columns.append([pad(cell, width) for cell in (header, *cells)])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))
