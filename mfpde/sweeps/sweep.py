"""A sweep: many runs of settings that vary, in a folder that knows what is done."""

from __future__ import annotations

import copy
import json
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mfpde.arrays import LARGEST_COUNT, printable, shown, whole_number
from mfpde.notebook import Printed
from mfpde.runs.progress import progress_line
from mfpde.runs.run import Run
from mfpde.settings.base import SettingsError
from mfpde.settings.files import change_by_text, read_table
from mfpde.storage import StoreError, load
from mfpde.sweeps.execution import execute
from mfpde.sweeps.executors import compute_runs
from mfpde.sweeps.plan import PlannedRun, plan_runs, read_sweep_section
from mfpde.sweeps.records import RunRecord, SweepRecords

if TYPE_CHECKING:
    import pandas as pd

MOST_SHOWN = 5
"""Runs of which the reason is shown; all are in ``Sweep.reasons``."""
MOST_RUNNING = 3
"""Runs that are named while they go on."""


class Sweep(Printed):
    """Runs of settings that vary; :mod:`mfpde.sweeps` tells what a sweep file holds.

    Every run's settings are checked when the sweep is made.  A run is known by a hash of its
    settings and of the version of mfpde: what the folder holds of a run is not computed again.

    Parameters
    ----------
    source
        A sweep file, or what one would hold, as a table.
    folder
        Where runs and their record are kept, in place of ``folder`` in [sweep].
    overrides
        Changes ``"section.key=value"`` of the settings of all runs.

    Attributes
    ----------
    folder, varied, runs
        The folder, the names of what varies, and the runs, with ``name`` (their hash) and
        ``parameters``.

    Raises
    ------
    SettingsError
        With one line for each error: settings that cannot be run, with the values of the run.

    Examples
    --------
    >>> sweep = mfpde.Sweep("betas.toml").run(workers=4)  # doctest: +SKIP
    >>> sweep.table.groupby("attention.beta")["atoms"].mean()  # doctest: +SKIP
    """

    def __init__(
        self,
        source: str | Path | Mapping[str, Any],
        folder: str | Path | None = None,
        overrides: Iterable[str] = (),
    ) -> None:
        if isinstance(source, Mapping):
            data = copy.deepcopy(dict(source))
        elif isinstance(source, str | Path):
            data = read_table(source)
        else:
            raise SettingsError(
                f"source = {shown(source)} must be a sweep file or a table with [sweep]"
            )
        for text in overrides:
            change_by_text(data, text)
        if "sweep" not in data:
            raise SettingsError(
                "the table [sweep] is missing, which says what varies; `mfpde run` makes a "
                "single run"
            )
        table = data.pop("sweep")
        if folder is not None and isinstance(table, Mapping):
            table = {**table, "folder": str(folder)}
        place, axes = read_sweep_section(table)
        self.varied = tuple(axes)
        self.runs: tuple[PlannedRun, ...] = plan_runs(data, axes)
        self.folder = Path(place).absolute()
        self._records = SweepRecords(self.folder)

    def run(
        self,
        workers: int = 1,
        *,
        scheduler: str | None = None,
        progress: bool = False,
    ) -> Sweep:
        """Compute what is not done yet, in the order of the file, and return the sweep itself.

        Interrupted, it goes on when it is called again; so does a run that ``max_steps`` or
        ``wall_time_limit`` has stopped, as far again.  What has failed is computed anew.

        Parameters
        ----------
        workers
            Number of processes of this machine.  A script that asks for more than one needs
            the usual ``if __name__ == "__main__":``.
        scheduler
            Address of a Dask scheduler, as in ``"tcp://host:8786"``, whose workers are taken.
        progress
            Whether progress is shown on stderr.

        Raises
        ------
        SettingsError
            For an argument out of its range, without Dask where it is needed, or if no
            scheduler answers.
        ConnectionError
            If the scheduler is lost.
        ChildProcessError
            If workers of this machine end before they begin a run.
        """
        most = LARGEST_COUNT // 1000
        workers = whole_number("workers", workers, at_least=1, at_most=most)
        if scheduler is not None and workers > 1:
            raise SettingsError(
                f"workers = {workers} and scheduler = {scheduler!r} exclude each other: the "
                "cluster has workers of its own"
            )
        records = self._records
        finished = {r.name for r in records.all().values() if r.state == "finished"}
        pending = [run for run in self.runs if run.name not in finished]
        work = partial(execute, records=records)
        states: Iterator[str] = map(work, pending)
        if scheduler is not None or workers > 1:
            states = compute_runs(work, pending, records, workers, scheduler)
        if progress:
            labels = {run.name: run.label for run in pending}
            states = show_progress(states, records, labels)
        deque(states, maxlen=0)
        return self

    @property
    def records(self) -> list[RunRecord]:
        """The record of each run, pending for a run that has not ended."""
        there = {n: r for n, r in self._records.all().items() if r.state != "running"}
        return [there.get(run.name, RunRecord(run.name)) for run in self.runs]

    @property
    def table(self) -> pd.DataFrame:
        """A line for each run: what varies, how the run ended, and its numbers.

        The settings of the product have their names, as in
        ``table.groupby("attention.beta")["atoms"].mean()``, and cases are in ``case``.  What
        a run has several of is a list.  One that has not finished has no numbers (NaN beside
        those of others); ``state`` (``"finished"``, ``"stopped"``, ``"failed"``,
        ``"pending"``) and ``error`` say why.
        """
        import pandas as pd

        plain = str | int | float
        lines = [
            {
                "run": run.name,
                **{
                    name: value if isinstance(value, plain) else json.dumps(value)
                    for name, value in run.parameters.items()
                },
                "state": record.state,
                "error": record.error,
                **record.summary,
            }
            for run, record in zip(self.runs, self.records, strict=True)
        ]
        return pd.DataFrame(lines)

    def reasons(self, state: str = "failed") -> dict[str, str]:
        """Return why runs failed, or a limit has ``"stopped"`` them, by what varies in them."""
        pairs = zip(self.runs, self.records, strict=True)
        return {
            run.label: record.error for run, record in pairs if record.state == state
        }

    def load(self, run: int | str) -> Run:
        """Return one whole run, by its place or its hash."""
        name = run if isinstance(run, str) else self.runs[run].name
        return load(self._records.store(name))

    def __str__(self) -> str:
        states = Counter(record.state for record in self.records)
        counts = ", ".join(f"{count} {state}" for state, count in states.items())
        over = ", ".join(self.varied) or "nothing"
        lines = [f"{len(self.runs)} runs over {over}: {counts}", f"in {self.folder}"]
        for state in ("stopped", "failed"):
            first = [*self.reasons(state).items()][:MOST_SHOWN]
            lines += [f"{state}: {name}: {why}" for name, why in first]
        return "\n".join(lines)


def show_progress(
    states: Iterable[str], records: SweepRecords, labels: Mapping[str, str]
) -> Iterator[str]:
    """Yield the states of runs as they end; show how many, and which have run for longest.

    ``labels`` are the runs that are computed, in words, by their hashes.
    """
    counts, began = Counter[str](), time.time()
    with progress_line() as line:
        for state in states:
            counts[state] += 1
            told = [f"{counts.total()}/{len(labels)} runs"]
            told += [f"{count} {s}" for s, count in counts.items() if s != "finished"]
            now, running = time.time(), list[RunRecord]()
            with suppress(StoreError):
                running = records.running(began)[:MOST_RUNNING]
            words = [f"{now - r.since:.0f} s: {labels.get(r.name)}" for r in running]
            words = [", ".join(told), *words]
            line(counts.total() / len(labels), printable("; ".join(words)))
            yield state
