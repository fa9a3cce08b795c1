"""A sweep: many runs of settings that vary, in a folder that knows what is done."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mfpde.arrays import LARGEST_COUNT, shown, whole_number
from mfpde.notebook import Printed
from mfpde.runs.run import Run
from mfpde.settings.base import SettingsError
from mfpde.storage import load
from mfpde.sweeps.chosen_engine import Engine, engine_of
from mfpde.sweeps.engines import Wait
from mfpde.sweeps.execution import tasks_of
from mfpde.sweeps.plan import PlannedRun, planned
from mfpde.sweeps.progress import SweepProgress, sweep_shown
from mfpde.sweeps.record import RunRecord, SweepFolder, replaced
from mfpde.sweeps.table import (
    column_named,
    dataset_of,
    finished_only,
    rows_of,
    write_table,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SECONDS_FOR_OTHERS = 10.0
"""How long runs that another process holds are waited for, at the end."""
MOST_SHOWN = 5


class Sweep(Printed):
    """Runs of settings that vary; :mod:`mfpde.sweeps` tells what a sweep file holds.

    Every run's settings are checked when the sweep is made.  A run is known by a hash of its
    settings and of the version of mfpde: what the folder holds of a run is not computed again.

    Parameters
    ----------
    source
        A sweep file, or what one would hold, as a table.
    folder
        Where runs and summary are kept, in place of ``folder`` in [sweep].
    overrides
        Changes ``"section.key=value"`` of the settings of all runs.

    Raises
    ------
    SettingsError
        With one line for each error: settings that cannot be run, with the values of the run.

    Examples
    --------
    >>> sweep = mfpde.Sweep("betas.toml").run(workers=4)  # doctest: +SKIP
    >>> sweep.summary["atoms"].to_pandas()  # doctest: +SKIP
    >>> sweep.plot("atoms", against="beta")  # doctest: +SKIP
    """

    def __init__(
        self,
        source: str | Path | Mapping[str, Any],
        folder: str | Path | None = None,
        overrides: Iterable[str] = (),
    ) -> None:
        given: object = source
        if not isinstance(given, str | Path | Mapping):
            raise SettingsError(
                f"source = {shown(given)} must be a sweep file or a table with [sweep]"
            )
        self.plan = planned(source, folder=folder, overrides=overrides)
        self._folder = SweepFolder(self.plan.folder)

    @property
    def folder(self) -> Path:
        """The folder of the sweep."""
        return self.plan.folder

    @property
    def runs(self) -> tuple[PlannedRun, ...]:
        """The runs, with ``name`` (their hash) and ``parameters``."""
        return self.plan.runs

    @cached_property
    def _by_name(self) -> dict[str, PlannedRun]:
        return {run.name: run for run in self.runs}

    def run(
        self,
        workers: int = 1,
        *,
        scheduler: str | None = None,
        shard: str | None = None,
        retry_failed: bool = False,
        progress: bool = False,
    ) -> Sweep:
        """Compute what is not done yet, and write the summary of all that is.

        Interrupted, it goes on when it is called again; so does a run that ``max_steps`` or
        ``wall_time_limit`` has stopped, as far again.  A script that asks for more than one
        worker needs the usual ``if __name__ == "__main__":`` where workers are no forks of it
        (elsewhere than on Linux, or once numba's parallel kernels have run).

        Parameters
        ----------
        workers
            Number of processes of this machine.
        scheduler
            Address of a Dask scheduler, as in ``"tcp://host:8786"``, whose workers are taken.
        shard
            ``"i/n"``: only the i-th of n parts of the sweep (from 1), by the runs' hashes.
        retry_failed
            Whether runs that have failed are computed anew.
        progress
            Whether progress is shown on stderr.

        Returns
        -------
        The sweep itself.

        Raises
        ------
        SettingsError
            For an argument out of its range, without Dask where it is needed, or if no
            scheduler answers.
        ConnectionError
            If the scheduler is lost and does not come back.
        """
        workers = whole_number(
            "workers", workers, at_least=1, at_most=LARGEST_COUNT // 1000
        )
        if scheduler is not None and workers > 1:
            raise SettingsError(
                f"workers = {workers} and scheduler = {scheduler!r} exclude each other: the "
                "cluster has workers of its own"
            )
        chosen = self.shard(shard)
        there = {run.name: self._folder.record(run.name) for run in chosen}
        pending = [run for run in chosen if _is_pending(there[run.name], retry_failed)]
        replaced(self.folder / "sweep.json", json.dumps(self.plan.source, default=str))
        shown_progress = SweepProgress(
            self._folder,
            {run.name: run.label for run in pending},
            skipped=len(chosen) - len(pending),
        )
        with ExitStack() as stack:
            wait: Wait = _nothing
            if progress and pending:
                wait = stack.enter_context(sweep_shown(shown_progress))
            try:
                with engine_of(workers, scheduler, len(pending)) as engine:
                    self._computed(engine, pending, retry_failed, shown_progress, wait)
            finally:
                write_table(self.plan)
        return self

    def shard(self, shard: str | None) -> tuple[PlannedRun, ...]:
        """Return the runs of the i-th of n parts, ``"i/n"``; all of them for None.

        Raises
        ------
        SettingsError
            For text of another form.
        """
        if shard is None:
            return self.runs
        found = re.fullmatch(r"(\d{1,7})/(\d{1,7})", str(shard).strip())
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise SettingsError(
                f"shard = {shown(shard)} must be i/n with i from 1 to n, as in '3/20'"
            )
        number, count = int(found[1]), int(found[2])
        return tuple(
            run for run in self.runs if int(run.name, 16) % count == number - 1
        )

    @property
    def records(self) -> list[RunRecord | None]:
        """The record of each run, None for a run that has not ended."""
        return [self._folder.record(run.name) for run in self.runs]

    @property
    def summary(self) -> xr.Dataset:
        """The summaries of all runs, with one dimension for each setting that varies.

        Those are the settings of the product, the first one of each zip, and ``case``, each by
        the last part of its name where that is clear: ``.sel(beta=5)`` and ``.mean("seed")``.
        Numbers of a run that has not finished are NaN, and ``state`` says why.
        """
        return dataset_of(self.plan, self.records)

    @property
    def failed(self) -> dict[str, str]:
        """The reasons of the runs that have failed, by what varies in them."""
        return self._reasons("failed")

    @property
    def stopped(self) -> dict[str, str]:
        """The limits that have stopped runs before their end, by what varies in them."""
        return self._reasons("stopped")

    def _reasons(self, state: str) -> dict[str, str]:
        pairs = zip(self.runs, self.records, strict=True)
        return {
            run.label or run.name: record.error
            for run, record in pairs
            if record is not None and record.state == state
        }

    def load(self, run: int | str) -> Run:
        """Return one whole run, by its place or its hash.

        Raises
        ------
        ValueError
            If the sweep has no such run.
        FileNotFoundError
            If it has not begun.
        """
        if isinstance(run, str):
            if run not in self._by_name:
                raise ValueError(f"run = {run!r} is none of this sweep's hashes")
            return load(self._folder.store(run))
        place = whole_number("run", run, at_least=0, at_most=len(self.runs) - 1)
        return load(self._folder.store(self.runs[place].name))

    def plot(
        self, quantity: str, against: str | None = None, *, ax: Axes | None = None
    ) -> Figure:
        """Draw a quantity of the summary against a swept setting, of the runs that have finished.

        Seeds are averaged: a line for the mean and a band from the least to the most.  Other
        settings are told apart by colour.

        Parameters
        ----------
        quantity
            Name of a variable of the summary, as in ``"atoms"`` or ``"energy_last"``.
        against
            Name of a swept setting, of which the last part is enough; by default the first
            of numbers that are no seeds.
        ax
            Axes to draw on; by default those of a new figure.

        Raises
        ------
        SettingsError
            If there is no such quantity or setting, or no run has finished.
        """
        from mfpde.plotting.sweep import plot_sweep

        if not self.plan.parameters:
            raise SettingsError("the sweep varies nothing that could be drawn against")
        finished = finished_only(rows_of(self.plan, self.records))
        if not finished.sizes["run"]:
            raise SettingsError(f"no run of {self.folder} has finished")
        quantity = column_named(finished, quantity)
        if against is not None:
            against = column_named(finished, against, varied=True)
        return plot_sweep(finished, quantity, against, ax=ax)

    @property
    def facts(self) -> dict[str, str]:
        """How many runs there are and have ended, over what, and where they are."""
        return {
            "runs": str(len(self.runs)),
            "over": ", ".join(self.plan.parameters) or "nothing",
            **{state: str(count) for state, count in self._counts().items()},
            "folder": str(self.folder),
        }

    def _counts(self) -> dict[str, int]:
        """How many runs are in each state; "stopped" only where there are some."""
        states = ["to do" if one is None else one.state for one in self.records]
        names = ("finished", "stopped", "failed", "to do")
        counts = {name: states.count(name) for name in names}
        return {n: count for n, count in counts.items() if count or n != "stopped"}

    def _repr_html_(self) -> str:
        from mfpde.sweeps import picture  # noqa: F401 - it registers the small picture

        return super()._repr_html_()

    def __str__(self) -> str:
        counts = ", ".join(
            f"{count} {state}" for state, count in self._counts().items()
        )
        lines = [
            f"{len(self.runs)} runs over {', '.join(self.plan.parameters) or 'nothing'}: "
            f"{counts}",
            f"in {self.folder}",
        ]
        for state in ("stopped", "failed"):
            reasons = list(self._reasons(state).items())
            lines += [f"{state}: {name}: {why}" for name, why in reasons[:MOST_SHOWN]]
            if len(reasons) > MOST_SHOWN:
                lines.append(f"... and {len(reasons) - MOST_SHOWN} more in .{state}")
        noted = [r.notes[0] for r in self.records if r is not None and r.notes]
        if noted:
            lines.append(f"{len(noted)} runs with a warning, the first: {noted[0]}")
        return "\n".join(lines)

    def _computed(
        self,
        engine: Engine,
        pending: Sequence[PlannedRun],
        retry_failed: bool,
        progress: SweepProgress,
        wait: Wait,
    ) -> None:
        """Compute the pending runs; those that other processes hold are asked for again."""
        until: float | None = None
        while pending:
            tasks = tasks_of(pending, self._folder, retry_failed=retry_failed)
            elsewhere = []
            for outcome in engine.computed(tasks, wait):
                if outcome.state == "elsewhere":
                    elsewhere.append(self._by_name[outcome.name])
                else:
                    progress.take(outcome)
                wait()
            until = time.monotonic() + SECONDS_FOR_OTHERS if until is None else until
            if not elsewhere or time.monotonic() > until:
                return
            pending = elsewhere
            time.sleep(0.5)


def _is_pending(record: RunRecord | None, retry_failed: bool) -> bool:
    return record is None or not record.has_ended(retry_failed=retry_failed)


def _nothing() -> None:
    """Show nothing."""
