"""The journal of a run that has not ended: an SQLite database in the folder of its store.

    rows(number, text, type, data, checksum)    the saves from 0; below 0 what is said of the
                                                run in JSON, and the checkpoint

The data of a row are its arrays one after the other, as ``type`` lists them; the checksum is the
CRC-32 of all else.  A save is one transaction with what the run tells beside it: a process that
is killed leaves complete saves, and a tail of the journal that is damaged is a save not there.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mfpde.storage.files import FORMAT, NEW, StoreError, check_format, name_damage

JOURNAL = "journal.sqlite"
JOURNAL_FILES = tuple(JOURNAL + end for end in ("-wal", "-shm", "-journal", ""))
"""The journal, after what SQLite keeps beside it."""
_SHARED = ("nfs", "cifs", "smb", "fuse.sshfs", "lustre", "gpfs", "beegfs", "9p")
"""File systems of networks, by the beginnings of their names."""


def has_journal(folder: str | Path) -> bool:
    """Whether the store in ``folder`` has a journal: its run has not ended."""
    return (Path(folder) / JOURNAL).is_file()


class Row(NamedTuple):
    """A text (JSON; of a save what its tracker saw, if it has one), and arrays by name."""

    text: str = ""
    arrays: Mapping[str, NDArray[Any]] = {}


class Journal:
    """The open journal of the store in a folder; with ``rows`` that of a run that begins.

    Rows that are no saves are the ``BEGINNING``, what is said of the run that stays, ``PROGRESS``,
    what each save changes, such as the number of ``rows``, and the ``CHECKPOINT`` that the run
    goes on from, which is empty before there is one.  None to open is a ``FileNotFoundError``;
    what is no journal, damaged, or of another version a ``StoreError``.
    """

    BEGINNING, PROGRESS, CHECKPOINT = -1, -2, -3

    def __init__(
        self, folder: str | Path, rows: Mapping[int, Row] | None = None
    ) -> None:
        self.file = Path(folder) / JOURNAL
        if rows is not None:
            self._begin(rows)
        if not self.file.is_file():
            raise FileNotFoundError(f"there is no journal of a run at {folder}")
        self._connect(self.file)
        try:
            # Nothing is lost if the process is killed; a power cut may cost the last saves.
            self._execute("PRAGMA synchronous = NORMAL")
            # A save of many cells leaves no long file behind.
            self._execute("PRAGMA journal_size_limit = 1048576")
            check_format(self.file, self._execute("PRAGMA user_version")[0][0])
        except BaseException:
            self.close()
            raise

    def _begin(self, rows: Mapping[int, Row]) -> None:
        """Make the file of a journal, whole or not at all."""
        new = self.file.parent / NEW
        new.mkdir()
        self._connect(new / JOURNAL)
        # WAL writes a save once, but needs memory that processes share.
        mode = "delete" if _is_on_network(new) else "wal"
        for statement in (
            "PRAGMA synchronous = OFF",
            f"PRAGMA journal_mode = {mode}",
            f"PRAGMA user_version = {FORMAT}",
            "CREATE TABLE rows(number INTEGER PRIMARY KEY, text TEXT, type TEXT, "
            "data BLOB, checksum INTEGER)",
        ):
            self._execute(statement)
        self.write(rows)
        self.close()
        (new / JOURNAL).rename(self.file)
        new.rmdir()

    def _connect(self, file: Path) -> None:
        self._connection = sqlite3.connect(
            file, timeout=10.0, isolation_level=None, check_same_thread=False
        )

    def close(self) -> None:
        """Close the database; nothing is lost."""
        self._connection.close()

    def remove(self) -> None:
        """Close the database and remove its file, and what SQLite keeps beside it."""
        # What goes need not reach the disk.
        self._execute("PRAGMA synchronous = OFF")
        self.close()
        for name in JOURNAL_FILES:
            self.file.with_name(name).unlink(missing_ok=True)

    def write(self, rows: Mapping[int, Row]) -> None:
        """Put rows in place of those of their numbers, in one transaction."""
        with self._connection:
            self._execute("BEGIN")
            for number, (text, given) in rows.items():
                arrays = {name: np.asarray(array) for name, array in given.items()}
                kinds = [(n, a.dtype.str, a.shape) for n, a in arrays.items()]
                kind = json.dumps(kinds)
                data = b"".join(array.tobytes() for array in arrays.values())
                entry = (number, text, kind, data, _checksum(number, text, kind, data))
                statement = "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?)"
                self._execute(statement, entry)
            self._execute("COMMIT")

    def read(self, number: int) -> Row:
        """Return a row; raise ``StoreError`` if it was changed or is gone."""
        found = self._execute("SELECT * FROM rows WHERE number = ?", (number,))
        names = {self.BEGINNING: "beginning", self.PROGRESS: "progress"}
        names |= {self.CHECKPOINT: "checkpoint"}
        with name_damage(self.file, names.get(number, f"save {number}")):
            if not found:
                raise ValueError("it is missing")
            _, text, kind, data, checksum = found[0]
            if checksum != _checksum(number, text, kind, data):
                raise ValueError("it does not match its checksum")
            if not data:
                return Row(text)
            parts = [(name, one, tuple(size)) for name, one, size in json.loads(kind)]
            record = np.frombuffer(data, np.dtype(parts), 1)[0]
            return Row(text, {name: record[name] for name, *_ in parts})

    def read_attributes(self) -> dict[str, Any]:
        """Return all that is said of the run; raise ``StoreError`` if it was changed."""
        rows = self.read(self.BEGINNING), self.read(self.PROGRESS)
        return {
            name: said for row in rows for name, said in json.loads(row.text).items()
        }

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


def _checksum(number: int, text: str, kind: str, data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(f"{number} {text} {kind}".encode()))


def _is_on_network(folder: Path) -> bool:
    """Whether a folder lies on a file system of a network, as far as the system tells."""
    mounts, inside = Path("/proc/self/mounts"), folder.resolve()
    if not mounts.is_file():
        return False
    lines = mounts.read_text(errors="replace").splitlines()
    places = [line.split(" ")[1:3] for line in lines]
    # The deepest; of those in one place the last, which lies over the others.
    places.sort(key=lambda place: len(place[0]))
    kinds = [kind for place, kind in places if inside.is_relative_to(place)]
    return kinds[-1].startswith(_SHARED)
