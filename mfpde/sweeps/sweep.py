"""A sweep: many runs of settings that vary, in a folder that knows what is done."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mfpde.arrays import LARGEST_COUNT, shown, whole_number
from mfpde.notebook import Printed
from mfpde.runs.run import Run
from mfpde.settings.base import SettingsError
from mfpde.storage import load
from mfpde.sweeps.execution import Task, expected_work
from mfpde.sweeps.executors import compute_tasks
from mfpde.sweeps.plan import PlannedRun, plan_sweep
from mfpde.sweeps.progress import SweepProgress, show_progress
from mfpde.sweeps.records import RunRecord, SweepRecords
from mfpde.sweeps.table import RUN, find_column, tabulate_runs

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
        Where runs and their record are kept, in place of ``folder`` in [sweep].
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
        self.plan = plan_sweep(source, folder=folder, overrides=overrides)
        self._records = SweepRecords(self.plan.folder)

    @property
    def folder(self) -> Path:
        """The folder of the sweep."""
        return self.plan.folder

    @property
    def runs(self) -> tuple[PlannedRun, ...]:
        """The runs, with ``name`` (their hash) and ``parameters``."""
        return self.plan.runs

    def run(
        self,
        workers: int = 1,
        *,
        scheduler: str | None = None,
        shard: str | None = None,
        retry_failed: bool = False,
        progress: bool = False,
    ) -> Sweep:
        """Compute what is not done yet.

        Interrupted, it goes on when it is called again; so does a run that ``max_steps`` or
        ``wall_time_limit`` has stopped, as far again.

        Parameters
        ----------
        workers
            Number of processes of this machine.  A script that asks for more than one needs
            the usual ``if __name__ == "__main__":``.
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
            If the scheduler is lost.
        ChildProcessError
            If workers of this machine end before they begin a run.
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
        there = self._records.all()
        ended = {n for n, r in there.items() if r.has_ended(retry_failed=retry_failed)}
        pending = [run for run in chosen if run.name not in ended]
        # What is dear first, so that no worker ends long after the others.
        pending.sort(key=expected_work, reverse=True)
        tasks = [Task(run, self._records, retry_failed) for run in pending]
        labels = {run.name: run.label for run in pending}
        told = SweepProgress(self._records, labels, len(chosen) - len(pending))
        display = show_progress(told) if progress else nullcontext(lambda _: None)
        with (
            display as take,
            closing(compute_tasks(tasks, workers, scheduler)) as states,
        ):
            for state in states:
                take(state)
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
        number, count = int(found[1]) - 1, int(found[2])
        return tuple(run for run in self.runs if int(run.name, 16) % count == number)

    @property
    def records(self) -> list[RunRecord | None]:
        """The record of each run, None for a run that has not ended."""
        there = self._records.all()
        found = [there.get(run.name) for run in self.runs]
        return [None if r is None or r.state == "running" else r for r in found]

    @property
    def summary(self) -> xr.Dataset:
        """The summaries of all runs, with one dimension for each setting that varies.

        Those are the settings of the product, the first one of each zip, and ``case``, each by
        the last part of its name where that is clear: ``.sel(beta=5)`` and ``.mean("seed")``.
        Numbers of a run that has not finished are NaN, and ``state`` says why.
        """
        return tabulate_runs(self.plan, self.records)

    @property
    def rows(self) -> xr.Dataset:
        """The summaries of all runs along one dimension ``run``."""
        return tabulate_runs(self.plan, self.records, flat=True)

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
            run.label: record.error
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
        if not isinstance(run, str):
            place = whole_number("run", run, at_least=0, at_most=len(self.runs) - 1)
            run = self.runs[place].name
        elif run not in {one.name for one in self.runs}:
            raise ValueError(f"run = {run!r} is none of this sweep's hashes")
        return load(self._records.store(run))

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
        rows = self.rows
        finished = rows.isel({RUN: (rows["state"] == "finished").values})
        if not finished.sizes[RUN]:
            raise SettingsError(f"no run of {self.folder} has finished")
        quantity = find_column(finished, quantity)
        if against is not None:
            against = find_column(finished, against, varied=True)
        return plot_sweep(finished, quantity, against, ax=ax)

    @property
    def facts(self) -> dict[str, str]:
        """How many runs there are and have ended, over what, and where they are."""
        states = ["to do" if one is None else one.state for one in self.records]
        names = ["finished", *["stopped"] * ("stopped" in states), "failed", "to do"]
        return {
            "runs": str(len(self.runs)),
            "over": ", ".join(self.plan.parameters) or "nothing",
            **{name: str(states.count(name)) for name in names},
            "folder": str(self.folder),
        }

    def _repr_html_(self) -> str:
        from mfpde.sweeps import picture  # noqa: F401 - it registers the small picture

        return super()._repr_html_()

    def __str__(self) -> str:
        facts = self.facts
        runs, over, folder = (facts.pop(name) for name in ("runs", "over", "folder"))
        counts = ", ".join(f"{count} {state}" for state, count in facts.items())
        lines = [f"{runs} runs over {over}: {counts}", f"in {folder}"]
        for state in ("stopped", "failed"):
            reasons = list(self._reasons(state).items())
            lines += [f"{state}: {name}: {why}" for name, why in reasons[:MOST_SHOWN]]
            if len(reasons) > MOST_SHOWN:
                lines.append(f"... and {len(reasons) - MOST_SHOWN} more in .{state}")
        noted = [r.notes[0] for r in self.records if r is not None and r.notes]
        if noted:
            lines.append(f"{len(noted)} runs with a warning, the first: {noted[0]}")
        return "\n".join(lines)
