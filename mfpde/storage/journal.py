"""The journal of a run that has not ended: an SQLite database in the folder of its store.

    rows(number, type, data, checksum)    the rows of the saves, from 0; below 0 what is said of
                                          the run in JSON, the checkpoint, a last state

The data of a row are its arrays one after the other, as ``type`` lists them; the checksum is the
CRC-32 of all else.  A save is one transaction with what the run tells beside it: a process that
is killed leaves complete saves, and a tail of the journal that is damaged is a save not there.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.storage.files import (
    FORMAT,
    JOURNAL,
    StoreError,
    check_format,
    name_damage,
)
from mfpde.storage.rows import Row

BEGINNING, PROGRESS, CHECKPOINT, LAST = -1, -2, -3, -4
"""Numbers of rows that are no saves: attributes that stay, and those that each save changes,
such as the number of ``saves``; the last state, if it was not saved."""
_NAMES = {
    BEGINNING: "beginning",
    PROGRESS: "progress",
    CHECKPOINT: "checkpoint",
    LAST: "last state",
}
_TABLE = "rows(number INTEGER PRIMARY KEY, type TEXT, data BLOB, checksum INTEGER)"
_SHARED = ("nfs", "cifs", "smb", "fuse.sshfs", "lustre", "gpfs", "beegfs", "9p")
"""File systems of networks, by the beginnings of their names."""


class Journal:
    """The open journal of the store in a folder; with ``attributes`` that of a run that begins.

    None to open is a ``FileNotFoundError``; what is no journal, damaged, or of another version a
    ``StoreError``.
    """

    def __init__(
        self, folder: str | Path, attributes: Mapping[str, Any] | None = None
    ) -> None:
        self.file = Path(folder) / JOURNAL
        if attributes is None and not self.file.is_file():
            raise FileNotFoundError(f"there is no journal of a run at {folder}")
        self._connection = sqlite3.connect(
            self.file, timeout=10.0, isolation_level=None, check_same_thread=False
        )
        try:
            # Nothing is lost if the process is killed; a power cut may cost the last saves.
            self._execute("PRAGMA synchronous = NORMAL")
            # A save of many cells leaves no long file behind.
            self._execute("PRAGMA journal_size_limit = 1048576")
            if attributes is not None:
                self._begin(attributes)
            check_format(self.file, self._execute("PRAGMA user_version")[0][0])
        except BaseException:
            self.close()
            raise

    def _begin(self, attributes: Mapping[str, Any]) -> None:
        # WAL writes a save once, but needs memory that processes share.
        mode = "delete" if _is_on_network(self.file.parent) else "wal"
        self._execute(f"PRAGMA journal_mode = {mode}")
        # A journal without attributes would be that of no run.
        with self._transaction():
            self._execute(f"PRAGMA user_version = {FORMAT}")
            self._execute(f"CREATE TABLE {_TABLE}")
            self._put(BEGINNING, Row.of_attributes(attributes))
            self._put(PROGRESS, Row.of_attributes({"saves": 0}))

    def close(self) -> None:
        """Close the database; nothing is lost."""
        self._connection.close()

    def remove(self) -> None:
        """Close the database and remove its file, and what SQLite keeps beside it."""
        self.close()
        for end in ("-wal", "-shm", "-journal", ""):
            self.file.with_name(JOURNAL + end).unlink(missing_ok=True)

    def write(self, rows: Mapping[int, Row | None], *, keep: int | None = None) -> None:
        """Put rows in place of those of their numbers, in one transaction; None removes one.

        Of the saves only the first ``keep`` stay, if that is given.
        """
        with self._transaction():
            if keep is not None:
                self._execute("DELETE FROM rows WHERE number >= ?", (keep,))
            for number, row in rows.items():
                self._put(number, row)

    def find(self, number: int) -> Row | None:
        """Return a row, None if there is none; raise ``StoreError`` if it was changed."""
        found = self._execute("SELECT * FROM rows WHERE number = ?", (number,))
        if not found:
            return None
        _, kind, data, checksum = found[0]
        with name_damage(self.file, _name_row(number)):
            if checksum != _checksum(number, kind, data):
                raise ValueError("it does not match its checksum")
            record = np.frombuffer(data, _read_type(kind), 1)[0]
            return Row({name: record[name] for name in record.dtype.names})

    def read(self, number: int) -> Row:
        """Return a row that must be there; raise ``StoreError`` if it was changed or is gone."""
        row = self.find(number)
        if row is None:
            raise StoreError(f"{self.file} is damaged: {_name_row(number)} is missing")
        return row

    def read_attributes(self) -> dict[str, Any]:
        """Return all that is said of the run; raise ``StoreError`` if it was changed."""
        beginning, progress = self.read(BEGINNING), self.read(PROGRESS)
        return beginning.attributes() | progress.attributes()

    def _put(self, number: int, row: Row | None) -> None:
        self._execute("DELETE FROM rows WHERE number = ?", (number,))
        if row is not None:
            arrays = {name: np.asarray(array) for name, array in row.items()}
            kind = json.dumps([(n, a.dtype.str, a.shape) for n, a in arrays.items()])
            data = b"".join(array.tobytes() for array in arrays.values())
            entry = (number, kind, data, _checksum(number, kind, data))
            self._execute("INSERT INTO rows VALUES (?, ?, ?, ?)", entry)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._execute("BEGIN")
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            self._connection.rollback()
            raise

    def _execute(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Execute a statement; return all rows that it gives."""
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"{self.file} cannot be read or written: {error}"
            ) from error
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{self.file} is damaged: {error}") from error


def _name_row(number: int) -> str:
    return _NAMES.get(number, f"save {number}")


@lru_cache(maxsize=64)
def _read_type(text: str) -> np.dtype[Any]:
    return np.dtype(
        [(name, kind, tuple(size)) for name, kind, size in json.loads(text)]
    )


def _checksum(number: int, kind: str, data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(f"{number} {kind}".encode()))


def _is_on_network(folder: Path) -> bool:
    """Whether a folder lies on a file system of a network, as far as the system tells."""
    mounts = Path("/proc/self/mounts")
    if not mounts.is_file():
        return False
    lines = mounts.read_text(errors="replace").splitlines()
    places = [line.split(" ")[1:3] for line in lines]
    above = [place for place in places if folder.resolve().is_relative_to(place[0])]
    # The deepest; of those in one place the last, which lies over the others.
    kind = sorted(above, key=lambda place: len(place[0]))[-1][1]
    return kind.startswith(_SHARED)
