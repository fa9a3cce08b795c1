"""The records of a sweep's runs: one table of SQLite in the sweep's folder, a row for each run.

    runs.sqlite          when each run was computed, how it ended, and its summary
    runs/<hash>.zarr     its store, which `mfpde show` and `mfpde plot` take

A summary holds plain numbers: how the run ended; atoms, merges, verdict, energies.  A row is
written by the process that holds the lock of the run's store.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from mfpde.storage import StoreError

RUNS = "runs"
"""The folder of the stores, in that of the sweep."""
TABLE = "runs.sqlite"
PATIENCE = 60.0
"""Seconds that a row waits until others have written theirs."""
_CREATE = """CREATE TABLE IF NOT EXISTS runs
    (name TEXT PRIMARY KEY, state TEXT, since REAL, record TEXT)"""


@dataclass(frozen=True)
class RunRecord:
    """How the run whose hash is ``name`` ended.

    Its ``state`` is ``"pending"`` until it has begun, then ``"running"``, also if its process was
    killed; at last ``"finished"``, ``"stopped"`` by a limit before its end, or ``"failed"``, for
    the reason ``error``.  It was last begun or gone on with at ``since`` (seconds of the epoch)
    by the ``process`` of that number.  ``summary`` are its numbers, if it has not failed.
    """

    name: str
    state: str = "pending"
    error: str = ""
    since: float = 0.0
    process: int = 0
    summary: Mapping[str, Any] = field(default_factory=dict)


def describe_error(error: Exception) -> str:
    """Return an error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


@dataclass(frozen=True)
class SweepRecords:
    """The records of the runs in the ``folder`` of a sweep, and where their stores are."""

    folder: Path

    def store(self, name: str) -> Path:
        """Return the path of the store of the run ``name``."""
        return self.folder / RUNS / f"{name}.zarr"

    def write(self, record: RunRecord) -> None:
        """Write a record in place of the one before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        row = (record.name, record.state, record.since, json.dumps(asdict(record)))
        self._execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", *row)

    def fail(self, name: str, error: str) -> str:
        """Record that a run failed where its process could not record it; return its state."""
        self.write(replace(self.find(name), state="failed", error=error))
        return "failed"

    def all(self) -> dict[str, RunRecord]:
        """Return the records of all runs, by name."""
        return {record.name: record for record in self._select("1")}

    def running(self, since: float) -> list[RunRecord]:
        """Return the runs that are computed since that time or later, the oldest first."""
        return self._select("state = 'running' AND since >= ? ORDER BY since", since)

    def find(self, name: str) -> RunRecord:
        """Return the record of the run ``name``, which is pending while there is none."""
        return next(iter(self._select("name = ?", name)), RunRecord(name))

    def _select(self, which: str, *values: object) -> list[RunRecord]:
        if not (self.folder / TABLE).is_file():
            return []
        return self._execute(f"SELECT record FROM runs WHERE {which}", *values)

    def _execute(self, statement: str, *values: object) -> list[RunRecord]:
        """Execute a statement, a transaction of its own, and return the records it selects."""
        file = self.folder / TABLE
        try:
            table = sqlite3.connect(file, timeout=PATIENCE, isolation_level=None)
            with closing(table):
                # What a power cut takes from it, the stores say too.
                table.execute("PRAGMA synchronous = OFF")
                table.execute(_CREATE)
                rows = table.execute(statement, values).fetchall()
            return [RunRecord(**json.loads(text)) for (text,) in rows]
        except (sqlite3.DatabaseError, ValueError, TypeError) as error:
            raise StoreError(
                f"{file} cannot be used: {error}; it may be removed while no sweep goes on: "
                "the stores say, too, how their runs ended"
            ) from error
