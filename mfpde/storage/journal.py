"""The journal of a run that has not ended: an SQLite database in the folder of its store.

    layouts(number, description, checksum)      what a save holds: names, dimensions, shapes, words
    saves(number, time, layout, data, checksum) one row a save, its arrays one after the other
    notes(name, data, checksum)                 attributes as JSON, the checkpoint, the last state

Each save is one transaction, and each row has the CRC-32 of all that it says.  A process that
is killed leaves complete saves; a tail of the journal that is damaged is a save that is not there.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mfpde.runs.stored_names import CHECKPOINT
from mfpde.storage.errors import NewerStoreError, StoreError
from mfpde.storage.variables import Record, Variable

JOURNAL = "journal.sqlite"
FORMAT = 3
"""Version of the layout of stores."""
LAST = "last_state"
"""Note of a journal: the last state, if it was not saved."""
_SCHEMA = f"""
BEGIN;
PRAGMA user_version = {FORMAT};
CREATE TABLE layouts(number INTEGER PRIMARY KEY, description TEXT UNIQUE, checksum INTEGER);
CREATE TABLE saves(number INTEGER PRIMARY KEY, time REAL, layout INTEGER, data BLOB,
                   checksum INTEGER);
CREATE TABLE notes(name TEXT PRIMARY KEY, data BLOB, checksum INTEGER);
"""
_SHARED_FILE_SYSTEMS = (
    "nfs",
    "cifs",
    "smb",
    "fuse.sshfs",
    "lustre",
    "gpfs",
    "beegfs",
    "9p",
)


class Save(NamedTuple):
    """One save as the journal holds it."""

    time: float
    record: Record


class Journal:
    """An open journal; ``Journal.create(folder, notes)`` makes one without saves.

    Parameters
    ----------
    folder
        The folder of the store.

    Raises
    ------
    StoreError
        If it is no journal, damaged, or of a newer version.
    """

    def __init__(self, folder: str | Path) -> None:
        self.file = Path(folder) / JOURNAL
        if not self.file.is_file():
            raise FileNotFoundError(f"there is no journal of a run at {folder}")
        self._connection = _connect(self.file)
        self._layouts: dict[str, int] = {}
        version = self._execute("PRAGMA user_version")[0][0]
        if version < FORMAT:
            self.close()
            raise StoreError(f"{self.file} is damaged: it is no journal of a run")
        if version > FORMAT:
            self.close()
            raise NewerStoreError(
                f"{folder} was written by a newer version of mfpde: its format_version is "
                f"{version}, and this one reads up to {FORMAT}"
            )

    @classmethod
    def create(cls, folder: str | Path, notes: Mapping[str, bytes]) -> Journal:
        """Make a journal with the first notes, in place of one that is there.

        They are one transaction: a journal without attributes would be that of no run.
        """
        remove_journal(folder)
        file = Path(folder) / JOURNAL
        with closing(_connect(file)) as connection:
            # WAL writes a save once, but needs memory that processes share.
            mode = "delete" if is_on_shared_file_system(file.parent) else "wal"
            connection.execute(f"PRAGMA journal_mode = {mode}")
            connection.executescript(_SCHEMA)
            rows = _rows_of(notes)
            connection.executemany("INSERT INTO notes VALUES (?, ?, ?)", rows)
            connection.execute("COMMIT")
        return cls(folder)

    def close(self) -> None:
        """Close the database; nothing is lost."""
        self._connection.close()

    def append(self, number: int, time: float, record: Record) -> None:
        """Write save ``number``, from 0, in one transaction."""
        layout = self._layout_of(record)
        data = _data(record)
        key = (number, float(time), layout)
        row = (*key, data, _checksum(*key, data))
        self._execute("INSERT INTO saves VALUES (?, ?, ?, ?, ?)", row)

    def note(self, notes: Mapping[str, bytes]) -> None:
        """Write notes by name, each in place of the one before, in one transaction."""
        rows = [(name, data, _checksum(name, data)) for name, data in notes.items()]
        self._execute("BEGIN")
        try:
            for row in rows:
                self._execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", row)
            self._execute("COMMIT")
        except BaseException:
            self._connection.rollback()
            raise

    def drop_notes(self, *names: str) -> None:
        """Remove notes, if they are there."""
        for name in names:
            self._execute("DELETE FROM notes WHERE name = ?", (name,))

    def attributes(self) -> dict[str, Any]:
        """Return the attributes; raise ``StoreError`` for one that was changed."""
        query = "SELECT name FROM notes WHERE name NOT IN (?, ?)"
        names = [row[0] for row in self._execute(query, (CHECKPOINT, LAST))]
        return {name: json.loads(self.note_of(name) or b"null") for name in names}

    def note_of(self, name: str) -> bytes | None:
        """Return a note, None if there is none; raise ``StoreError`` if it was changed."""
        query = "SELECT data, checksum FROM notes WHERE name = ?"
        for data, checksum in self._execute(query, (name,)):
            if checksum != _checksum(name, data):
                raise StoreError(
                    f"{self.file} is damaged: {name} does not match its checksum"
                )
            return bytes(data)
        return None

    def cut(self, saves: int) -> None:
        """Remove all saves but the first ones."""
        self._execute("DELETE FROM saves WHERE number >= ?", (saves,))

    def __len__(self) -> int:
        last = self._execute("SELECT max(number) FROM saves")[0][0]
        return 0 if last is None else int(last) + 1

    def last_time(self) -> float:
        """Return the time of the last save; -inf without one."""
        rows = self._execute("SELECT time FROM saves ORDER BY number DESC LIMIT 1")
        return float(rows[0][0]) if rows else -np.inf

    def saves(self) -> Iterator[Save | None]:
        """Yield the saves in their order, None for one that is damaged."""
        layouts: dict[int, list[dict[str, Any]] | None] = {}
        query = "SELECT time, layout, data, checksum FROM saves WHERE number = ?"
        for number in range(len(self)):
            try:
                rows = self._execute(query, (number,))
                yield self._save_of(number, rows[0], layouts) if rows else None
            except StoreError:
                yield None

    def _save_of(
        self, number: int, row: Any, layouts: dict[int, list[dict[str, Any]] | None]
    ) -> Save | None:
        time, layout, data, checksum = row
        if checksum != _checksum(number, time, layout, data):
            return None
        if layout not in layouts:
            layouts[layout] = self._described(layout)
        described = layouts[layout]
        return None if described is None else Save(time, _record_of(described, data))

    def _described(self, layout: int) -> list[dict[str, Any]] | None:
        query = "SELECT description, checksum FROM layouts WHERE number = ?"
        for text, checksum in self._execute(query, (layout,)):
            return list(json.loads(text)) if checksum == _checksum(text) else None
        return None

    def _layout_of(self, record: Record) -> int:
        """Return the number of the layout of a record, which is written if it is new."""
        text = _layout(record)
        if text not in self._layouts:
            row = (text, _checksum(text))
            insert = (
                "INSERT OR IGNORE INTO layouts(description, checksum) VALUES (?, ?)"
            )
            self._execute(insert, row)
            query = "SELECT number FROM layouts WHERE description = ?"
            # Atoms that come and go make many layouts; the present one is what is asked for.
            self._layouts = {text: self._execute(query, (text,))[0][0]}
        return self._layouts[text]

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


def bytes_of_save(save: Save) -> bytes:
    """Return a save with its layout as bytes: a line of JSON, then the arrays."""
    head = json.dumps([save.time, _layout(save.record)]).encode()
    return head + b"\n" + _data(save.record)


def save_of(data: bytes) -> Save:
    """Return the save of :func:`bytes_of_save`."""
    head, _, arrays = data.partition(b"\n")
    time, layout = json.loads(head)
    return Save(float(time), _record_of(json.loads(layout), arrays))


def remove_journal(folder: str | Path) -> None:
    """Remove the journal of a store, and what SQLite keeps beside it, if there is one."""
    for end in ("-wal", "-shm", "-journal", ""):
        (Path(folder) / f"{JOURNAL}{end}").unlink(missing_ok=True)


def has_journal(folder: str | Path) -> bool:
    """Whether the store in ``folder`` has a journal: its run has not ended."""
    return (Path(folder) / JOURNAL).is_file()


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
    return kind.startswith(_SHARED_FILE_SYSTEMS)


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


def _rows_of(notes: Mapping[str, bytes]) -> list[tuple[str, bytes, int]]:
    return [(name, data, _checksum(name, data)) for name, data in notes.items()]


def _checksum(*values: Any) -> int:
    found = 0
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode()
        found = zlib.crc32(data, found)
    return found


def _layout(record: Record) -> str:
    """Return what describes the arrays of a record, as JSON."""
    return json.dumps(
        [
            {
                "name": name,
                "type": np.asarray(variable.values).dtype.str,
                "shape": np.shape(variable.values),
                "dimensions": variable.dimensions,
                "attributes": variable.attributes,
            }
            for name, variable in record.items()
        ]
    )


def _data(record: Record) -> bytes:
    arrays = [np.ascontiguousarray(variable.values) for variable in record.values()]
    return b"".join(array.tobytes() for array in arrays)


def _record_of(described: list[dict[str, Any]], data: bytes) -> Record:
    record, position = {}, 0
    for one in described:
        kind, shape = np.dtype(one["type"]), tuple(one["shape"])
        count = int(np.prod(shape, dtype=np.int64))
        values = np.frombuffer(data, kind, count, position).reshape(shape)
        position += values.nbytes
        record[one["name"]] = Variable(
            values, tuple(one["dimensions"]), dict(one["attributes"])
        )
    return record
