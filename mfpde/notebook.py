"""The display of results: one line at a prompt, the whole table in a notebook."""

from __future__ import annotations

import html


class Printed:
    """A result whose ``str`` is its table, of which a prompt shows the first line."""

    def __repr__(self) -> str:
        first = str(self).partition("\n")[0]
        return f"<{type(self).__name__}: {first}; print it for all>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"
