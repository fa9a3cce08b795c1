"""Where the wall time of a run went: each part without the parts inside it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numba.core.event import Listener

PARTS = ("setup", "compile", "transport", "detection", "storage")
WAITING = "waiting"
"""What counts for no part: while a run that is prepared waits, or advances with others."""


@cache
def _listener() -> Callable[[WallTimes], Listener]:
    """Return the class of what tells a stopwatch when numba compiles, made once."""
    from numba.core import event

    class Compiling(event.Listener):
        """Lets a ``watch`` count for compiling, and then for what waited."""

        def __init__(self, watch: WallTimes) -> None:
            self._watch = watch

        def on_start(self, event: object) -> None:
            """Begin to count."""
            self._watch.begin("compile")

        def on_end(self, event: object) -> None:
            """Count for what waited."""
            self._watch.end()

    return Compiling


class WallTimes:
    """A stopwatch of parts that stop one another, which begins with the set-up.

    Attributes
    ----------
    seconds
        Wall time of each part so far.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._open = [PARTS[0]]
        self._since = time.monotonic()

    def _told(self) -> None:
        now = time.monotonic()
        self.seconds[self._open[-1]] += now - self._since
        self._since = now

    def begin(self, part: str) -> None:
        """Count for ``part`` from now on."""
        self._told()
        self._open.append(part)

    def end(self) -> None:
        """Count for the part again in which the present one began."""
        self._told()
        self._open.pop()

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count what the block takes for the part ``name``."""
        self.begin(name)
        try:
            yield
        finally:
            self.end()

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Count what numba compiles while the block runs as compiling."""
        from numba.core import event

        with event.install_listener("numba:compile", _listener()(self)):
            yield

    def add(self, seconds: Mapping[str, float]) -> None:
        """Add those of an earlier part of the same run, by part."""
        for part, earlier in seconds.items():
            self.seconds[part] += earlier

    @property
    def statistics(self) -> dict[str, float | int | str]:
        """Seconds of all parts by name, as in ``transport_seconds``."""
        self._told()
        return {f"{part}_seconds": float(self.seconds[part]) for part in PARTS}
