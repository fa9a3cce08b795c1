"""The computation of a sweep's runs: tasks, and one run in the process that took its store.

A run is computed by the process that holds the lock of its store, so never by two at a time;
a process that is killed leaves the lock, and its run goes on from the last checkpoint.  Runs on
small circles are computed together (:mod:`mfpde.sweeps.batches`); each is stored as soon as it
has ended, or goes on from a checkpoint that is seconds old; one that has none begins again.
"""

from __future__ import annotations

import contextlib
import json
import math
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from mfpde.runs.run import Run
from mfpde.runs.stopping import ENDED
from mfpde.runs.times import end_time
from mfpde.settings.settings import Settings
from mfpde.storage import (
    StoreError,
    load,
    stored_checkpoint,
    stored_stop,
    was_just_begun,
)
from mfpde.storage.claim import Claim, StoreLockedError, claim
from mfpde.storage.new_store import emptied
from mfpde.storage.resumption import resumed_exactly, solved_anew
from mfpde.sweeps.plan import PlannedRun
from mfpde.sweeps.record import RunRecord, SweepFolder
from mfpde.sweeps.run_summary import summary_of

FAILURES = ("non_finite", "step_too_small")
"""Kinds of a run's end that are no result."""
INTERRUPTED = "interrupted"
LIMITS = {"step_limit": "max_steps", "wall_time_limit": "wall_time_limit"}
"""Kinds of a run's end before its time, from which it goes on, and the settings that set them."""
MOST_NOTES = 5
LARGEST_CIRCLE_TOGETHER = 1024
"""Cells up to which runs are computed together: on more the calls that they share cost little."""
FEWEST_TOGETHER = 4
MOST_TOGETHER = 64
MOST_TOGETHER_OF_SEVERAL = 16
"""The same where several processes share the runs: few are lost with one of them, and one that
comes late still finds some. With stores and summaries 16 cost what 64 do."""
TASKS_OF_A_PROCESS = 2
"""Tasks of each of several processes at least, which end at about the same time so."""


class Outcome(NamedTuple):
    """What became of a run: ``"elsewhere"`` while another process computes it."""

    name: str
    state: Literal["finished", "stopped", "failed", "elsewhere"]


class Task(NamedTuple):
    """Runs that one process computes in one go, and the folder of their sweep."""

    runs: tuple[PlannedRun, ...]
    folder: SweepFolder
    retry_failed: bool

    @property
    def key(self) -> str:
        """Name of the task."""
        return f"mfpde-{self.runs[0].name}-{len(self.runs)}"


def tasks_of(
    pending: Sequence[PlannedRun],
    folder: SweepFolder,
    *,
    retry_failed: bool,
    processes: int = 1,
) -> list[Task]:
    """Return the tasks by which ``processes`` compute the ``pending`` runs.

    Runs on equal small circles are in tasks of up to 64, or 16 and fewer for several processes,
    so that each has several; every other run is a task of its own.  Several processes begin with
    what takes longest, as far as grids and times tell.
    """
    alike: dict[str, list[PlannedRun]] = {}
    for run in pending:
        alike.setdefault(_circle_of(run) or run.name, []).append(run)
    tasks = []
    for runs in alike.values():
        first = 0
        for size in _sizes(len(runs), processes):
            several = tuple(runs[first : first + size])
            tasks.append(Task(several, folder, retry_failed))
            first += size
    if processes > 1:
        tasks.sort(key=lambda task: -_expected_work(task.runs[0]))
    return tasks


def _sizes(count: int, processes: int) -> list[int]:
    """Numbers of the runs that are computed together, of so many that can be.

    For several processes they become smaller, so that all end at about the same time.
    """

    def share(left: int) -> int:
        return -(-left // (processes * TASKS_OF_A_PROCESS))

    if processes == 1:
        whole, rest = divmod(count, MOST_TOGETHER)
        sizes = [MOST_TOGETHER] * whole + [rest] * (rest > 0)
        return sizes if count >= FEWEST_TOGETHER else [1] * count
    if share(count) < FEWEST_TOGETHER:
        return [1] * count
    sizes, left = [], count
    while left:
        size = min(max(share(left), FEWEST_TOGETHER), MOST_TOGETHER_OF_SEVERAL)
        sizes.append(size if left - size >= FEWEST_TOGETHER else left)
        left -= sizes[-1]
    return sizes


def _expected_work(run: PlannedRun) -> float:
    """How long a run takes beside others, roughly: its grid's size by the time that it spans."""
    settings = json.loads(run.settings)
    sizes = [
        value
        for name, value in settings["geometry"].items()
        if isinstance(value, int) and name != "dimension"
    ]
    end = (settings.get("solve") or {}).get("t_end")
    durations = [layer.get("duration", 1.0) for layer in settings.get("layers") or ()]
    span = end if isinstance(end, int | float) else sum(durations) or 1.0
    return math.prod(sizes) * float(span)


def _circle_of(run: PlannedRun) -> str | None:
    """The small circle on which a run may advance with others; None if it has none."""
    settings = json.loads(run.settings)
    geometry, solve = settings["geometry"], settings.get("solve") or {}
    if geometry.get("kind") != "circle" or settings.get("layers"):
        return None
    if solve.get("refine") or solve.get("atoms") == "exact":
        return None
    cells = geometry.get("cells")
    is_small = isinstance(cells, int) and cells <= LARGEST_CIRCLE_TOGETHER
    return f"circle of {cells} cells" if is_small else None


def taken_up(
    run: PlannedRun, folder: SweepFolder, *, retry_failed: bool
) -> TakenRun | Outcome:
    """Take the store of a run, or say why there is nothing to compute."""
    store = folder.store(run.name)
    store.mkdir(parents=True, exist_ok=True)
    try:
        held = claim(store)
    except StoreLockedError:
        return Outcome(run.name, "elsewhere")
    there = folder.record(run.name)
    if there is not None and there.has_ended(retry_failed=retry_failed):
        # A note may be left by a process that was killed right after its record.
        folder.end(run.name)
        held.release()
        return Outcome(run.name, there.state)
    is_failed = there is not None and there.state == "failed"
    return TakenRun(run, folder, held, anew=is_failed)


class TakenRun:
    """A run whose store this process holds, which has to be computed.

    Attributes
    ----------
    run, folder, store
        The run, the folder of its sweep, its store.
    attempt
        How it has to be computed, as a :class:`RunRecord` says it.
    claim
        What holds the store.
    """

    def __init__(
        self, run: PlannedRun, folder: SweepFolder, claim: Claim, *, anew: bool
    ) -> None:
        self.claim = claim
        self.run, self.folder = run, folder
        self.store = folder.store(run.name)
        self.attempt = "begun" if anew else _attempt(self.store)
        self._attempts: tuple[str, ...] = ()

    def begin(self) -> None:
        """Note, once, that the run is computed now."""
        if not self._attempts:
            self._attempts = self.folder.begin(self.run.name, self.attempt)

    def computed(self) -> Run:
        """Compute the run, of which the store then holds everything."""
        settings = self.run.built()
        self.begin()
        return _computed(self.store, settings, self.attempt)

    def ended(self, compute: Callable[[], Run]) -> Outcome:
        """Let ``compute`` give the whole run, and record it, or what went wrong."""
        record = self._recorded(compute)
        self.folder.keep(record)
        self.folder.end(self.run.name)
        return Outcome(self.run.name, record.state)

    def _recorded(self, compute: Callable[[], Run]) -> RunRecord:
        name = self.run.name
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                ended = compute()
                if ended.stop.kind == INTERRUPTED:
                    raise KeyboardInterrupt
                summary = summary_of(ended)
            # Whatever ends one run, the others go on.
            except Exception as error:
                frame = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{Path(frame.filename).name}:{frame.lineno}"
                what = f"{type(error).__name__}: {' '.join(str(error).split())}"
                return RunRecord(name, "failed", f"{what} ({where})", self._attempts)
        notes = tuple(dict.fromkeys(" ".join(str(w.message).split()) for w in warned))
        notes = notes[:MOST_NOTES]
        if ended.stop.kind in FAILURES:
            return RunRecord(
                name, "failed", ended.reason, self._attempts, summary, notes
            )
        if ended.stop.kind in LIMITS:
            settings = self.run.built()
            whole = end_time(settings.build_dynamics(), settings.solve.t_end)
            reason = (
                f"{LIMITS[ended.stop.kind]} at t = {ended.final_time:.6g} of {whole:g}; the "
                "same sweep goes on from there, as far again"
            )
            return RunRecord(name, "stopped", reason, self._attempts, summary, notes)
        return RunRecord(name, "finished", "", self._attempts, summary, notes)


def _attempt(store: Path) -> str:
    """Return how a run has to be computed, by what is in its store."""
    if not (store / "zarr.json").is_file():
        return "begun"
    with contextlib.suppress(StoreError, FileNotFoundError):
        stop = stored_stop(store)
        if stop is not None and stop.kind in ENDED:
            return "read"
        if stored_checkpoint(store) is not None or was_just_begun(store):
            return "resumed"
    return "begun"


def _computed(store: Path, settings: Settings, attempt: str) -> Run:
    """Return the whole run, of which the store then holds everything."""
    if attempt == "begun":
        # What a killed process left may be no store yet.
        emptied(store)
        return solved_anew(store, settings)
    if attempt == "resumed":
        resumed_exactly(store, settings, stored_checkpoint(store))
        # With what was saved before.
    return load(store)
