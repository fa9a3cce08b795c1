"""The record of a sweep's runs: one table of SQLite in the sweep's folder, a row for each run.

    runs.sqlite          how each run was computed, how it ended, and its summary
    runs/<hash>.zarr     its store, which `mfpde show` and `mfpde plot` take

A row is written by the process that holds the lock of the run's store.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from mfpde.storage import StoreError

RUNS = "runs"
"""The folder of the stores, in that of the sweep."""
TABLE = "runs.sqlite"
PATIENCE = 60.0
"""Seconds that a row waits until others have written theirs."""
_CREATE = """CREATE TABLE IF NOT EXISTS runs (
    name TEXT PRIMARY KEY, state TEXT, error TEXT, since REAL, process INTEGER,
    attempts TEXT, summary TEXT, notes TEXT)"""


@dataclass(frozen=True)
class RunRecord:
    """How a run of a sweep was computed, and how it ended.

    Attributes
    ----------
    name
        The hash of the run.
    state
        ``"running"`` until it has ended: ``"finished"``, ``"stopped"`` by a limit before its
        end, or ``"failed"``.  A process that was killed leaves ``"running"``.
    error
        The reason why it stopped or failed, else empty.
    since, process
        When its last attempt began (seconds of the epoch), and the process that made it.
    attempts
        How the run was computed, in order: ``"begun"``, ``"resumed"`` from a checkpoint, or
        ``"read"`` where only its end was left to be recorded.
    summary
        The numbers of the run, empty if it failed.
    notes
        Warnings that came up while it was computed.
    """

    name: str
    state: Literal["running", "finished", "stopped", "failed"]
    error: str = ""
    since: float = 0.0
    process: int = 0
    attempts: tuple[str, ...] = ()
    summary: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def has_ended(self, *, retry_failed: bool = False) -> bool:
        """Whether there is nothing to compute: a run that a limit stopped goes on."""
        return self.state == "finished" or (self.state == "failed" and not retry_failed)


@dataclass(frozen=True)
class SweepRecords:
    """The records of the runs in the ``folder`` of a sweep, and where their stores are."""

    folder: Path

    def store(self, name: str) -> Path:
        """Return the path of the store of the run ``name``."""
        return self.folder / RUNS / f"{name}.zarr"

    def keep(self, record: RunRecord) -> None:
        """Write a record in place of the one before."""
        lists = map(json.dumps, (record.attempts, record.summary, record.notes))
        words = (record.name, record.state, record.error, record.since, record.process)
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._table() as table:
            table.execute(_CREATE)
            row = (*words, *lists)
            table.execute("INSERT OR REPLACE INTO runs VALUES (?,?,?,?,?,?,?,?)", row)

    def fail(self, name: str, error: str) -> str:
        """Record that a run failed where its process could not record it; return its state."""
        record = self.record(name) or RunRecord(name, "failed")
        self.keep(replace(record, state="failed", error=error))
        return "failed"

    def record(self, name: str) -> RunRecord | None:
        """Return the record of the run ``name``, or None while there is none."""
        return self._select("WHERE name = ?", name).get(name)

    def all(self) -> dict[str, RunRecord]:
        """Return the records of all runs, by name."""
        return self._select("")

    def running(self, since: float) -> list[RunRecord]:
        """Return the runs that are computed since that time or later, the oldest first."""
        wanted = "WHERE state = 'running' AND since >= ? ORDER BY since"
        return list(self._select(wanted, since).values())

    def _select(self, which: str, *values: object) -> dict[str, RunRecord]:
        if not (self.folder / TABLE).is_file():
            return {}
        with self._table() as table:
            table.execute(_CREATE)
            rows = table.execute(f"SELECT * FROM runs {which}", values).fetchall()
            return {row[0]: _read_row(row) for row in rows}

    @contextmanager
    def _table(self) -> Iterator[sqlite3.Connection]:
        """Open the table; each statement is a transaction of its own."""
        file = self.folder / TABLE
        try:
            table = sqlite3.connect(file, timeout=PATIENCE, isolation_level=None)
            with closing(table):
                yield table
        except (sqlite3.DatabaseError, ValueError, TypeError) as error:
            raise StoreError(
                f"{file} cannot be used: {error}; it may be removed while no sweep goes on: "
                "the stores say, too, how their runs ended"
            ) from error


def _read_row(row: tuple[Any, ...]) -> RunRecord:
    name, state, error, since, process, *lists = row
    attempts, summary, notes = map(json.loads, lists)
    begun = (since, process, tuple(attempts))
    return RunRecord(name, state, error, *begun, summary, tuple(notes))
