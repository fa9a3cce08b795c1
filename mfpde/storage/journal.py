"""The journal of a run that has not ended: an SQLite database in the folder of its store.

    rows(number, type, data, checksum)    the rows of the saves, from 0; below 0: how many there
                                          are, attributes in JSON, the checkpoint, a last state

The data of a row are its arrays one after the other, as ``type`` lists them; the checksum is the
CRC-32 of all else.  A save is one transaction with what the run tells beside it: a process that
is killed leaves complete saves, and a tail of the journal that is damaged is a save not there.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Mapping
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.storage.files import (
    FORMAT,
    JOURNAL,
    StoreError,
    check_format,
    remove_journal,
)
from mfpde.storage.rows import Row

ATTRIBUTES, CHECKPOINT, LAST, _COUNT = -1, -2, -3, -4
"""Numbers of rows that are no saves; ``LAST`` is the last state, if it was not saved."""
_NAMES = {
    ATTRIBUTES: "attributes",
    CHECKPOINT: "checkpoint",
    LAST: "last state",
    _COUNT: "number of saves",
}
_SCHEMA = f"""
BEGIN;
PRAGMA user_version = {FORMAT};
CREATE TABLE rows(number INTEGER PRIMARY KEY, type TEXT, data BLOB, checksum INTEGER);
"""
_SHARED = ("nfs", "cifs", "smb", "fuse.sshfs", "lustre", "gpfs", "beegfs", "9p")
"""File systems of networks, by the beginnings of their names."""


class Journal:
    """An open journal; ``Journal.create(folder, attributes)`` makes one without saves.

    Parameters
    ----------
    folder
        The folder of the store.

    Raises
    ------
    StoreError
        If it is no journal, damaged, or of another version.
    """

    def __init__(self, folder: str | Path) -> None:
        self.file = Path(folder) / JOURNAL
        if not self.file.is_file():
            raise FileNotFoundError(f"there is no journal of a run at {folder}")
        self._connection = _connect(self.file)
        try:
            version = int(self._execute("PRAGMA user_version")[0][0])
            if version < 1:
                raise StoreError(f"{self.file} is damaged: it is no journal of a run")
            check_format(folder, version)
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, folder: str | Path, attributes: Mapping[str, Any]) -> Journal:
        """Make a journal with the first attributes, in place of one that is there.

        It is one transaction: a journal without attributes would be that of no run.
        """
        remove_journal(folder)
        file = Path(folder) / JOURNAL
        with closing(_connect(file)) as connection:
            # WAL writes a save once, but needs memory that processes share.
            mode = "delete" if is_on_shared_file_system(file.parent) else "wal"
            connection.execute(f"PRAGMA journal_mode = {mode}")
            connection.executescript(_SCHEMA)
            rows = {ATTRIBUTES: attributes_row(attributes), _COUNT: _count_row(0)}
            entries = [_encode(number, row) for number, row in rows.items()]
            connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", entries)
            connection.execute("COMMIT")
        return cls(folder)

    def close(self) -> None:
        """Close the database; nothing is lost."""
        self._connection.close()

    def write(self, rows: Mapping[int, Row | None], *, keep: int | None = None) -> None:
        """Put rows in place of those of their numbers, in one transaction; None removes one.

        Of the saves only the first ``keep`` stay, if that is given.
        """
        ends = [number + 1 for number in rows if number >= 0]
        count = max(ends, default=len(self) if keep is None else keep)
        self._execute("BEGIN")
        try:
            if keep is not None:
                self._execute("DELETE FROM rows WHERE number >= ?", (keep,))
            for number, row in {**rows, _COUNT: _count_row(count)}.items():
                if row is None:
                    self._execute("DELETE FROM rows WHERE number = ?", (number,))
                else:
                    entry = _encode(number, row)
                    self._execute(
                        "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)", entry
                    )
            self._execute("COMMIT")
        except BaseException:
            self._connection.rollback()
            raise

    def read(self, number: int) -> Row | None:
        """Return a row, None if there is none; raise ``StoreError`` if it was changed."""
        found = self._execute("SELECT * FROM rows WHERE number = ?", (number,))
        if not found:
            return None
        _, kind, data, checksum = found[0]
        name = _NAMES.get(number, f"save {number}")
        if checksum != _checksum(number, kind, data):
            raise StoreError(
                f"{self.file} is damaged: {name} does not match its checksum"
            )
        try:
            record = np.frombuffer(data, _type_of(kind), 1)[0]
            return Row({field: record[field] for field in record.dtype.names})
        # Whatever someone has made, and a checksum for it.
        except Exception as error:
            raise StoreError(f"{self.file} is damaged: {name}: {error}") from error

    def read_attributes(self) -> dict[str, Any]:
        """Return the attributes; raise ``StoreError`` if they were changed or are gone."""
        row = self.read(ATTRIBUTES)
        if row is None:
            raise StoreError(f"{self.file} is damaged: it has no attributes")
        return dict(json.loads(row.text))

    def read_saves(self) -> list[Row | None]:
        """Return the rows of all saves, None for one that is damaged."""
        found: list[Row | None] = []
        for number in range(len(self)):
            try:
                found.append(self.read(number))
            except StoreError:
                found.append(None)
        return found

    def __len__(self) -> int:
        row = self.read(_COUNT)
        if row is None:
            raise StoreError(
                f"{self.file} is damaged: it does not say how many saves it has"
            )
        return int(row["saves"])

    def _execute(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Execute a statement; return all rows that it gives."""
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                raise OSError(28, "No space left on device", str(self.file)) from error
            raise StoreError(
                f"{self.file} cannot be read or written: {error}"
            ) from error
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{self.file} is damaged: {error}") from error


def attributes_row(attributes: Mapping[str, Any]) -> Row:
    """Return the row in which a journal keeps attributes."""
    return Row.of_text(json.dumps(dict(attributes)))


def _count_row(saves: int) -> Row:
    return Row({"saves": np.array(saves)})


def is_on_shared_file_system(folder: Path) -> bool:
    """Whether a folder lies on a file system of a network, as far as the system tells."""
    mounts = Path("/proc/self/mounts")
    if not mounts.is_file():
        return False
    place = folder.resolve()
    kind, depth = "", -1
    for line in mounts.read_text(errors="replace").splitlines():
        _, where, name, *_ = line.split(" ")
        at = Path(where)
        if place.is_relative_to(at) and len(at.parts) >= depth:
            kind, depth = name, len(at.parts)
    return kind.startswith(_SHARED)


def _connect(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        file, timeout=10.0, isolation_level=None, check_same_thread=False
    )
    # A text that is no text any more does not match its checksum.
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    try:
        # Nothing is lost if the process is killed; a power cut may cost the last saves.
        connection.execute("PRAGMA synchronous = NORMAL")
        # A save of many cells leaves no long file behind.
        connection.execute("PRAGMA journal_size_limit = 1048576")
    except sqlite3.DatabaseError as error:
        connection.close()
        raise StoreError(f"{file} is damaged: {error}") from error
    return connection


def _encode(number: int, row: Row) -> tuple[int, str, bytes, int]:
    arrays = {name: np.asarray(array) for name, array in row.items()}
    kind = json.dumps([(n, a.dtype.str, a.shape) for n, a in arrays.items()])
    data = b"".join(array.tobytes() for array in arrays.values())
    return number, kind, data, _checksum(number, kind, data)


@lru_cache(maxsize=64)
def _type_of(text: str) -> np.dtype[Any]:
    return np.dtype(
        [(name, kind, tuple(shape)) for name, kind, shape in json.loads(text)]
    )


def _checksum(*values: Any) -> int:
    found = 0
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode()
        found = zlib.crc32(data, found)
    return found
