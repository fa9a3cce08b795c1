"""What is kept of a sweep in its folder: one record for each run, and the runs' stores.

    sweep.json                   the sweep as it was given
    runs/<hash>.zarr             the store of a run, which `mfpde show` and `mfpde plot` take
    records/<hash>.json          how it ended, its attempts, and its summary or its error
    running/<hash>.json          where a run is being computed
    summary.nc                   the summaries of all runs
    lock/                        what is locked while they are written

A record is written when its run has ended, in one piece, by the process that holds the lock of
the run's store.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

RunState = Literal["finished", "stopped", "failed"]
SUMMARY = "summary.nc"
RUNS = "runs"
"""The folder of the stores, in that of the sweep."""


@dataclass(frozen=True)
class RunRecord:
    """How a run of a sweep ended.

    Attributes
    ----------
    name
        The hash of the run.
    state
        ``"finished"``, ``"stopped"`` by a limit before its end, or ``"failed"``.
    error
        The reason why it stopped or failed, else empty.
    attempts
        How the run was computed, in order: ``"begun"``, ``"resumed"`` from a checkpoint, or
        ``"read"`` where only its end was left to be recorded.
    summary
        The numbers of the run, empty if it failed.
    notes
        Warnings that came up while it was computed.
    """

    name: str
    state: RunState
    error: str = ""
    attempts: tuple[str, ...] = ()
    summary: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def has_ended(self, *, retry_failed: bool = False) -> bool:
        """Whether there is nothing to compute: a run that a limit stopped goes on."""
        return self.state == "finished" or (self.state == "failed" and not retry_failed)


class Running(NamedTuple):
    """A run that is being computed, and since when (seconds of the epoch)."""

    name: str
    since: float


@dataclass(frozen=True)
class SweepFolder:
    """The folder of a sweep; paths of what is in it, and its records."""

    path: Path

    def store(self, name: str) -> Path:
        """Return the path of the store of the run ``name``."""
        return self.path / RUNS / f"{name}.zarr"

    def record(self, name: str) -> RunRecord | None:
        """Return the record of the run ``name``, or None while it has not ended."""
        try:
            data = json.loads(self._record_file(name).read_text("utf-8"))
            return RunRecord(**data)
        except (OSError, ValueError, TypeError):
            # A record that cannot be read is made again from the store.
            return None

    def keep(self, record: RunRecord) -> None:
        """Write a record in place of the one before."""
        replaced(self._record_file(record.name), json.dumps(asdict(record)))

    def begin(self, name: str, attempt: str) -> tuple[str, ...]:
        """Note that the run ``name`` is computed now; return its attempts so far with this one.

        The attempts of a process that was killed are in the note that it left.
        """
        earlier = self.record(name)
        before: tuple[str, ...] = () if earlier is None else tuple(earlier.attempts)
        if (left := self._note(name)) is not None:
            before = tuple(left["attempts"])
        attempts = (*before, attempt)
        note = {"attempts": attempts, "since": time.time(), "process": os.getpid()}
        replaced(self._running_file(name), json.dumps(note))
        return attempts

    def end(self, name: str) -> None:
        """Forget that the run ``name`` is being computed."""
        self._running_file(name).unlink(missing_ok=True)

    def running(self) -> list[Running]:
        """Return the runs that are being computed, the oldest first."""
        names = [path.stem for path in (self.path / "running").glob("*.json")]
        notes = [(name, self._note(name)) for name in names]
        found = [Running(n, float(note["since"])) for n, note in notes if note]
        return sorted(found, key=lambda one: one.since)

    def _note(self, name: str) -> dict[str, Any] | None:
        try:
            return dict(json.loads(self._running_file(name).read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def _record_file(self, name: str) -> Path:
        return self.path / "records" / f"{name}.json"

    def _running_file(self, name: str) -> Path:
        return self.path / "running" / f"{name}.json"


def replaced(path: Path, text: str) -> None:
    """Write ``text`` at ``path`` so that a reader sees all of it, or what was there before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}.partial")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
