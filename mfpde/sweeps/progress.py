"""The display of a sweep while it goes on: how many runs have ended, what runs, the time left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from mfpde.arrays import printable
from mfpde.runs.progress import progress_line
from mfpde.storage import StoreError
from mfpde.sweeps.records import SweepRecords

MOST_SHOWN = 3


class SweepProgress:
    """How many runs of a sweep have ended, by their states, and which have run for longest.

    ``labels`` are the runs that are computed, in words, by their hashes.
    """

    def __init__(self, records: SweepRecords, labels: Mapping[str, str]) -> None:
        self.labels, self.counts = labels, Counter[str]()
        self._records, self._began = records, time.time()

    def __str__(self) -> str:
        told = [f"{self.counts.total()}/{len(self.labels)} runs"]
        told += [f"{count} {s}" for s, count in self.counts.items() if s != "finished"]
        now, running = time.time(), []
        with suppress(StoreError):
            running = self._records.running(self._began)[:MOST_SHOWN]
        lines = [f"{now - r.since:.0f} s: {self.labels.get(r.name)}" for r in running]
        return printable("; ".join([", ".join(told), *lines]))


def show_progress(states: Iterable[str], progress: SweepProgress) -> Iterator[str]:
    """Yield the states of runs as they end, and show the progress on stderr."""
    with progress_line() as line:
        for state in states:
            progress.counts[state] += 1
            line(progress.counts.total() / len(progress.labels), progress)
            yield state
